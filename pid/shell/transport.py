"""Bytes in and out of the process, on the event loop and never blocking it.

`Reader` hands on the events of a `Framer` as they arrive; `Writer` keeps the order of what it is given and
writes it as the other side takes it. Both work on any pair of descriptors: pipes, sockets, terminals, files.
`stdio()` takes the process's own away from everybody else, so that no stray `print` can break the framing.
Nothing here knows JSON, and nothing here decides when to stop reading: that is the caller's.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from pid.core.framing import Event, Framer

logger = logging.getLogger(__name__)

CHUNK: Final = 64 * 1024  # bytes read at once; for more, malloc asks the system for memory each time
_IN_PLACE: Final = 64 * 1024  # a body with at least this much to come is read into its place
_PIPE: Final = 1024 * 1024
_BUFFERS: Final = 512  # buffers in one writev (IOV_MAX is 1024)
_BURST: Final = 1024 * 1024  # bytes written in one go, before other work gets the loop

Buffer = bytes | bytearray | memoryview


@contextlib.contextmanager
def stdio() -> Iterator[tuple[int, int]]:
    """Private descriptors of stdin and stdout. Meanwhile fd 0 is at its end, and fd 1 is stderr."""
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # a standard descriptor was closed: no other file may get its number
        null = os.dup(null)
    private = os.dup(0), os.dup(1)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    try:
        yield private
    finally:
        for target, descriptor in enumerate(private):
            os.dup2(descriptor, target)
            os.close(descriptor)


@contextlib.contextmanager
def unblocked(*descriptors: int) -> Iterator[None]:
    """The descriptors do not block inside; afterwards each is as it was (others may share them)."""
    before = [(descriptor, os.get_blocking(descriptor)) for descriptor in descriptors]
    for descriptor in descriptors:
        os.set_blocking(descriptor, False)
        _widen(descriptor)
    try:
        yield
    finally:
        for descriptor, blocking in before:
            os.set_blocking(descriptor, blocking)


def _widen(descriptor: int) -> None:
    """Let a pipe hold more, where the system can: a large message then takes fewer turns of both sides."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # no pipe, or no more is allowed
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)


class Reader:
    """Reads `descriptor` while it is started. `deliver` gets the events; `ended` is called once, at the end."""

    def __init__(
        self,
        descriptor: int,
        framer: Framer,
        deliver: Callable[[list[Event]], None],
        ended: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._framer = framer
        self._deliver = deliver
        self._ended = ended
        self._reading = False
        self._open = True
        self._pipe: int | None = None

    def start(self) -> None:
        if self._reading or not self._open:
            return
        self._reading = True
        try:
            self._loop.add_reader(self._descriptor, self._readable)
        except PermissionError:  # epoll takes neither files nor /dev/null
            self._descriptor = self._pipe = _pumped(self._descriptor)
            self._loop.add_reader(self._descriptor, self._readable)

    def pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._descriptor)

    def close(self) -> None:
        self.pause()
        self._open = False
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _readable(self) -> None:
        try:
            events = self._read()
        except BlockingIOError:
            return
        except OSError as error:  # a terminal that hung up, a socket that was reset
            logger.warning("reading failed: %s", error)
            events = None
        if events is None:
            self.close()
            self._deliver(self._framer.end())
            self._ended()
        elif events:
            self._deliver(events)

    def _read(self) -> list[Event] | None:
        """What one read gives; None at the end of input."""
        room = self._framer.room() if self._framer.due >= _IN_PLACE else None
        if room is None:
            data = os.read(self._descriptor, CHUNK)
            return self._framer.receive(data) if data else None
        with room:
            count = os.readv(self._descriptor, [room])
        return self._framer.filled(count) if count else None


def _pumped(descriptor: int) -> int:
    """A pipe that a thread fills with what `descriptor` holds: for files, which no selector waits for."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def pump() -> None:
        try:
            while data := os.read(descriptor, CHUNK):
                os.write(writing, data)
        except OSError as error:  # the reading end was closed, or the file cannot be read
            logger.debug("the pump of stdin ended: %s", error)
        finally:
            os.close(writing)

    threading.Thread(target=pump, name="pid-stdin", daemon=True).start()
    return reading


class Writer:
    """Writes buffers to `descriptor` in the order in which they were given, from the loop's thread only.

    The first that is sent in a round of the loop goes out at once, what follows in it together in the next one: a
    lone answer waits for nothing, and many small ones leave in one call.

    `queued` counts the bytes that the other side has not taken yet. `taken` is called when it has taken some
    after a wait; `broken` is called once, when the other side is gone: from then on all is dropped.
    """

    def __init__(self, descriptor: int, taken: Callable[[], None], broken: Callable[[], None]) -> None:
        self.queued = 0
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._taken = taken
        self._broken = broken
        self._queue: deque[Buffer] = deque()
        self._held = False  # something went out in this round
        self._waiting = False
        self._dead = False

    def send(self, buffers: list[Buffer]) -> None:
        """Queue the buffers, which go out as soon as the descriptor takes them."""
        if self._dead:
            return
        self._queue.extend(buffers)
        self.queued += sum(map(len, buffers))
        if not (self._held or self._waiting):
            self._held = True
            self._loop.call_soon(self.flush)
            self._write()

    def flush(self) -> None:
        """Write what is queued, as far as the descriptor takes it now."""
        self._held = False
        if self._queue and not self._waiting:
            self._write()

    def close(self) -> None:
        """Drop what was not taken."""
        self._dead = True
        self._wait(False)
        self._queue.clear()
        self.queued = 0

    def _write(self) -> None:
        budget = _BURST
        while self._queue and budget > 0:
            try:
                sent = os.writev(self._descriptor, list(islice(self._queue, _BUFFERS)))
            except BlockingIOError:
                break
            except OSError as error:
                logger.info("writing failed: %s", error)
                self.close()
                self._broken()
                return
            budget -= sent
            self._forget(sent)
        waited = self._waiting
        self._wait(bool(self._queue))
        if waited:
            self._taken()

    def _forget(self, sent: int) -> None:
        """Forget the first `sent` bytes of the queue."""
        self.queued -= sent
        while self._queue and sent >= len(self._queue[0]):
            sent -= len(self._queue.popleft())
        if sent:
            self._queue[0] = memoryview(self._queue[0])[sent:]

    def _wait(self, waiting: bool) -> None:
        if waiting and not self._waiting:
            self._loop.add_writer(self._descriptor, self._write)
        elif self._waiting and not waiting:
            self._loop.remove_writer(self._descriptor)
        self._waiting = waiting
