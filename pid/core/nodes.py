"""An entry as a node of the tree on the wire: its place, and what its bytes tell.

The tree knows the place; a `Line` has the rest. Nothing here reads a file or knows what a client asked for.
"""

import re
from functools import lru_cache
from typing import Any, Final

from pid.core.lines import DAMAGED
from pid.core.previews import Line, Said, preview
from pid.core.tree import Tree
from pid.entries import NO_TIME, ROLE_NAMES, TYPE_NAMES, Kind, id_text, iso_of
from pid.protocol import TreeNode

UNKNOWN_TYPE: Final = "unknown"
"""The type of a damaged entry that does not tell it."""

_NOBODY: Final = Said()
_CUSTOM_TYPED: Final = frozenset({Kind.CUSTOM, Kind.CUSTOM_MESSAGE})


def node_of(tree: Tree, row: int, line: Line, *, with_preview: bool = True, **more: Any) -> TreeNode:
    """The node of a row. `line` is what its bytes tell; for a damaged one, what its head still told.

    `more` are further fields of the node. Raises ValueError where the bytes, not proven before, are no JSON.
    """
    kind, time, parent = tree.kinds[row], tree.times[row], tree.parents[row]
    message = line.message or _NOBODY
    return TreeNode(
        id=tree.ids[row],
        parent_id=tree.ids[parent] if parent >= 0 else None,
        type=TYPE_NAMES.get(kind) or line.type or UNKNOWN_TYPE,
        timestamp=_iso(time) if time != NO_TIME else line.timestamp,
        role=ROLE_NAMES.get(kind) or message.role,
        label=tree.label_of(row) if tree.labels else None,
        preview=preview(kind, line) if with_preview else None,
        target_id=_named(tree, line.target_id) if kind in (Kind.LABEL, Kind.CONTEXT_EDIT) else None,
        first_kept_entry_id=_named(tree, line.first_kept_entry_id) if kind == Kind.COMPACTION else None,
        from_id=_named(tree, line.from_id) if kind == Kind.BRANCH_SUMMARY else None,
        custom_type=line.custom_type if kind in _CUSTOM_TYPED else message.custom_type,
        tool_name=message.tool_name,
        is_error=message.is_error,
        stop_reason=message.stop_reason,
        damaged=True if tree.flags[row] & DAMAGED else None,
        **more,
    )


def _named(tree: Tree, value: object) -> str | None:
    """The id of an entry that another names; for a leaf marker, the entry that it hangs on."""
    entry_id = id_text(value)
    row = tree.rows.get(entry_id or "")
    return entry_id if row is None or not tree.is_hidden(row) else tree.id_of(tree.visible(row))


@lru_cache(maxsize=4096)
def _minute(minute: int) -> str:
    return iso_of(minute * 60_000)[:17]


def _iso(ms: int) -> str:
    minute, rest = divmod(ms, 60_000)
    return f"{_minute(minute)}{rest // 1000:02d}.{rest % 1000:03d}Z"


_TYPE = re.compile(rb'\{[ \t]*"type"[ \t]*:[ \t]*"(\w{1,64})"')
_TIME = re.compile(rb'"timestamp"[ \t]*:[ \t]*"([0-9TZ:.+-]{1,40})"')
_HEAD_BYTES: Final = 400


def damaged_line(stored: bytes) -> Line:
    """What the head of an entry that cannot be read still tells."""
    kind, time = _TYPE.match(stored), _TIME.search(stored, 0, _HEAD_BYTES)
    return Line(type=kind[1].decode() if kind else None, timestamp=time[1].decode() if time else None)
