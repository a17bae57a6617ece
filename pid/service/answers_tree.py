"""The answers that show the tree: `session/getTree`, and the nodes of a notification.

A flat list in the order of the file, in which a child that stands before its parent is moved behind it. Long answers
are made in slices of the loop's time, and the nodes of a slice are written and joined in it. A preview is taken from
bytes that need not be proven; `damaged` is what is known by then: a line whose body is found to be damaged later shows
so from then on, and always with `content: "full"`.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import force_setattr

from pid.core.lines import DAMAGED
from pid.core.nodes import damaged_line, node_of
from pid.core.previews import read_line
from pid.core.tree import Tree
from pid.entries import TYPE_NAMES, DamagedLine, Kind
from pid.errors import InvalidCursor
from pid.protocol import MAX_PAGE_BYTES, TreeNode, TreeParams, TreeResult
from pid.service.pages import Page, begin, cursor_at, slices
from pid.service.session import SLICE_ROWS, Session
from pid.service.turns import next_turn

Included = Callable[[int], bool]
"""Whether a row is of a type that the client asked for."""

_ROOT_BYTES: Final = array("i", [-1]).tobytes()
_encode = msgspec.json.Encoder().encode


def nodes_of(session: Session, rows: Sequence[int]) -> list[TreeNode]:
    """The nodes of rows, parents first, hidden rows left out. Holds the loop: for at most 1,000 rows."""
    tree, order = session.tree, sorted(rows)
    if not tree.in_order:
        chosen = set(order)
        order = [row for row in parents_first(tree.parents, len(tree)) if row in chosen]
    shown = [row for row in order if not tree.is_hidden(row)]
    stored = (session.stored(part) for part in slices(tree, shown))
    lines = (line for part in stored for line in part)
    return [_node(session, row, line) for row, line in zip(shown, lines, strict=True)]


async def get_tree(session: Session, params: TreeParams) -> TreeResult:
    """A page of the tree, or of what changed in it since a revision. Raises `InvalidCursor`."""
    page = begin(session, params, params.cursor)
    tree = session.tree
    included = await _included(session, page, params.types)
    above = _nearest_included(tree, included) if included else None
    nodes: list[Raw] = []
    count, room, next_cursor = 0, MAX_PAGE_BYTES, None
    for number, shown in enumerate(_slices(session, page, params, included)):
        if number:
            await next_turn()
        part = _encoded(session, list(shown), params.content, above)
        ends = list(accumulate(map(len, part)))
        fitting = max(bisect_right(ends, room), not count)  # a page has one node at least
        if params.limit is not None:
            fitting = min(fitting, params.limit - count)
        if fitting:
            nodes.append(Raw(b",".join(part[:fitting])))
        if fitting < len(part):
            next_cursor = cursor_at(page, params, list(shown.values())[fitting])
            break
        count, room = count + fitting, room - ends[-1]
    return TreeResult(
        nodes=cast(list[TreeNode], nodes),  # encoded already, all of a slice in one
        roots=[tree.ids[row] for row in _roots(tree, page.rows)],
        leaf_id=tree.id_of(page.leaf),
        visible_leaf_id=tree.id_of(above(page.leaf)) if above else UNSET,
        revision=page.revision,
        epoch=page.epoch,
        next_cursor=next_cursor,
    )


def _slices(session: Session, page: Page, params: TreeParams, included: Included | None) -> Iterator[dict[int, int]]:
    """The visible rows from the page's place on with their places, a slice at a time."""
    tree = session.tree
    places = _places(session, page, params)
    size = min(SLICE_ROWS, (params.limit or SLICE_ROWS) + 1)  # one more than the page holds: is there a next one?
    while batch := list(islice(places, size)):
        shown = {row: place for place, row in batch if not tree.is_hidden(row) and (included is None or included(row))}
        for part in slices(tree, list(shown)):
            yield {row: shown[row] for row in part}


def _encoded(session: Session, rows: Sequence[int], content: str, above: Callable[[int], int] | None) -> list[bytes]:
    """The JSON of each node of a slice."""
    tree, full, with_preview = session.tree, content == "full", content != "none"
    encoded = []
    for row, line in zip(rows, (session.bodies if full else session.stored)(rows), strict=True):
        node = _node(session, row, line, with_preview=with_preview)
        if full and line:
            force_setattr(node, "entry", Raw(line))
        if above:
            force_setattr(node, "visible_parent_id", tree.id_of(above(tree.parents[row])))
        encoded.append(_encode(node))
    return encoded


