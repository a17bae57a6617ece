"""Work that blocks, in threads: what can be stopped, and what must come to its end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The caller is gone; raised inside the thread."""


async def stoppable(threads: Executor, work: Callable[[Callable[[], None]], T]) -> T:
    """Runs `work` in a thread. It is given a function to call now and then, which raises once this is cancelled.

    Returns, also when cancelled, only when the thread is through with it.
    """
    stop = threading.Event()

    def going_on() -> None:
        if stop.is_set():
            raise Stopped

    future = asyncio.get_running_loop().run_in_executor(threads, work, going_on)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
            stop.set()
    if cancelled is not None:
        future.exception()
        raise cancelled
    return future.result()


async def unstoppable(threads: Executor, work: Callable[[], T]) -> T:
    """Runs `work` in a thread and returns its result, whoever is cancelled meanwhile."""
    future = asyncio.get_running_loop().run_in_executor(threads, work)
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    return future.result()
