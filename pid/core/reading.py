"""What is in a document: the entries of a text, their tree, and a glance at each; read on as the text grows.

The same scan and the same tree as for a file, over lines that may be edited. Growth at the end is read on; after any
other edit all lines are scanned again, and only the entries that changed are looked at. Nothing here knows where
the text is from, and nothing writes.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from pid.core.batch import Batch
from pid.core.lines import DAMAGED, Scanner
from pid.core.nodes import UNKNOWN_TYPE, damaged_line
from pid.core.previews import Line, preview, read_line
from pid.core.text import Lines, Place, units_before
from pid.core.tree import ROOT, Tree
from pid.entries import MESSAGE_KINDS, ROLE_NAMES, DamagedLine, Kind, clean, id_text, may_be_deeper
from pid.protocol import Problem

_SLICE: Final = 1 << 20
_MAX_HEADER: Final = 1 << 20
LOOKED_AT: Final = 16 << 20
"""A longer entry has its place in the tree, but is not looked at: that would hold the interpreter too long."""


class Glance(NamedTuple):
    """What an entry tells at once: what people see of it, the entry that it names, the tool calls it makes or answers.

    `who` is the role of a message, the type of any other entry.
    """

    who: str
    timestamp: str | None = None
    preview: str | None = None
    tool_name: str | None = None
    failed: bool = False
    names: str | None = None
    calls: tuple[str, ...] = ()
    answers: str | None = None


_NO_GLANCE: Final = Glance(UNKNOWN_TYPE)
_NAMES: Final[dict[int, str]] = {
    Kind.LABEL: "target_id",
    Kind.CONTEXT_EDIT: "target_id",
    Kind.COMPACTION: "first_kept_entry_id",
    Kind.BRANCH_SUMMARY: "from_id",
}
"""The field in which an entry of a kind names another one."""
_FAILED_ENDS: Final = frozenset({"error", "aborted"})


def is_session(line: bytes) -> bool:
    """Whether a text that begins with this line may be a session: a header, or nothing at all yet."""
    scanner = Scanner(())
    if len(line) > _MAX_HEADER:
        return False
    scanner.scan(line + b"\n", len(line) + 1, 0)
    return not scanner.foreign and (scanner.header is not None or not line.strip())


class Reading:
    """One text as a session. `tree` and `scanner` are as for a file, places in them as if lines ended in a line feed.

    `glances` are by row, and so are `columns` and `widths` (where an entry begins, and its length, in UTF-16 units);
    `starts` is where each line that was read begins. Not thread-safe.
    """

    def __init__(self, lines: Lines, known: Mapping[bytes, Glance] = MappingProxyType({})) -> None:
        self.lines: Lines = lines
        self.tree = Tree()
        self.scanner = Scanner(self.tree.rows)
        self.starts = array("Q", [0])
        self.glances: list[Glance] = []
        self.columns = array("I")
        self.widths = array("I")
        self._told: list[Problem] = []
        self._whole = 0  # lines that were read to their line feed
        self._tail = b""  # the entry behind the last line feed, where there is a whole one
        self._known = known  # glances from an earlier reading, by what was looked at
        self._grow(lines)

    @property
    def is_session(self) -> bool:
        """Whether the text begins with a session header."""
        return self.scanner.header is not None

    @property
    def _may_be_session(self) -> bool:
        return not self.scanner.foreign and self.starts[-1] <= _MAX_HEADER

    def follow(self, lines: Lines, changed: int) -> "Reading":
        """The reading of an edited text, of which the lines before `changed` are as they were: this one, grown, or
        a new one.
        """
        if self.is_session and changed >= self._whole and self._goes_on(lines):
            self._grow(lines)
            return self
        rows = (row for row, flags in enumerate(self.tree.flags) if not flags & DAMAGED)
        return Reading(lines, {self.stored(row): self.glances[row] for row in rows})

    def _goes_on(self, lines: Lines) -> bool:
        """Whether what was read of the last line stands there still, with nothing behind it."""
        if len(lines) <= self._whole:
            return False
        last = lines[self._whole]
        return not self._tail or (last.startswith(self._tail) and not last[len(self._tail) :].strip())

    # Growing

    def _grow(self, lines: Lines) -> None:
        self.lines = lines
        for batch in self._batches(lines):
            self.tree.extend(batch)
        self._told += self.tree.settle().problems
        self._look()

    def _batches(self, lines: Lines) -> Iterator[Batch]:
        last = len(lines) - 1
        while self._whole < last and (self.is_session or self._may_be_session):
            yield self._scan(lines, last)
        tail = lines[last]
        if tail.strip() and not self._tail and self.is_session:
            batch = self.scanner.scan_tail(tail, self.starts[last])
            if batch is not None:
                self._tail = tail
                yield batch

    def _scan(self, lines: Lines, last: int) -> Batch:
        """The entries of the next lines, about 1 MiB of them; of the first alone until the header is known."""
        first, at, size = self._whole, self._whole, 0
        while at < last and (at == first or (size < _SLICE and self.is_session)):
            size += len(lines[at]) + 1
            at += 1
            self.starts.append(self.starts[first] + size)
        begun = len(self._tail)
        view = b"\n".join(lines[first:at])[begun:] + b"\n"
        self._whole, self._tail = at, b""
        return self.scanner.scan(view, len(view), self.starts[first] + begun)

    def _look(self) -> None:
        for row in range(len(self.glances), len(self.tree)):
            raw = self.stored(row)
            self.glances.append(self._known.get(raw) or self._glance(row, raw))
            self.columns.append(self._column(row))
            self.widths.append(units_before(raw, len(raw)))
        self._known = {}

    def _column(self, row: int) -> int:
        """Counted from the entry before it on its line, if there is one."""
        line, start, _ = self.span_of(row)
        if start == 0:
            return 0
        text = self.lines[line]
        before, _, stop = self.span_of(row - 1) if row else (-1, 0, 0)
        if before != line:
            return units_before(text, start)
        return self.columns[row - 1] + self.widths[row - 1] + units_before(text[stop:start], start - stop)

    def _glance(self, row: int, raw: bytes) -> Glance:
        tree, kind = self.tree, self.tree.kinds[row]
        if tree.flags[row] & DAMAGED or tree.sizes[row] > LOOKED_AT:
            line = damaged_line(raw)
            return _NO_GLANCE._replace(who=ROLE_NAMES.get(kind) or line.type or UNKNOWN_TYPE, timestamp=line.timestamp)
        try:
            return _look_at(kind, raw)
        except DamagedLine as error:
            tree.flags[row] |= DAMAGED
            number = self.line_of(row) + 1
            self._told.append(Problem(line=number, kind=error.kind, message=str(error), entry_id=tree.ids[row]))
            return self._glance(row, raw)

    # What is where

    def line_of(self, row: int) -> int:
        """The line, from 0, on which an entry stands."""
        return self.line_at(self.tree.starts[row])

    def line_at(self, place: int) -> int:
        """The line of a place as the tree knows it."""
        return bisect_right(self.starts, place) - 1

    def span_of(self, row: int) -> tuple[int, int, int]:
        """The line of an entry, and its first byte and the one behind its last in this line."""
        line = self.line_of(row)
        start = self.tree.starts[row] - self.starts[line]
        return line, start, start + self.tree.sizes[row]

    def stored(self, row: int) -> bytes:
        """The bytes of an entry as they stand in the text."""
        line, start, stop = self.span_of(row)
        whole = self.lines[line]
        return whole if start == 0 and stop == len(whole) else whole[start:stop]

    def body(self, row: int) -> bytes:
        """The bytes of an entry as they may be parsed; b"" for a damaged one."""
        if self.tree.flags[row] & DAMAGED:
            return b""
        try:
            return clean(self.stored(row))
        except DamagedLine:
            return b""

    def bodies(self, rows: Sequence[int]) -> list[bytes]:
        """The same for some rows: a reader for `context`."""
        return [self.body(row) for row in rows]

    def rows_on(self, line: int) -> range:
        """The rows that stand on a line."""
        if line >= len(self.starts):
            return range(0)
        first = self.starts[line]
        return range(*(bisect_left(self.tree.starts, place) for place in (first, first + len(self.lines[line]))))

    def row_at(self, line: int, at: int) -> int:
        """The row at a byte of a line, or the last one before it on the line; ROOT if there is none."""
        rows = self.rows_on(line)
        if not rows:
            return ROOT
        return max(bisect_right(self.tree.starts, self.starts[line] + at, rows.start, rows.stop) - 1, rows.start)

    def place(self, line: int, at: int) -> Place:
        """The place of a byte of a line. Cheap, however many entries stand on the line."""
        row, text = self.row_at(line, at), self.lines[line]
        start = self.span_of(row)[1] if row != ROOT else at + 1
        if start > at:
            return Place(line, units_before(text, at))
        return Place(line, self.columns[row] + units_before(text[start:at], at - start))

    def problems(self) -> list[Problem]:
        """What is wrong with the text as it is now, by line. What came later is missing no more."""
        found = [problem for problem in self._told if self._holds(problem)]
        tail = self.lines[-1]
        if self.is_session and tail.strip() and not self._tail:
            message = f"the last line was cut off after {len(tail):,} bytes; they stay where they are"
            found.append(Problem(line=len(self.lines), kind="tornLine", message=message))
        return sorted(found, key=lambda problem: problem.line)

    def _holds(self, problem: Problem) -> bool:
        """Whether what an entry named is still not there."""
        row = self.tree.rows.get(problem.entry_id or "", ROOT)
        match problem.kind:
            case "missingParent":
                return self.tree.severed.get(row) == "missingParent"
            case "danglingTarget" | "missingFirstKept" if row != ROOT:
                return self.glances[row].names not in self.tree.rows
        return True


def _look_at(kind: int, raw: bytes) -> Glance:
    """A glance at an entry, whose body is proven by that. Raises `DamagedLine`.

    Reading the fields proves the rest too, where nothing is nested deep and no surrogate is alone.
    """
    if not may_be_deeper(raw):
        try:
            return _glance_of(kind, read_line(raw))
        except (ValueError, DamagedLine):
            pass
    return _glance_of(kind, read_line(clean(raw)))


def _glance_of(kind: int, line: Line) -> Glance:
    said = line.message if kind in MESSAGE_KINDS else None
    content = said.content if said else None
    calls = [block.id for block in content if block.type == "toolCall"] if isinstance(content, list) else []
    return Glance(
        who=ROLE_NAMES.get(kind) or (said and said.role) or line.type or UNKNOWN_TYPE,
        timestamp=line.timestamp,
        preview=preview(kind, line),
        tool_name=(said.tool_name or said.custom_type) if said else line.custom_type,
        failed=bool(said and (said.is_error or said.stop_reason in _FAILED_ENDS)),
        names=id_text(getattr(line, _NAMES[kind])) if kind in _NAMES else None,
        calls=tuple(call for call in calls if call) if kind == Kind.ASSISTANT else (),
        answers=said.tool_call_id if said and kind == Kind.TOOL_RESULT else None,
    )
