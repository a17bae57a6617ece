"""The tables and the lines say what was measured."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.benchmarks.figures import Figures
from tests.benchmarks.growth import exponent, exponents
from tests.benchmarks.processes import Memory, processor_seconds
from tests.benchmarks.readme import how_fast


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def sample() -> Figures:
    figures = Figures()
    figures.add("pid", "open", "linear-100000", "ms", 3.0, 1.0, 2.0)
    figures.add("pid", "open", "linear-100000", "MB", None)
    figures.add("pi", "open", "linear-100000", "ms", 8.0)
    figures.add("pi rpc", "open", "linear-100000", "ms", 16.0)
    figures.add("bare", "open", "linear-100000", "ms", 0.5)
    figures.failed("pi rpc", "tree, previews", "linear-100000", "ms", "stack")
    return figures


def test_medians_with_their_range_the_ratios_and_what_fails() -> None:
    head, _, opened, tree, *_ = sample().table().splitlines()
    assert cells(head) == ["work", "session", "unit", "pid", "pi", "pi rpc", "bare", "pid / pi", "pid / bare"]
    assert cells(opened) == ["open", "linear-100000", "ms", "2 (1-3)", "8", "16", "0.5", "0.250", "4.000"]
    assert cells(tree) == ["tree, previews", "linear-100000", "ms", "", "", "fails", "", "", ""]
    assert len(head) == len(opened) == len(tree)


def test_every_figure_is_a_line_behind_that_of_the_machine() -> None:
    machine, ours, theirs, rpc, failed, _ = map(json.loads, sample().lines())
    assert machine["machine"]["python"]
    assert (ours["median"], ours["min"], ours["max"], ours["samples"]) == (2.0, 1.0, 3.0, 3)
    assert [theirs["program"], rpc["program"], failed["program"]] == ["pi", "pi rpc", "pi rpc"]
    assert failed["fails"] == "stack"


@pytest.mark.parametrize("slope", [0.0, 1.0, 1.7])
def test_the_exponent_of_a_power_law(slope: float) -> None:
    assert exponent([(size, 3 * size**slope) for size in (1e3, 1e4, 1e5)]) == pytest.approx(slope)


def test_growth_is_fitted_to_the_minima_of_three_sizes() -> None:
    figures = Figures()
    for size in (1000, 10_000, 100_000):
        figures.add("pid", "open", f"linear-{size}", "ms", size / 100, size)
        figures.add("pid", "open", f"linear-{size}", "MB", 1.0)
        figures.add("pid", "list", f"{size} sessions", "ms", 1.0)
    figures.add("pid", "open", "branchy-10000", "ms", 1.0)
    [(work, fitted)] = exponents(figures.samples["pid"]).items()
    assert (work, fitted) == (("open", "linear", "ms"), pytest.approx(1.0))
    assert json.loads(list(figures.lines())[-1])["exponent"] == 1.0
    assert cells(figures.table().splitlines()[-1]) == ["open", "linear", "ms", "1.00", "", "", ""]


def test_the_table_of_the_readme_comes_from_the_lines() -> None:
    figures = sample()
    figures.add("pid", "small request while a session opens", "linear-100000", "ms", 1.0, 2.0, 40.0)
    for size in (1000, 10_000, 100_000):
        figures.add("pid", "entry", f"linear-{size}", "us", 70.0)
    text = how_fast(figures.lines())
    rows = {row[0]: row[1:] for row in map(cells, text.splitlines()) if len(row) == 6}
    assert rows["open a session of 100,000 entries, 245 MB"] == ["8 ms", "0.5 ms", "2 ms", "0.250", "≤ 1/5 of pi ✗"]
    assert rows["the tree of 100,000 entries, with previews"][0] == "fails"
    assert rows["a small request while 245 MB are opened"][2] == "2 ms, 40 ms at most"
    assert rows["a small request while 245 MB are opened"][4] == "≤ 20 ms ✓, longest ≤ 50 ms ✓"
    assert [row[2:] for name, row in rows.items() if "exponent" in name] == [["0.00 at most", "", "≤ 0.1 ✓"]]
    assert rows["… again, with nothing appended meanwhile"] == ["", "", "", "", "≤ 1/10 of pi"]
    assert len(rows) - 2 <= 20  # but its head and the rule


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="Linux only")
def test_memory_is_the_peak_and_not_what_is_left() -> None:
    memory = Memory(os.getpid())
    bytearray(50_000_000)
    added = memory.added()
    assert added is not None
    assert 45 < added < 80


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="Linux only")
def test_processor_time_is_that_of_the_whole_process() -> None:
    seconds = processor_seconds(os.getpid())
    assert seconds == pytest.approx(time.process_time(), abs=0.1)
