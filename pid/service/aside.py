"""Long work beside the event loop: plans and walks of long histories, in threads of their own that can be given up.

It reads bodies and changes nothing of the session. Given up, it stops at its next read, so that a cancelled plan does
not go on for seconds. These threads are not those that sync files: appends never wait for a plan.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Final, TypeVar

from pid.core.lines import DAMAGED, UNCLEAN
from pid.entries import DamagedLine, clean
from pid.errors import PidError
from pid.service.session import SLICE_ROWS, Session
from pid.service.turns import next_turn

MOST_THREADS: Final = 2
Found = TypeVar("Found")


class GivenUp(Exception):
    """Nobody waits for the result any more."""


class Reader:
    """A body reader for a thread (`core.context.Bodies`), of the session's journal as it is now.

    It marks nothing, and tells nobody but `amiss`, which gets rows that cannot go out as they stand; a damaged one
    gives b"".
    """

    def __init__(self, session: Session, given_up: Callable[[], bool], amiss: Callable[[int], None]) -> None:
        self.journal = session.journal
        self._starts, self._sizes = session.tree.starts, session.tree.sizes
        self._given_up = given_up
        self._amiss = amiss

    def stored(self, rows: Sequence[int]) -> list[bytes]:
        """The bytes of rows as they stand in the file, unproven."""
        if self._given_up():
            raise GivenUp
        starts, sizes = self._starts, self._sizes
        return self.journal.read([(starts[row], sizes[row]) for row in rows])

    def __call__(self, rows: Sequence[int]) -> list[bytes]:
        """The bytes of rows as they may go out."""
        stored = self.stored(rows)
        found = [_cleaned(raw) for raw in stored]
        for row, raw, cleaned in zip(rows, stored, found, strict=True):
            if cleaned is not raw:
                self._amiss(row)
        return found


async def aside(threads: Executor, session: Session, work: Callable[[Reader], Found]) -> Found:
    """What `work` gives, called in a thread with a reader of the session's bodies as they are now.

    If the file is replaced meanwhile by one that holds the same entries (a rewrite), the work is done again. Raises
    what `work` raises; `ReadFailed` and `SessionChangedOnDisk` from reading.
    """
    loop = asyncio.get_running_loop()
    while True:
        journal, given_up, amiss = session.journal, threading.Event(), set[int]()
        try:
            return await loop.run_in_executor(threads, work, Reader(session, given_up.is_set, amiss.add))
        except asyncio.CancelledError:
            given_up.set()
            raise
        except PidError:
            if session.lost or session.journal is journal:
                raise
        finally:
            if not given_up.is_set():
                await _tell(session, amiss)


async def _tell(session: Session, amiss: Iterable[int]) -> None:
    """Has the session prove the rows that were found amiss, so that it marks and tells them."""
    flags = session.tree.flags
    news = sorted(row for row in amiss if not flags[row] & (DAMAGED | UNCLEAN))
    with contextlib.suppress(PidError):  # lost meanwhile: then it has told that
        for first in range(0, len(news), SLICE_ROWS):
            session.bodies(news[first : first + SLICE_ROWS])
            await next_turn()


def _cleaned(raw: bytes) -> bytes:
    try:
        return clean(raw)
    except DamagedLine:
        return b""
