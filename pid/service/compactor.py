"""Compactions: planned on a snapshot, summarised beside everything else, written only if the branch still fits.

At most one runs in a session and two in a daemon; the others are queued. Appends go on meanwhile. Cancel, failure or
a crash writes nothing: the one entry is written last, under the session's write order, after a look at whether the
snapshot's leaf is still on the path and no other compaction landed.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import orjson

from pid.adapters.tokenizer import Tokenizer
from pid.core.appending import Sent, read_sent
from pid.core.compaction import Breaker
from pid.core.overlay import Overlay, Planned, Stamp, plan_append
from pid.core.replies import DEFAULT_CAPACITY, Spent
from pid.errors import CompactionInProgress, CompactionSuperseded, LeafConflict, PidError, SummarizerFailed
from pid.protocol import (
    CompactionError,
    CompactionNotice,
    CompactionPlan,
    CompactionResult,
    CompactParams,
    ModelRef,
    Placement,
    PreviewParams,
    RunningCompaction,
    Usage,
)
from pid.service.drafts import Draft, draft_of
from pid.service.gauge import Gauge
from pid.service.notices import tell_change
from pid.service.session import Session
from pid.service.summarizing import Asking, Report, Step, Summarizer, choose, write_summary
from pid.service.writing import WriteOrder, Written

MOST_AT_ONCE: Final = 2
_METHOD: Final = "session/compaction"
Found = TypeVar("Found")
Progress = Callable[[str, Step | None], None]
"""Tells `$/progress` how far it is: the state, and the step."""


class Workshop:
    """What the compactions of a daemon share: the summarizers, the tokenizer, and room for two at once."""

    def __init__(self, summarizers: Sequence[Summarizer], tokenizer: Tokenizer) -> None:
        self.summarizers = summarizers
        self.tokenizer = tokenizer
        self.free = asyncio.Semaphore(MOST_AT_ONCE)


class Running:
    """A compaction that has begun: its id, how far it is, and the task that can be cancelled."""

    def __init__(self, compaction_id: str, reason: str, task: "asyncio.Task[Any]") -> None:
        self.compaction_id = compaction_id
        self.reason = reason
        self.state = "queued"
        self.task = task

    def told(self) -> RunningCompaction:
        """As a session's state shows it."""
        return RunningCompaction(compaction_id=self.compaction_id, state=self.state, reason=self.reason)


