"""How full the context is: what the provider reported last, and an estimate of what came after.

Usage that a provider reports is exact, for the context as it was then: it is the base as long as neither a
compaction nor an edit came later. Between two reports lies what a gap truly took, which corrects the estimate. All
of it walks back from the newest entry, and stops as soon as it knows enough.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from math import hypot
from typing import Any, Final, Literal, NamedTuple

from pid.core.guess import GUESS_ERROR
from pid.core.speech import Entry, Estimator, Speech
from pid.core.system_replay import replay
from pid.core.tokens import Calibration, Message, Size, TokenCounter, calibration_for, total
from pid.entries import Kind

_ABSURD: Final = 1e15
_FAILED: Final = frozenset({"aborted", "error"})


class Reported(NamedTuple):
    """What one call took, as its provider reported it."""

    prompt: int
    output: int
    total: int
    model: str


def reported(message: Message | None) -> Reported | None:
    """The usage of an assistant message. That of a call that failed, and all zeros, is none."""
    if message is None or message.get("role") != "assistant" or message.get("stopReason") in _FAILED:
        return None
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt = _tokens(usage, "input") + _tokens(usage, "cacheRead") + _tokens(usage, "cacheWrite")
    output = _tokens(usage, "output")
    whole = max(_tokens(usage, "totalTokens"), prompt + output)
    return Reported(prompt, output, whole, str(message.get("model"))) if whole > 0 else None


def _tokens(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and abs(value) < _ABSURD else 0


# The context


@dataclass(frozen=True, slots=True)
class Fill:
    """How full the context is, in tokens: what was reported, and what is estimated on top.

    `guessed` are those of `estimated` whose texts nobody counted; `counted_error` is the likely relative error where
    all were.
    """

    usage: int
    estimated: int
    counted_error: float
    guessed: int = 0

    @property
    def tokens(self) -> int:
        return self.usage + self.estimated

    @property
    def error(self) -> float:
        """The likely relative error of `estimated`."""
        guessed = GUESS_ERROR * min(1.0, self.guessed / self.estimated) if self.estimated > 0 else 0.0
        return round(min(1.0, hypot(self.counted_error, guessed)), 3)

    @property
    def source(self) -> Literal["provider", "estimate", "mixed"]:
        if not self.usage:
            return "estimate"
        return "mixed" if self.estimated else "provider"

    def with_entry(self, speech: Speech, entry: Entry, estimator: Estimator) -> "Fill":
        """The fill with one entry more."""
        tokens = self.estimated + estimator.entry(speech, entry)
        return Fill(self.usage, tokens, estimator.error, self.guessed + estimator.guessed(speech, entry))

    def with_guess(self, tokens: int) -> "Fill":
        """The fill with so many tokens more, about."""
        return Fill(self.usage, self.estimated + tokens, self.counted_error, self.guessed + tokens)


class _Rates:
    """The tokens for each byte of an entry, by its kind, as entries show them that were parsed."""

    def __init__(self) -> None:
        self._tokens: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()

    def __contains__(self, kind: object) -> bool:
        return kind in self._bytes

    def add(self, kind: int, tokens: int, size: int) -> None:
        if kind in _BY_LENGTH:
            self._tokens[kind] += tokens
            self._bytes[kind] += size

    def tokens(self, kind: int, size: int) -> int:
        return self._tokens[kind] * size // max(self._bytes[kind], 1)


NEAR: Final = 2_048
"""Entries from the end on that are parsed to be estimated; at those before them it is looked only."""
_BY_LENGTH: Final = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT})


def _backwards(speech: Speech, estimator: Estimator, stop: int, rates: _Rates) -> Iterator[tuple[int, Entry | None]]:
    """The entries newest first, all parsed as long as they are near, or pi's own estimate is wanted."""
    far = 0 if estimator.calibration is None else max(0, stop - NEAR)
    yield from ((entry.row, entry) for entry in speech.back(far, stop))
    yield from speech.skim(0, far, rates)


def fill(speech: Speech, estimator: Estimator, overhead: int = 0, end: int | None = None) -> Fill:
    """How full the context is up to the place `end`; `overhead` (system prompt, tools) counts where nothing was
    reported. It reads back to the last report, once, and keeps nothing of what it reads.

    Without a report, the system prompt counts as it is now, and not each of the messages that it came from; and what
    is far back goes by its bytes, at the rate of what is near.
    """
    place = len(speech) if end is None else end
    found, may_report = Fill(0, 0, estimator.error), True
    system: list[dict[str, Any]] = []
    rates = _Rates()
    for row, entry in _backwards(speech, estimator, place, rates):
        place -= 1
        if entry is None:
            found = found.with_guess(rates.tokens(speech.kinds[row], speech.length(row)))
            continue
        may_report = may_report and place >= speech.after and entry.kind != Kind.CONTEXT_EDIT
        if may_report and (usage := reported(entry.message)):
            return replace(found, usage=usage.total)
        before, found = found.estimated, found.with_entry(speech, entry, estimator)
        if estimator.calibration and not speech.size(entry).images:
            rates.add(entry.kind, found.estimated - before, speech.length(row))
        system += [message for message in reversed(entry.messages) if message.get("role") == "system"]
    now = replay(reversed(system)).as_message()
    prompt = (estimator.message(now) if now else 0) - sum(map(estimator.message, system))
    return replace(found, estimated=overhead + found.estimated + prompt)


