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


class Limit(NamedTuple):
    """At most so many `times` of what `of` took (`pi`, the `floor`, a `sync`), and so much more."""

    of: str = ""
    times: float = 0.0
    more: float = 0.0


class Row(NamedTuple):
    """What a reader sees, where it stands among the figures, and the most that it may take."""

    text: str
    work: str
    session: str
    unit: str
    limits: tuple[Limit, ...]


def _of_pi(times: float) -> tuple[Limit]:
    return (Limit("pi", times),)


def _at_most(most: float) -> tuple[Limit]:
    return (Limit(more=most),)


ROWS = (
    Row("open a session of 100,000 entries, 245 MB", "open", LARGE, "ms", _of_pi(1 / 5)),
    Row("… memory that it adds at its peak", "open", LARGE, "MB", _of_pi(1 / 6)),
    Row("the context of 10,000 entries, 24 MB, to its last byte", "context", MIDDLE, "ms", _of_pi(1 / 8)),
    Row("… of the same entries again", "context, again", MIDDLE, "ms", _of_pi(1 / 8)),
    Row("the tree of 100,000 entries, with previews", "tree, previews", LARGE, "ms", _at_most(1000)),
    Row("… memory that it adds at its peak", "tree, previews", LARGE, "MB", _at_most(100)),
    Row("append to 100,000 entries, acknowledged as written", "append, written", LARGE, "us", _at_most(150)),
    Row("… acknowledged as synced", "append, synced", LARGE, "us", (Limit("sync", 1, 150),)),
    Row("list 2,000 sessions", "list, cold", MANY, "ms", _of_pi(1 / 4)),
    Row("… again", "list, again", MANY, "ms", _of_pi(1 / 50)),
    Row("… after one of them changed", "list, one changed", MANY, "ms", _of_pi(1 / 50)),
    Row("continue the most recent of 2,000 sessions", "continue recent", MANY, "ms", _of_pi(1)),
    Row("fork a session of 100,000 entries", "fork of a file", LARGE, "ms", _of_pi(1 / 10)),
    Row("plan a compaction of 100,000 entries", "plan a compaction", LARGE, "ms", _of_pi(1 / 10)),
    Row("… again, with nothing appended meanwhile", "plan a compaction, again", LARGE, "ms", _of_pi(1 / 10)),
    Row("start to the first reply", "start", "", "ms", _of_pi(1)),
    Row("a small request, there and back", "small request", "", "us", (Limit(more=100), Limit("floor", 2))),
    Row("… one of many at once", "small request, pipelined", "", "us", (Limit(more=1e6 / 30_000), Limit("floor", 2))),
)
DELAYS = (
    Row("a small request while 245 MB are opened", "small request while a session opens", LARGE, "ms", ()),
    Row("… while 24 MB are sent", "small request to another session while a context is sent", MIDDLE, "ms", ()),
)
DELAY, LONGEST_DELAY, EXPONENT = Limit(more=20), Limit(more=50), Limit(more=0.1)
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
    rows = [_row(row, figures) for row in ROWS] + [_delayed(row, figures) for row in DELAYS] + [_grown(rest)]
    return f"{LEGEND.format(**first['machine'])}\n\n{markdown([HEAD, *rows], left=1)}"


def _row(row: Row, figures: Mapping[Figure, Line]) -> tuple[str, ...]:
    ours, floor = (figures.get(Figure(name, *row[1:4]), {}) for name in ("pid", "bare"))
    theirs = next((line for name in ("pi", "pi rpc") if (line := figures.get(Figure(name, *row[1:4])))), {})
    ratio = f"{ours['median'] / theirs['median']:.3f}" if ours and theirs.get("median") else ""
    sync = figures.get(Figure("bare", "sync", row.session, "us"), {})
    known = {name: line.get("median") for name, line in (("pi", theirs), ("floor", floor), ("sync", sync))}
    targets = ", ".join(_target(limit, row.unit, ours.get("median"), known) for limit in row.limits)
    return (row.text, *(_cell(line, row.unit) for line in (theirs, floor, ours)), ratio, targets)


def _delayed(row: Row, figures: Mapping[Figure, Line]) -> tuple[str, ...]:
    ours = figures.get(Figure("pid", *row[1:4]), {})
    cell = f"{_cell(ours, row.unit)}, {short(ours['max'])} ms at most" if ours else ""
    targets = _target(DELAY, "ms", ours.get("median")), f"longest {_target(LONGEST_DELAY, 'ms', ours.get('max'))}"
    return (row.text, "", "", cell, "", ", ".join(targets))


def _grown(lines: Iterable[Line]) -> tuple[str, ...]:
    ours = {line["work"]: line["exponent"] for line in lines if "exponent" in line and line["program"] == "pid"}
    most = max((ours[work] for work in FLAT if work in ours), default=None)
    text = "growth of append, branch and small reads, 1,000 to 100,000 entries (exponent)"
    return (text, "", "", "" if most is None else f"{most:.2f} at most", "", _target(EXPONENT, "", most))


def _target(limit: Limit, unit: str, ours: float | None, known: Mapping[str, float | None] | None = None) -> str:
    """A target, and whether it is met, where that is known."""
    found = 0.0 if not limit.of else (known or {}).get(limit.of)
    text = f"≤ {_said(limit, unit, found)}"
    if ours is None or found is None:
        return text
    return f"{text} {'✓' if ours <= limit.times * found + limit.more else '✗'}"


def _said(limit: Limit, unit: str, found: float | None) -> str:
    more = f"{short(limit.more)} {unit.replace('us', 'µs')}".strip()
    match limit:
        case Limit(""):
            return more
        case Limit("pi", times):
            return "pi" if times == 1 else f"1/{1 / times:.0f} of pi"
        case Limit("floor", times):
            return f"{times:g} × floor"
        case _:
            return f"a {limit.of} ({short(found or 0)} µs) and {more}"


def _cell(line: Line, unit: str) -> str:
    if "fails" in line:
        return "fails"
    return f"{short(line['median'])} {unit.replace('us', 'µs')}" if line else ""
