"""Lines from a child process, each within a time: a program that hangs must not hang who asked it."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass
from typing import IO

CHUNK = 1 << 20


class Ended(Exception):
    """The process closed its end in the middle of a line, or before one."""


@dataclass
class Lines:
    """What `stream` brings, by line and without copying a long line twice."""

    stream: IO[bytes]
    _rest: bytes = b""

    def next(self, seconds: float) -> bytes:
        """The next line, without its end. Raises `TimeoutError` and `Ended`; then the rest is lost."""
        deadline = time.monotonic() + seconds
        parts = []
        chunk, self._rest = self._rest, b""
        while (end := chunk.find(b"\n")) < 0:
            parts.append(chunk)
            chunk = self._read(deadline)
        self._rest = chunk[end + 1 :]
        return b"".join([*parts, chunk[:end]])

    def skip(self, count: int, seconds: float) -> None:
        """Passes over so many lines at the cost of counting them. Raises as `next` does."""
        deadline = time.monotonic() + seconds
        chunk, self._rest = self._rest, b""
        while (here := chunk.count(b"\n")) < count:
            count -= here
            chunk = self._read(deadline)
        self._rest = chunk.split(b"\n", count)[count]

    def _read(self, deadline: float) -> bytes:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self.stream], [], [], left)[0]:
            raise TimeoutError
        if chunk := os.read(self.stream.fileno(), CHUNK):
            return chunk
        raise Ended
