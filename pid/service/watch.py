"""The watch over a session's context: tells how full it is, and starts a compaction when one is due.

It looks after each append by this daemon, and only if somebody wants to know: a client that named the notification,
or settings with a window. Several changes in a row are told as one.
"""

import asyncio
import logging
from typing import Final

import msgspec

from pid.errors import PidError
from pid.protocol import CompactionResult, CompactParams, ContextUsage, RunningCompaction, UsageNotice
from pid.service.compactor import Compactor

logger = logging.getLogger(__name__)

TELL_AFTER: Final = 0.05
"""Seconds in which changes of the usage become one notification."""
_METHOD: Final = "session/contextUsage"


class Watch:
    """The watch over one session."""

    def __init__(self, compactor: Compactor) -> None:
        self._compactor = compactor
        self._session = compactor.session
        self._timer: asyncio.TimerHandle | None = None
        self._usage: ContextUsage | None = None
        self._auto: asyncio.Task[CompactionResult] | None = None

    async def appended(self, *, wanted: bool = False) -> tuple[ContextUsage | None, RunningCompaction | None]:
        """Looks after an append: the usage, if it is `wanted`, and the compaction that the append set off."""
        session = self._session
        told = session.around.outlet.wants(_METHOD)
        if not (wanted or told or session.settings.context_window is not None):
            return None, None
        usage = await self._compactor.gauge.usage(session.leaf)
        if told:
            self._tell_soon(usage)
        return (usage if wanted else None), self._start_if_due(usage)

    async def moved(self) -> None:
        """Looks after a move of the leaf: another branch may be compacted again."""
        self._compactor.breaker = type(self._compactor.breaker)()
        if self._session.around.outlet.wants(_METHOD):
            self._tell_soon(await self._compactor.gauge.usage(self._session.leaf))

    def _tell_soon(self, usage: ContextUsage) -> None:
        self._usage = usage
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TELL_AFTER, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._usage is not None and not self._session.lost:
            fields = msgspec.structs.asdict(self._usage)
            self._session.around.outlet.send(_METHOD, UsageNotice(session_id=self._session.session_id, **fields))

    def _start_if_due(self, usage: ContextUsage) -> RunningCompaction | None:
        compactor = self._compactor
        if compactor.running is not None or not usage.should_compact or compactor.breaker.is_open:
            return None
        if not self._session.settings.auto_compact:
            return None
        self._auto = compactor.start(CompactParams(session_id=self._session.session_id), "threshold")
        self._auto.add_done_callback(_log_end)
        running = compactor.running
        return running.told() if running else None


def _log_end(task: "asyncio.Task[CompactionResult]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        level = logging.INFO if isinstance(error, PidError) else logging.ERROR
        logger.log(level, "a compaction that started by itself failed: %s", type(error).__name__)
