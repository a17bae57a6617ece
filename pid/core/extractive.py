"""A summary without a model: quotations from the conversation, under the usual headings, the same for the same input.

What must not be lost comes first: the user's rules, what failed, the plan, the first request. What the user said
follows, newest first, as far as the room goes; each quotation names its entry, which the file still has. An earlier
summary, its own or a model's, is brought up to date: every section of it goes on, and no rule leaves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import Final, NamedTuple

from pid.core.extract import Extract, UserMessage, command_key, is_settled, one_paragraph
from pid.core.material import Material
from pid.core.summary import TURN_HEADING, TURN_NOTE, Request, Summary, cut_request, with_turn_head
from pid.core.tokens import Tokens
from pid.protocol import FileDetails

MARKER: Final = "*Quoted from the conversation without a model. Newer lines stand first; entries are named by id.*"
MOST_TOKENS: Final = 8_000


def summary(material: Material, window: int | None) -> Summary:
    """The summary of what was taken in, within the budget of a window."""
    room, tokens = budget(window), material.tokens
    files = _short_files(material.files, room, tokens)
    request = material.request and material.request._replace(
        text=cut_request(material.request.text, material.request.entry_id, units=room)
    )
    head = _turn_head(material.turn_extract, request)
    room -= tokens(Summary(with_turn_head("", head) if head else "", request, files).text())
    found = notes(material.extract, material.notes, room, tokens)
    return Summary(with_turn_head(found, head) if head else found, request, files)


def _short_files(files: FileDetails, room: int, tokens: Tokens) -> FileDetails:
    """All modified files while they take no more than half of the room, and read ones for a tenth of it. The entry's
    `details` have all.
    """
    return FileDetails(
        read_files=_within(files.read_files, room // 10, tokens),
        modified_files=_within(files.modified_files, room // 2, tokens),
    )


def _within(paths: Sequence[str], room: int, tokens: Tokens) -> list[str]:
    sums = accumulate(tokens(path) for path in paths)
    return [path for path, taken in zip(paths, sums, strict=True) if taken <= room]


def _turn_head(extract: Extract, request: Request | None) -> str:
    """What a split turn began with, in two lines."""
    asked = extract.users[0] if extract.users else None
    lines = []
    if asked:
        known = request is not None and request.entry_id == asked.entry_id
        lines.append(
            f"- The user: {'as quoted at the end' if known else one_paragraph(asked.text, 600)}"
            f" (entry {asked.entry_id})"
        )
    if extract.said:
        lines.append(f"{_SAID} (entry {extract.said.entry_id}): {one_paragraph(extract.said.text, 600)}")
    return "\n".join(lines)


def budget(window: int | None) -> int:
    """The most tokens that a summary takes: 8,000, or a quarter of a window that is smaller than 32,000."""
    return MOST_TOKENS if window is None else min(MOST_TOKENS, window // 4)


class Rank(IntEnum):
    """What is taken before what when there is not room for all."""

    RULE = 0
    OPEN = 1  # the plan, the first request, the last statement
    FAILURE = 2
    FIRST_LINES = 3  # of each section of an earlier summary
    RULING_USER = 4  # user messages that state a rule
    USER = 5
    EARLIER = 6


class Item(NamedTuple):
    """A line (or a line and what is indented under it) of a section."""

    text: str
    rank: Rank


GOAL, RULES, DONE, DOING, BLOCKED, DECISIONS, NEXT, CONTEXT = HEADINGS = (
    "## Goal",
    "## Constraints & Preferences",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
)
_PARENTS: Final = {DONE: "## Progress"}
"""A heading that stands alone before the first of its parts."""

_TODO: Final = "- The last todo list"
_SAID: Final = "- The assistant said last"
_FAILED: Final = re.compile(r"(- `([^`]+)` failed)(?:: .*?)?( \(entry [^)\s]+\))?$", re.DOTALL)
_NOTHING: Final = "(none)"


@dataclass(frozen=True, slots=True)
class Sections:
    """A summary's lines by heading; headings of its own come after the usual ones."""

    items: dict[str, list[Item]]

    def of(self, heading: str) -> list[Item]:
        return self.items.get(heading, [])


def notes(extract: Extract, earlier: str, room: int, tokens: Tokens) -> str:
    """The notes of a summary in at most `room` tokens, from what was gathered and the notes of an earlier summary."""
    old = sections_of(earlier)
    merged = {
        GOAL: _goal(extract, old),
        RULES: _rules(extract, old),
        DONE: old.of(DONE),
        DOING: _doing(extract, old),
        BLOCKED: _blocked(extract, old),
        DECISIONS: old.of(DECISIONS),
        NEXT: _next(extract, old),
        CONTEXT: _context(extract, old),
        **{heading: items for heading, items in old.items.items() if heading not in HEADINGS},
    }
    return _rendered(_fitted(merged, room, tokens))


