"""Compactions: planned on a snapshot, summarised beside everything else, written only if the branch still fits.

At most one runs in a session and two in a daemon; the others are queued. Appends go on meanwhile. Cancel, failure or
a crash writes nothing: the one entry is written last, under the session's write order, after a look at whether the
snapshot's leaf is still on the path and no other compaction landed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import orjson

from pid.core.appending import Sent, read_sent
from pid.core.compaction import Breaker
from pid.core.overlay import Overlay, Planned, Stamp, plan_append
from pid.core.prompts import Capacity, Task
from pid.core.replies import DEFAULT_CAPACITY, Spent
from pid.core.tokens import TextsCounter
from pid.errors import (
    CompactionInProgress,
    CompactionSuperseded,
    LeafConflict,
    PidError,
    RequestCancelled,
    SessionNotFound,
    SummarizerFailed,
)
from pid.protocol import (
    CompactionError,
    CompactionNotice,
    CompactionPlan,
    CompactionResult,
    CompactParams,
    ModelRef,
    Overflow,
    Placement,
    PreviewParams,
    RunningCompaction,
    Usage,
)
from pid.service.aside import Reader, aside
from pid.service.drafts import Draft, MakeDraft, ReadAhead, draft_of, outline_of, read_ahead
from pid.service.file_uses import FileUses
from pid.service.gauge import Asked, Gauge
from pid.service.notices import tell_change
from pid.service.session import Session
from pid.service.summarizing import MAX_ATTEMPTS, Asking, Report, Step, Summarizer, choose, write_summary
from pid.service.writing import WriteOrder, Written

logger = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 2
_METHOD: Final = "session/compaction"
_GUARDS: Final = (LeafConflict, CompactionSuperseded)
"""Refusals that say nothing about whether a compaction would work."""
Found = TypeVar("Found")
Progress = Callable[[str, Step | None], None]
"""Tells `$/progress` how far it is: the state, and the step."""
Later = Callable[[Callable[[], None]], None]
"""Does something behind the response to the request."""


class Workshop:
    """What the compactions of a daemon share: summarizers, a counter of tokens, threads, and room for two at once."""

    def __init__(self, summarizers: Sequence[Summarizer], count: TextsCounter, threads: Executor) -> None:
        self.summarizers = summarizers
        self.count = count
        self.threads = threads
        self.free = asyncio.Semaphore(MOST_AT_ONCE)


class Running:
    """A compaction that has begun: its id, how far it is, how that is told, and the task that can be cancelled."""

    task: "asyncio.Task[CompactionResult]"

    def __init__(self, session: Session, reason: str, progress: Progress) -> None:
        self.compaction_id = session.around.new_entry_id()
        self.reason = reason
        self.state = "queued"
        self._session = session
        self._progress = progress

    def told(self) -> RunningCompaction:
        """As a session's state shows it."""
        return RunningCompaction(compaction_id=self.compaction_id, state=self.state, reason=self.reason)

    def report(self, step: Step) -> None:
        """Tells one step of the way."""
        fields = {"phase": step.phase, "attempt": step.attempt, "chunk": step.chunk, "chunks": step.chunks}
        self.tell("progress", step, max_attempts=MAX_ATTEMPTS, **fields)

    def tell(self, state: str, step: Step | None = None, **fields: Any) -> None:
        """Tells how far it is, to `$/progress` and by `session/compaction`."""
        self.state = state
        self._progress(state, step)
        outlet = self._session.around.outlet
        if outlet.wants(_METHOD):
            notice = CompactionNotice(
                session_id=self._session.session_id,
                compaction_id=self.compaction_id,
                state=state,
                reason=self.reason,
                **fields,
            )
            outlet.send(_METHOD, notice)


