"""The table "How fast" of the README, from the JSON lines of a run. It measures nothing, and leaves gaps as gaps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.benchmarks.figures import markdown, short

Line = Mapping[str, Any]

HEAD = ("", "pi 1.6.0", "floor", "pid", "pid / pi", "target")
LARGE, MIDDLE, MANY = "linear-100000", "linear-10000", "2000 sessions"
LEGEND = (
    "Measured on {date} by `python -m tests.benchmarks`: {processor}, {processors} processors; medians of all runs. "
    "pid is timed at the other end of its pipes. pi is its library, timed inside its own process, or its RPC mode for "
    "what only that has. The floor is what the work would take from Python if nothing were made of the bytes, in the "
    "same run: a bare asyncio loop under the same client, which for a context reads the file and sends it; and the "
    "bytes of the files read, copied, written and synced without a look at them."
)


class Row(NamedTuple):
    """What a reader sees, where it stands among the figures, and the most that it may take."""

    text: str
    work: str
    session: str
    unit: str
    target: str


ROWS = (
    Row("open a session of 100,000 entries, 245 MB", "open", LARGE, "ms", "1/5 of pi"),
    Row("… memory that it adds at its peak", "open", LARGE, "MB", "1/6 of pi"),
    Row("the context of 10,000 entries, 24 MB, to its last byte", "context", MIDDLE, "ms", "1/8 of pi"),
    Row("… again", "context, again", MIDDLE, "ms", "1/8 of pi"),
    Row("the tree of 100,000 entries, with previews", "tree, previews", LARGE, "ms", "1,000 ms"),
    Row("… memory that it adds at its peak", "tree, previews", LARGE, "MB", "100 MB"),
    Row("append to 100,000 entries, acknowledged as written", "append, written", LARGE, "us", "150 µs"),
    Row("… acknowledged as synced", "append, synced", LARGE, "us", "a sync ({sync} µs) + 150 µs"),
    Row("list 2,000 sessions", "list, cold", MANY, "ms", "1/4 of pi"),
    Row("… again", "list, again", MANY, "ms", "1/50 of pi"),
    Row("… after one of them changed", "list, one changed", MANY, "ms", "1/50 of pi"),
    Row("continue the most recent of 2,000 sessions", "continue recent", MANY, "ms", "pi"),
    Row("fork a session of 100,000 entries", "fork of a file", LARGE, "ms", "1/10 of pi"),
    Row("plan a compaction of 100,000 entries", "plan a compaction", LARGE, "ms", "1/10 of pi"),
    Row("… again, with nothing appended meanwhile", "plan a compaction, again", LARGE, "ms", "1/10 of pi"),
    Row("start to the first reply", "start", "", "ms", "pi"),
    Row("a small request, there and back", "small request", "", "us", "100 µs, 2 × floor"),
    Row("… one of many that do not wait for each other", "small request, pipelined", "", "us", "33 µs, 2 × floor"),
)
DELAYS = (
    Row("a small request while 245 MB are opened", "small request while a session opens", LARGE, "ms", ""),
    Row("… while 24 MB are sent", "small request to another session while a context is sent", MIDDLE, "ms", ""),
)
DELAYED = "≤ 20 ms, 50 ms at most"
FLAT = ("append, written", "branch, written", "branch, last 20", "entry")


class Figure(NamedTuple):
    """What a line of figures is about."""

    program: str
    work: str
    session: str
    unit: str


def how_fast(lines: Iterable[str]) -> str:
    """Markdown. Raises `ValueError` or `KeyError` for lines that no run wrote."""
    first, *rest = map(json.loads, lines)
    figures = {Figure(*(line[name] for name in Figure._fields)): line for line in rest if "session" in line}
    sync = figures.get(Figure("bare", "sync", LARGE, "us"))
    known = {"sync": short(sync["median"]) if sync else "?"}
    rows = (
        [_row(row._replace(target=row.target.format(**known)), figures) for row in ROWS]
        + [_delayed(row, figures) for row in DELAYS]
        + [_grown(rest)]
    )
    return f"{LEGEND.format(**first['machine'])}\n\n{markdown([HEAD, *rows], left=1)}"


def _row(row: Row, figures: Mapping[Figure, Line]) -> tuple[str, ...]:
    ours, floor = (figures.get(Figure(name, *row[1:4]), {}) for name in ("pid", "bare"))
    theirs = next((line for name in ("pi", "pi rpc") if (line := figures.get(Figure(name, *row[1:4])))), {})
    ratio = f"{ours['median'] / theirs['median']:.3f}" if ours and theirs.get("median") else ""
    return (row.text, *(_cell(line, row.unit) for line in (theirs, floor, ours)), ratio, f"≤ {row.target}")


def _delayed(row: Row, figures: Mapping[Figure, Line]) -> tuple[str, ...]:
    ours = figures.get(Figure("pid", *row[1:4]))
    cell = f"{_cell(ours, row.unit)}, {short(ours['max'])} ms at most" if ours else ""
    return (row.text, "", "", cell, "", DELAYED)


def _grown(lines: Iterable[Line]) -> tuple[str, ...]:
    ours = {line["work"]: line["exponent"] for line in lines if "exponent" in line and line["program"] == "pid"}
    found = [ours[work] for work in FLAT if work in ours]
    text = "growth of append, branch and small reads, 1,000 to 100,000 entries (exponent)"
    return (text, "", "", f"{max(found):.2f} at most" if found else "", "", "≤ 0.1")


def _cell(line: Line, unit: str) -> str:
    if "fails" in line:
        return "fails"
    return f"{short(line['median'])} {unit.replace('us', 'µs')}" if line else ""