# What stands in each section


def _goal(extract: Extract, old: Sections) -> list[Item]:
    if old.of(GOAL) or not extract.users:
        return [item._replace(rank=Rank.OPEN) for item in old.of(GOAL)]
    return [Item(f"- At first: {_quoted(_first(extract))}", Rank.OPEN)]


def _first(extract: Extract) -> UserMessage:
    """The first thing that the user asked: a lone word (`/model`, `hi`) asks nothing."""
    return next((user for user in extract.users if " " in user.text), extract.users[0])


def _rules(extract: Extract, old: Sections) -> list[Item]:
    stated = ((rule, user.entry_id) for user in reversed(extract.users) for rule in user.rules)
    new = [Item(f"- {rule} (entry {entry_id})", Rank.RULE) for rule, entry_id in stated]
    return list(_distinct([*new, *(item._replace(rank=Rank.RULE) for item in old.of(RULES))]))


def _distinct(items: Iterable[Item]) -> Iterator[Item]:
    seen: set[str] = set()
    for item in items:
        key = _POINTER.sub("", item.text).casefold().strip(" -*.!")
        if key not in seen:
            seen.add(key)
            yield item


_POINTER: Final = re.compile(r" \(entry [^)\s]+\)$")


def _doing(extract: Extract, old: Sections) -> list[Item]:
    if extract.todo is None:
        return old.of(DOING)
    lines = "\n".join(f"  {line}" for line in extract.todo.text.split("\n"))
    kept = [item for item in old.of(DOING) if not item.text.startswith(_TODO)]
    return [Item(f"{_TODO} (entry {extract.todo.entry_id}):\n{lines}", Rank.OPEN), *kept]


def _blocked(extract: Extract, old: Sections) -> list[Item]:
    new = [
        Item(f"- `{what}` failed{f': {why}' if why else ''} (entry {entry_id})", Rank.FAILURE)
        for entry_id, what, why in reversed(extract.failures.values())
    ]
    still = (item for item in old.of(BLOCKED) if not _is_over(item, extract))
    return [*new, *(item._replace(rank=Rank.FAILURE if _FAILED.match(item.text) else Rank.OPEN) for item in still)]


def _is_over(item: Item, extract: Extract) -> bool:
    """Whether what an earlier summary calls failed has succeeded, or failed again."""
    if (match := _FAILED.match(item.text)) is None:
        return False
    what = command_key(match[2])
    return what in extract.failures or is_settled(what, extract.successes)


def _next(extract: Extract, old: Sections) -> list[Item]:
    if extract.said is None:
        return old.of(NEXT)
    said = one_paragraph(extract.said.text, 1_500)
    kept = [item for item in old.of(NEXT) if not item.text.startswith(_SAID)]
    return [Item(f"{_SAID} (entry {extract.said.entry_id}): {said}", Rank.OPEN), *kept]


def _context(extract: Extract, old: Sections) -> list[Item]:
    goal = None if old.of(GOAL) or not extract.users else _first(extract)
    said = [
        Item(f"- The user: {_quoted(user)}", Rank.RULING_USER if user.rules else Rank.USER)
        for user in reversed(extract.users)
        if user is not goal and user.rules != (user.text,)  # what stands above already
    ]
    return [*said, *old.of(CONTEXT)]


def _quoted(user: UserMessage) -> str:
    return f"{user.text} (entry {user.entry_id})"


# An earlier summary

_HEADING: Final = re.compile(r"^#{2,3} \S")
_NEW_ITEM: Final = re.compile(r"^(?:[-*•]|\d+[.)]) ")
_FIRST_LINES: Final = 3
_EARLIER_TURN: Final = "## An Earlier Turn"
_NO_ITEMS: Final = frozenset({_NOTHING, MARKER, TURN_NOTE})
_USER_LINE: Final = re.compile(r"^- The user: ")


def sections_of(text: str) -> Sections:
    """The sections of a summary's notes, whoever wrote them. Lines before the first heading are a section too."""
    found: dict[str, list[list[str]]] = {}
    own = text.startswith(MARKER)
    heading = CONTEXT
    for line in text.split("\n"):
        if _HEADING.match(line):
            heading = _usual(line.strip())
        elif own and heading == _EARLIER_TURN:
            continue  # its own notes on a turn quote what stands elsewhere too
        elif line.strip() and line.strip() not in _NO_ITEMS:
            items = found.setdefault(heading, [])
            if items and line[:1].isspace() and not _NEW_ITEM.match(line):
                items[-1].append(line.rstrip())
            else:
                items.append([line.rstrip()])
    return Sections({heading: list(_ranked(map("\n".join, items))) for heading, items in found.items()})


