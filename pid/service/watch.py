"""The watch over a session's context: tells how full it is, and starts a compaction when one is due.

It looks if somebody wants to know: a client that named the notification, or settings with a window. Several changes
in a row are told as one. A compaction starts only by an append of this daemon, and no append waits for a long look:
that goes on behind it.
"""

import asyncio
import contextlib
import logging
from typing import Final

import msgspec

from pid.core.compaction import Breaker
from pid.core.overlay import Planned
from pid.core.tree import ROOT
from pid.errors import PidError
from pid.protocol import CompactParams, ContextUsage, RunningCompaction, UsageNotice
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
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False
        self._may_start = False  # the look that goes on, or the next one, follows an append of ours
        self._is_due = False  # as last seen
        self._is_theirs = False  # another writer's entries made it due: that writer's daemon sees to it
        compactor.ended = self.look

    async def appended(
        self, planned: Planned, *, wanted: bool = False
    ) -> tuple[ContextUsage | None, RunningCompaction | None]:
        """Looks after an append: the usage, if it is `wanted`, and the compaction that the append set off.

        The entry is in the file, so nothing is raised, not even a cancellation: then there is no usage to tell.
        """
        self._follow_branch(planned)
        if not (wanted or self._is_wanted):
            return None, None
        gauge, leaf = self._compactor.gauge, self._session.leaf
        usage: ContextUsage | None = None
        with contextlib.suppress(PidError, asyncio.CancelledError):
            usage = gauge.glance(leaf)
            if usage is None and wanted:
                usage = await gauge.usage(leaf, counted=False)
        if self._is_wanted and (usage is None or not gauge.is_counted):
            self.look(may_start=True)
        if usage is None:
            return None, None
        return (usage if wanted else None), self._saw(usage, may_start=True)

    def moved(self, planned: Planned) -> None:
        """Looks after a move of the leaf."""
        self._follow_branch(planned)
        self._is_theirs = False
        self.look()

    def grown(self) -> None:
        """Looks after other writers' entries: if these made it due, their daemon sees to it."""
        if self._is_wanted and not self._is_due:
            with contextlib.suppress(PidError):
                usage = self._compactor.gauge.glance(self._session.leaf)
                self._is_theirs = usage is not None and usage.should_compact
        self.look()

    def configured(self) -> None:
        """The settings are others now: what was due or failed may not be or do so any more."""
        self._compactor.breaker = Breaker()
        self._is_theirs = False
        self.look()

    def look(self, *, may_start: bool = False) -> None:
        """Looks soon, beside everything else; one look at a time, and another one if the leaf moved meanwhile."""
        self._may_start = self._may_start or may_start
        if self._is_wanted and self._looking is None and not self._stopped:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._looked)

    def stop(self) -> None:
        """Ends the watch."""
        self._stopped = True
        for pending in (self._timer, self._looking):
            if pending is not None:
                pending.cancel()

    @property
    def _is_wanted(self) -> bool:
        session = self._session
        return session.settings.context_window is not None or session.around.outlet.wants(_METHOD)

    async def _look(self) -> None:
        session, gauge = self._session, self._compactor.gauge
        leaf = ROOT - 1  # none yet
        while leaf != session.leaf:
            leaf, may_start = session.leaf, self._may_start
            self._may_start = False
            usage = await gauge.usage(leaf)
            if leaf == session.leaf:
                self._saw(usage, may_start=may_start or self._may_start)
            else:
                self._may_start = self._may_start or may_start

    def _looked(self, task: "asyncio.Task[None]") -> None:
        self._looking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.INFO if isinstance(error, PidError) else logging.ERROR
            logger.log(level, "the usage of a context is not known: %s", type(error).__name__)

    def _follow_branch(self, planned: Planned) -> None:
        """On another branch, compactions may start by themselves again."""
        tree, breaker = self._session.tree, self._compactor.breaker
        before, after = planned.previous_leaf_id, planned.leaf_id
        if planned.parent_id == before or before == after or before is None or breaker == Breaker():
            return
        if after is None or not tree.is_on_path(tree.rows[before], tree.rows[after]):
            self._compactor.breaker = Breaker()

    def _saw(self, usage: ContextUsage, *, may_start: bool) -> RunningCompaction | None:
        self._is_due = usage.should_compact
        self._is_theirs = self._is_theirs and usage.should_compact
        self._usage = usage
        if self._session.around.outlet.wants(_METHOD) and self._timer is None and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(TELL_AFTER, self._tell)
        return self._start() if may_start and usage.should_compact else None

    def _tell(self) -> None:
        self._timer = None
        if self._usage is not None and not self._session.lost:
            fields = msgspec.structs.asdict(self._usage)
            self._session.around.outlet.send(_METHOD, UsageNotice(session_id=self._session.session_id, **fields))

    def _start(self) -> RunningCompaction | None:
        compactor, settings = self._compactor, self._session.settings
        if not settings.auto_compact or compactor.running or compactor.breaker.is_open or self._is_theirs:
            return None
        try:
            return compactor.start(CompactParams(session_id=self._session.session_id), "threshold").told()
        except PidError as error:
            logger.warning("no compaction starts by itself: %s", error.message)
            return None
