"""A session in the order of its file, for people who look for a place in it: turns, and the entries of each.

A turn begins with a user's message. What does not go on from the entry before it begins a part of its own: a branch.
So do compactions and branch summaries. Leaf markers and replaced entries are in no part.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pid.core.reading import Glance, Reading
from pid.core.tree import ROOT
from pid.entries import Kind

NO_WORDS: Final = "(no text)"
_BEGINS: Final[dict[int, str]] = {
    Kind.USER: "turn",
    Kind.COMPACTION: "compaction",
    Kind.BRANCH_SUMMARY: "branchSummary",
}
"""What the entries of a kind begin."""
_CALLED: Final = {
    "assistant": "assistant",
    "bashExecution": "bash",
    "branch_summary": "branch summary",
    "context_edit": "edit",
    "custom_message": "message",
    "model_change": "model",
    "session_info": "name",
    "thinking_level_change": "thinking",
    "toolResult": "result",
}
"""What people call an entry, where it differs from its role or type."""


@dataclass(slots=True)
class Part:
    """A part of a session: `what` is `session`, `turn`, `branch`, `compaction` or `branchSummary`.

    `head` is the entry that it is named after, ROOT for the session's own part; `rows` are all others in it, in
    file order. `last` is the last entry, or ROOT.
    """

    what: str
    head: int
    rows: list[int] = field(default_factory=list)

    @property
    def last(self) -> int:
        return self.rows[-1] if self.rows else self.head


def outline(reading: Reading) -> list[Part]:
    """The parts of a session, the one of the header first. Linear in its entries."""
    tree = reading.tree
    part = Part("session", ROOT)
    found, before = [part], ROOT
    for row in range(len(tree)):
        if tree.is_hidden(row):
            continue
        what = _BEGINS.get(tree.kinds[row]) or ("branch" if tree.parents[row] != before else None)
        if what is None:
            part.rows.append(row)
        else:
            part = Part(what, row)
            found.append(part)
        before = row
    return found


def part_name(reading: Reading, part: Part) -> str:
    """What a part is called."""
    if part.head == ROOT:
        return reading.tree.name or reading.scanner.session_id
    words = _words(reading, part.head)
    match part.what:
        case "turn":
            return words
        case "branch":
            return f"Branch: {entry_name(reading, part.head)}"
        case "compaction":
            return f"Compaction: {words}"
    return f"Branch summary: {words}"


def part_detail(reading: Reading, part: Part) -> str:
    """What is said beside a part's name: its id, how many entries it has, and where it left the entry before it."""
    if part.head == ROOT:
        return str((reading.scanner.header or {}).get("cwd") or "")
    tree = reading.tree
    size = f"{len(part.rows) + 1:,} entries" if part.rows else "1 entry"
    parent = tree.parents[part.head]
    place = "" if parent == part.head - 1 else f" · from {tree.ids[parent]}" if parent != ROOT else " · a root"
    return f"{tree.ids[part.head]} · {size}{place}"


def entry_name(reading: Reading, row: int) -> str:
    """What an entry is called: who speaks, and what is said first."""
    return f"{called(reading.glances[row])}: {_words(reading, row)}"


def called(glance: Glance) -> str:
    """Who speaks, or what kind of entry it is, in people's words."""
    name = _CALLED.get(glance.who, glance.who)
    return f"{name} of {glance.tool_name}" if glance.who == "toolResult" and glance.tool_name else name


def _words(reading: Reading, row: int) -> str:
    label = reading.tree.label_of(row)
    words = reading.glances[row].preview or NO_WORDS
    return f"[{label}] {words}" if label else words


def landmarks(reading: Reading, query: str) -> Iterator[tuple[int, str, str]]:
    """What can be searched for in a session: its name (at the entry ROOT), the labelled entries, the user's messages.

    Each is a row, what it is (`session`, `label`, `turn`) and its name, in which `query` occurs, whatever the case.
    """
    tree, wanted = reading.tree, query.casefold()
    name = tree.name or reading.scanner.session_id
    if wanted in name.casefold():
        yield ROOT, "session", name
    for row in range(len(tree)):
        label = tree.label_of(row) if tree.labels else None
        if (label is None and tree.kinds[row] != Kind.USER) or tree.is_hidden(row):
            continue
        words = _words(reading, row)
        if wanted in words.casefold():
            yield row, "label" if label else "turn", words
