"""The turns of work on the event loop: what is short begins at once, what is long gives way.

`begin` runs the first step of a task where it is asked for, not in the loop's next round; most small requests are done
in that step, and of those that begin `together` one look at a file serves all. Of all that goes on in slices,
`next_turn` lets one slice run in each round of the loop, so a small request waits for few of them, however many long
answers are being made beside it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from types import coroutine
from typing import Any, Final
from weakref import WeakKeyDictionary


def begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Runs `work` up to its first suspension, at once; the task that goes on with it, or None if it is done.

    Raises what `work` raises until then. That step belongs to no task: what wants a current one (`asyncio.timeout`, a
    task group) must not stand in it.
    """
    context = copy_context()
    try:
        awaited = context.run(work.send, None)
    except StopIteration:
        return None
    if awaited is not None:
        awaited._asyncio_future_blocking = False  # until the task waits for it, others may await it too
    rest = _go_on(_rest(work, awaited))
    rest.send(None)
    return asyncio.Task(rest, loop=asyncio.get_running_loop(), context=context)


_moment: object | None = None


@contextmanager
def together() -> Iterator[None]:
    """What begins inside belongs to one moment: all of it was asked for before. Nothing may wait inside."""
    global _moment
    _moment = object()
    try:
        yield
    finally:
        _moment = None


def moment() -> object | None:
    """What tells this moment from others: within it, no file need be looked at twice. None outside of `together`."""
    return _moment


async def _go_on(rest: Awaitable[None]) -> None:
    await rest


@coroutine
def _rest(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """What is left of `work`, which waits for `awaited`, to be gone on with by a task.

    `begin` brings it to the first `yield`. A coroutine that was not begun would not see a cancellation that comes
    before its task's first step; this one does, and passes it on to what `work` waits for, as a task would.

    While the work goes on nothing here holds what it waited for: the traceback of an error that comes of it has this
    frame, which must not lead back to the error.
    """
    try:
        try:
            yield
        except asyncio.CancelledError as error:
            if awaited is not None and awaited.cancel():
                _hand_on(awaited)
            else:
                awaited = None
                awaited = work.throw(error)
        else:  # a bare yield gives way for one round of the loop, which has passed
            if awaited is not None:
                _hand_on(awaited)
            else:
                awaited = work.send(None)
        while True:
            try:
                sent = yield awaited
            except BaseException as error:  # a cancellation, on its way to where the work waits
                awaited = None
                awaited = work.throw(error)
            else:
                awaited = None
                awaited = work.send(sent)
    except StopIteration:
        return


def _hand_on(awaited: Any) -> None:
    """Makes of the future that work waits for what a task expects to get."""
    awaited._asyncio_future_blocking = True


class _Turns:
    """Who waits for a turn on one loop, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        turn = self._loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._give)
        await turn

    def _give(self) -> None:
        """Gives one turn; a cancelled wait takes none."""
        while self._waiting[0].done():
            self._waiting.popleft()
            if not self._waiting:
                return
        self._waiting.popleft().set_result(None)
        if self._waiting:
            self._loop.call_soon(self._give)


_turns: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns]] = WeakKeyDictionary()


async def next_turn() -> None:
    """To be awaited between two slices of long work: other work gets the loop, and other long work its turn."""
    loop = asyncio.get_running_loop()
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = _Turns(loop)
    await turns.wait()
