"""The one table of session files that the daemon answers or lists otherwise than pi 1.6.0: what it answers, and why.

Of the shared interop files the parts stand here, as `differences.brief` shows them; of the project's own cases only
their names, since the expected file beside each case has what they are.
"""

from dataclasses import dataclass, field

from tests.golden.differences import REFUSED, Json


@dataclass(frozen=True)
class Difference:
    """`why` the daemon answers otherwise, and in which parts (by name, or with its answer)."""

    why: str
    parts: Json | str = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        return set(self.parts.split() if isinstance(self.parts, str) else self.parts)


NUMBERS = 'Ids that are numbers are read as their text, so links between 2 and "2" hold; pi loses the history.'
LOST_KEPT = "pi drops the history in front of a compaction whose first kept entry is not on its path."
DAMAGED = "A damaged line whose id and parentId can be read keeps its place; pi drops it and the history above it."
CYCLE = "A cycle is cut where it closes; pi hangs where it is on the path, and hides it where it is not."
BOM = "A byte order mark is no reason to refuse a session."
EMPTY = "An empty file is no session and is left untouched; pi takes it for a new one."
NO_ENTRY = "A JSON value that is no object is no entry, but a problem; pi counts it."
NO_MESSAGE = "An entry whose message is no object gives no message, and a warning; pi raises, or passes it on."
TWICE = "Of two entries with one id the tree shows the later one; pi shows it twice."
NO_ID = "An entry without an id gets one."
MARKER = "A leaf marker shows nowhere; to pi it is an entry like any other."
WHOLE_LINE = "Every complete object counts, also behind NUL bytes or another one; pi drops the line and its history."
STORED = "Stored bytes pass as they are: numbers beyond what JavaScript holds too."
SURROGATE = "Half of a surrogate pair goes out as U+FFFD; pi passes it on."
BAD_EDIT = "An edit without a replacement changes nothing, and warns; pi raises."

SHARED_DIFFERENCES: dict[str, Difference] = {
    "08-compaction-kept-other-branch": Difference(
        LOST_KEPT,
        {
            "context": [
                "off",
                "anthropic/m1",
                "compactionSummary: SUM",
                "user: one",
                "assistant: r1",
                "user: two",
                "assistant: r2",
                "user: three",
            ],
            "contextEntries": ["c1", "u1", "a1", "u2", "a2", "u3"],
            "llm": ["user: SUM", "user: one", "assistant: r1", "user: two", "assistant: r2", "user: three"],
        },
    ),
    "10-compaction-no-kept-field": Difference(
        LOST_KEPT,
        {
            "context": ["off", "anthropic/m1", "compactionSummary: S", "user: one", "assistant: r1", "user: two"],
            "contextEntries": ["c1", "u1", "a1", "u2"],
            "llm": ["user: S", "user: one", "assistant: r1", "user: two"],
        },
    ),
    "16-cycle-2": Difference(
        CYCLE,
        {
            "branch": ["u1", "a1"],
            "tree": {"u1": ["a1"], "a1": []},
            "context": ["off", "anthropic/m1", "user: one", "assistant: r1"],
            "contextEntries": ["u1", "a1"],
            "llm": ["user: one", "assistant: r1"],
        },
    ),
    "18-cycle-unreachable": Difference(CYCLE, {"tree": {"u1": ["a1"], "a1": [], "x1": ["x2"], "x2": []}}),
    "20-malformed-parent-lost": Difference(
        DAMAGED,
        {
            "entryCount": 4,
            "branch": ["u1", "a1", "u2", "a2"],
            "tree": {"u1": ["a1"], "a1": ["u2"], "u2": ["a2"], "a2": []},
            "context": ["off", "anthropic/m1", "user: hello", "user: second", "assistant: there"],
            "contextEntries": ["u1", "a1", "u2", "a2"],
            "llm": ["user: hello", "user: second", "assistant: there"],
        },
    ),
    "26-bom": Difference(
        BOM,
        {
            "leafId": "a2",
            "entryCount": 4,
            "branch": ["u1", "a1", "u2", "a2"],
            "tree": {"u1": ["a1"], "a1": ["u2"], "u2": ["a2"], "a2": []},
            "labels": {},
            "context": ["off", "anthropic/m1", "user: hello", "assistant: hi", "user: second", "assistant: there"],
            "contextEntries": ["u1", "a1", "u2", "a2"],
            "llm": ["user: hello", "assistant: hi", "user: second", "assistant: there"],
        },
    ),
    "46-nonobject-lines": Difference(NO_ENTRY, {"entryCount": 2, "tree": {"u1": ["a1"], "a1": []}}),
    "52-message-null": Difference(
        NO_MESSAGE,
        {"context": ["off", None, "user: hello", "user: x"], "llm": ["user: hello", "user: x"]},
    ),
    "60-empty": Difference(EMPTY, REFUSED),
    "74-numeric-ids": Difference(
        NUMBERS,
        {
            "leafId": "3",
            "branch": ["1", "2", "3"],
            "tree": {"1": ["2"], "2": ["3"], "3": []},
            "context": ["off", "anthropic/m1", "user: x", "assistant: y", "user: z"],
            "contextEntries": ["1", "2", "3"],
            "llm": ["user: x", "assistant: y", "user: z"],
        },
    ),
}

