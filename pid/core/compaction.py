"""What a compaction would do: whether it is due, what it summarises and what it keeps, as a value.

A plan depends on the entries in effect and the settings alone, and reads no more bodies than those of the tail that
it keeps, and of what follows the last reported usage. It writes no summary, and decides nothing about when.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from pid.core.context import InEffect
from pid.core.cut import before_silence, nearest_cut
from pid.core.speech import Entry, Estimator, Speech
from pid.core.system_replay import replay
from pid.core.tokens import blocks_of
from pid.core.tree import Tree
from pid.core.usage import Fill, fill
from pid.entries import Kind
from pid.errors import NothingToCompact
from pid.protocol import Overflow

DEFAULT_RESERVE: Final = 16_384
DEFAULT_KEEP: Final = 20_000
EXPECTED_SUMMARY: Final = 4_000
"""The tokens that a summary takes, as far as a plan can know; of what is short, half of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes that a plan obeys, in tokens. `window` None: unknown, so nothing is due and everything fits."""

    window: int | None = None
    reserve: int = DEFAULT_RESERVE
    keep: int = DEFAULT_KEEP
    overhead: int = 0
    """What the system prompt and the tools take."""

    @property
    def threshold(self) -> int | None:
        """What a context may take before a compaction is due.

        A window no larger than the reserve would always be overfull: then a quarter of it is the reserve.
        """
        if self.window is None:
            return None
        return self.window - (self.reserve if self.reserve < self.window else self.window // 4)

    @property
    def room(self) -> int | None:
        """What the kept tail may take, beside the system prompt and a summary."""
        if (threshold := self.threshold) is None:
            return None
        return max(0, threshold - self.overhead - min(EXPECTED_SUMMARY, threshold // 4))


def is_due(tokens: int, limits: Limits) -> bool:
    """Whether a context of so many tokens should be compacted."""
    return limits.threshold is not None and tokens > limits.threshold


_MOST_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class Breaker:
    """Stops compactions that start by themselves after three in a row that failed or freed nothing."""

    failures: int = 0

    @property
    def is_open(self) -> bool:
        """Whether none may start by itself until one succeeds, or the leaf changes branch."""
        return self.failures >= _MOST_FAILURES

    def after(self, freed: int | None) -> "Breaker":
        """The breaker behind a compaction that freed so many tokens; None: it failed."""
        return Breaker() if freed is not None and freed > 0 else Breaker(self.failures + 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """Places among `rows`, the entries in effect: [begin, turn_start) is summarised as history, [turn_start, cut) as
    the head of a split turn (empty where none is split), the rest is kept. `cut` at the end keeps none.
    """

    rows: Sequence[int]
    begin: int
    turn_start: int
    cut: int
    tokens_before: int
    tokens_kept: int
    tokens_after: int

    @property
    def is_split_turn(self) -> bool:
        return self.turn_start < self.cut

    @property
    def history(self) -> Sequence[int]:
        """The rows that are summarised, but for the head of a split turn."""
        return self.rows[self.begin : self.turn_start]

    @property
    def turn_head(self) -> Sequence[int]:
        """The rows of a split turn that are summarised."""
        return self.rows[self.turn_start : self.cut]

    @property
    def kept(self) -> Sequence[int]:
        """The rows that stay in effect."""
        return self.rows[self.cut :]


def plan(
    speech: Speech,
    estimator: Estimator,
    limits: Limits,
    overflow: Overflow | None = None,
    filled: Fill | None = None,
) -> Plan:
    """The plan for the entries in effect; after a reported `overflow`, one whose estimate fits what was reported.

    `filled` says how full the context is, where that is known. Raises `NothingToCompact` where no message would be
    summarised.
    """
    begin = 1 if speech.after else 0
    end = _before_failed_attempt(speech, begin) if overflow else len(speech)
    if filled is None or end < len(speech):
        filled = fill(speech, estimator, limits.overhead, end)
    estimated = filled.tokens
    before = max(estimated, overflow.prompt_tokens or 0) if overflow else estimated
    if overflow and before:
        limits = _lowered(limits, estimated, before, overflow.limit)
    cut, kept = _cut(_tail(speech, estimator, begin, end, limits.keep), speech, begin, limits)
    turn_start = _turn_start(speech, begin, cut)
    if not _says_something(speech, begin, cut):
        message = "Nothing would be summarised: all that is in the context would be kept"
        raise NothingToCompact(f"{message} (keepRecentTokens: {limits.keep:,}).")
    summary = max(0, min(EXPECTED_SUMMARY, (before - limits.overhead - kept) // 2))
    return Plan(speech.rows, begin, turn_start, cut, before, kept, limits.overhead + summary + kept)


def _before_failed_attempt(speech: Speech, begin: int) -> int:
    """The place of the failed attempts at the very end; the end where there is none."""
    end = place = len(speech)
    while place > begin:
        place -= 1
        message = speech[place].message
        if message is None:
            continue
        if message.get("role") != "assistant" or message.get("stopReason") not in ("error", "aborted"):
            break
        end = place
    return end


def _lowered(limits: Limits, estimated: int, before: int, limit: int | None) -> Limits:
    """The limits in the terms of the estimate, where a provider said that `before` tokens were too many."""
    window = min(size for size in (limits.window, limit, before) if size)
    scale = estimated / before
    return replace(
        limits,
        window=max(1, int(window * scale)),
        reserve=min(int(limits.reserve * scale), int(window * scale) // 2),
        keep=int(limits.keep * scale),
    )


def system_message(speech: Speech) -> dict[str, Any] | None:
    """The system prompt in effect as one message, for the compaction's entry to carry on (its `systemMessage`): what
    it keeps is kept without the system messages. None where there is none; the caller adds the time.
    """
    places = [place for place, row in enumerate(speech.rows) if speech.kinds[row] == Kind.SYSTEM]
    entries = [speech[place] for place in ([0, *places] if speech.after else places)]
    said = (message for entry in entries for message in entry.messages)
    return replay(message for message in said if message.get("role") == "system").as_message()


# A branch that is left


def left_rows(tree: Tree, effect: InEffect, target: int) -> list[int]:
    """Of the entries in effect at a leaf those that are out of sight from `target`: what a branch summary is about."""
    stay = set(tree.path(target))
    return [row for row in effect.rows if row not in stay]


# The cut point

_CUT_ROLES: Final = frozenset({"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"})
_TURN_ROLES: Final = _CUT_ROLES - {"assistant"}
"""The roles of the user's side: each begins a turn."""


