"""The requests about compaction and usage, and how they show in `$/progress`."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from pid.core.replies import SummarizerFault
from pid.core.tree import ROOT
from pid.protocol import (
    CancelCompactionParams,
    CancelCompactionResult,
    CompactionPlan,
    CompactionResult,
    CompactParams,
    ContextUsage,
    PreviewParams,
    ProgressParams,
    SetLeafParams,
    SummarizeParams,
    SummarizeResult,
    UsageParams,
    WorkDoneProgress,
)
from pid.service.branching import move_with_summary
from pid.service.compactor import Progress
from pid.service.store import Resident, Store
from pid.service.summarizing import Step
from pid.service.writing import Written
from pid.shell.rpc import AnswerError, RpcServer, after_response

_ENDS: Final = frozenset({"completed", "failed", "cancelled"})
_TITLE: Final = "Summarising the session"
_REASON: Final = re.compile(r"[A-Za-z]{1,40}")
Token = str | int


class Compactions:
    """The handlers. `store` gives the store of the connection as it is."""

    def __init__(self, server: RpcServer, store: Callable[[], Store]) -> None:
        self._server = server
        self._store = store

    def handlers(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """The handler of each method."""
        return {
            "session/getContextUsage": self.usage,
            "session/previewCompaction": self.preview,
            "session/compact": self.compact,
            "session/cancelCompaction": self.cancel,
        }

    async def usage(self, params: UsageParams) -> ContextUsage:
        resident = await self._settled(params.session_id)
        session = resident.session
        if params.leaf_id is UNSET:
            return await resident.compactor.gauge.usage(session.leaf)
        leaf = ROOT if params.leaf_id is None else session.tree.find(str(params.leaf_id))
        return await resident.compactor.gauge.usage(leaf)

    async def preview(self, params: PreviewParams) -> CompactionPlan:
        return await (await self._settled(params.session_id)).compactor.preview(params)

    async def compact(self, params: CompactParams) -> CompactionResult:
        resident = self._store().get(params.session_id)
        progress = self.progress(params.work_done_token) if params.work_done_token is not None else None
        return await resident.compactor.compact(params, progress, after_response)

    async def cancel(self, params: CancelCompactionParams) -> CancelCompactionResult:
        resident = self._store().get(params.session_id)
        return CancelCompactionResult(cancelled=await resident.compactor.cancel(params.compaction_id))

    async def move(self, resident: Resident, params: SetLeafParams) -> Written:
        """`session/setLeaf` with `summarize`."""
        if params.work_done_token is None:
            return await move_with_summary(resident.compactor, params, lambda step: None)
        progress, end = self.progress(params.work_done_token), "failed"
        progress("started", None)
        try:
            written = await move_with_summary(resident.compactor, params, partial(progress, "progress"))
            end = "completed"
            return written
        finally:
            progress(end, None)

    async def ask(self, params: SummarizeParams) -> SummarizeResult:
        """Asks the client's model. Raises `SummarizerFault`."""
        try:
            return await self._server.request("pid/summarize", params, SummarizeResult)
        except AnswerError as error:
            raise _fault(error) from None

    def progress(self, token: Token) -> Progress:
        """Tells `$/progress` of one request: one begin, reports, one end."""
        share: int | None = None

        def tell(state: str, step: Step | None) -> None:
            nonlocal share
            if share is None:
                share = 0
                self._progress(token, WorkDoneProgress(kind="begin", title=_TITLE, cancellable=True, percentage=0))
            message = _said(state, step)
            if state in _ENDS:
                self._progress(token, WorkDoneProgress(kind="end", message=message))
                return
            share = max(share, 100 * (step.chunk - 1) // step.chunks if step else 0)  # it never falls
            self._progress(token, WorkDoneProgress(kind="report", message=message, percentage=share))

        return tell

    def _progress(self, token: Token, value: WorkDoneProgress) -> None:
        self._server.notify("$/progress", ProgressParams(token=token, value=value))

    async def _settled(self, session_id: str) -> Resident:
        resident = self._store().get(session_id)
        after_response(resident.hold())
        await resident.order.settled()
        return resident


def _said(state: str, step: Step | None) -> str:
    if step is None:
        return _STATES.get(state, state)
    pieces = f", piece {step.chunk} of {step.chunks}" if step.chunks > 1 else ""
    again = f", attempt {step.attempt}" if step.attempt > 1 else ""
    return f"{_PHASES.get(step.phase, step.phase)}{pieces}{again}"


_STATES: Final = {"queued": "waiting for other compactions", "started": "reading"}
_PHASES: Final = {"history": "the history", "turnPrefix": "the turn in progress", "branch": "the branch"}


_TRANSIENT: Final = frozenset({"rateLimit", "overloaded", "transport"})


def _fault(error: AnswerError) -> SummarizerFault:
    """What an error of the client means: `data {reason, retryAfterMs?}`. What it says in words is not passed on."""
    data = error.data if isinstance(error.data, dict) else {}
    reason, wait = data.get("reason"), data.get("retryAfterMs")
    retry_after = max(0.0, wait / 1000) if isinstance(wait, int | float) and not isinstance(wait, bool) else None
    if not (isinstance(reason, str) and _REASON.fullmatch(reason)):
        reason = "error"
    transient = retry_after is not None or reason in _TRANSIENT
    message = "the client answered with an error" if error.code is not None else "the client gave no answer that fits"
    return SummarizerFault(reason, message, transient=transient, retry_after=retry_after)