def _node(session: Session, row: int, line: bytes, *, with_preview: bool = True) -> TreeNode:
    """The node of a row from its bytes, which are proven only if they cannot be read as they are."""
    tree = session.tree
    if not tree.flags[row] & DAMAGED:
        try:
            return node_of(tree, row, read_line(line), with_preview=with_preview)
        except (ValueError, DamagedLine):
            if body := session.body(row):
                return node_of(tree, row, read_line(body), with_preview=with_preview)
    return node_of(tree, row, damaged_line(session.stored((row,))[0]), with_preview=with_preview)


# Which rows, in which order


def _places(session: Session, page: Page, params: TreeParams) -> Iterator[tuple[int, int]]:
    """The rows to show from the page's place on, each with its place in the whole order."""
    tree = session.tree
    wanted = None if params.since is None else _since(session, page, params.since, params.epoch)
    if tree.in_order:
        rows = range(page.rows) if wanted is None else wanted
        return ((row, row) for row in rows[bisect_left(rows, page.place) :])
    order = parents_first(tree.parents, page.rows)
    chosen = range(page.rows) if wanted is None else set(wanted)
    return ((place, order[place]) for place in range(page.place, len(order)) if order[place] in chosen)


def _since(session: Session, page: Page, revision: int, epoch: str | None) -> list[int]:
    """The rows that were added or look different since a revision, ascending."""
    changes = session.log.since(revision) if epoch == session.epoch else None
    if changes is None:
        raise InvalidCursor(
            "There is no such revision in this epoch; read the whole tree.",
            epoch=session.epoch,
            revision=session.revision,
        )
    added, touched = changes
    return [row for row in (*touched, *added) if row < page.rows]


def parents_first(parents: Sequence[int], rows: int) -> list[int]:
    """The first `rows` rows in file order, each that stands before its parent moved behind it. Linear."""
    order: list[int] = []
    placed = bytearray(rows)
    waiting: dict[int, list[int]] = {}
    for row in range(rows):
        parent = parents[row]
        if 0 <= parent < rows and not placed[parent]:
            waiting.setdefault(parent, []).append(row)
            continue
        ready = [row]
        while ready:
            row = ready.pop()
            placed[row] = 1
            order.append(row)
            ready += reversed(waiting.pop(row, ()))
    return order


def _roots(tree: Tree, rows: int) -> Iterator[int]:
    """The visible rows without a parent. A search in bytes: no row number holds four 0xFF in a row."""
    column = tree.parents[:rows].tobytes()
    size = len(_ROOT_BYTES)
    at = column.find(_ROOT_BYTES)
    while at >= 0:
        if at % size == 0 and not tree.is_hidden(at // size):
            yield at // size
        at = column.find(_ROOT_BYTES, at + 1)


# `types`


async def _included(session: Session, page: Page, types: Iterable[str] | None) -> Included | None:
    """Whether a row is of one of these types; None where all are."""
    if types is None:
        return None
    tree, names = session.tree, frozenset(types)
    kinds = frozenset(kind for kind in Kind if TYPE_NAMES.get(kind) in names)
    others: set[int] = set()
    if not names <= set(TYPE_NAMES.values()):
        rows = [row for row in range(page.rows) if tree.kinds[row] == Kind.OTHER]
        for number, part in enumerate(slices(tree, rows)):
            if number:
                await next_turn()
            nodes = zip(part, session.stored(part), strict=True)
            others.update(row for row, line in nodes if _node(session, row, line, with_preview=False).type in names)
    return lambda row: tree.kinds[row] in kinds or row in others


def _nearest_included(tree: Tree, included: Included) -> Callable[[int], int]:
    """Finds the nearest included row at or above a row; each link is walked once for all calls."""
    known: dict[int, int] = {}

    def above(row: int) -> int:
        walked = []
        while row >= 0 and not included(row):
            if row in known:
                row = known[row]
                break
            walked.append(row)
            row = tree.parents[row]
        known.update(dict.fromkeys(walked, row))
        return row

    return above