LISTING_DIFFERENCES: dict[str, Difference] = {
    "26-bom": Difference(BOM, {"messageCount": 4, "firstMessage": "hello"}),
    "34-header-no-id": Difference("What opens nowhere is not listed; pi lists a header without an id.", REFUSED),
    "48-null-first-line": Difference(NO_ENTRY, {"messageCount": 4, "firstMessage": "hello"}),
    "52-message-null": Difference(
        "One bad message hides no session; pi leaves it out.", {"messageCount": 3, "firstMessage": "hello"}
    ),
}
"""Of the shared interop files, those that a listing shows otherwise, or not at all."""

_HISTORY = "branch tree context contextEntries llm"
_TAIL = "context contextEntries llm"

OWN_DIFFERENCES: dict[str, Difference] = {
    "big-numbers": Difference(STORED, "context llm"),
    "blank-and-nul-lines": Difference(WHOLE_LINE, f"entryCount {_HISTORY}"),
    "byte-order-mark": Difference(BOM, f"leafId sessionName entryCount labels {_HISTORY}"),
    "compaction-kept-missing": Difference(LOST_KEPT, _TAIL),
    "compaction-kept-on-another-branch": Difference(LOST_KEPT, _TAIL),
    "compaction-of-a-tool-chain": Difference(LOST_KEPT, _TAIL),
    "compaction-without-kept": Difference(LOST_KEPT, _TAIL),
    "cycle": Difference(CYCLE, _HISTORY),
    "cycle-off-the-path": Difference(CYCLE, "tree"),
    "damaged-leaf": Difference(DAMAGED, "entryCount tree"),
    "damaged-middle": Difference(DAMAGED, f"entryCount {_HISTORY}"),
    "edits-of-other-kinds": Difference(BAD_EDIT, "context llm"),
    "empty": Difference(EMPTY, "opens"),
    "lone-surrogate": Difference(SURROGATE, "context llm"),
    "marker-as-first-kept": Difference(MARKER, "entryCount branch tree contextEntries"),
    "marker-before-the-first": Difference(MARKER, "leafId entryCount branch tree contextEntries"),
    "marker-in-between": Difference(MARKER, "entryCount branch tree labels contextEntries"),
    "marker-is-the-leaf": Difference(MARKER, "leafId entryCount branch tree contextEntries"),
    "message-is-a-text": Difference(NO_MESSAGE, "context"),
    "message-null": Difference(NO_MESSAGE, "context llm"),
    "not-objects": Difference(NO_ENTRY, "entryCount tree"),
    "numeric-ids": Difference(NUMBERS, f"leafId {_HISTORY}"),
    "same-id-twice": Difference(TWICE, "entryCount tree"),
    "self-parent": Difference(CYCLE, _TAIL + " branch"),
    "two-on-a-line": Difference(WHOLE_LINE, f"entryCount {_HISTORY}"),
    "version-1-compaction-astray": Difference(LOST_KEPT, _TAIL),
    "without-ids": Difference(NO_ID, "tree"),
}
