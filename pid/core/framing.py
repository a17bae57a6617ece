"""LSP framing, without I/O: bytes in any chunking give the same events, and a length gives a header.

A message is a block of header lines that states `Content-Length`, a blank line, and that many bytes. `Framer`
takes what was read and tells what it holds: a `Body`, or what is wrong with the stream. It serves both sides
of a connection. It never reads a descriptor, never looks inside a body, never makes more room for one than
twice what has arrived, and never gives up on a stream:

- Header names come in any case, with or without blanks around the colon; lines may end in LF alone; unknown
  headers, blank lines between messages and anything on other lines are ignored.
- A block without one usable length (none, not a number, negative, two that differ, past `BELIEVED`) or longer
  than `MAX_HEADER` is reported as `BadHeader`. The stream goes on at the next text that states a length at
  the end of its line, which no JSON text can hold.
- A body past the limit is reported as `Oversized` with its first bytes, and passed over without being kept.
- An end of input inside a header or a body is reported as `CutOff`; what was there is never given as a body.
"""

import re
from typing import Final, NamedTuple

MAX_BODY: Final = 256 * 1024 * 1024
MAX_HEADER: Final = 8 * 1024
BELIEVED: Final = 64 * 1024**3  # a length past this is a fault in the header, not a body to wait for
HEAD: Final = 1024  # the bytes of an oversized body that are reported: enough to find the id of a request
_FIRST_ROOM: Final = 1024 * 1024  # room made for a body before any of it has come
_SEEK_TAIL: Final = 64  # longer than the longest text that _SEEK matches

_PLAIN: Final = re.compile(rb"Content-Length: ([0-9]{1,9})\r\n\r\n")  # the header that nearly all messages have
_BLANKS: Final = re.compile(rb"[\r\n]*")
_BLOCK_END: Final = re.compile(rb"\n\r?\n")
_LENGTH: Final = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$")
_SEEK: Final = re.compile(rb"(?i)content-length[ \t]{0,8}:[ \t]{0,8}[0-9]{1,15}[ \t]{0,8}\r?\n")


class Body(NamedTuple):
    """The bytes of one message: `bytes`, or a `bytearray` that nobody else holds."""

    data: bytes | bytearray


class Oversized(NamedTuple):
    """A body of `length` bytes, past the limit: `head` is how it begins, the rest is passed over."""

    length: int
    head: bytes


class BadHeader(NamedTuple):
    """Header lines that do not say where their message ends."""

    reason: str


class CutOff(NamedTuple):
    """The input ended inside a message: after `received` bytes of `expected`, or in a header (None)."""

    received: int
    expected: int | None


Event = Body | Oversized | BadHeader | CutOff


def header(length: int) -> bytes:
    """What goes out before a body of `length` bytes."""
    return b"Content-Length: %d\r\n\r\n" % length


