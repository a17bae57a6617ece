"""Entries in effect read newest first: in slices, once, and no further than somebody looks."""

from __future__ import annotations

from typing import Any

from pid.core.speech import SLICE, Speech
from pid.core.system_replay import replay
from pid.entries import Kind
from tests.plans import view_of


def counted(length: int) -> tuple[Speech, list[list[int]]]:
    asked: list[list[int]] = []

    def read(rows: Any) -> list[list[dict[str, Any]]]:
        asked.append(list(rows))
        return [[{"role": "user", "content": str(row)}] for row in rows]

    return Speech(range(length), [Kind.USER] * length, read, lambda rows: [b""] * len(rows), [0] * length), asked


def test_the_newest_are_read_in_slices_and_once() -> None:
    speech, asked = counted(1_000)
    for place in range(999, 999 - SLICE - 1, -1):
        assert speech[place].messages[0]["content"] == str(place)
    assert [len(rows) for rows in asked] == [SLICE, SLICE]
    assert len(speech.ahead(999 - SLICE, 1_000)) == SLICE + 1
    assert len(asked) == 2


def test_a_stream_keeps_nothing_and_uses_what_is_there() -> None:
    speech, asked = counted(3 * SLICE)
    assert speech[3 * SLICE - 1].row == 3 * SLICE - 1
    assert [len(entries) for entries in speech.stream(0, 3 * SLICE)] == [SLICE] * 3
    assert len(asked) == 3
    assert [entry.row for entries in speech.stream(0, 2 * SLICE) for entry in entries] == list(range(2 * SLICE))
    assert len(asked) == 5


def test_where_the_entries_after_a_compaction_begin() -> None:
    assert view_of("u1 a1 u2").speech.after == 0
    assert view_of("u1 a1 u2 a2 c1(u2) n1 u3").speech.after == 3
    assert view_of("u1 a1 c1(u1)").speech.after == 3
    assert view_of("u1 a1 c1(a1) u2 c2(u2) u3").speech.after == 2


def test_edits_apply_and_silent_entries_say_nothing() -> None:
    speech = view_of("u1 a1 u2 e1(u1)=new e2(u2) l1(u1)=x c1(u1)").speech
    said = [entry.messages for entry in speech.ahead(0, len(speech))]
    assert [len(messages) for messages in said] == [1, 1, 1, 0, 0, 0, 0]
    assert said[1][0]["content"] == "new"
    assert speech[0].role == "compactionSummary"
    assert speech[3].role is None


def test_the_system_prompt_as_one_message() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "one", "sections": {"a": "A", "b": "B"}, "toolsAdded": [{"name": "t"}]},
        {
            "role": "system",
            "content": [{"type": "text", "text": "two"}],
            "sections": {"a": None},
            "toolsRemoved": ["t"],
        },
        {"role": "system", "content": "", "toolsAdded": [{"name": "u"}]},
    ]
    state = replay(messages)
    found = state.as_message()
    assert found == {
        "role": "system",
        "content": "one\n\ntwo",
        "sections": {"b": "B"},
        "toolsAdded": [{"name": "u"}],
    }
    assert replay([found]) == state
    assert state.text == "one\n\ntwo\n\nB"
    assert replay([]).as_message() is None
