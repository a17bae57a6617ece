"""A tree with entries that are planned and not written yet, and how appends and moves of the leaf are planned on it.

A group of writes is planned on one overlay, each on what the one before it left; what is planned becomes visible only
when its lines are in the file and the tree has read them. Pure: ids, times and stored bytes are handed in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from pid.core.appending import Sent, same_entry
from pid.core.tree import ROOT, Tree
from pid.entries import Kind, kind_of, leaf_marker, read_body
from pid.errors import DuplicateEntryId, EntryNotFound, InvalidEntry, InvalidParams, LeafConflict
from pid.protocol import Placement

Stamp = tuple[Callable[[], str], str]
"""Where new ids come from, and the time for entries that bring none."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A write as planned: the entries' ids, the parent of the first, the leaf before and after.

    `duplicate`: all of it stood already. `marker`: the id of the leaf marker that a move writes; None writes nothing.
    """

    entry_ids: tuple[str, ...]
    parent_id: str | None
    previous_leaf_id: str | None
    leaf_id: str | None
    duplicate: bool = False
    marker: str | None = None

    @property
    def writes(self) -> tuple[str, ...]:
        """The ids of what is to be written."""
        if self.duplicate:
            return ()
        return self.entry_ids if self.marker is None else (self.marker,)


class Overlay:
    """`lines` are the lines planned so far, `leaf_id` the leaf behind them. `stored` gives the bytes of a row."""

    def __init__(self, tree: Tree, leaf: int, stored: Callable[[int], bytes]) -> None:
        self.lines: list[bytes] = []
        self.leaf_id = tree.id_of(leaf)
        self._tree = tree
        self._stored = stored
        self._planned: dict[str, tuple[str | None, bytes]] = {}  # id -> parent id, line

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry at all."""
        return not self._planned and self._tree.visible_count == 0

    @property
    def planned_ids(self) -> set[str]:
        """The ids of everything planned, leaf markers too."""
        return set(self._planned)

    def knows(self, entry_id: str) -> bool:
        """Whether the id is taken. A damaged line does not take it: the retry of a torn append has the same id."""
        return self.line_of(entry_id) is not None

    def resolve(self, entry_id: str) -> str | None:
        """The visible entry that an id means: a leaf marker means its parent. Raises `EntryNotFound`."""
        if entry_id in self._planned:
            return entry_id
        return self._tree.id_of(self._tree.find(entry_id))

    def parent_of(self, entry_id: str) -> str | None:
        """The parent of a visible entry."""
        if entry_id in self._planned:
            return self._planned[entry_id][0]
        return self._tree.id_of(self._tree.parents[self._tree.rows[entry_id]])

    def kind_of(self, entry_id: str) -> int:
        """The kind of a visible entry."""
        if entry_id in self._planned:
            return kind_of(read_body(self._planned[entry_id][1]))
        return self._tree.kinds[self._tree.rows[entry_id]]

    def line_of(self, entry_id: str) -> bytes | None:
        """The bytes of an entry, b"" for a leaf marker; None if there is none, or a damaged one."""
        if entry_id in self._planned:
            return self._planned[entry_id][1]
        row = self._tree.rows.get(entry_id)
        if row is None:
            return None
        return b"" if self._tree.is_hidden(row) else self._stored(row) or None

    def is_on_path(self, entry_id: str, leaf_id: str | None) -> bool:
        """Whether an entry is `leaf_id` or above it."""
        while leaf_id in self._planned and leaf_id != entry_id:
            leaf_id = self._planned[leaf_id][0]
        if leaf_id == entry_id or leaf_id is None:
            return leaf_id == entry_id
        row = self._tree.rows.get(entry_id, ROOT)
        return row != ROOT and self._tree.is_on_path(row, self._tree.rows[leaf_id])

    def has_compaction_since(self, entry_id: str | None) -> bool:
        """Whether a compaction stands on the path behind an entry."""
        at = self.leaf_id
        while at is not None and at != entry_id:
            if at in self._planned:
                found = read_body(self._planned[at][1]).get("type") == "compaction"
            else:
                found = self._tree.kinds[self._tree.rows[at]] == Kind.COMPACTION
            if found:
                return True
            at = self.parent_of(at)
        return False

    def add(self, entry_id: str, parent_id: str | None, line: bytes) -> None:
        """Plans one entry and moves the leaf to it."""
        self._planned[entry_id] = (parent_id, line)
        self.lines.append(line)
        self.leaf_id = entry_id

    def take_back(self, count: int, leaf_id: str | None) -> None:
        """Forgets all but the first `count` planned entries."""
        for entry_id in list(self._planned)[count:]:
            del self._planned[entry_id]
        del self.lines[count:]
        self.leaf_id = leaf_id


