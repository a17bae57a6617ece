"""Conservation: every message on a path is in the context, or was input to a summary that is, exactly once.

Random trees, with up to five compactions on a path, each as the plan says; branches, edits, labels, calls in parallel
and their results in any order, messages between a call and its results.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.compaction import Plan
from pid.core.tree import ROOT
from pid.entries import MESSAGE_KINDS, Kind, iso_of
from pid.errors import NothingToCompact
from tests.plans import View, view
from tests.trees import START_MS, load

Json = dict[str, Any]
SPEAKING = MESSAGE_KINDS - {Kind.SYSTEM} | {Kind.CUSTOM_MESSAGE, Kind.BRANCH_SUMMARY}


@dataclass
class Story:
    """A session that grows by operations. `plans` has the plan of each compaction, by its id."""

    entries: list[Json] = field(default_factory=list)
    leaf: str | None = None
    calls: dict[str | None, tuple[str, ...]] = field(default_factory=dict)  # entry -> calls still open there
    plans: dict[str, tuple[Plan, View]] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        header = {"type": "session", "version": 3, "id": "s", "timestamp": iso_of(START_MS), "cwd": "/p"}
        return "".join(json.dumps(line) + "\n" for line in [header, *self.entries]).encode()

    def add(self, kind: str, calls: tuple[str, ...] | None = None, **fields: Any) -> None:
        number = len(self.entries)
        entry_id = f"e{number:03}"
        head = {"type": kind, "id": entry_id, "parentId": self.leaf, "timestamp": iso_of(START_MS + number)}
        self.calls[entry_id] = self.calls.get(self.leaf, ()) if calls is None else calls
        self.entries.append(head | fields)
        self.leaf = entry_id

    def say(self, role: str, size: int, calls: tuple[str, ...] | None = None, **fields: Any) -> None:
        self.add("message", calls, message={"role": role, "content": "x" * size} | fields)

    def call(self, count: int, size: int) -> None:
        new = tuple(f"c{len(self.entries)}.{index}" for index in range(count))
        blocks = [{"type": "toolCall", "id": call, "name": "read", "arguments": {"n": "y" * size}} for call in new]
        text = [{"type": "text", "text": "x" * size}]
        self.say("assistant", 0, self.calls.get(self.leaf, ()) + new, content=text + blocks, stopReason="toolUse")

    def answer(self, which: int, size: int) -> None:
        waiting = self.calls.get(self.leaf, ())
        if not waiting:
            self.say("toolResult", size, toolCallId=f"orphan{which}")
            return
        call = waiting[which % len(waiting)]
        self.say("toolResult", size, tuple(other for other in waiting if other != call), toolCallId=call)

    def move(self, which: int) -> None:
        self.leaf = self.entries[which % len(self.entries)]["id"] if self.entries else None

    def edit(self, which: int, text: str | None) -> None:
        path = [entry for entry in self.entries if entry["type"] in ("message", "custom_message")]
        if path:
            target = path[which % len(path)]["id"]
            self.add("context_edit", targetId=target, replacement=None if text is None else {"content": text})

    def compact(self, keep: int) -> None:
        if not self.entries or self._compactions_on_path() >= 5:
            return
        found = self.view()
        try:
            planned = found.plan(keep)
        except NothingToCompact:
            return
        first = found.first_kept(planned)
        own = f"e{len(self.entries):03}"
        self.plans[own] = planned, found
        self.add("compaction", summary=f"summary {own}", firstKeptEntryId=first or own, tokensBefore=1)

    def _compactions_on_path(self) -> int:
        parents = {entry["id"]: entry for entry in self.entries}
        entry, count = parents.get(self.leaf or ""), 0
        while entry:
            count += entry["type"] == "compaction"
            entry = parents.get(entry["parentId"] or "")
        return count

    def view(self, leaf: str | None = None) -> View:
        session = load(self.data)
        return view(session, session.row(leaf or self.leaf or ""))


SIZES = st.sampled_from([4, 40, 200, 900])
TALK = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["user", "user", "assistant", "custom", "system"]), SIZES),
    st.tuples(st.just("call"), st.integers(1, 3), SIZES),
    st.tuples(st.just("answer"), st.integers(0, 2), SIZES),
    st.tuples(st.just("answer"), st.integers(0, 2), SIZES),
    st.tuples(st.just("edit"), st.integers(0, 60), st.sampled_from([None, "short", "z" * 300])),
)
COMPACT = st.tuples(st.just("compact"), st.sampled_from([1, 10, 60]))
MOVE = st.tuples(st.just("move"), st.integers(0, 60))
ROUND = st.tuples(st.lists(TALK, min_size=3, max_size=12), st.one_of(COMPACT, COMPACT, COMPACT, MOVE)).map(
    lambda found: [*found[0], found[1]]
)
OPERATIONS = st.lists(ROUND, min_size=1, max_size=8).map(lambda rounds: [step for steps in rounds for step in steps])


def told(operations: list[tuple[Any, ...]]) -> Story:
    story = Story()
    for name, *arguments in operations:
        getattr(story, name)(*arguments)
    return story


def parents_first(found: View) -> list[int]:
    return found.session.tree.path(found.effect.leaf)


@settings(max_examples=80)
@given(OPERATIONS)
def test_every_message_is_in_the_context_or_in_one_summary(operations: list[tuple[Any, ...]]) -> None:
    story = told(operations)
    if not story.entries:
        return
    found = story.view()
    tree = found.session.tree
    path = parents_first(found)
    in_effect = set(found.effect.rows)
    summarised = [
        row
        for compaction in path
        if tree.kinds[compaction] == Kind.COMPACTION
        for row in (*story.plans[tree.ids[compaction]][0].history, *story.plans[tree.ids[compaction]][0].turn_head)
    ]
    for row in path:
        if tree.kinds[row] in SPEAKING:
            places = summarised.count(row) + (row in in_effect)
            assert places == 1, f"{tree.ids[row]} is in {places} places"


@settings(max_examples=80)
@given(OPERATIONS)
def test_each_summary_is_handed_to_the_next_one(operations: list[tuple[Any, ...]]) -> None:
    story = told(operations)
    for own, (planned, found) in story.plans.items():
        above = [row for row in parents_first(found) if found.session.tree.kinds[row] == Kind.COMPACTION]
        assert planned.begin == (1 if above else 0), own
        assert found.effect.compaction == (above[-1] if above else ROOT)


@settings(max_examples=100)
@given(OPERATIONS)
def test_a_cut_never_parts_a_call_from_its_results(operations: list[tuple[Any, ...]]) -> None:
    for planned, found in told(operations).plans.values():
        places: dict[str, int] = {}
        for place in range(planned.begin, len(planned.rows)):
            for message in found.speech[place].messages:
                content = message.get("content")
                for block in content if isinstance(content, list) else []:
                    if block.get("type") == "toolCall":
                        places[block["id"]] = place
                if (called := places.get(message.get("toolCallId", ""))) is not None:
                    assert (called < planned.cut) == (place < planned.cut)
