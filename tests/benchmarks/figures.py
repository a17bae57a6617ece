"""Figures: samples of each kind of work, as a table for people and as JSON lines for programs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

Key = tuple[str, str, str]  # work, session, unit
COLUMNS = ("work", "session", "unit", "pid median", "pid min", "pi median", "pi min", "pid / pi")


@dataclass
class Figures:
    """Samples by program and key, in the order in which each kind first came."""

    samples: dict[str, dict[Key, list[float]]] = field(default_factory=lambda: {"pid": {}, "pi": {}})

    def add(self, program: str, work: str, session: str, unit: str, *values: float | None) -> None:
        """None is a figure that this system cannot give; it leaves no trace."""
        known = [value for value in values if value is not None]
        if known:
            self.samples[program].setdefault((work, session, unit), []).extend(known)

    def lines(self) -> Iterable[str]:
        """One JSON object a line: first the machine, then each kind of work."""
        yield json.dumps({"machine": machine()})
        for program, kinds in self.samples.items():
            for (work, session, unit), values in kinds.items():
                yield json.dumps({"program": program, "work": work, "session": session, "unit": unit} | summary(values))

    def table(self) -> str:
        """Markdown, readable as it is."""
        keys = list(dict.fromkeys(key for kinds in self.samples.values() for key in kinds))
        rows = [COLUMNS, *(self._row(key) for key in keys)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows.insert(1, tuple("-" * width for width in widths))
        return "\n".join(_table_line(row, widths) for row in rows)

    def _row(self, key: Key) -> tuple[str, ...]:
        ours, theirs = (self.samples[program].get(key) for program in ("pid", "pi"))
        ratio = f"{median(ours) / median(theirs):.3f}" if ours and theirs and median(theirs) else ""
        return (*key, *_two(ours), *_two(theirs), ratio)


def summary(values: list[float]) -> dict[str, Any]:
    return {"median": round(median(values), 3), "min": round(min(values), 3), "samples": len(values)}


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


def _two(values: list[float] | None) -> tuple[str, str]:
    return (_short(median(values)), _short(min(values))) if values else ("", "")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table_line(row: tuple[str, ...], widths: list[int]) -> str:
    left = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
    return f"| {' | '.join(left + right)} |"


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
