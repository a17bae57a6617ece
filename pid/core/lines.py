"""Finds the entries in the bytes of a session file, a slice of complete lines at a time.

The fast path is one regular expression a line over the prefix (or the tail) that pi writes: it proves the place
of an entry in the tree, not its body. Every other line is parsed. Nothing is dropped: each complete JSON object
counts, and all other bytes are told as problems. This module never reads a file and builds no tree.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pid.core.pieces import Piece, pieces
from pid.entries import (
    FORMAT_VERSION,
    INVALID_UTF8,
    KINDS_BY_BYTES,
    LEAF_MARKER,
    NO_TIME,
    Kind,
    canonical_ms,
    derived_id,
    id_text,
    kind_of,
    minute_ms,
)
from pid.protocol import Problem

PROVEN: Final = 1  # the body is known to be valid as it stands
UNCLEAN: Final = 2  # the body is valid, but some of its bytes go out as U+FFFD
DAMAGED: Final = 4  # there is no valid body: the entry only keeps its place
DERIVED: Final = 16  # the file holds no id for the entry (8 is `tree.HIDDEN`)
JOINED: Final = 32  # something else stands before it on its line
PLAIN: Final = 128  # proven, and its message is the rest of its line (64 is `tree.RELINKED`)

_TIME = rb'"timestamp": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d):([0-5]\d)\.(\d\d\d)Z"'
_ID = rb'"id": ?"([!#-\[\]-~]{1,64})", ?"parentId": ?(?:null|"([!#-\[\]-~]{1,64})")'
_ROLE = rb'(?:, ?"message": ?\{"role": ?"(\w{1,32})")?'
_written = re.compile(rb'\{"type": ?"(\w{1,64})", ?' + _ID + rb", ?" + _TIME + _ROLE).match
_migrated = re.compile(rb'\{"type": ?"(\w{1,64})", ?' + _TIME + _ROLE).match
_migrated_tail = re.compile(rb", ?" + _ID + rb"\}\Z").search
_TAIL_BYTES: Final = 200
MAX_BODY_BYTES: Final = 256 << 20
"""A longer entry cannot go out in any message: it keeps its place in the tree, without a body."""
_PARENT_KEY: Final = b'"parentId"'
_MARKER: Final = LEAF_MARKER.encode()
_BRACE, _RETURN = 0x7D, 0x0D

TOLD: Final = frozenset({Kind.LABEL, Kind.SESSION_INFO, Kind.COMPACTION, Kind.CONTEXT_EDIT, Kind.LEAF_MARKER})
"""Kinds whose bodies the tree itself needs: they are few, so they are parsed as they are met."""
_PLAIN_KINDS: Final = {
    named: kind
    for named, kind in KINDS_BY_BYTES.items()
    if kind not in TOLD and kind not in (Kind.MESSAGE, Kind.CUSTOM)
}
_MS_OF_SECONDS: Final = {b"%02d" % second: second * 1000 for second in range(60)}
_MS_OF_DIGITS: Final = {b"%03d" % ms: ms for ms in range(1000)}
_new_row = tuple.__new__


class Row(NamedTuple):
    """An entry's place: in the tree (`parent_id` is None for a root) and in the file (bytes; lines from 1)."""

    id: str
    parent_id: str | None
    kind: int
    time: int
    start: int
    size: int
    flags: int
    line: int


