"""Counts messages in a stream without taking them apart: a client so cheap that the figures show the daemon."""

from __future__ import annotations

import re

HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n")  # the daemon writes no other


class FrameCounter:
    """`whole` is how many messages have come to their end, whatever the chunks were."""

    def __init__(self) -> None:
        self.whole = 0
        self._due = 0  # bytes of a body that are still to come
        self._rest = b""  # of a header that is not whole yet

    def receive(self, chunk: bytes) -> int:
        """`whole` behind this chunk. Raises ValueError for what is no message."""
        if self._due > len(chunk):
            self._due -= len(chunk)
            return self.whole
        if self._due:
            self.whole += 1
        at, self._due = self._due, 0
        data = self._rest + chunk[at:] if self._rest or at else chunk
        self._rest = b""
        self._headers(data)
        return self.whole

    def _headers(self, data: bytes) -> None:
        at, size, match = 0, len(data), HEADER.match
        while header := match(data, at):
            at = header.end() + int(header[1])
            if at > size:
                self._due = at - size
                return
            self.whole += 1
        self._rest = data[at:]
        if len(self._rest) > len(b"Content-Length: \r\n\r\n") + 20:
            raise ValueError(f"not a message: {self._rest[:100]!r}")