class Compactor:
    """The compactions of one session. `ended` is called behind each one."""

    def __init__(self, session: Session, order: WriteOrder, workshop: Workshop) -> None:
        self.session = session
        self.order = order
        self.workshop = workshop
        self.gauge = Gauge(session, workshop.threads, workshop.count)
        self.uses = FileUses(session)
        self.breaker = Breaker()
        self.running: Running | None = None
        self.ended: Callable[[], None] = lambda: None
        self._closed = False
        self._others: set[asyncio.Task[Any]] = set()

    async def preview(self, params: PreviewParams) -> CompactionPlan:
        """What a compaction would do. Raises `NothingToCompact`, `LeafConflict`, `SummarizerUnavailable`."""
        chosen = self._chosen(params.summarizer)
        self._check_leaf(params)
        capacity = chosen[0].capacity if chosen[0] else DEFAULT_CAPACITY
        if params.include_requests:
            found = await self._drafted(params, partial(draft_of, for_model=True))
            return await self.aside(lambda bodies: found.preview(capacity))
        found = await self._drafted(params, partial(outline_of, uses=self.uses), partial(read_ahead, self.uses))
        return await self.aside(lambda bodies: found.outline(capacity))

    async def compact(
        self, params: CompactParams, progress: Progress | None = None, later: Later = lambda action: action()
    ) -> CompactionResult:
        """Compacts at the leaf: one entry more, or an error and nothing written.

        Raises `CompactionInProgress`, `NothingToCompact`, `CompactionSuperseded`, `SummarizerUnavailable`,
        `SummarizerFailed`, `LeafConflict`; `RequestCancelled` if it was cancelled by another request. Cancelled
        itself before the entry is being written, nothing is written; afterwards the result comes all the same.
        """
        return await self.watched(self.start(params, params.reason, progress, later).task)

    def start(
        self,
        params: CompactParams,
        reason: str,
        progress: Progress | None = None,
        later: Later = lambda action: action(),
    ) -> Running:
        """Begins a compaction at once, as a task. Raises `CompactionInProgress`, `SummarizerUnavailable`.

        One that starts by itself has nobody to refuse it to: without a summarizer it begins, and is told as failed.
        """
        self._refuse_closed()
        if self.running is not None:
            message = "This session is being compacted. Wait for its end, or cancel it."
            raise CompactionInProgress(message, compactionId=self.running.compaction_id)
        if reason != "threshold":
            self._chosen(params.summarizer)
        running = self.running = Running(self.session, reason, progress or (lambda state, step: None))
        running.task = asyncio.create_task(self._run(running, params, later))
        running.task.add_done_callback(partial(self._end, running))
        return running

    async def cancel(self, compaction_id: str | None) -> bool:
        """Stops the running compaction, if it is the one that is named; whether that stopped it."""
        running = self.running
        if running is None or compaction_id not in (None, running.compaction_id):
            return False
        running.task.cancel()
        await asyncio.wait([running.task])
        return running.task.cancelled()

    async def watched(self, task: "asyncio.Task[Found]") -> Found:
        """The result of a task that ends with the session; a cancellation of the caller is one of the task.

        Raises what the task raises; `RequestCancelled` if somebody else cancelled it.
        """
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        given_up = False
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                given_up = True
                task.cancel()
        if task.cancelled():
            raise asyncio.CancelledError if given_up else RequestCancelled("It was cancelled. Nothing was written.")
        return task.result()

    def give_up(self) -> None:
        """Cancels what runs; nothing begins any more."""
        self._closed = True
        for task in self._tasks():
            task.cancel()

    async def stop(self) -> None:
        """Cancels what runs and waits for its end."""
        self.give_up()
        if tasks := self._tasks():
            await asyncio.wait(tasks)

    async def aside(self, work: Callable[[Reader], Found]) -> Found:
        """Calls `work` in a thread with a reader of bodies; see `service.aside`."""
        return await aside(self.workshop.threads, self.session, work)

    async def made(self, make: Callable[[Capacity], Task], capacity: Capacity) -> Task:
        """The task for a capacity, cut in a thread."""
        return await self.aside(lambda bodies: make(capacity))

    def _tasks(self) -> set["asyncio.Task[Any]"]:
        return self._others | ({self.running.task} if self.running else set())

    def _refuse_closed(self) -> None:
        if self._closed:
            raise SessionNotFound("The session was closed.", reason="notOpen", sessionId=self.session.session_id)

    # The run

    async def _run(self, running: Running, params: CompactParams, later: Later) -> CompactionResult:
        try:
            await self.order.settled()
            self._check_leaf(params)
            if self.workshop.free.locked():
                running.tell("queued")
            async with self.workshop.free:
                running.tell("started")
                return await self._compacted(running, params, later)
        except PidError:
            raise
        except Exception as error:  # a fault of ours or of a summarizer: it ends this compaction and nothing else
            name = type(error).__name__
            logger.error("a compaction failed: %s", name)  # what an exception says may hold what the session says
            raise SummarizerFailed(f"The compaction failed: {name}.", attempts=0, reason="error") from None

    def _end(self, running: Running, task: "asyncio.Task[CompactionResult]") -> None:
        """Whatever became of it, exactly one end is told, before anybody who waits for the task goes on."""
        self.running = None
        if task.cancelled():
            # One that started by itself would start again at once.
            self.breaker = self.breaker.after(None) if running.reason == "threshold" else self.breaker
            running.tell("cancelled")
        elif (error := task.exception()) is not None:
            assert isinstance(error, PidError)  # `_run` lets nothing else out
            self._fail(running, error)
        else:
            self._complete(running, task.result())
        if not self._closed:
            self.ended()

    def _fail(self, running: Running, error: PidError) -> None:
        was_open = self.breaker.is_open
        if not isinstance(error, _GUARDS):
            self.breaker = self.breaker.after(None)
        message = error.message
        if self.breaker.is_open and not was_open:
            message += " None will start by itself until one succeeds or the leaf changes branch."
            logger.warning("compactions do not start by themselves any more: %s", error.kind)
        told = CompactionError(code=error.code, kind=error.kind, message=message, retryable=error.retryable)
        running.tell("failed", error=told)

    def _complete(self, running: Running, result: CompactionResult) -> None:
        self.breaker = self.breaker.after(result.tokens_before - result.tokens_after)
        running.tell(
            "completed",
            entry_id=result.entry_id,
            tokens_before=result.tokens_before,
            tokens_after=result.tokens_after,
            summarizer=result.summarizer,
        )

    async def _compacted(self, running: Running, params: CompactParams, later: Later) -> CompactionResult:
        chosen = self._chosen(params.summarizer)
        found = await self._drafted(params, partial(draft_of, for_model=chosen[0] is not None))
        text, name, spent = await self._written(running, params, found, chosen)
        raw = orjson.dumps(found.entry(text, spent.usage, self.session.around.now()))
        usage = None if spent.usage is None else msgspec.convert(spent.usage, Usage)
        after = found.tokens_after(text)
        written = await self._append(found, read_sent(raw, "compaction"))
        later(partial(tell_change, self.session, written.change))
        return CompactionResult(
            compaction_id=running.compaction_id,
            entry_id=written.planned.entry_ids[0],
            leaf_id=written.planned.leaf_id,
            revision=written.revision,
            epoch=self.session.epoch,
            summary=text,
            first_kept_entry_id=found.first_kept_id,
            tokens_before=found.plan.tokens_before,
            tokens_after=after,
            details=found.material.files,
            summarizer=name,
            usage=usage,
            attempts=spent.attempts,
        )

    def _check_leaf(self, params: CompactParams) -> None:
        session, expected = self.session, params.expected_leaf_id
        if expected is not None and session.tree.find(expected) != session.leaf:
            message = f"The leaf is {session.leaf_id}, and {expected} was expected."
            raise LeafConflict(message, currentLeafId=session.leaf_id)

    async def _drafted(self, params: CompactParams, make_draft: MakeDraft, ahead: ReadAhead | None = None) -> Draft:
        session = self.session
        leaf, tree = session.leaf, session.tree
        asked = Asked(reserve=params.reserve_tokens, keep=params.keep_recent_tokens)
        overflow = (params.overflow or Overflow()) if params.reason == "overflow" else None

        def make(bodies: Reader) -> Draft:
            meanwhile = None if ahead is None else partial(ahead, tree, bodies)
            snapshot = self.gauge.snapshot(leaf, bodies, asked, meanwhile=meanwhile)
            return make_draft(tree, snapshot, overflow, params.instructions)

        found = await self.aside(make)
        self.gauge.note(found.snapshot, found.filled)
        if params.first_kept_entry_id is not None and params.first_kept_entry_id != found.first_kept_id:
            message = f"The plan is another one now: it keeps from {found.first_kept_id}. Preview it again."
            raise CompactionSuperseded(message)
        return found

    async def _written(
        self, running: Running, params: CompactParams, found: Draft, chosen: Sequence[Summarizer | None]
    ) -> tuple[str, str, Spent]:
        """The text of the summary, who wrote it, and what that took."""
        model = params.model or self._model(found)
        return await write_summary(
            chosen,
            partial(self._ask_all, found, model, running.compaction_id, running.report),
            partial(self.aside, lambda bodies: found.extract().text()),
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
        tasks = [partial(self.made, make) for make in found.tasks()]
        answers = [await asking.answer(make, found.tokens, found.replaced) for make in tasks]
        return found.summary(answers).text()

    async def _append(self, found: Draft, sent: Sent) -> Written:
        leaf_id = self.session.tree.id_of(found.snapshot.leaf)

        def place(overlay: Overlay, stamp: Stamp) -> Planned:
            if leaf_id is not None and not overlay.is_on_path(leaf_id, overlay.leaf_id):
                raise CompactionSuperseded("The leaf left the branch that was being compacted. Nothing was written.")
            if overlay.has_compaction_since(leaf_id):
                raise CompactionSuperseded("Another compaction landed on this branch meanwhile. Nothing was written.")
            return plan_append(overlay, Placement(session_id=self.session.session_id), [sent], stamp)

        return await self.order.write(place, "compaction")

    def _model(self, found: Draft) -> ModelRef | None:
        return self.session.settings.model or found.snapshot.effect.model

    def _chosen(self, name: str | None) -> list[Summarizer | None]:
        settings = self.session.settings
        return choose(name or settings.summarizer, self.workshop.summarizers, fallback=settings.fallback)
