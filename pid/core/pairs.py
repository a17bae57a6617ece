"""Which tool call is answered by which result, in the whole of a session and on every branch of it.

A result answers the nearest assistant's call above it that bears its id, so that ids may come again in later turns.
"""

from array import array
from typing import Final, NamedTuple

from pid.core.reading import Reading
from pid.core.tree import ROOT, Tree
from pid.entries import Kind

_MOST_REPLIES: Final = 8  # assistant messages in a row that a result may belong to


class Call(NamedTuple):
    """A tool call: the row of the assistant's entry, and its id."""

    row: int
    id: str


class Pairs(NamedTuple):
    """The row of the result of each call that has one, by call; the calls without one; the results without a call."""

    results: dict[Call, int]
    unanswered: list[Call]
    orphans: list[int]


def pairs_of(reading: Reading) -> Pairs:
    """Pairs the calls and results of a session. Linear in its entries."""
    tree, glances = reading.tree, reading.glances
    speakers = _speakers(tree)
    rows = [row for row in range(len(glances)) if not tree.is_hidden(row)]
    results: dict[Call, int] = {}
    orphans: list[int] = []
    for row in rows:
        answers = glances[row].answers
        if answers is None:
            continue
        call = _call_above(reading, speakers, row, answers)
        if call is None:
            orphans.append(row)
        else:
            results.setdefault(call, row)
    asked = (Call(row, call) for row in rows for call in glances[row].calls)
    return Pairs(results, [call for call in asked if call not in results], orphans)


def _call_above(reading: Reading, speakers: "array[int]", row: int, call_id: str) -> Call | None:
    row = speakers[row]
    for _ in range(_MOST_REPLIES):
        if row == ROOT:
            break
        if call_id in reading.glances[row].calls:
            return Call(row, call_id)
        row = speakers[row]
    return None


def _speakers(tree: Tree) -> "array[int]":
    """For each row the nearest assistant message above it; ROOT for none."""
    unknown = ROOT - 1
    found = array("i", [unknown]) * len(tree)
    for start in range(len(tree)):
        walk, row = [], start
        while row != ROOT and found[row] == unknown:
            walk.append(row)
            row = tree.parents[row]
        for below in reversed(walk):
            above = tree.parents[below]
            known = ROOT if above == ROOT else above if tree.kinds[above] == Kind.ASSISTANT else found[above]
            found[below] = known
    return found
