"""Figures: samples of each kind of work, as a table for people and as JSON lines for programs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.growth import exponents

Key = tuple[str, str, str]  # work, session, unit

PROGRAMS = ("pid", "pi", "pi rpc", "bare")
"""The daemon, pi's library, pi's RPC mode, and the floor (see `floors`)."""


@dataclass
class Figures:
    """Samples by program and key, in the order in which each kind first came."""

    samples: dict[str, dict[Key, list[float]]] = field(default_factory=lambda: {name: {} for name in PROGRAMS})
    failures: dict[str, dict[Key, str]] = field(default_factory=lambda: {name: {} for name in PROGRAMS})

    def add(self, program: str, work: str, session: str, unit: str, *values: float | None) -> None:
        """None is a figure that this system cannot give; it leaves no trace."""
        known = [value for value in values if value is not None]
        if known:
            self.samples[program].setdefault((work, session, unit), []).extend(known)

    def failed(self, program: str, work: str, session: str, unit: str, reason: str) -> None:
        """The program cannot do this."""
        self.failures[program][work, session, unit] = reason

    def lines(self) -> Iterator[str]:
        """One JSON object a line: the machine, then each kind of work, then how it grows."""
        yield json.dumps({"machine": machine()})
        for program in PROGRAMS:
            named = {"program": program}
            for key, values in self.samples[program].items():
                yield json.dumps(named | _named(key) | summary(values))
            for key, reason in self.failures[program].items():
                yield json.dumps(named | _named(key) | {"fails": reason})
            for work, grown in exponents(self.samples[program]).items():
                yield json.dumps(named | work._asdict() | {"exponent": round(grown, 3)})

    def table(self) -> str:
        """Markdown, readable as it is: medians with the range, the ratio of medians; then the exponents of growth."""
        head = ("work", "session", "unit", *PROGRAMS, "pid / pi", "pid / bare")
        grown = [exponents(self.samples[program]) for program in PROGRAMS]
        growths = [
            (*work, *(f"{found[work]:.2f}" if work in found else "" for found in grown)) for work in _merged(grown)
        ]
        works = markdown([head, *map(self._row, self._keys())])
        return works + "\n\n" + markdown([("growth of", "sessions", "unit", *PROGRAMS), *growths])

    def _keys(self) -> Iterable[Key]:
        return _merged([*self.samples.values(), *self.failures.values()])

    def _row(self, key: Key) -> tuple[str, ...]:
        values = {program: self.samples[program].get(key) for program in PROGRAMS}
        cells = (spread(found) if (found := values[name]) else self._failure(name, key) for name in PROGRAMS)
        theirs = values["pi"] or values["pi rpc"]
        return (*key, *cells, _ratio(values["pid"], theirs), _ratio(values["pid"], values["bare"]))

    def _failure(self, program: str, key: Key) -> str:
        return "fails" if key in self.failures[program] else ""


def summary(values: Sequence[float]) -> dict[str, Any]:
    rounded = {"median": median(values), "min": min(values), "max": max(values)}
    return {name: round(value, 3) for name, value in rounded.items()} | {"samples": len(values)}


def machine() -> dict[str, Any]:
    """What the figures depend on, as far as the system tells."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "system": platform.platform(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def markdown(rows: Sequence[Sequence[str]], left: int = 3) -> str:
    """A table with aligned columns, the first `left` of them to the left; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width if place < left else "-" * (width - 1) + ":" for place, width in enumerate(widths)]
    return "\n".join(_line(row, widths, left) for row in (rows[0], rule, *rows[1:]))


def short(value: float) -> str:
    """Three digits, or whole with separators."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """The median, and between which values it lies."""
    least, most = short(min(values)), short(max(values))
    return short(median(values)) + (f" ({least}-{most})" if least != most else "")


def _ratio(ours: Sequence[float] | None, theirs: Sequence[float] | None) -> str:
    return f"{median(ours) / median(theirs):.3f}" if ours and theirs and median(theirs) else ""


def _merged(parts: Iterable[Iterable[Any]]) -> list[Any]:
    """Every key once, in the order in which it first came."""
    return list(dict.fromkeys(key for part in parts for key in part))


def _named(key: Key) -> dict[str, str]:
    return dict(zip(("work", "session", "unit"), key, strict=True))


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row[:left], widths[:left], strict=True)]
    cells += [cell.rjust(width) for cell, width in zip(row[left:], widths[left:], strict=True)]
    return f"| {' | '.join(cells)} |"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _commit() -> str:
    here = Path(__file__).parent
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    return done.stdout.strip()
