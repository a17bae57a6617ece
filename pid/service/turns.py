"""The turns of long work on the event loop: of all that goes on in slices, one slice in each round of the loop.

A small request takes a few rounds. So it waits for a few slices, however many long answers are being made beside it.
"""

import asyncio
from collections import deque
from typing import Final
from weakref import WeakKeyDictionary


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