def plan_append(overlay: Overlay, where: Placement, entries: Sequence[Sent], stamp: Stamp) -> Planned:
    """Plans one write of entries, each under the one before; all of it or, with an error, nothing.

    Raises `EntryNotFound`, `LeafConflict`, `DuplicateEntryId`, `InvalidEntry`, `InvalidParams`.
    """
    previous, count = overlay.leaf_id, len(overlay.lines)
    standing = _standing(overlay, where, entries)
    if standing:
        first_parent, parent = overlay.parent_of(entries[0].id or ""), entries[standing - 1].id
    else:
        check_guards(overlay, where)
        first_parent = parent = _place(overlay, where)
    ids = [sent.id or "" for sent in entries[:standing]]
    try:
        for index, sent in enumerate(entries[standing:], standing):
            _check_links(overlay, sent, parent, "entry" if len(entries) == 1 else f"entries[{index}]")
            entry_id = sent.id or _fresh_id(overlay, stamp)
            if overlay.knows(entry_id):
                raise _stands(entry_id)
            overlay.add(entry_id, parent, sent.line(entry_id, parent, sent.timestamp or stamp[1]))
            ids.append(entry_id)
            parent = entry_id
    except BaseException:
        overlay.take_back(count, previous)
        raise
    return Planned(tuple(ids), first_parent, previous, overlay.leaf_id, duplicate=standing == len(entries))


def plan_move(overlay: Overlay, entry_id: str | None, expected: object, stamp: Stamp) -> Planned:
    """Plans a move of the leaf (None: before the first entry); to where it is, nothing is written."""
    previous = overlay.leaf_id
    target = None if entry_id is None else overlay.resolve(entry_id)
    check_leaf(overlay, expected)
    if target == previous:
        return Planned((), target, previous, target)
    marker = _fresh_id(overlay, stamp)
    overlay.add(marker, target, leaf_marker(marker, target, stamp[1]))
    overlay.leaf_id = target
    return Planned((), target, previous, target, marker=marker)


def check_guards(overlay: Overlay, where: Placement) -> None:
    """`expectedLeafId` and `expectedAncestorId`. Raises `LeafConflict` with the leaf as it is."""
    check_leaf(overlay, where.expected_leaf_id)
    if where.expected_ancestor_id is None:
        return
    ancestor = overlay.resolve(where.expected_ancestor_id)
    if ancestor is not None and not overlay.is_on_path(ancestor, overlay.leaf_id):
        raise _conflict(overlay, f"{ancestor} is not on the path to it")


def check_leaf(overlay: Overlay, expected: object) -> None:
    """`expectedLeafId`, if it is given (not UNSET). Raises `LeafConflict` with the leaf as it is."""
    if expected is UNSET:
        return
    wanted = overlay.resolve(expected) if isinstance(expected, str) else None
    if wanted != overlay.leaf_id:
        raise _conflict(overlay, f"{wanted} was expected")


def _conflict(overlay: Overlay, why: str) -> LeafConflict:
    leaf = overlay.leaf_id
    return LeafConflict(f"The leaf is {leaf}, and {why}. Read the branch again, then decide.", currentLeafId=leaf)


def _place(overlay: Overlay, where: Placement) -> str | None:
    if where.parent_id is UNSET:
        return overlay.leaf_id
    if isinstance(where.parent_id, str):
        return overlay.resolve(where.parent_id)
    if not where.new_root and not overlay.is_empty:
        message = "newRoot: a null `parentId` begins a new root; on a session with entries say `newRoot: true`"
        raise InvalidParams(message, path="newRoot")
    return None


def _standing(overlay: Overlay, where: Placement, entries: Sequence[Sent]) -> int:
    """How many of the first entries stand already, by their ids and with the same content: a retry."""
    for index, sent in enumerate(entries):
        line = None if sent.id is None else overlay.line_of(sent.id)
        if sent.id is None or line is None:
            return index
        if not line or not same_entry(sent, line) or (index == 0 and not _same_parent(overlay, where, sent.id)):
            raise _stands(sent.id)
    return len(entries)


def _same_parent(overlay: Overlay, where: Placement, entry_id: str) -> bool:
    if where.parent_id is UNSET:
        return True
    wanted = overlay.resolve(where.parent_id) if isinstance(where.parent_id, str) else None
    return wanted == overlay.parent_of(entry_id)


def _stands(entry_id: str) -> DuplicateEntryId:
    message = f"The id {entry_id} stands already, with another content or at another place. Choose a new id."
    return DuplicateEntryId(message, entryId=entry_id)


def _check_links(overlay: Overlay, sent: Sent, parent: str | None, path: str) -> None:
    if sent.target is not None:
        target = _known(overlay, sent.target, f"{path}.targetId")
        if sent.type == "context_edit" and not overlay.is_on_path(target, parent):
            raise InvalidEntry(f"{path}.targetId: {target} is not on the path to the edit.", path=f"{path}.targetId")
    if sent.first_kept is not None and sent.first_kept != sent.id:
        kept = _known(overlay, sent.first_kept, f"{path}.firstKeptEntryId")
        if not overlay.is_on_path(kept, parent):
            where = f"{path}.firstKeptEntryId"
            raise InvalidEntry(f"{where}: {kept} is not on the path to the compaction.", path=where)


def _known(overlay: Overlay, entry_id: str, path: str) -> str:
    try:
        found = overlay.resolve(entry_id)
    except EntryNotFound:
        found = None
    if found is None:
        raise InvalidEntry(f"{path}: there is no entry {entry_id}.", path=path)
    return found


def _fresh_id(overlay: Overlay, stamp: Stamp) -> str:
    while overlay.knows(entry_id := stamp[0]()):
        pass
    return entry_id