_FIRST_ENTRIES: Final = 256


def learned_overhead(path: Speech, estimator: Estimator) -> int | None:
    """What the system prompt and the tools take, from the first report on a path (all entries, the root first).

    None while there may come one; 0 where none stands among the first entries, or only behind a compaction: what the
    estimate of a long history is off by says nothing about the prompt.
    """
    before = 0
    for entry in chain.from_iterable(path.stream(0, min(len(path), _FIRST_ENTRIES))):
        if entry.kind == Kind.COMPACTION:
            return 0
        if usage := reported(entry.message):
            return max(0, usage.prompt - before)
        before += estimator.entry(path, entry)
    return None if len(path) < _FIRST_ENTRIES else 0


# The correction


class Gap(NamedTuple):
    """What stood between two calls of a model (at `places`), and the tokens that it took."""

    size: Size
    tokens: int
    model: str
    places: range


def reported_gaps(speech: Speech, *, most_gaps: int = 32, most_entries: int = 400) -> list[Gap]:
    """The newest gaps between consecutive reports, newest first: the prompt of a call less what the one before it
    took is what its results and the user added.
    """
    gaps: list[Gap] = []
    later: Reported | None = None
    later_place = len(speech)
    for place in range(len(speech) - 1, max(speech.after, len(speech) - most_entries) - 1, -1):
        entry = speech[place]
        if entry.role != "assistant" and entry.kind != Kind.CONTEXT_EDIT:
            continue
        usage = reported(entry.message)
        if usage and later and usage.model == later.model:
            between = range(place + 1, later_place)
            taken = later.prompt - usage.prompt - usage.output
            size = total(speech.size(speech[at]) for at in between)
            gaps.append(Gap(size, taken, usage.model, between))
        later, later_place = usage, place
        if len(gaps) == most_gaps:
            break
    return gaps


def estimator_for(speech: Speech, model: str | None, count: TokenCounter | None = None) -> Estimator:
    """The calibrated estimator for a model, corrected by what the session itself shows."""
    return Estimator(corrected(calibration_for(model), reported_gaps(speech), model), count)


_TELLING_TEXT: Final = 50  # a gap of fewer tokens tells of constants, not of the slope
_PRIOR_TEXT: Final = 2_000
_PRIOR_GAPS: Final = 4
_SANE_SLOPES: Final = (0.4, 3.0)


def corrected(calibration: Calibration, gaps: Iterable[Gap], model: str | None) -> Calibration:
    """The calibration with the slope and the error that the gaps of this model show.

    The slope is the weighted median of what the gaps ask for, so that one in which the system prompt or the tools
    changed does not pull it; the slope handed in weighs as much as 2,000 tokens.
    """
    telling = [gap for gap in gaps if gap.model == model and gap.size.text >= _TELLING_TEXT and gap.tokens > 0]
    asked = [(_asked_slope(calibration, gap), gap.size.text) for gap in telling]
    low, high = _SANE_SLOPES
    sane = [(slope, weight) for slope, weight in asked if low <= slope <= high]
    fitted = replace(calibration, slope=_weighted_median([*sane, (calibration.slope, _PRIOR_TEXT)]))
    errors = [abs(fitted.tokens(gap.size) - gap.tokens) / gap.tokens for gap in telling]
    return replace(fitted, error=_ninth_of_ten([*errors, *[calibration.error] * _PRIOR_GAPS]))


def _asked_slope(calibration: Calibration, gap: Gap) -> float:
    return calibration.slope + (gap.tokens - calibration.tokens(gap.size)) / gap.size.text


def _weighted_median(values: Sequence[tuple[float, int]]) -> float:
    ordered = sorted(values)
    reached = accumulate(weight for _, weight in ordered)
    half = sum(weight for _, weight in ordered) / 2
    return next(value for (value, _), sum_so_far in zip(ordered, reached, strict=True) if sum_so_far >= half)


def _ninth_of_ten(values: Sequence[float]) -> float:
    return round(min(1.0, sorted(values)[len(values) * 9 // 10]), 3)
