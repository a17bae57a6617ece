"""How the cost of a work grows with its session: the exponent of the power law that fits best."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

SIZED = re.compile(r"(?P<kind>[a-z0-9]+)-(?P<entries>[0-9]+)")  # how sessions are named
FEWEST = 3


class Work(NamedTuple):
    """What was measured on sessions of one kind; `unit` is that of the figures."""

    work: str
    kind: str
    unit: str


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least-squares line through (log size, log cost): 0 is flat, 1 is linear.

    Sizes and costs are above 0, and there are two sizes at least.
    """
    sizes, costs = [log(size) for size, _ in points], [log(cost) for _, cost in points]
    middle, height = sum(sizes) / len(points), sum(costs) / len(points)
    rise = sum((size - middle) * (cost - height) for size, cost in zip(sizes, costs, strict=True))
    return rise / sum((size - middle) ** 2 for size in sizes)


def exponents(samples: Mapping[tuple[str, str, str], Iterable[float]]) -> dict[Work, float]:
    """Fitted to the minima, by work; of time only, where there are three sizes. Keys are (work, session, unit)."""
    points: dict[Work, list[tuple[float, float]]] = defaultdict(list)
    for (work, session, unit), values in samples.items():
        if (sized := SIZED.fullmatch(session)) and (least := min(values)) > 0:
            points[Work(work, sized["kind"], unit)].append((float(sized["entries"]), least))
    return {work: exponent(found) for work, found in points.items() if len(found) >= FEWEST and work.unit != "MB"}