def _ranked(texts: Iterable[str]) -> Iterator[Item]:
    firsts = 0
    for text in texts:
        if _USER_LINE.match(text):
            yield Item(text, Rank.USER)
            continue
        firsts += 1
        yield Item(text, Rank.FIRST_LINES if firsts <= _FIRST_LINES else Rank.EARLIER)


_USUAL: Final = {heading.lstrip("# ").casefold(): heading for heading in HEADINGS} | {
    "constraints": RULES,
    "constraints and preferences": RULES,
    "decisions": DECISIONS,
    "progress": "## Progress",
    TURN_HEADING.lstrip("# ").casefold(): _EARLIER_TURN,
}


def _usual(heading: str) -> str:
    return _USUAL.get(heading.lstrip("# ").rstrip(":").casefold(), heading)


# Room

_RULES_SHARE: Final = 0.6
_SHORT_RULES: Final = (400, 200, 120)


def _fitted(sections: dict[str, list[Item]], room: int, tokens: Tokens) -> dict[str, list[str]]:
    """The lines that there is room for, in the order in which they stand; lower ranks are taken first."""
    left = room - tokens(_rendered({heading: [] for heading in sections}))
    rules = _short_rules(sections[RULES], int(left * _RULES_SHARE), tokens)
    before = [*rules, *(item for items in sections.values() for item in items if item.rank == Rank.OPEN)]
    room_for_failures = left - sum(tokens(item.text) for item in before)
    failures = _short_failures(sections[BLOCKED], room_for_failures, tokens)
    sections = {**sections, RULES: rules, BLOCKED: failures}
    taken: dict[str, list[tuple[int, str]]] = {heading: [] for heading in sections}
    for rank in Rank:
        for heading, items in sections.items():
            for place, item in enumerate(items):
                if item.rank != rank:
                    continue
                text = next((text for text in _forms(item) if tokens(text) <= left), None)
                if text is not None:
                    left -= tokens(text)
                    taken[heading].append((place, text))
    return {heading: [text for _, text in sorted(lines)] for heading, lines in taken.items()}


def _short_rules(rules: Sequence[Item], room: int, tokens: Tokens) -> list[Item]:
    """The rules, each shortened as far as needed for all of them to fit."""
    short = list(rules)
    for length in _SHORT_RULES:
        short = [Item(_shortened(rule.text, length), rule.rank) for rule in rules]
        if sum(tokens(rule.text) for rule in short) <= room:
            break
    return short


def _short_failures(items: Sequence[Item], room: int, tokens: Tokens) -> list[Item]:
    """The failures, the newest with what they said; of the older ones as little as needed for all to fit."""
    forms = [_forms_of_failure(item) for item in items]
    left = room - sum(tokens(texts[-1]) for texts in forms)
    chosen: list[Item] = []
    for item, texts in zip(items, forms, strict=True):
        least = tokens(texts[-1])
        text = next((text for text in texts if tokens(text) - least <= max(left, 0)), texts[-1])
        left -= tokens(text) - least
        chosen.append(item._replace(text=text))
    return chosen


def _forms_of_failure(item: Item) -> tuple[str, ...]:
    """Whole, without the reason, and without the pointer too."""
    if item.rank != Rank.FAILURE or (match := _FAILED.match(item.text)) is None:
        return (item.text,)
    return item.text, f"{match[1]}{match[3] or ''}", match[1]


def _forms(item: Item) -> tuple[str, ...]:
    """The texts of an item, the whole one first: what matters more is rather shortened than left out."""
    return (item.text,) if item.rank > Rank.FIRST_LINES else (item.text, _shortened(item.text, _SHORT_RULES[-1]))


def _shortened(text: str, length: int) -> str:
    pointer = match[0] if (match := _POINTER.search(text)) else ""
    said = text[: len(text) - len(pointer)]
    return text if len(said) <= length else f"{said[:length].rstrip()} …{pointer}"


def _rendered(sections: dict[str, list[str]]) -> str:
    lines = [MARKER]
    for heading, texts in sections.items():
        if not texts and heading not in HEADINGS:
            continue
        if parent := _PARENTS.get(heading):
            lines += ["", parent]
        lines += ([""] if heading.startswith("## ") else []) + [heading, *(texts or [_NOTHING])]
    return "\n".join(lines)
