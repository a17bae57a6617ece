"""What is wrong with a session in a document, and where: problems and unpaired tool calls with their columns.

The kinds are those of `Problem`, and two of its own for what a file may well hold: a call without a result, a result
without a call.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from pid.core.fields import fault_at, value_span
from pid.core.pairs import Pairs
from pid.core.pieces import pieces
from pid.core.reading import Reading
from pid.core.text import Place, Stretch, units_before
from pid.core.tree import ROOT
from pid.protocol import Problem

MOST_FINDINGS: Final = 1_000
_MOST_TAKEN_APART: Final = 4 << 20  # bytes of a line that is looked at for the place of its fault

Bytes = tuple[int, int]
"""The bytes of a line from one place up to another."""


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
    before: dict[tuple[int, str], int] = {}  # problems of a kind on a line so far
    for problem in problems:
        line = min(problem.line, len(reading.lines)) - 1
        number = before.setdefault((line, problem.kind), 0)
        before[line, problem.kind] += 1
        yield _finding(reading, line, _bytes_of(reading, problem, line, number), problem.kind, problem.message)


def _finding(reading: Reading, line: int, where: Bytes, kind: str, message: str) -> Finding:
    text = reading.lines[line]
    places = (Place(line, units_before(text, at)) for at in where)
    return Finding(Stretch(*places), kind, message)


def _bytes_of(reading: Reading, problem: Problem, line: int, number: int) -> Bytes:
    text = reading.lines[line]
    whole = len(text) - len(text.lstrip()), max(len(text.rstrip()), 1)
    if problem.kind in _IN_PIECES:
        return _piece(text, problem.kind, number) or whole
    row = _row_of(reading, problem, line)
    if row == ROOT:
        return whole
    _, start, stop = reading.span_of(row)
    key = _FIELDS.get(problem.kind)
    return (value_span(text, start, stop, key) if key else None) or (start, stop)


def _row_of(reading: Reading, problem: Problem, line: int) -> int:
    rows = reading.rows_on(line)
    return next((row for row in rows if reading.tree.ids[row] == problem.entry_id), rows[0] if rows else ROOT)


def _piece(text: bytes, kind: str, number: int) -> Bytes | None:
    """The damaged bytes of the problem of a kind with this number on its line."""
    if len(text) > _MOST_TAKEN_APART:
        return None
    wanted = "malformedLine" if kind == "tornLine" else kind
    found = next(islice((piece for piece in pieces(text) if piece.error == wanted), number, None), None)
    if found is None:
        return None
    stop = found.stop
    while stop > found.start + 1 and text[stop - 1] in b"\r\n\t ":
        stop -= 1
    start = fault_at(text, found.start, stop) if kind in ("malformedLine", "tornLine") else found.start
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
