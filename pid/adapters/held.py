"""A hold on the bytes of a session that a thread may read while the session itself goes on, or is closed.

It opens nothing and writes nothing: what is stored before the end of an index never changes, and the file that a
descriptor holds stays that file, whatever its name comes to mean.
"""

import os
from typing import Final

from pid.adapters.failures import read_failed
from pid.errors import SessionChangedOnDisk

_CHUNK: Final = 1 << 20


class Held:
    """A second hold on the bytes of a session file: `descriptor` is its own, to be given back with `close`."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path

    def read(self, start: int, size: int) -> bytes:
        """The bytes at a place. Raises `ReadFailed`, `SessionChangedOnDisk`."""
        raw = b""
        try:
            while len(raw) < size and (more := os.pread(self.descriptor, size - len(raw), start + len(raw))):
                raw += more
        except OSError as error:
            raise read_failed(self.path, error) from None
        if len(raw) < size:
            raise SessionChangedOnDisk(f"{self.path} became shorter.", reason="truncated", path=self.path)
        return raw

    def line_end(self, start: int) -> int:
        """Where the line ends on which a place is: at its line break, or at the end of the file."""
        while chunk := os.pread(self.descriptor, _CHUNK, start):
            if (found := chunk.find(b"\n")) >= 0:
                return start + found
            start += len(chunk)
        return start

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self.descriptor)


class HeldBytes:
    """The same for a session in memory."""

    def __init__(self, stored: bytes) -> None:
        self.stored = stored

    def read(self, start: int, size: int) -> bytes:
        """The bytes at a place."""
        return self.stored[start : start + size]

    def line_end(self, start: int) -> int:
        """Where the line ends on which a place is."""
        found = self.stored.find(b"\n", start)
        return len(self.stored) if found < 0 else found

    def close(self) -> None:
        """There is nothing to give back."""
