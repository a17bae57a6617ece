"""Finds the entries in the bytes of a session file, a slice of complete lines at a time.

Lines that show by how they begin what they hold are not parsed (`prefixes.py`); every other line is. Nothing is
dropped: each complete JSON object counts, and all other bytes are told as problems. This module never reads a file
and builds no tree.
"""

from collections.abc import Container, Iterable
from typing import Any, Final

from pid.core.batch import Batch
from pid.core.pieces import Piece, pieces
from pid.core.prefixes import TOLD, UNKNOWN, rows_of
from pid.entries import FORMAT_VERSION, INVALID_UTF8, Kind, canonical_ms, derived_id, id_text, kind_of
from pid.protocol import Problem

PROVEN: Final = 1  # the body is known to be valid as it stands
UNCLEAN: Final = 2  # the body is valid, but some of its bytes go out as U+FFFD
DAMAGED: Final = 4  # there is no valid body: the entry only keeps its place
DERIVED: Final = 16  # the file holds no id for the entry (8 is `tree.HIDDEN`)
JOINED: Final = 32  # something else stands before it on its line
PLAIN: Final = 128  # proven, and its message is the rest of its line (64 is `tree.RELINKED`)
_PARENT_KEY: Final = b'"parentId"'
MAX_BODY_BYTES: Final = 256 << 20
"""A longer entry cannot go out in any message: it keeps its place in the tree, without a body."""


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
        if stop and self.header is not None and self.version >= FORMAT_VERSION:
            return self._scan_fast(view, 0, stop, offset)
        batch, at = Batch(), 0
        while at < stop and (self.header is None or self.version < FORMAT_VERSION):
            at = self._scan_line(view, at, stop, offset, batch)
        return batch.followed_by(self._scan_fast(view, at, stop, offset)) if at < stop else batch

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
        batch, line, known = Batch(), self._next_line(), head + tail + b"\n"
        found = rows_of(known, 0, len(known), offset, line)
        if self.header is None or found.kinds[0] == UNKNOWN:
            self._tell(batch, "malformedLine", f"a line of {size:,} bytes that pi did not write")
            return batch
        if size > MAX_BODY_BYTES:
            self._tell(found, "lineTooLong", f"a line of {size:,} bytes keeps its place only", found.ids[0])
            found.flags[0] = DAMAGED
        found.sizes[0] = 0 if found.flags[0] else size
        return found

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

    def _scan_fast(self, view: bytes | bytearray, at: int, stop: int, offset: int) -> Batch:
        """The lines of a slice by how they begin, those that hold one `parentId` each; the others are taken apart.

        A second entry on a line (behind a torn one, say) shows as a second `parentId`. One count over a run of lines
        is cheaper than a look at each.
        """
        before = self.line - self._in_line  # an entry that ended without a line break began the next line
        self._in_line = False
        found = rows_of(view, at, stop, offset, before + 1)
        whole = range(len(found.kinds))
        if UNKNOWN in found.kinds or _keys(view, found, whole, offset) != len(whole):
            found = self._taken_apart(view, found, offset)
        self.line = before + len(whole)
        return found

    def _taken_apart(self, view: bytes | bytearray, found: Batch, offset: int) -> Batch:
        """The same lines, with what is on those of unknown kinds and on joined ones."""
        batch, kinds, done = Batch(), found.kinds, 0
        while done < len(kinds):
            other = kinds.find(UNKNOWN, done)
            run = range(done, len(kinds) if other < 0 else other)
            if run and _keys(view, found, run, offset) != len(run):
                _mark_joined(view, found, run, offset)
                continue
            batch.take(found, run)
            done = run.stop
            if other >= 0:
                self.line, start = found.lines[other], found.starts[other]
                self._take(pieces(bytes(view[start - offset : start - offset + found.sizes[other]])), start, batch)
                done += 1
        return batch

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
            batch.bodies[len(batch.ids)] = body
        time = canonical_ms(body.get("timestamp"))
        place = (offset + piece.start, piece.stop - piece.start)
        flags = DAMAGED if piece.body is None else UNCLEAN if piece.error == INVALID_UTF8 else 0
        flags |= (DERIVED if derived else 0) | (JOINED if index else 0)
        batch.add(entry_id, parent_id, kind, time, *place, flags, self.line)

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
        entry_id = derived_id(self.session_id, place, self._taken, self._derived)
        self._derived.add(entry_id)
        return entry_id

    def _tell(self, batch: Batch, kind: str, message: str, entry_id: str | None = None) -> None:
        batch.problems.append(Problem(line=self.line, kind=kind, message=message, entry_id=entry_id))


def _keys(view: bytes | bytearray, found: Batch, run: range, offset: int) -> int:
    """How many `parentId` keys stand on the lines of a run."""
    start, last = found.starts[run.start] - offset, run.stop - 1
    return view.count(_PARENT_KEY, start, found.starts[last] - offset + found.sizes[last])


def _mark_joined(view: bytes | bytearray, found: Batch, run: range, offset: int) -> None:
    for index in run:
        if _keys(view, found, range(index, index + 1), offset) > 1:
            found.kinds[index] = UNKNOWN
