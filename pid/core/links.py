"""From a place in a session's text to the entries that are meant there, and from an entry to those that name it."""

from typing import Final

from pid.core.fields import Named, named_at, value_span
from pid.core.pairs import Call, Pairs
from pid.core.reading import Reading
from pid.core.tree import MISSING, ROOT
from pid.entries import Kind

_WHAT_NAMES: Final = frozenset({Kind.LABEL, Kind.CONTEXT_EDIT, Kind.COMPACTION, Kind.BRANCH_SUMMARY})
_NEAR_HEAD: Final = 200  # bytes from its start in which an entry's id is looked for


def named_entry(reading: Reading, line: int, at: int) -> tuple[Named, int] | None:
    """The field at a byte of a line that names an entry of the session, and the entry's row; else None."""
    named = named_at(reading.lines[line], at)
    if named is None or named.key == "toolCallId":
        return None
    if named.key == "firstKeptEntryIndex":
        row = reading.tree.first_kept(reading.row_at(line, at))
    else:
        row = reading.tree.rows.get(named.id, MISSING)
    return (named, row) if row >= 0 else None


def meant_at(reading: Reading, pairs: Pairs, line: int, at: int) -> int:
    """The row that a byte of a line leads to; ROOT if nowhere.

    An id leads to its entry, the id of a tool call to its result, and that in a result to the call. Everything else
    leads where the entry's kind does: a label or an edit to its target, a compaction to the first entry that it kept,
    others to the parent.
    """
    if found := named_entry(reading, line, at):
        return found[1]
    row = reading.row_at(line, at)
    if row == ROOT:
        return ROOT
    if (named := named_at(reading.lines[line], at)) and (other := _other_of_pair(pairs, row, named)) != ROOT:
        return other
    return _target(reading, row)


def _other_of_pair(pairs: Pairs, row: int, named: Named) -> int:
    if named.key == "toolCallId":
        return next((call.row for call, result in pairs.results.items() if result == row), ROOT)
    return pairs.results.get(Call(row, named.id), ROOT)


def _target(reading: Reading, row: int) -> int:
    tree, kind = reading.tree, reading.tree.kinds[row]
    if kind == Kind.COMPACTION:
        kept = tree.first_kept(row)
        return kept if kept != MISSING else tree.parents[row]
    if kind in (Kind.LABEL, Kind.CONTEXT_EDIT):
        return tree.rows.get(reading.glances[row].names or "", ROOT)
    return tree.parents[row]


def naming(reading: Reading, pairs: Pairs, row: int) -> list[int]:
    """The rows that name an entry, in file order: its children, labels, edits, compactions and summaries of branches
    that name it, the results of its tool calls. Linear in the session.
    """
    tree, glances = reading.tree, reading.glances
    entry_id = tree.ids[row]
    found = {child for child, parent in enumerate(tree.parents) if parent == row and not tree.is_hidden(child)}
    found |= {
        other for other in range(len(tree)) if tree.kinds[other] in _WHAT_NAMES and glances[other].names == entry_id
    }
    found |= {
        other for other in range(len(tree)) if tree.kinds[other] == Kind.COMPACTION and tree.first_kept(other) == row
    }
    found |= {result for call, result in pairs.results.items() if call.row == row}
    return sorted(found - {row})


def id_span(reading: Reading, row: int) -> tuple[int, int, int]:
    """Where an entry is to be shown: its line, and the bytes of its id if that stands at its head, else its start."""
    line, start, stop = reading.span_of(row)
    text = reading.lines[line]
    head = value_span(text, start, min(stop, start + _NEAR_HEAD), "id")
    return line, *(head or (start, start))
