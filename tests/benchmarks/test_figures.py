"""The table and the lines say what was measured."""

from __future__ import annotations

import json
import os

import pytest

from tests.benchmarks.figures import Figures
from tests.benchmarks.wire import Memory


def test_medians_minima_and_the_ratio() -> None:
    figures = Figures()
    figures.add("pid", "open", "linear-1000", "ms", 3.0, 1.0, 2.0)
    figures.add("pi", "open", "linear-1000", "ms", 8.0)
    figures.add("pid", "open", "linear-1000", "MB", None)
    head, _, row = figures.table().splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["open", "linear-1000", "ms", "2", "1", "8", "8", "0.250"]
    assert len(head) == len(row)
    machine, ours, theirs = map(json.loads, figures.lines())
    assert machine["machine"]["python"]
    assert (ours["median"], ours["min"], ours["samples"], theirs["program"]) == (2.0, 1.0, 3, "pi")


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="Linux only")
def test_memory_is_the_peak_and_not_what_is_left() -> None:
    memory = Memory(os.getpid())
    bytearray(50_000_000)
    added = memory.added()
    assert added is not None
    assert 45 < added < 80