class Compactor:
    """The compactions of one session."""

    def __init__(self, session: Session, order: WriteOrder, workshop: Workshop) -> None:
        self.session = session
        self.order = order
        self.workshop = workshop
        self.gauge = Gauge(session, workshop.tokenizer)
        self.breaker = Breaker()
        self.running: Running | None = None

    async def preview(self, params: PreviewParams) -> CompactionPlan:
        """What a compaction would do. Raises `NothingToCompact`, `LeafConflict`, `SummarizerUnavailable`."""
        chosen = self._chosen(params.summarizer)
        found = await self._drafted(params)
        capacity = chosen[0].capacity if chosen[0] else DEFAULT_CAPACITY
        return await self._in_thread(partial(found.preview, capacity, requests=params.include_requests))

    async def compact(self, params: CompactParams, reason: str, progress: Progress | None = None) -> CompactionResult:
        """Compacts at the leaf: one entry more, or an error and nothing written.

        Raises `CompactionInProgress`, `NothingToCompact`, `CompactionSuperseded`, `SummarizerUnavailable`,
        `SummarizerFailed`, `LeafConflict`. Cancelled before the entry is being written, nothing is written.
        """
        task = self.start(params, reason, progress)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            if task.cancelled() or task.exception() is not None:
                raise
            return task.result()

    def start(
        self, params: CompactParams, reason: str, progress: Progress | None = None
    ) -> "asyncio.Task[CompactionResult]":
        """Begins a compaction at once, as a task. Raises `CompactionInProgress`, `SummarizerUnavailable`."""
        if self.running is not None:
            message = "This session is being compacted. Wait for its end, or cancel it."
            raise CompactionInProgress(message, compactionId=self.running.compaction_id)
        self._chosen(params.summarizer)
        task = asyncio.create_task(self._run(params, progress or (lambda state, step: None)))
        self.running = Running(self.session.around.new_entry_id(), reason, task)
        return task

    def cancel(self, compaction_id: str | None) -> bool:
        """Stops the running compaction, if it is the one that is named; whether there was one to stop."""
        running = self.running
        if running is None or compaction_id not in (None, running.compaction_id):
            return False
        return running.task.cancel()

    async def stop(self) -> None:
        """Cancels what runs and waits for its end."""
        if self.running is not None:
            self.running.task.cancel()
            await asyncio.wait([self.running.task])

    # The run

    async def _run(self, params: CompactParams, progress: Progress) -> CompactionResult:
        running = self.running
        assert running is not None  # set in the turn that made this task
        leaf = self.session.leaf
        try:
            if self.workshop.free.locked():
                self._tell(running, "queued", progress)
            async with self.workshop.free:
                self._tell(running, "started", progress)
                result = await self._compacted(running, params, progress)
        except asyncio.CancelledError:
            self._tell(running, "cancelled", progress)
            raise
        except PidError as error:
            self._fail(running, progress, error)
            raise
        except Exception as error:
            failed = SummarizerFailed(f"The compaction failed: {type(error).__name__}.", attempts=0, reason="error")
            self._fail(running, progress, failed)
            raise failed from error
        finally:
            self.running = None
        if self.session.tree.is_on_path(leaf, self.session.leaf):
            self.breaker = self.breaker.after(result.tokens_before - result.tokens_after)
        self._tell(
            running,
            "completed",
            progress,
            entry_id=result.entry_id,
            tokens_before=result.tokens_before,
            tokens_after=result.tokens_after,
            summarizer=result.summarizer,
        )
        return result

    def _fail(self, running: Running, progress: Progress, error: PidError) -> None:
        self.breaker = self.breaker.after(None)
        told = CompactionError(code=error.code, kind=error.kind, message=error.message, retryable=error.retryable)
        self._tell(running, "failed", progress, error=told)

    async def _compacted(self, running: Running, params: CompactParams, progress: Progress) -> CompactionResult:
        await self.order.settled()
        found = await self._drafted(params)
        report = partial(self._report, running, progress)
        text, name, spent = await self._written(running, params, found, report)
        raw = orjson.dumps(found.entry(text, spent.usage, self.session.around.now()))
        written = await self._append(found, read_sent(raw, "compaction"))
        return CompactionResult(
            compaction_id=running.compaction_id,
            entry_id=written.planned.entry_ids[0],
            leaf_id=written.planned.leaf_id,
            revision=written.revision,
            epoch=self.session.epoch,
            summary=text,
            first_kept_entry_id=found.first_kept_id or written.planned.entry_ids[0],
            tokens_before=found.plan.tokens_before,
            tokens_after=found.tokens_after(text),
            details=found.material.files,
            summarizer=name,
            usage=None if spent.usage is None else msgspec.convert(spent.usage, Usage),
            attempts=spent.attempts,
        )

    async def _drafted(self, params: CompactParams) -> Draft:
        session = self.session
        leaf = session.leaf
        if params.expected_leaf_id is not None and session.tree.find(params.expected_leaf_id) != leaf:
            message = f"The leaf is {session.leaf_id}, and {params.expected_leaf_id} was expected."
            raise LeafConflict(message, currentLeafId=session.leaf_id)
        limits = self.gauge.limits(session.settings, reserve=params.reserve_tokens, keep=params.keep_recent_tokens)
        overflow = params.overflow if params.reason == "overflow" else None

        def make() -> Draft:
            return draft_of(session, self.gauge.snapshot(leaf, limits), overflow, params.instructions)

        found = await self._in_thread(make)
        if params.first_kept_entry_id is not None and params.first_kept_entry_id != found.first_kept_id:
            message = f"The plan is another one now: it keeps from {found.first_kept_id}. Preview it again."
            raise CompactionSuperseded(message)
        return found

    async def _written(
        self, running: Running, params: CompactParams, found: Draft, report: Report
    ) -> tuple[str, str, Spent]:
        """The text of the summary, who wrote it, and what that took."""
        model = params.model or self._model(found)
        return await write_summary(
            self._chosen(params.summarizer),
            partial(self._ask_all, found, model, running.compaction_id, report),
            partial(self._in_thread, lambda: found.extract().text()),
            found.tokens,
            found.replaced,
        )

    async def _ask_all(
        self,
        found: Draft,
        model: ModelRef | None,
        compaction_id: str,
        report: Report,
        summarizer: Summarizer,
        spent: Spent,
    ) -> str:
        asking = Asking(summarizer, model, self.session.session_id, compaction_id, report, spent)
        answers = [await asking.answer(make, found.tokens, found.replaced) for make in found.tasks()]
        return found.summary(answers).text()

    async def _append(self, found: Draft, sent: Sent) -> Written:
        leaf_id = self.session.tree.id_of(found.snapshot.leaf)

        def place(overlay: Overlay, stamp: Stamp) -> Planned:
            if leaf_id is not None and not overlay.is_on_path(leaf_id, overlay.leaf_id):
                raise CompactionSuperseded("The leaf left the branch that was being compacted. Nothing was written.")
            if overlay.has_compaction_since(leaf_id):
                raise CompactionSuperseded("Another compaction landed on this branch meanwhile. Nothing was written.")
            return plan_append(overlay, Placement(session_id=self.session.session_id), [sent], stamp)

        written = await self.order.write(place, "compaction")
        tell_change(self.session, written.change)
        return written

    def _model(self, found: Draft) -> ModelRef | None:
        return self.session.settings.model or found.snapshot.effect.model

    def _chosen(self, name: str | None) -> list[Summarizer | None]:
        settings = self.session.settings
        return choose(name or settings.summarizer, self.workshop.summarizers, fallback=settings.fallback)

    async def _in_thread(self, work: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self.session.around.threads, work)

    # Telling

    def _report(self, running: Running, progress: Progress, step: Step) -> None:
        self._tell(
            running,
            "progress",
            progress,
            step=step,
            phase=step.phase,
            attempt=step.attempt,
            chunk=step.chunk,
            chunks=step.chunks,
        )

    def _tell(self, running: Running, state: str, progress: Progress, step: Step | None = None, **fields: Any) -> None:
        running.state = state
        progress(state, step)
        outlet = self.session.around.outlet
        if outlet.wants(_METHOD):
            notice = CompactionNotice(
                session_id=self.session.session_id,
                compaction_id=running.compaction_id,
                state=state,
                reason=running.reason,
                **fields,
            )
            outlet.send(_METHOD, notice)
