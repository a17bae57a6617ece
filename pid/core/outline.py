"""A session in the order of its file, for people who look for a place in it: turns, and the entries of each.

A turn begins with a user's message. What does not go on from the entry before it begins a part of its own: a branch.
So do compactions and branch summaries. Leaf markers and replaced entries are in no part.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pid.core.reading import Glance, Reading
from pid.core.tree import ROOT, Tree
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
    return _worded(reading.tree.label_of(row), reading.glances[row].preview)


def _worded(label: str | None, said: str | None) -> str:
    return f"[{label}] {said or NO_WORDS}" if label else said or NO_WORDS


# What can be searched for


class Landmark(NamedTuple):
    """A place that people remember: `what` is `session` (at the row ROOT), `label` or `turn`."""

    row: int
    what: str
    name: str


def landmark_rows(tree: Tree) -> list[int]:
    """The labelled entries and the user's messages."""
    labelled = {tree.rows[target] for target in tree.labels if target in tree.rows}
    spoken = (row for row, kind in enumerate(tree.kinds) if kind == Kind.USER)
    return sorted(row for row in labelled.union(spoken) if not tree.is_hidden(row))


def landmarks(
    tree: Tree, session_id: str, previews: Iterable[tuple[int, str | None]], query: str
) -> Iterator[Landmark]:
    """The session's name and, of rows with their previews, those in whose name `query` occurs, whatever the case."""
    wanted, name = query.casefold(), tree.name or session_id
    if wanted in name.casefold():
        yield Landmark(ROOT, "session", name)
    for row, said in previews:
        label = tree.label_of(row)
        words = _worded(label, said)
        if wanted in words.casefold():
            yield Landmark(row, "label" if label else "turn", words)
