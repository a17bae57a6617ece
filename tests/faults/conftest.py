"""What the fault suite has in common: its sizes, its counts, a home for its daemons.

`PID_LONG=1` runs the long sizes, by hand. Every part says what it did through `counts`; it stands at the end of the
run: faults without a count of them prove nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

LONG = os.environ.get("PID_LONG") == "1"
_lines: list[str] = []


def sized(short: int, long: int) -> int:
    """A size in CI, and by hand with `PID_LONG=1`."""
    return long if LONG else short


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`counts(rounds=20, lost=0)` is printed at the end of the run, under the test's name."""

    def count(**figures: object) -> None:
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
        _lines.append(f"{request.node.name}: {told}")

    return count


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home directory of the daemons of one test."""
    home = tmp_path / "home"
    home.mkdir()
    return home


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts."""
    if _lines:
        terminalreporter.section(f"faults ({'long' if LONG else 'short'} sizes)")
        for line in _lines:
            terminalreporter.write_line(line)
        _lines.clear()
