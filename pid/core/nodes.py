"""An entry as a node of the tree on the wire: its place, and what its bytes tell.

The tree knows the place; a `Line` has the rest. Nothing here reads a file or knows what a client asked for.
"""

import re
from collections.abc import Mapping
from typing import Final, cast

import msgspec
from msgspec.structs import force_setattr

from pid.core.lines import DAMAGED
from pid.core.previews import Line, Said, preview
from pid.core.tree import Tree
from pid.entries import MESSAGE_KINDS, ROLE_NAMES, Kind, id_text
from pid.protocol import TreeNode

_NOTHING_SAID: Final = Said()
UNKNOWN_TYPE: Final = "unknown"
"""The type of a damaged entry that does not tell it."""


def node_of(tree: Tree, row: int, line: Line, *, with_preview: bool = True) -> TreeNode:
    """The node of a row. `line` is what its bytes tell; for a damaged one, what its head still told.

    Raises ValueError where the bytes, not proven before, are no JSON.
    """
    kind, parent = tree.kinds[row], tree.parents[row]
    said = (line.message if kind in MESSAGE_KINDS else None) or _NOTHING_SAID
    node = _node(
        id=tree.ids[row],
        parent_id=tree.ids[parent] if parent >= 0 else None,
        type=line.type or UNKNOWN_TYPE,
        timestamp=line.timestamp,
        role=ROLE_NAMES.get(kind) or said.role,
        label=tree.label_of(row) if tree.labels else None,
        preview=preview(kind, line) if with_preview else None,
        tool_name=said.tool_name,
        is_error=said.is_error,
        stop_reason=said.stop_reason,
        custom_type=said.custom_type or line.custom_type,
        damaged=True if tree.flags[row] & DAMAGED else None,
    )
    if field := _NAMING.get(kind):
        force_setattr(node, field, _named(tree, getattr(line, field)))
    return node


_node: Final = cast(
    type[TreeNode],
    msgspec.defstruct(
        TreeNode.__name__,
        [(known.name, known.type, msgspec.field(default=known.default)) for known in msgspec.structs.fields(TreeNode)],
        rename="camel",
        kw_only=True,
        omit_defaults=True,
        gc=False,
    ),
)
"""A `TreeNode` that is made in a third of the time: to call a class whose metaclass is written in Python is slow."""


_NAMING: Final[Mapping[int, str]] = {
    Kind.LABEL: "target_id",
    Kind.CONTEXT_EDIT: "target_id",
    Kind.COMPACTION: "first_kept_entry_id",
    Kind.BRANCH_SUMMARY: "from_id",
}
"""The field in which an entry of a kind names another."""


def _named(tree: Tree, value: object) -> str | None:
    """The id of an entry that another names; for a leaf marker, the entry that it hangs on."""
    entry_id = id_text(value)
    row = tree.rows.get(entry_id or "")
    return entry_id if row is None or not tree.is_hidden(row) else tree.id_of(tree.visible(row))


_TYPE = re.compile(rb'\{[ \t]*"type"[ \t]*:[ \t]*"(\w{1,64})"')
_TIME = re.compile(rb'"timestamp"[ \t]*:[ \t]*"([0-9TZ:.+-]{1,40})"')
_HEAD_BYTES: Final = 400


def damaged_line(stored: bytes) -> Line:
    """What the head of an entry that cannot be read still tells."""
    kind, time = _TYPE.match(stored), _TIME.search(stored, 0, _HEAD_BYTES)
    return Line(type=kind[1].decode() if kind else None, timestamp=time[1].decode() if time else None)