@dataclass(slots=True)
class Batch:
    """Entries in file order and what was wrong between them.

    `bodies` has the parsed entry, by index in `rows`, of the kinds that the tree reads itself.
    """

    rows: list[Row] = field(default_factory=list)
    bodies: dict[int, dict[str, Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Scanner:
    """Reads the lines of one file from its first to its last; what it carries from slice to slice is here.

    `header` is the parsed header once met, `header_span` its place (start, size); `foreign` turns true if the first
    object is no session header. `taken` has the ids that are in the tree already. `seeming` has the places of damaged
    objects of version 1 that are nothing there, and that version 3 would take for entries, by an id and a parent.
    """

    def __init__(self, taken: Container[str]) -> None:
        self.header: dict[str, Any] | None = None
        self.header_span = (0, 0)
        self.version = 0
        self.session_id = ""
        self.foreign = False
        self.seeming: list[int] = []
        self.line = 0
        self._taken = taken
        self._derived: set[str] = set()
        self._last_id: str | None = None  # version 1 is linear: each entry hangs on the one before it
        self._in_line = False  # the last entry stands on a line that has no line break yet

    def scan(self, view: bytes | bytearray, stop: int, offset: int) -> Batch:
        """The entries of `view[:stop]`: whole lines, the first of which begins at `offset` of the file."""
        batch, at = Batch(), 0
        if self.header is None:
            while at < stop and self.header is None:
                at = self._scan_line(view, at, stop, offset, batch)
        if self.version < FORMAT_VERSION:
            while at < stop:
                at = self._scan_line(view, at, stop, offset, batch)
        elif at < stop:
            self._scan_fast(view, at, stop, offset, batch)
        return batch

    def scan_tail(self, raw: bytes, offset: int) -> Batch | None:
        """The entry in the bytes behind the last line break, if they are whole; None for half a line."""
        found = list(pieces(raw))
        if not found or found[-1].body is None:
            return None
        batch = Batch()
        self._next_line()
        self._take(found, offset, batch)
        self._in_line = True
        return batch

    def scan_long(self, head: bytes, tail: bytes, offset: int, size: int) -> Batch:
        """The entry on a line too long to be held, by its first and last bytes."""
        batch, line = Batch(), self._next_line()
        row = _fast_row(head + tail, 0, len(head) + len(tail), offset, line) if self.header else None
        if row is None:
            self._tell(batch, "malformedLine", f"a line of {size:,} bytes that pi did not write")
        elif size > MAX_BODY_BYTES:
            self._tell(batch, "lineTooLong", f"a line of {size:,} bytes keeps its place only", row.id)
            batch.rows.append(row._replace(size=0, flags=DAMAGED))
        else:
            batch.rows.append(row._replace(size=size))
        return batch

    def _next_line(self) -> int:
        if not self._in_line:
            self.line += 1
        self._in_line = False
        return self.line

    def _scan_line(self, view: bytes | bytearray, at: int, stop: int, offset: int, batch: Batch) -> int:
        end = view.find(b"\n", at, stop)
        self._next_line()
        self._take(pieces(bytes(view[at:end])), offset + at, batch)
        return end + 1

    def _scan_fast(self, view: bytes | bytearray, at: int, stop: int, offset: int, batch: Batch) -> None:
        """The lines of a slice by their prefixes, if each holds one `parentId`; line by line if not.

        A second entry on a line (behind a torn one, say) shows as a second `parentId`. One count over the slice
        is cheaper than a look at each line.
        """
        line, in_line, derived = self.line, self._in_line, set(self._derived)
        trial = Batch()
        keys = self._scan_lines(view, at, stop, offset, trial, careful=False)
        if keys != view.count(_PARENT_KEY, at, stop):
            self.line, self._in_line, self._derived = line, in_line, derived
            trial = Batch()
            self._scan_lines(view, at, stop, offset, trial, careful=True)
        batch.bodies |= {len(batch.rows) + index: body for index, body in trial.bodies.items()}
        batch.rows += trial.rows
        batch.problems += trial.problems

    def _scan_lines(
        self, view: bytes | bytearray, at: int, stop: int, offset: int, batch: Batch, *, careful: bool
    ) -> int:
        """Appends what the lines hold to `batch`; how many `parentId` keys they should hold altogether.

        The lines that pi writes most are taken in place: opening a session is this loop.
        """
        add, find, plain = batch.rows.append, view.find, None if careful else _PLAIN_KINDS.get
        keys, minute_before, base = 0, b"", NO_TIME
        line = self.line - self._in_line  # an entry that ended without a line break began this line
        self._in_line = False
        while at < stop:
            end, line = find(b"\n", at, stop), line + 1
            match = _written(view, at, end)
            if match is not None and plain is not None and view[end - 1] == _BRACE:
                name, entry_id, parent_id, minute, second, ms, role = match.groups()
                kind = plain((name, role))
                if minute != minute_before:
                    minute_before, base = minute, minute_ms(minute)
                if kind is not None and base != NO_TIME:
                    parent = parent_id and parent_id.decode()
                    time = base + _MS_OF_SECONDS[second] + _MS_OF_DIGITS[ms]
                    add(_new_row(Row, (entry_id.decode(), parent, kind, time, offset + at, end - at, 0, line)))
                    keys, at = keys + 1, end + 1
                    continue
            self.line = line
            keys += self._scan_other(view, at, end, offset, batch, careful=careful)
            at = end + 1
        self.line = line
        return keys

    def _scan_other(
        self, view: bytes | bytearray, at: int, end: int, offset: int, batch: Batch, *, careful: bool
    ) -> int:
        row = _fast_row(view, at, end, offset, self.line)
        if row is None or (careful and view.count(_PARENT_KEY, at, end) > 1):
            self._take(pieces(bytes(view[at:end])), offset + at, batch)
            return view.count(_PARENT_KEY, at, end)
        batch.rows.append(row)
        return 1

    def _take(self, found: Iterable[Piece], offset: int, batch: Batch) -> None:
        for index, piece in enumerate(found):
            if piece.error:
                named = None if piece.salvaged.get("type") == "session" else id_text(piece.salvaged.get("id"))
                self._tell(batch, piece.error, piece.reason, named)
            if piece.body is None and (self.version == 1 or "parentId" not in piece.salvaged):
                if "parentId" in piece.salvaged:
                    self.seeming.append(offset + piece.start)
                continue  # version 1 has no ids: nothing of a damaged line can keep a place
            body = piece.salvaged if piece.body is None else piece.body
            if body.get("type") == "session" or self.header is None:
                self._take_header(piece, body, offset, batch)
            else:
                self._take_entry(piece, body, offset, index, batch)

    def _take_header(self, piece: Piece, body: dict[str, Any], offset: int, batch: Batch) -> None:
        if self.header is not None:
            self._tell(batch, "duplicateHeader", "a second session header; it is left out")
        elif body.get("type") != "session" or not isinstance(body.get("id"), str) or not body["id"]:
            self.foreign = True
        else:
            self.header, self.session_id = body, body["id"]
            self.header_span = (offset + piece.start, piece.stop - piece.start)
            version = body.get("version")
            if version is None:
                self.version = 1
            else:
                self.version = version if isinstance(version, int) and version > 0 else FORMAT_VERSION

    def _take_entry(self, piece: Piece, body: dict[str, Any], offset: int, index: int, batch: Batch) -> None:
        entry_id, parent_id, derived = self._link(body, index, batch)
        kind = kind_of(body)
        if piece.body is None:
            kind = Kind.OTHER if kind in TOLD else kind
        elif kind in TOLD:
            batch.bodies[len(batch.rows)] = body
        time = canonical_ms(body.get("timestamp"))
        place = (offset + piece.start, piece.stop - piece.start)
        flags = DAMAGED if piece.body is None else UNCLEAN if piece.error == INVALID_UTF8 else 0
        flags |= (DERIVED if derived else 0) | (JOINED if index else 0)
        batch.rows.append(Row(entry_id, parent_id, kind, time, *place, flags, self.line))

    def _link(self, body: dict[str, Any], index: int, batch: Batch) -> tuple[str, str | None, bool]:
        """The entry's id and its parent's, as stored, or by file order in version 1; whether the id was derived."""
        entry_id = id_text(body.get("id")) if self.version > 1 else None
        derived = entry_id is None
        if entry_id is None:
            entry_id = self._derive(index)
            if self.version > 1:
                self._tell(batch, "missingId", f"an entry without an id; it is called {entry_id}", entry_id)
        parent_id = id_text(body.get("parentId")) if self.version > 1 else self._last_id
        self._last_id = entry_id
        return entry_id, parent_id, derived

    def _derive(self, index: int) -> str:
        place = f"{self.line}" if index == 0 else f"{self.line}.{index}"
        while True:
            entry_id = derived_id(self.session_id, place, self._taken)
            if entry_id not in self._derived:
                self._derived.add(entry_id)
                return entry_id
            place += "'"

    def _tell(self, batch: Batch, kind: str, message: str, entry_id: str | None = None) -> None:
        batch.problems.append(Problem(line=self.line, kind=kind, message=message, entry_id=entry_id))


def _fast_row(view: bytes | bytearray, at: int, end: int, offset: int, line: int) -> Row | None:
    if end > at and view[end - 1] == _RETURN:
        end -= 1
    if end == at or view[end - 1] != _BRACE:
        return None
    if match := _written(view, at, end):
        name, entry_id, parent_id, minute, second, ms, role = match.groups()
    elif match := _migrated(view, at, end):
        name, minute, second, ms, role = match.groups()
        if not (tail := _migrated_tail(view, max(at, end - _TAIL_BYTES), end)):
            return None
        entry_id, parent_id = tail.groups()
    else:
        return None
    kind = KINDS_BY_BYTES.get((name, role))
    if kind is None:
        kind = Kind.MESSAGE if name == b"message" else Kind.OTHER
    if kind in TOLD or name == b"session" or (kind == Kind.CUSTOM and view.find(_MARKER, at, end) > 0):
        return None
    if kind == Kind.MESSAGE and role is None:
        return None  # the role, if there is one, does not stand first
    base = minute_ms(minute)
    time = base if base == NO_TIME else base + int(second) * 1000 + int(ms)
    parent = None if parent_id is None else parent_id.decode()
    return Row(entry_id.decode(), parent, kind, time, offset + at, end - at, 0, line)