@dataclass(frozen=True, slots=True)
class _Tail:
    """The newest entries, read back to `reached`, where the tokens to keep were reached (or to the beginning).

    `cuts` are the valid places, ascending, each with the tokens from there to the end.
    """

    reached: int
    cuts: Sequence[tuple[int, int]]


def _tail(speech: Speech, estimator: Estimator, begin: int, end: int, keep: int) -> _Tail:
    tokens, reached = 0, None
    candidates: list[tuple[int, int]] = []
    waiting: dict[str, int] = {}  # the calls of results already seen, and the newest place that answers each
    spans: list[tuple[int, int]] = []  # of a call and its last result: nothing between may be cut
    clear = False
    for place in range(end - 1, begin - 1, -1):
        entry = speech[place]
        tokens += estimator.entry(speech, entry)
        _link(entry, place, waiting, spans)
        if entry.role in _CUT_ROLES and entry.kind != Kind.COMPACTION:
            candidates.append((place, tokens))
            clear = clear or not waiting
        if reached is None and tokens >= keep:
            reached = place
        if reached is not None and clear and not waiting:
            break
    return _Tail(begin if reached is None else reached, list(_allowed(reversed(candidates), sorted(spans))))


def _link(entry: Entry, place: int, waiting: dict[str, int], spans: list[tuple[int, int]]) -> None:
    if entry.role == "toolResult":
        for message in entry.messages:
            if isinstance(call := message.get("toolCallId"), str):
                waiting.setdefault(call, place)
    elif entry.role == "assistant":
        answered = (waiting.pop(call, None) for call in _call_ids(entry))
        spans.extend((place, last) for last in answered if last is not None)


def _call_ids(entry: Entry) -> Iterator[str]:
    for message in entry.messages:
        for block in blocks_of(message.get("content")):
            if block.get("type") == "toolCall" and isinstance(call := block.get("id"), str):
                yield call


def _allowed(candidates: Iterator[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The candidates that stand inside no span; both ascend."""
    blocked_to, index = -1, 0
    for place, tokens in candidates:
        while index < len(spans) and spans[index][0] < place:
            blocked_to = max(blocked_to, spans[index][1])
            index += 1
        if place > blocked_to:
            yield place, tokens


def _cut(tail: _Tail, speech: Speech, begin: int, limits: Limits) -> tuple[int, int]:
    """The first kept place, and the tokens kept: the first valid one at or after `reached`, else the last before;
    later where that does not fit, and the very end where none fits. Then back over entries that say nothing.
    """
    if not tail.cuts:
        return begin, 0
    tokens_from = dict(tail.cuts)
    cut = nearest_cut(list(tokens_from), tail.reached)
    if limits.room is not None and tokens_from[cut] > limits.room:
        later = (place for place, tokens in tail.cuts if place > cut and tokens <= limits.room)
        cut = next(later, len(speech))
    if cut == len(speech):
        return cut, 0
    return before_silence(cut, begin, lambda place: _is_silent(speech[place])), tokens_from[cut]


def _is_silent(entry: Entry) -> bool:
    return not entry.messages and entry.kind != Kind.COMPACTION


def _turn_start(speech: Speech, begin: int, cut: int) -> int:
    """Where the turn begins that a cut parts; the cut itself where it parts none."""
    first = cut
    while first < len(speech) and not speech[first].messages:
        first += 1
    if first == len(speech) or _begins_turn(speech[first]):
        return cut
    return next((place for place in range(cut - 1, begin - 1, -1) if _begins_turn(speech[place])), cut)


def _begins_turn(entry: Entry) -> bool:
    return entry.role in _TURN_ROLES and entry.kind != Kind.COMPACTION


def _says_something(speech: Speech, begin: int, cut: int) -> bool:
    return any(map(_is_conversation, chain.from_iterable(speech.stream(begin, cut))))


def _is_conversation(entry: Entry) -> bool:
    """Whether an entry's message is summarised: the system prompt is state, and goes on whole."""
    return entry.role is not None and entry.role != "system"
