"""When to end, and how to speak without a listener: signals, the parent process, stderr.

The daemon ends on SIGINT, SIGTERM or SIGHUP and when the process that the client named is gone. It never
sends a signal to anybody. What it says on stderr is dropped while nobody reads it, so that a full pipe never
holds it.
"""

import asyncio
import contextlib
import io
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, cast

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_EVERY: Final = 0.25  # seconds between looks at a parent, where the system cannot tell us
_PIPE_BUF: Final = 4096  # what a pipe that is ready takes without blocking


@contextlib.contextmanager
def on_signals(end: Callable[[str], None]) -> Iterator[None]:
    """Inside, `end(reason)` is called instead of dying. Outside the main thread nothing changes."""
    loop = asyncio.get_running_loop()
    ours = SIGNALS if threading.current_thread() is threading.main_thread() else ()
    for number in ours:
        loop.add_signal_handler(number, end, f"received {number.name}")
    try:
        yield
    finally:
        for number in ours:
            loop.remove_signal_handler(number)


def watch_process(pid: int, gone: Callable[[], None]) -> Callable[[], None]:
    """Call `gone()` once, when process `pid` has ended; the result stops watching.

    A pid that is not visible now (another container) is not watched. Linux tells us through a pidfd, which
    cannot mistake a later process for this one; elsewhere we look.
    """
    if pid <= 0 or not _is_visible(pid):
        return lambda: None
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return _look_out(loop, pid, gone)

    def stop() -> None:
        nonlocal descriptor
        if descriptor >= 0:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            descriptor = -1

    def ended() -> None:
        stop()
        gone()

    loop.add_reader(descriptor, ended)
    return stop


def _look_out(loop: asyncio.AbstractEventLoop, pid: int, gone: Callable[[], None]) -> Callable[[], None]:
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        if _is_visible(pid):
            timer = loop.call_later(_LOOK_EVERY, look)
        else:
            gone()

    timer = loop.call_later(_LOOK_EVERY, look)
    return lambda: timer.cancel()


def _is_visible(pid: int) -> bool:
    """Whether there is such a process; asking for its group touches nothing."""
    try:
        os.getpgid(pid)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


class _PatientRaw(io.RawIOBase):
    """Writes to a descriptor what it takes without blocking, and drops the rest."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        view = memoryview(data)
        with contextlib.suppress(OSError):  # nobody is there to be told
            for start in range(0, len(view), _PIPE_BUF):
                if not self._ready.poll(0):
                    break
                os.write(self._descriptor, view[start : start + _PIPE_BUF])
        return len(view)


@contextlib.contextmanager
def patient_stderr() -> Iterator[None]:
    """Inside, `sys.stderr`, `sys.stdout` and the log go to stderr, as far as somebody reads it."""
    before = sys.stdout, sys.stderr
    raw = cast(BinaryIO, _PatientRaw(2))
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream in before
    ]
    streams = [handler.setStream(stream) for handler in handlers]
    sys.stdout = sys.stderr = stream
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for handler, old in zip(handlers, streams, strict=True):
            handler.setStream(old)
