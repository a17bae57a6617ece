"""The journal of a session that is kept in memory only: the same face as `Journal`, and no file.

Nothing of it survives the daemon. It needs no lock and no sync, and nobody else writes to it.
"""

from collections.abc import Container, Iterator, Sequence

from pid.adapters.held import HeldBytes
from pid.adapters.journal import Found
from pid.core.batch import Batch
from pid.core.lines import Scanner
from pid.core.spans import Span


class MemoryJournal:
    """Stored bytes in memory; see `Journal` for what each method promises."""

    path: None = None
    locks = True
    ends_whole = True

    def __init__(self, header: bytes, taken: Container[str]) -> None:
        self.scanner = Scanner(taken)
        self.end = 0
        self._stored = bytearray(header + b"\n")

    def advance(self, *, opening: bool = False) -> Iterator[Batch]:
        """Indexes what was written since."""
        if self.end < len(self._stored):
            fresh = bytes(self._stored[self.end :])
            batch = self.scanner.scan(fresh, len(fresh), self.end)
            self.end = len(self._stored)
            yield batch

    def verify(self) -> Found:
        """Nobody else writes here: there is never anything new."""
        return Found.SAME

    def read(self, spans: Sequence[Span]) -> list[bytes]:
        """The stored bytes at each place."""
        return [bytes(self._stored[start : start + size]) for start, size in spans]

    def runs(self, spans: Sequence[Span]) -> Iterator[tuple[bytes, list[Span]]]:
        """The same, each on its own; see `Journal.runs`."""
        return ((stored, [(0, len(stored))]) for stored in self.read(spans))

    def hold(self) -> HeldBytes:
        """What is stored now, for a thread."""
        return HeldBytes(bytes(self._stored))

    def line_at(self, offset: int) -> int:
        """The line (from 1) that a place is on."""
        return self._stored.count(b"\n", 0, offset) + 1

    def try_lock(self) -> bool:
        """There is nobody to lock out."""
        return True

    def unlock(self) -> None:
        """Nothing to give back."""

    def write(self, lines: bytes) -> None:
        """Appends whole lines."""
        self._stored += lines + b"\n"

    def sync(self) -> None:
        """Memory lasts as long as the daemon."""

    def close(self) -> None:
        """Forgets the bytes."""
        self._stored.clear()
