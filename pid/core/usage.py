"""How full the context is: what the provider reported last, and an estimate of what came after.

Usage that a provider reports is exact, for the context as it was then: it is the base as long as neither a
compaction nor an edit came later. Between two reports lies what a gap truly took, which corrects the estimate. All
of it walks back from the newest entry, and stops as soon as it knows enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Final, Literal, NamedTuple

from pid.core.speech import Estimator, Speech
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

    `error` is the likely relative error of `estimated`.
    """

    usage: int
    estimated: int
    error: float

    @property
    def tokens(self) -> int:
        return self.usage + self.estimated

    @property
    def source(self) -> Literal["provider", "estimate", "mixed"]:
        if not self.usage:
            return "estimate"
        return "mixed" if self.estimated else "provider"


def fill(speech: Speech, estimator: Estimator, overhead: int = 0, end: int | None = None) -> Fill:
    """How full the context is up to the place `end`; `overhead` (system prompt, tools) counts where nothing was
    reported. With a report in reach, it costs what follows the report.
    """
    stop = len(speech) if end is None else end
    estimated = 0
    for place in range(stop - 1, speech.after - 1, -1):
        entry = speech[place]
        if entry.kind == Kind.CONTEXT_EDIT:
            break
        if usage := reported(entry.message):
            return Fill(usage.total, estimated, estimator.error)
        estimated += estimator.entry(speech, entry)
    return Fill(0, overhead + whole(speech, estimator, stop), estimator.error)


def whole(speech: Speech, estimator: Estimator, stop: int) -> int:
    """The estimate of a whole context without any report: the system prompt as it is now, then the rest."""
    prompt: list[dict[str, Any]] = []
    tokens = 0
    for entry in chain.from_iterable(speech.stream(0, stop)):
        system = [message for message in entry.messages if message.get("role") == "system"]
        prompt += system
        tokens += estimator.entry(speech, entry) - sum(map(estimator.message, system))
    now = replay(prompt).as_message()
    return tokens + (estimator.message(now) if now else 0)


def learned_overhead(path: Speech, estimator: Estimator) -> int:
    """What the system prompt and the tools take, from the first report on a path (all entries, the root first).

    0 where none comes before the first compaction.
    """
    before = 0
    for entry in chain.from_iterable(path.stream(0, len(path))):
        if entry.kind == Kind.COMPACTION:
            return 0
        if usage := reported(entry.message):
            return max(0, usage.prompt - before)
        before += estimator.entry(path, entry)
    return 0


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
