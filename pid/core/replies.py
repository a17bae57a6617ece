"""What a summarizer answers, or why it does not: the words that all of them share. Values only."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pid.core.prompts import Capacity
from pid.protocol import ModelRef, SummaryRequest

Usage = dict[str, Any]
"""pi's `usage`: `input`, `output`, `cacheRead`, `cacheWrite`, `totalTokens`, `cost`."""

_ABSURD: Final = 1e15  # a number that no call takes is none
_COUNTS: Final = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
_COSTS: Final = ("input", "output", "cacheRead", "cacheWrite", "total")


class Call(NamedTuple):
    """One request to a summarizer, the model that the settings name, and the seconds that it may take."""

    request: SummaryRequest
    model: ModelRef | None
    seconds: float
    session_id: str
    compaction_id: str


class Reply(NamedTuple):
    """A reply: its text, why it ended (`stop`, `length`, `refusal`, `toolUse`, `error`), and what it took."""

    text: str
    stop_reason: str
    usage: Usage | None = None
    model: ModelRef | None = None


class SummarizerFault(Exception):
    """Why there is no reply. `reason` is told to clients: `auth`, `overflow`, `timeout`, `transport`, …

    `transient` faults may pass, perhaps after `retry_after` seconds; the others are final.
    """

    def __init__(self, reason: str, message: str, *, transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.transient = transient
        self.retry_after = retry_after


@dataclass(slots=True)
class Spent:
    """What the requests of one compaction took together."""

    attempts: int = 0
    usage: Usage | None = None
    models: list[ModelRef] = field(default_factory=list)

    def add(self, reply: Reply) -> None:
        """Counts a reply."""
        if reply.model is not None:
            self.models.append(reply.model)
        if reply.usage is None:
            return
        before = self.usage or usage_of({})
        cost = {key: _number(before["cost"], key) + _number(reply.usage.get("cost"), key) for key in _COSTS}
        counts = {key: int(_number(before, key) + _number(reply.usage, key)) for key in _COUNTS}
        self.usage = {**counts, "cost": cost}


def usage_of(counts: dict[str, int]) -> Usage:
    """pi's `usage` of these counts (`input`, `output`, `cacheRead`, `cacheWrite`), the price of which is not known."""
    found = {key: counts.get(key, 0) for key in _COUNTS[:-1]}
    return {**found, "totalTokens": sum(found.values()), "cost": dict.fromkeys(_COSTS, 0)}


def _number(values: Any, key: str) -> int | float:
    value = values.get(key) if isinstance(values, dict) else None
    return value if isinstance(value, int | float) and 0 < value < _ABSURD else 0


DEFAULT_CAPACITY: Final = Capacity()
