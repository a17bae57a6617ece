"""One client: what it sent and when it is looked at, what goes back, and how the connection ends.

`Connection` takes messages from the `Reader` and gives them to its `Receiver` in arrival order, some in each
turn of the loop. What it holds for a client is bounded: past `MAX_OUT` bytes that the client has not taken, or
while the receiver is `full`, messages wait; past `MAX_WAITING` bytes that wait, it stops reading. So a client
may write hundreds of requests before it reads its first answer, and cannot fill the memory.

Order: the receiver acts on each message at once, and a request's handler runs up to its first suspension then.
So requests begin in the order of their arrival, and a cancel never comes before its request has begun.
"""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from typing import Final, Protocol

from pid.core.framing import Body, Event, Framer, header
from pid.service.turns import together
from pid.shell.envelope import Incoming, read_event
from pid.shell.lifeline import on_signals
from pid.shell.transport import Buffer, Reader, Writer, unblocked

logger = logging.getLogger(__name__)

MAX_OUT: Final = 64 * 1024 * 1024
MAX_WAITING: Final = 64 * 1024 * 1024
FINISH_WITHIN: Final = 0.5  # seconds for what was received, at the end; then it is cancelled
FLUSH_WITHIN: Final = 0.15  # seconds for the client to take the last answers
_TURN: Final = 0.002  # seconds of acting on messages before other work gets the loop
_OVERHEAD: Final = 200  # bytes that a waiting message takes beside its body
_COPIED: Final = 64 * 1024  # up to this size a message leaves as one buffer


class Receiver(Protocol):
    """Who looks at messages."""

    def full(self) -> bool:
        """Whether so much is open that new messages wait."""

    def take(self, message: Incoming, size: int) -> None:
        """Act on a message; `size` is what it holds of the memory."""

    async def drain(self, grace: float) -> None:
        """Answer all that is open within `grace` seconds and a little more."""

    async def settle(self) -> None:
        """Answer what waited for `drain` itself."""


class Connection:
    """A client on a pair of descriptors. `run` serves it to its end. `send` may be called by any thread."""

    def __init__(self, receiver: Receiver, reading: int, writing: int, max_body: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._receiver = receiver
        self._descriptors = reading, writing
        self._reader = Reader(reading, Framer(max_body), self._deliver, lambda: self.end("the input ended"))
        self._writer = Writer(writing, self._taken, lambda: self.end("the client does not read any more"))
        self._waiting: deque[Event] = deque()
        self._waiting_bytes = 0
        self._scheduled = False
        self._ended = asyncio.Event()
        self._moved = asyncio.Event()  # set whenever the client has taken something

    async def run(self) -> None:
        """Serve until the input ends, a signal comes or `end` is called; answer what was received; flush."""
        with unblocked(*self._descriptors), on_signals(self.end):
            try:
                self._reader.start()
                await self._ended.wait()
                self._reader.close()
                await self._finish()
            finally:
                self._reader.close()
                self._writer.close()

    async def _finish(self) -> None:
        deadline = self._loop.time() + FINISH_WITHIN
        while self._waiting and self._loop.time() < deadline:
            self.wake()
            await asyncio.sleep(0)
        if self._waiting:
            logger.warning("%d messages were not looked at", len(self._waiting))
        await self._receiver.drain(deadline - self._loop.time())
        await self._receiver.settle()
        await self._flush()

    def end(self, reason: str, *, discard: bool = False) -> None:
        """Stop reading and bring `run` to its end. What was received is still done, unless discarded."""
        if not self._ended.is_set():
            logger.info("the connection ends: %s", reason)
        if discard:
            self._waiting.clear()
        self._ended.set()

    def send(self, parts: list[Buffer]) -> None:
        """Send one message, whose body is `parts`."""
        if threading.get_ident() != self._thread:
            with contextlib.suppress(RuntimeError):  # the loop is closed: there is no client any more
                self._loop.call_soon_threadsafe(self.send, parts)
            return
        size = sum(map(len, parts))
        if size <= _COPIED:
            self._writer.send([b"".join((header(size), *parts))])
        else:
            self._writer.send([header(size), *parts])

    def wake(self) -> None:
        """Something has changed that messages may wait for."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._next_turn)

    def _taken(self) -> None:
        self._moved.set()
        self.wake()

    def _deliver(self, events: list[Event]) -> None:
        self._waiting.extend(events)
        self._waiting_bytes += sum(map(_weight, events))
        if self._scheduled:
            self._steer()
        else:
            self._turn()

    def _next_turn(self) -> None:
        self._scheduled = False
        self._turn()

    def _turn(self) -> None:
        """Acts on what waits, for a while; all of it was sent before, so it shares its looks at files."""
        until = self._loop.time() + _TURN
        with together():
            while self._waiting and not self._stalled() and self._loop.time() < until:
                event = self._waiting.popleft()
                size = _weight(event)
                self._waiting_bytes -= size
                self._receiver.take(read_event(event), size)
        if self._waiting and not self._stalled():
            self.wake()
        self._steer()

    def _stalled(self) -> bool:
        """Whether messages wait for the client to read, or for open requests to be done."""
        if self._ended.is_set():
            return False
        return self._writer.queued > MAX_OUT or self._receiver.full()

    def _steer(self) -> None:
        """Read on only while nothing waits, or while what waits cannot go on and is not much."""
        if self._waiting and (self._waiting_bytes > MAX_WAITING or not self._stalled()):
            self._reader.pause()
        elif not self._ended.is_set():
            self._reader.start()

    async def _flush(self) -> None:
        self._writer.flush()
        deadline = self._loop.time() + FLUSH_WITHIN
        while self._writer.queued and self._loop.time() < deadline:
            self._moved.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._moved.wait()
        if self._writer.queued:
            logger.warning("the client did not take %d bytes", self._writer.queued)


def _weight(event: Event) -> int:
    return _OVERHEAD + (len(event.data) if isinstance(event, Body) else 0)
