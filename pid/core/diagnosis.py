"""What is wrong with a session in a document, and where: problems and unpaired tool calls with their columns.

The kinds are those of `Problem`, and two of its own for what a file may well hold: a call without a result, a result
without a call.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Final, NamedTuple

from pid.core.fields import fault_at, value_span
from pid.core.pairs import Pairs
from pid.core.pieces import Piece, pieces
from pid.core.reading import Reading
from pid.core.text import Stretch
from pid.core.tree import ROOT
from pid.protocol import Problem

MOST_FINDINGS: Final = 1_000
_MOST_TAKEN_APART: Final = 4 << 20  # bytes of a line that is looked at for the place of its fault

Bytes = tuple[int, int]
"""The bytes of a line from one place up to another."""


_NOWHERE: Final[Iterator[Bytes]] = iter(())


class Finding(NamedTuple):
    """Something to tell about a stretch of a text. `kind` is a `Problem` kind, or one of `HINTS`."""

    where: Stretch
    kind: str
    message: str


HINTS: Final = {
    "missingToolResult": "A tool call has no result; it may still run, or its result was lost.",
    "orphanToolResult": "A tool result answers no call above it.",
}
"""What is no damage, and told as a hint."""
_ABORTED: Final = "A tool call has no result: the message was aborted, or failed."
_FIELDS: Final = {
    "missingParent": "parentId",
    "cycle": "parentId",
    "duplicateId": "id",
    "danglingTarget": "targetId",
    "missingFirstKept": "firstKeptEntryId",
}
"""The field that a problem of a kind is about."""
_IN_PIECES: Final = frozenset({"malformedLine", "tooDeep", "notAnObject", "nulBytes", "byteOrderMark", "tornLine"})
"""Kinds that are about bytes of a line and not about an entry."""


def findings(reading: Reading, pairs: Pairs) -> list[Finding]:
    """All there is to tell, damage first; no more than `MOST_FINDINGS`, and then how many more there are."""
    problems = reading.problems()
    told = [*islice(_damage(reading, problems), MOST_FINDINGS)]
    told += islice(_unpaired(reading, pairs), MOST_FINDINGS - len(told))
    more = len(problems) + len(pairs.unanswered) + len(pairs.orphans) - len(told)
    if more > 0:
        last = told[-1]
        told.append(last._replace(message=f"There are {more:,} more problems and hints, which are not shown."))
    return told


def _damage(reading: Reading, problems: list[Problem]) -> Iterator[Finding]:
    for line, group in groupby(problems, lambda problem: min(problem.line, len(reading.lines)) - 1):
        told = list(islice(group, MOST_FINDINGS))
        damaged = _damaged_bytes(reading.lines[line]) if any(problem.kind in _IN_PIECES for problem in told) else {}
        for problem in told:
            where = next(damaged.get(problem.kind, _NOWHERE), None) or _bytes_of(reading, problem, line)
            yield _finding(reading, line, where, problem.kind, problem.message)


def _finding(reading: Reading, line: int, where: Bytes, kind: str, message: str) -> Finding:
    return Finding(Stretch(*(reading.place(line, at) for at in where)), kind, message)


def _bytes_of(reading: Reading, problem: Problem, line: int) -> Bytes:
    text = reading.lines[line]
    row = ROOT if problem.kind in _IN_PIECES else _row_of(reading, problem, line)
    if row == ROOT:
        return len(text) - len(text.lstrip()), max(len(text.rstrip()), 1)
    _, start, stop = reading.span_of(row)
    key = _FIELDS.get(problem.kind)
    return (value_span(text, start, stop, key) if key else None) or (start, stop)


def _row_of(reading: Reading, problem: Problem, line: int) -> int:
    rows = reading.rows_on(line)
    latest = reading.tree.rows.get(problem.entry_id or "", ROOT)
    if latest in rows:
        return latest
    return next((row for row in rows if reading.tree.ids[row] == problem.entry_id), rows[0] if rows else ROOT)


def _damaged_bytes(text: bytes) -> dict[str, Iterator[Bytes]]:
    """The damaged bytes of a line, in order, by the kind of problem that is told of them."""
    if len(text) > _MOST_TAKEN_APART:
        return {}
    found: dict[str, list[Bytes]] = {}
    for piece in pieces(text):
        if piece.error:
            found.setdefault(piece.error, []).append(_narrowed(text, piece))
    if torn := found.get("malformedLine"):
        found["tornLine"] = torn
    return {kind: iter(places) for kind, places in found.items()}


def _narrowed(text: bytes, piece: Piece) -> Bytes:
    """From where it stops being JSON, without the blanks behind it."""
    stop = piece.stop
    while stop > piece.start + 1 and text[stop - 1] in b"\r\n\t ":
        stop -= 1
    start = fault_at(text, piece.start, stop) if piece.error == "malformedLine" else piece.start
    return min(start, stop - 1), stop


def _unpaired(reading: Reading, pairs: Pairs) -> Iterator[Finding]:
    hints = [(call.row, "missingToolResult", call.id) for call in pairs.unanswered]
    hints += [(row, "orphanToolResult", reading.glances[row].answers or "") for row in pairs.orphans]
    for row, kind, call_id in sorted(hints, key=lambda hint: hint[0]):
        line, start, stop = reading.span_of(row)
        text = reading.lines[line]
        named = b'"%b"' % call_id.encode()
        at = text.find(named, start, stop)
        where = (start, stop) if at < 0 else (at, at + len(named))
        message = _ABORTED if kind == "missingToolResult" and reading.glances[row].failed else HINTS[kind]
        yield _finding(reading, line, where, kind, message)