class Framer:
    """One direction of one connection.

    `receive(data)` takes what was read. While the rest of a body is `due`, the reader may instead read
    straight into its `room()` and say `filled(count)`, which saves a copy. `end()` is said once, at the end of
    input.
    """

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self.max_body = max_body
        self._rest = b""  # header bytes that do not make a block yet; at most MAX_HEADER
        self._seeking = False  # after a bad header: looking for text that states a length
        self._body: bytearray | None = None
        self._have = 0  # bytes of the body that are here (or, of an oversized one, passed over)
        self._want = 0
        self._head: bytearray | None = None  # of an oversized body; None once it is reported

    def receive(self, data: bytes) -> list[Event]:
        """What `data` completes, in order."""
        events: list[Event] = []
        at = 0
        if self._want:
            at = self._continue_body(data, events)
            if self._want:
                return events
        elif self._rest:
            data, self._rest = self._rest + data, b""
        size = len(data)
        while at < size:
            step = self._seek(data, at) if self._seeking else self._block(data, at, events)
            if step is None:
                break
            at = step
        return events

    @property
    def due(self) -> int:
        """The bytes of a body that are still to come, if there is one to keep."""
        return 0 if self._body is None else self._want - self._have

    def room(self) -> memoryview | None:
        """Where the next bytes of a body go, if one is due; never empty. To be released before `filled`."""
        return None if self._body is None else self._space(self._body)

    def filled(self, count: int) -> list[Event]:
        """`count` bytes were read into `room()`."""
        self._have += count
        if self._body is None or self._have < self._want:
            return []
        body, self._body = self._body, None
        self._have = self._want = 0
        return [Body(body)]

    def end(self) -> list[Event]:
        """The input has ended: what is told of a message that is not whole."""
        if self._head is not None:
            return [Oversized(self._want, bytes(self._head))]
        if self._body is not None:
            return [CutOff(self._have, self._want)]
        if self._rest and not self._seeking and not self._want:
            return [CutOff(0, None)]
        return []

    def _block(self, data: bytes, start: int, events: list[Event]) -> int | None:
        """Take the header block at `start` and, if it is whole, the body: where the next one starts."""
        plain = _PLAIN.match(data, start)
        if plain is not None:
            return self._start_body(int(plain[1]), data, plain.end(), events)
        found = _BLANKS.match(data, start)
        start = found.end() if found else start
        ending = _BLOCK_END.search(data, start, start + MAX_HEADER)
        if ending is None and len(data) - start < MAX_HEADER:
            self._rest = data[start:]
            return None
        stop = start + MAX_HEADER if ending is None else ending.end()
        lengths = set(_LENGTH.findall(data[start:stop]))  # a slice: its first line may follow a body directly
        reason = f"a header is longer than {MAX_HEADER} bytes" if ending is None else _fault(lengths)
        if reason is not None:
            events.append(BadHeader(reason))
            self._seeking = True
            return stop if lengths else start
        return self._start_body(int(lengths.pop()), data, stop, events)

    def _seek(self, data: bytes, start: int) -> int | None:
        found = _SEEK.search(data, start)
        if found is None:
            self._rest = data[max(start, len(data) - _SEEK_TAIL) :]
            return None
        self._seeking = False
        return found.start()

    def _start_body(self, length: int, data: bytes, at: int, events: list[Event]) -> int:
        stop = at + length
        if length <= self.max_body and stop <= len(data):
            events.append(Body(data[at:stop]))
            return stop
        self._have, self._want = 0, length
        if length > self.max_body:
            self._head = bytearray()
        else:
            self._body = bytearray(min(length, max(_FIRST_ROOM, len(data) - at)))
        return at + self._continue_body(memoryview(data)[at:], events)

    def _continue_body(self, data: bytes | memoryview, events: list[Event]) -> int:
        """Take what `data` holds of the body that is due: how many bytes that was."""
        count = min(len(data), self._want - self._have)
        if self._body is None:
            self._pass_over(data, count, events)
            return count
        taken = 0
        while taken < count and self._body is not None:
            with self._space(self._body) as view:
                part = min(len(view), count - taken)
                view[:part] = data[taken : taken + part]
            taken += part
            events += self.filled(part)
        return count

    def _space(self, body: bytearray) -> memoryview:
        if self._have == len(body):
            body.extend(bytes(min(len(body), self._want - self._have)))
        return memoryview(body)[self._have :]

    def _pass_over(self, data: bytes | memoryview, count: int, events: list[Event]) -> None:
        self._have += count
        if self._head is not None:
            self._head += data[: min(count, HEAD - len(self._head))]
            if len(self._head) == HEAD or self._have == self._want:
                events.append(Oversized(self._want, bytes(self._head)))
                self._head = None
        if self._have == self._want:
            self._have = self._want = 0


def _fault(lengths: set[bytes]) -> str | None:
    """Why these values of Content-Length do not say where the body ends; None if they do."""
    if not lengths:
        return "no Content-Length in a header"
    if len(lengths) > 1:
        return "two values of Content-Length in a header"
    value = next(iter(lengths))
    if not (value.isdigit() and len(value) <= 15 and int(value) <= BELIEVED):
        return f"Content-Length is not a length: {value[:40].decode('ascii', 'replace')}"
    return None
