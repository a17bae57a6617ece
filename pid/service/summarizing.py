"""Gets summaries written: which summarizer, what is tried again, what is split smaller, and when it is enough.

Only transient faults are tried again, as the server asks, with a cap and a deadline for the whole. A request that a
summarizer finds too long is never sent again unchanged. What comes back is a summary, or a reason why there is none.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pid.core.prompts import Capacity, Task, fault
from pid.core.replies import Call, Reply, Spent, SummarizerFault
from pid.core.tokens import Tokens
from pid.errors import SummarizerFailed, SummarizerUnavailable
from pid.protocol import ModelRef, SummaryRequest

logger = logging.getLogger(__name__)

EXTRACTIVE: Final = "extractive"
AUTO: Final = "auto"

MAX_ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0
REQUEST_SECONDS: Final = 180.0
DEADLINE_SECONDS: Final = 900.0
_MAX_SPLITS: Final = 5
"""How often pieces are halved: from a window of 200,000 tokens down to one of 6,000."""


class Summarizer(Protocol):
    """What asks a model. The one without a model is no such thing: it sends no requests."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def is_available(self) -> bool:
        """Whether it can be asked now."""

    @property
    def capacity(self) -> Capacity:
        """What it takes."""

    async def ask(self, call: Call) -> Reply:
        """The reply to one request. Raises `SummarizerFault`."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a compaction is: which request of how many, and which attempt at it."""

    phase: str
    attempt: int
    chunk: int
    chunks: int


Make = Callable[[Capacity], Awaitable[Task]]
"""Gives the task for a capacity; of a long history that is work for a thread."""
Report = Callable[[Step], None]
Pause = Callable[[float], Awaitable[None]]


def choose(name: str, available: Sequence[Summarizer], *, fallback: bool) -> list[Summarizer | None]:
    """The summarizers to try, in order; None is the extractive one. Raises `SummarizerUnavailable`.

    `auto` takes the first that is available, the client's before the API; a failed one falls back to the extractive
    one if the settings allow it.
    """
    usable = [summarizer for summarizer in available if summarizer.is_available]
    if name == EXTRACTIVE or (name == AUTO and not usable):
        return [None]
    chosen = usable[:1] if name == AUTO else [summarizer for summarizer in usable if summarizer.name == name]
    if not chosen:
        known = [summarizer.name for summarizer in available] + [EXTRACTIVE]
        there = ", ".join([AUTO, *(summarizer.name for summarizer in usable), EXTRACTIVE])
        why = "is not available: no key, or a client without `summarize`" if name in known else "is not known"
        raise SummarizerUnavailable(f"The summarizer {name!r} {why}. There are now: {there}.")
    return [*chosen, None] if fallback else list(chosen)


@dataclass(slots=True)
class Asking:
    """The requests of one compaction to one summarizer."""

    summarizer: Summarizer
    model: ModelRef | None
    session_id: str
    compaction_id: str
    report: Report
    spent: Spent = field(default_factory=Spent)
    pause: Pause = asyncio.sleep
    deadline: float = field(default_factory=lambda: asyncio.get_running_loop().time() + DEADLINE_SECONDS)

    async def answer(self, make: Make, tokens: Tokens, replaced: int) -> str:
        """The notes on one task, each piece folded into the notes on those before it.

        `make` gives the task for a capacity: after an overflow it is made anew for a smaller one. `replaced` are the
        tokens that the notes stand for. Raises `SummarizerFailed`.
        """
        capacity = self.summarizer.capacity
        task = await make(capacity)
        for _ in range(_MAX_SPLITS + 1):
            try:
                return await self._fold(task, tokens, replaced)
            except SummarizerFault as error:
                if error.reason != "overflow":
                    raise self._failed(error.reason, str(error)) from None
            longest = tokens(max(task.pieces, key=len)) + task.max_tokens
            capacity = Capacity(min(capacity.window, longest) // 2, capacity.max_output)
            before, task = task, await make(capacity)
            if task.pieces == before.pieces:
                break
        raise self._failed("overflow", "every request was too long, however small the pieces")

    async def _fold(self, task: Task, tokens: Tokens, replaced: int) -> str:
        notes: str | None = None
        for index in range(len(task.pieces)):
            reply = await self._patiently(task.request(index, notes), index + 1, len(task.pieces))
            self.spent.add(reply)
            if reason := fault(reply.text, reply.stop_reason, tokens(reply.text), replaced):
                raise self._failed(reason, f"the reply is no summary ({reason})")
            notes = _sound(reply.text).strip()
        return notes or ""

    async def _patiently(self, request: SummaryRequest, chunk: int, chunks: int) -> Reply:
        """One request, tried again while its faults may pass."""
        pause = FIRST_PAUSE
        for attempt in range(1, MAX_ATTEMPTS + 1):
            self.report(Step(request.purpose, attempt, chunk, chunks))
            left = self._seconds_left()
            call = Call(request, self.model, min(left, REQUEST_SECONDS), self.session_id, self.compaction_id)
            self.spent.attempts += 1
            try:
                return await self.summarizer.ask(call)
            except SummarizerFault as error:
                wait = pause if error.retry_after is None else error.retry_after
                last = attempt == MAX_ATTEMPTS or wait > min(LONGEST_PAUSE * 2, self._seconds_left())
                if not error.transient or last:
                    raise
            await self.pause(min(wait, LONGEST_PAUSE * 2))
            pause = min(pause * 2, LONGEST_PAUSE)
        raise AssertionError("the last attempt raises")

    def _seconds_left(self) -> float:
        left = self.deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise SummarizerFault("timeout", f"no summary in {DEADLINE_SECONDS:.0f} s")
        return left

    def _failed(self, reason: str, why: str) -> SummarizerFailed:
        transient = reason in ("timeout", "transport", "rateLimit", "overloaded")
        return SummarizerFailed(
            f"The summarizer {self.summarizer.name} wrote no summary: {why}.",
            retryable=transient,
            attempts=self.spent.attempts,
            reason=reason,
        )


def _sound(text: str) -> str:
    """A text without lone surrogates, which no file and no API takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


async def write_summary(
    chosen: Sequence[Summarizer | None],
    ask: Callable[[Summarizer, Spent], Awaitable[str]],
    extract: Callable[[], Awaitable[str]],
    size: Tokens,
    replaced: int,
) -> tuple[str, str, Spent]:
    """The text of a summary, who wrote it, and what that took: by the first of `chosen` that does not fail.

    A text larger than the `replaced` tokens that it stands for is a failure too. Raises `SummarizerFailed`.
    """
    spent = Spent()
    for place, summarizer in enumerate(chosen, 1):
        name = EXTRACTIVE if summarizer is None else summarizer.name
        try:
            text = await (extract() if summarizer is None else ask(summarizer, spent))
            if reason := fault(text, "stop", size(text), replaced):
                message = f"The summarizer {name} wrote no summary: it would be {reason} than what it replaces."
                raise SummarizerFailed(message, attempts=spent.attempts, reason=reason)
            return text, name, spent
        except SummarizerFailed as error:
            if place == len(chosen):
                raise
            logger.warning("falling back from the summarizer %s: %s", name, error.details.get("reason"))
    raise AssertionError("something is always chosen")
