"""The index of one session as a tree: a row for each entry, in file order, in columns.

Rows only grow, so a snapshot is a length and a leaf. The tree depends on the prefixes of the lines alone; it holds
no bodies, reads no file and knows nothing of who asks. Links are always between visible entries: a leaf marker and
a line that a later one with the same id replaced are rows too, but no answer shows them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from pid.core.batch import Batch
from pid.core.lines import DAMAGED
from pid.entries import TYPE_NAMES, Kind, id_text, name_text
from pid.errors import EntryNotFound
from pid.protocol import Problem

ROOT: Final = -1
"""No row: the parent of a root, and the leaf before the first entry."""
MISSING: Final = -2
"""A row that was named and is not there."""

# Flags beside those of `lines`
HIDDEN: Final = 8  # a leaf marker, or replaced by a later line with the same id
RELINKED: Final = 64  # its parent in the tree is not the one that its line names
_MARKERS_IN_A_ROW: Final = 1000
_SHORT_STRETCH: Final = 8  # rows: where runs are shorter on average, a path is walked row by row


@dataclass(frozen=True, slots=True)
class Label:
    """A label in effect: its text and the row of the `label` entry that set it."""

    text: str
    row: int


@dataclass(frozen=True, slots=True)
class Change:
    """What entries added to a tree did: the rows added, the visible rows whose node looks different, problems."""

    added: range
    changed: frozenset[int]
    problems: list[Problem]


@dataclass(slots=True)
class _Pending:
    """What `extend` leaves for `settle`, once every entry of a run is in."""

    first: int
    lines: "array[int]" = field(default_factory=lambda: array("I"))  # of the rows from `first` on
    changed: set[int] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    forward: set[int] = field(default_factory=set)  # rows linked to a later row, or to themselves
    replaced: dict[int, int] = field(default_factory=dict)  # old row -> the row that replaced it
    targets: list[tuple[str | None, int, str]] = field(default_factory=list)  # id named, row, problem kind


class Tree:
    """Columns by row: `ids`, `parents` (ROOT for a root), `kinds`, `times` (ms or NO_TIME), `starts` and `sizes`
    (bytes of the file), `flags`. `name` is the session's name, `labels` the labels in effect by target id.
    `severed` has the roots that are none in the file, with the `Problem` kind that says why; `in_order` turns
    false for good once a child stands before its parent.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self.parents = array("i")
        self.kinds = array("B")
        self.times = array("q")
        self.starts = array("Q")
        self.sizes = array("I")
        self.flags = bytearray()
        self.name: str | None = None
        self.labels: dict[str, Label] = {}
        self.severed: dict[int, str] = {}
        self.in_order = True
        self.visible_count = 0
        self._kept: dict[int, str | int | None] = {}  # compaction row -> id (version 1: file index) it names
        self._waiting: dict[str, list[int]] = {}  # a missing parent's id -> its children
        self._waits_for: dict[int, str] = {}  # the same by child
        self._has_hidden = False
        self._turns = array("I")  # ascending: the rows whose parent is not the row before; perhaps a few others
        self._pending = _Pending(0)

    def __len__(self) -> int:
        return len(self.ids)

    # Reading

    def find(self, entry_id: str) -> int:
        """The row of an id; a leaf marker's id means its parent (perhaps ROOT). Raises `EntryNotFound`."""
        row = self.rows.get(entry_id)
        if row is None:
            raise EntryNotFound(f"There is no entry {entry_id!r} in this session.", entryId=entry_id)
        return self.visible(row)

    def visible(self, row: int) -> int:
        """`row`, or for a leaf marker the entry that it hangs on."""
        return self.parents[row] if row >= 0 and self.flags[row] & HIDDEN else row

    def is_hidden(self, row: int) -> bool:
        """Whether no answer shows the row."""
        return bool(self.flags[row] & HIDDEN)

    def id_of(self, row: int) -> str | None:
        """The id of a row; None for ROOT."""
        return self.ids[row] if row >= 0 else None

    def path(self, row: int) -> list[int]:
        """The rows from the root to `row`; `[]` for ROOT. Linear in its length."""
        return list(chain.from_iterable(self._spans(row))) if self._is_stretched else self._walked(row)

    def path_and_kinds(self, row: int) -> tuple[list[int], bytes]:
        """The path to `row`, and the kind of each of its rows."""
        if not self._is_stretched:
            rows = self._walked(row)
            return rows, bytes(map(self.kinds.__getitem__, rows))
        spans = self._spans(row)
        kinds = [self.kinds[span.start : span.stop].tobytes() for span in spans]
        return list(chain.from_iterable(spans)), b"".join(kinds)

    @property
    def _is_stretched(self) -> bool:
        return len(self._turns) <= len(self.parents) // _SHORT_STRETCH

    def _spans(self, row: int) -> list[range]:
        """The path as runs of rows that stand one behind the other in the file: a chain is one run."""
        spans: list[range] = []
        while row >= 0:
            at = bisect_right(self._turns, row)
            first = self._turns[at - 1] if at else 0
            spans.append(range(first, row + 1))
            row = self.parents[first]
        spans.reverse()
        return spans

    def _walked(self, row: int) -> list[int]:
        rows, parents = [], self.parents
        while row >= 0:
            rows.append(row)
            row = parents[row]
        rows.reverse()
        return rows

    def is_on_path(self, row: int, leaf: int) -> bool:
        """Whether `row` is `leaf` or above it (ROOT is above everything)."""
        parents = self.parents
        lowest = max(row, 0) if self.in_order else 0  # in order, all that stands above a row comes before it
        while leaf >= lowest and leaf != row:
            leaf = parents[leaf]
        return leaf == row

    @property
    def last(self) -> int:
        """The leaf as the file says: its last sound entry, or where a leaf marker behind it points.

        A marker on a damaged entry means the nearest sound one above.
        """
        row = len(self.ids) - 1
        while row >= 0 and self.flags[row] & DAMAGED:
            row -= 1
        row = self.visible(row)
        while row >= 0 and self.flags[row] & DAMAGED:
            row = self.parents[row]
        return row

    def label_of(self, row: int) -> str | None:
        """The label in effect on a row."""
        label = self.labels.get(self.ids[row])
        return label.text if label else None

    def missing_parent(self, row: int) -> str | None:
        """The id of the parent that a root names, where the file lacks it."""
        return self._waits_for.get(row)

    def first_kept(self, row: int) -> int:
        """The row that a compaction names as its first kept entry; its own: it keeps none; or MISSING.

        A leaf marker's row too: pi may cut in front of one, and what follows it is kept, not what it hangs on.
        """
        named = self._kept.get(row)
        if isinstance(named, int):
            return named - 1 if 0 < named <= len(self.ids) else MISSING  # the header has index 0
        return MISSING if named is None else self.rows.get(named, MISSING)

    # Growing

    def move_on(self, size: int) -> None:
        """Says that each entry stands so many bytes further on: in a copy of the file behind another header."""
        self.starts = array("Q", [start + size for start in self.starts])

    def extend(self, batch: Batch) -> None:
        """Adds entries. Links to entries that are not there yet are made when these come, or told by `settle`."""
        self._pending.problems += batch.problems
        if not batch.ids:
            return
        base = len(self.ids)
        self._pending.lines += batch.lines
        parents = self._parents_of(batch, base, all_new=self._number(batch.ids, base))
        self.ids += batch.ids
        self.kinds.frombytes(batch.kinds)
        self.times += batch.times
        self.starts += batch.starts
        self.sizes += batch.sizes
        self.flags += batch.flags
        self.visible_count += len(batch.ids)
        self._hang(parents, batch.parent_ids, base)
        for index, body in batch.bodies.items():
            self._read_body(base + index, body)
        if self._waiting:
            self._adopt(batch.ids)

    def settle(self) -> Change:
        """Ends a run of `extend`: mends what needs all its entries, and returns what the run did."""
        pending = self._pending
        if pending.replaced:
            self._repoint(pending.replaced)
        added = range(pending.first, len(self.ids))
        if pending.forward:
            self.in_order = False
            self._cut_cycles(pending.forward)
        if self._has_hidden:  # behind the cut, for leaf markers may hang on each other in a circle too
            self._skip_hidden({*pending.forward, *added})
        for named, row, kind in pending.targets:
            self._check_target(named, row, kind)
        changed = frozenset(self.visible(row) for row in pending.changed if row not in added) - {ROOT}
        self._pending = _Pending(len(self.ids))
        return Change(added, changed, sorted(pending.problems, key=lambda problem: problem.line))

    def _number(self, ids: list[str], base: int) -> bool:
        """Gives ids their rows; whether none of them was there already."""
        rows = range(base, base + len(ids))
        if list(map(self.rows.setdefault, ids, rows)) == list(rows):
            return True
        self._replace_doubles(ids, base)
        return False

    def _parents_of(self, batch: Batch, base: int, *, all_new: bool) -> Sequence[int]:
        """The rows of the parents of a batch's entries; a range where each hangs on the entry before it."""
        ids, parent_ids, row_of = batch.ids, batch.parent_ids, self.rows.get
        if all_new and parent_ids[1:] == ids[:-1]:
            first = ROOT if parent_ids[0] is None else row_of(parent_ids[0])
            if first == base - 1:
                return range(first, first + len(ids))
        return [ROOT if parent is None else row_of(parent, MISSING) for parent in parent_ids]

    def _replace_doubles(self, ids: list[str], base: int) -> None:
        for row, entry_id in enumerate(ids, base):
            old = self.rows[entry_id]
            if old != row:
                self.rows[entry_id] = self._pending.replaced[old] = row
                self._tell(row, "duplicateId", f"the id {entry_id} stands again; this line wins", entry_id)

    def _hang(self, parents: Sequence[int], parent_ids: list[str | None], base: int) -> None:
        """Links new rows to their parents."""
        self.parents.extend(parents)
        if isinstance(parents, range):
            return
        turns = [row for row, parent in enumerate(parents, base) if parent != row - 1]
        self._turns.extend(turns)
        for row in turns:
            parent, parent_id = parents[row - base], parent_ids[row - base]
            if parent >= row:
                self._pending.forward.add(row)
            elif parent == MISSING and parent_id is not None:
                self._wait(row, parent_id)
                self._pending.targets.append((parent_id, row, "missingParent"))

    def _link(self, row: int, parent: int) -> None:
        self.parents[row] = parent
        at = bisect_left(self._turns, row)
        if parent != row - 1 and self._turns[at : at + 1] != array("I", (row,)):
            self._turns.insert(at, row)

    def _wait(self, row: int, parent_id: str) -> None:
        self._link(row, ROOT)
        self.severed[row] = "missingParent"
        self._waiting.setdefault(parent_id, []).append(row)
        self._waits_for[row] = parent_id

    def _adopt(self, ids: Iterable[str]) -> None:
        for entry_id in self._waiting.keys() & frozenset(ids):
            parent = self.rows[entry_id]
            for row in self._waiting.pop(entry_id):
                self._link(row, parent)
                del self.severed[row], self._waits_for[row]
                self._pending.forward.add(row)
                self._pending.changed.add(row)

    def _hide(self, row: int) -> None:
        self.flags[row] |= HIDDEN
        self.visible_count -= 1
        self._has_hidden = True

    def _skip_hidden(self, rows: Iterable[int]) -> None:
        parents, flags = self.parents, self.flags
        for row in rows:
            parent = hidden = parents[row]
            hops = 0
            while parent >= 0 and flags[parent] & HIDDEN and hops < len(parents):
                hidden, parent, hops = parent, parents[parent], hops + 1
            if hops:
                self._link(row, parent)
                flags[row] |= RELINKED
            if hops and hidden in self._waits_for:  # it waits for what the leaf marker waits for
                self._wait(row, self._waits_for[hidden])

    def _repoint(self, replaced: dict[int, int]) -> None:
        for old in replaced:
            self._hide(old)
        parents = self.parents
        for row in [row for row, parent in enumerate(parents) if parent in replaced]:
            parent = parents[row]
            while parent in replaced:
                parent = replaced[parent]
            self._link(row, parent)
            self._pending.changed.add(row)
            if parent >= row:
                self._pending.forward.add(row)

    def _cut_cycles(self, forward: Iterable[int]) -> None:
        # Every cycle holds a link to a later row; it is cut at the one to its latest row, which closed it.
        parents, done = self.parents, bytearray(len(self.ids))
        for start in sorted(forward):
            walk: list[int] = []
            row = start
            while row >= 0 and not done[row]:
                done[row] = 1
                walk.append(row)
                row = parents[row]
            if row in set(walk):
                self._cut(walk[walk.index(row) :])

    def _cut(self, cycle: list[int]) -> None:
        latest = max(cycle)
        row = next(row for row in cycle if self.parents[row] == latest)
        self._link(row, ROOT)
        self.flags[row] |= RELINKED
        self.severed[row] = "cycle"
        self._pending.changed.add(row)
        self._tell(latest, "cycle", f"{self.ids[row]} is its own ancestor", self.ids[row])

    def _check_target(self, named: str | None, row: int, kind: str) -> None:
        if named in self.rows:
            return
        name, entry_id = TYPE_NAMES.get(self.kinds[row], "entry"), self.ids[row]
        missing = "no entry" if named is None else f"the entry {named}, which is not there"
        self._tell(row, kind, f"{name} {entry_id} names {missing}", entry_id)

    def _tell(self, row: int, kind: str, message: str, entry_id: str) -> None:
        line = self._pending.lines[row - self._pending.first]
        self._pending.problems.append(Problem(line=line, kind=kind, message=message, entry_id=entry_id))

    # The entries that the tree reads itself

    def _read_body(self, row: int, body: dict[str, Any]) -> None:
        match self.kinds[row]:
            case Kind.LEAF_MARKER:
                self._hide(row)
            case Kind.SESSION_INFO:
                self.name = name_text(body.get("name"))
            case Kind.LABEL:
                self._set_label(row, body)
            case Kind.COMPACTION:
                self._note_kept(row, body)
            case Kind.CONTEXT_EDIT:
                self._note_target(body, row)

    def _set_label(self, row: int, body: dict[str, Any]) -> None:
        target, text = self._note_target(body, row), body.get("label")
        if target is None:
            return
        if (marker := self.rows.get(target)) is not None and self.is_hidden(marker):
            target = self.id_of(self._above_markers(marker)) or target  # pi labels the leaf that it sees
        if isinstance(text, str) and text:
            self.labels[target] = Label(text, row)
        else:
            self.labels.pop(target, None)
        if (known := self.rows.get(target)) is not None:
            self._pending.changed.add(known)

    def _above_markers(self, row: int) -> int:
        """`visible` before `settle`: markers may still hang on markers, though none that pid or pi wrote do."""
        for _ in range(_MARKERS_IN_A_ROW):
            if row < 0 or not self.is_hidden(row):
                break
            row = self.parents[row]
        return row

    def _note_target(self, body: dict[str, Any], row: int) -> str | None:
        target = id_text(body.get("targetId"))
        self._pending.targets.append((target, row, "danglingTarget"))
        return target

    def _note_kept(self, row: int, body: dict[str, Any]) -> None:
        index = body.get("firstKeptEntryIndex")
        named = id_text(body.get("firstKeptEntryId"))
        self._kept[row] = index if named is None and isinstance(index, int) else named
        if not isinstance(self._kept[row], int):
            self._pending.targets.append((named, row, "missingFirstKept"))
