"""The summary without a model: what it quotes, what it never loses, and how it brings an earlier one up to date."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.extract import Extract, command_key, todo_in
from pid.core.extractive import HEADINGS, MARKER, budget, notes, sections_of, summary
from pid.core.files import NO_FILES
from pid.core.material import Material
from pid.core.speech import Estimator
from pid.core.summary import taken_apart
from pid.core.tokens import calibration_for
from pid.protocol import FileDetails
from tests import interop

Json = dict[str, Any]
TOKENS = Estimator(calibration_for("claude")).text
WINDOW = 200_000


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def said(text: str, *calls: tuple[str, str, Json]) -> Json:
    blocks = [{"type": "toolCall", "id": call, "name": name, "arguments": given} for call, name, given in calls]
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *blocks]}


def run(call: str, command: str) -> Json:
    return said("", (call, "bash", {"command": command}))


def result(call: str, text: str = "", failed: bool = False) -> Json:
    return {"role": "toolResult", "toolCallId": call, "content": text, "isError": failed}


def material(*messages: Json, earlier: str = "", first: int = 1) -> Material:
    found = Material(TOKENS, earlier)
    for number, message in enumerate(messages, first):
        found.add(f"e{number}", message)
    return found


def text_of(*messages: Json, earlier: str = "", window: int = WINDOW, first: int = 1) -> str:
    return summary(material(*messages, earlier=earlier, first=first), window).text()


def section(text: str, heading: str) -> list[str]:
    return [item.text for item in sections_of(taken_apart(text).notes).of(heading)]


GOAL, RULES, DONE, DOING, BLOCKED, DECISIONS, NEXT, CONTEXT = HEADINGS


# One summary


def test_it_says_that_no_model_wrote_it_and_has_every_heading() -> None:
    lines = text_of(user("fix the parser")).split("\n")
    assert lines[0] == MARKER
    assert [line for line in lines if line.startswith("#")] == [
        "## Goal",
        "## Constraints & Preferences",
        "## Progress",
        "### Done",
        "### In Progress",
        "### Blocked",
        "## Key Decisions",
        "## Next Steps",
        "## Critical Context",
    ]


def test_the_same_input_gives_the_same_output() -> None:
    messages = [user("fix it. never break it"), said("done"), user("more")]
    assert text_of(*messages) == text_of(*messages)


def test_the_newest_request_stands_there_word_for_word() -> None:
    request = "now   this:\n\n  1. indented\n\t2. tabbed\n"
    assert f'<newest-request entry="e2">\n{request.strip()}\n</newest-request>' in text_of(user("first"), user(request))


def test_the_first_request_is_the_goal_and_the_others_stand_newest_first() -> None:
    text = text_of(user("/model"), user("build a parser"), user("now test it"), said("ok"), user("ship it now"))
    assert section(text, GOAL) == ["- At first: build a parser (entry e2)"]
    assert section(text, CONTEXT)[:2] == ["- The user: ship it now (entry e5)", "- The user: now test it (entry e3)"]


def test_rules_have_their_own_place_with_their_entries() -> None:
    text = text_of(user("fix it. Never touch vendor/."), said("ok"), user("immer auf Deutsch antworten"))
    assert section(text, RULES) == ["- immer auf Deutsch antworten (entry e3)", "- Never touch vendor/. (entry e1)"]


def test_what_the_assistant_said_last_is_the_next_step() -> None:
    assert section(text_of(said("first"), said("I will now\nadd tests")), NEXT) == [
        "- The assistant said last (entry e2): I will now add tests"
    ]


# Failures


def test_a_failure_that_no_success_followed_is_open() -> None:
    text = text_of(
        run("c1", "cd /src && npm test 2>&1 | tail -5"),
        result("c1", "3 failing\nError: boom\n\nCommand exited with code 1", failed=True),
        run("c2", "make"),
        result("c2", "no rule", failed=True),
        run("c3", "make"),
        result("c3", "built"),
    )
    assert section(text, BLOCKED) == ["- `npm test` failed: Error: boom (entry e2)"]


def test_a_success_of_the_whole_settles_a_part() -> None:
    text = text_of(run("c1", "npm test -- one.ts"), result("c1", "bad", True), run("c2", "npm test"), result("c2"))
    assert section(text, BLOCKED) == []


def failures(count: int) -> list[Json]:
    why = "the reason is " * 9
    pairs = ((run(f"c{n}", f"pytest tests/case_{n}.py"), result(f"c{n}", why, failed=True)) for n in range(count))
    return [message for pair in pairs for message in pair]


def test_of_many_failures_the_newest_say_why_and_none_is_lost() -> None:
    text = text_of(user("fix all"), *failures(100), said("I go on"), window=16_000)
    lines = section(text, BLOCKED)
    assert [line.split("`")[1] for line in lines] == [f"pytest tests/case_{n}.py" for n in reversed(range(100))]
    assert "the reason is" in lines[0]
    assert lines[-1] == "- `pytest tests/case_0.py` failed"
    assert section(text, NEXT) == ["- The assistant said last (entry e202): I go on"]
    assert TOKENS(text) <= budget(16_000)


def test_a_failure_that_was_shortened_still_ends_with_its_success() -> None:
    first = text_of(user("fix all"), *failures(100), window=16_000)
    second = text_of(run("d", "pytest tests/case_0.py"), result("d"), earlier=first, window=16_000, first=300)
    names = [line.split("`")[1] for line in section(second, BLOCKED)]
    assert names == [f"pytest tests/case_{n}.py" for n in reversed(range(1, 100))]


def test_other_tools_fail_too_and_searches_do_not() -> None:
    text = text_of(
        said("", ("c1", "edit", {"path": "a.py"}), ("c2", "bash", {"command": "grep -n x a.py"})),
        result("c1", "text not found", failed=True),
        result("c2", "", failed=True),
    )
    assert section(text, BLOCKED) == ["- `edit a.py` failed: text not found (entry e2)"]


def test_what_the_user_ran_counts() -> None:
    text = text_of({"role": "bashExecution", "command": "make", "output": "stop", "exitCode": 2})
    assert section(text, BLOCKED) == ["- `make` failed: stop (entry e1)"]


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("cd /a/b && npm test 2>&1 | tail -20", "npm test"),
        ("cd x; make | grep error | head -3", "make"),
        ("echo `date`", "echo 'date'"),
        ("  spaced   out ", "spaced out"),
        (None, ""),
    ],
)
def test_a_command_without_its_trimmings(command: Any, key: str) -> None:
    assert command_key(command) == key


# Plans

TODOS = [
    ("Plan:\n1. read\n2. write\n\nLet me begin.", "1. read\n2. write"),
    ("- [x] read\n- [ ] write", "- [x] read\n- [ ] write"),
    ("## Next steps\n\n- read\n- write", "- read\n- write"),
    ("Plan:\n- old\n- older\n\nNew plan:\n- new\n- newer", "- new\n- newer"),
    ("Some files:\n- a\n- b", ""),
    ("Plan:\n- only one", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "todo"), TODOS)
def test_the_last_list_of_things_to_do(text: str, todo: str) -> None:
    assert todo_in(text) == todo


def test_a_long_line_announces_no_plan() -> None:
    assert todo_in("the plan " * 20_000 + ".\n- a\n- b") == ""


def test_a_todo_tool_s_list_wins_if_it_came_last() -> None:
    todos = [
        {"content": "read", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "run"},
    ]
    text = text_of(said("Plan:\n- a\n- b"), said("", ("c1", "TodoWrite", {"todos": todos})))
    assert section(text, DOING) == ["- The last todo list (entry e2):\n  - [x] read\n  - [~] write\n  - [ ] run"]


# Bringing an earlier summary up to date


def test_its_own_earlier_summary_goes_on() -> None:
    first = text_of(
        user("build a parser. Always use tabs."),
        run("c1", "make"),
        result("c1", "no rule", True),
        run("c2", "npm test"),
        result("c2", "red", True),
        said("Plan:\n- a\n- b"),
    )
    second = text_of(user("and a lexer"), run("c3", "make"), result("c3"), said("all done"), earlier=first, first=20)
    assert section(second, GOAL) == section(first, GOAL)
    assert section(second, RULES) == ["- Always use tabs. (entry e1)"]
    assert section(second, BLOCKED) == ["- `npm test` failed: red (entry e5)"]
    assert section(second, DOING) == section(first, DOING)
    assert section(second, NEXT) == ["- The assistant said last (entry e23): all done"]
    assert second.count(MARKER) == 1
    assert second.count("<newest-request") == 1


MODEL = """\
## Goal
Build a parser
that is fast

## Constraints & Preferences
- Tabs only
- Python 3.11

## Progress
### Done
- [x] Lexer
### In Progress
- [ ] Parser
### Blocked
(none)

## Key Decisions
- **Pratt parsing**: simple

## Next Steps
1. Write the parser
   - with tests

## Critical Context
- The grammar is in grammar.md

## House Notes
kept by hand"""


def test_a_model_s_summary_loses_no_section_and_no_rule() -> None:
    text = text_of(user("go on. never use recursion"), said("working"), earlier=MODEL)
    assert section(text, RULES) == ["- never use recursion (entry e1)", "- Tabs only", "- Python 3.11"]
    assert section(text, DECISIONS) == ["- **Pratt parsing**: simple"]
    assert section(text, NEXT)[1:] == ["1. Write the parser\n   - with tests"]
    assert section(text, "## House Notes") == ["kept by hand"]
    for line in MODEL.split("\n"):
        assert line in text or line == "(none)"


def test_the_turn_that_an_earlier_summary_parted_is_no_news() -> None:
    first = Material(TOKENS)
    first.add("e1", user("before"))
    first.add("e2", user("the big task, all of it"), in_turn_head=True)
    first.add("e3", said("first step"), in_turn_head=True)
    text = summary(first, WINDOW).text()
    assert "## The Turn So Far" in text
    assert "- The user: as quoted at the end (entry e2)" in text
    later = text_of(said("second step"), earlier=text, first=9)
    assert "The Turn So Far" not in later
    assert '<newest-request entry="e2">\nthe big task, all of it\n' in later


def test_rules_do_not_pile_up_when_they_are_said_again() -> None:
    text = ""
    for _ in range(5):
        text = text_of(user("Never do it."), earlier=text)
    assert len(section(text, RULES)) == 1


# Room


def test_the_budget() -> None:
    assert [budget(window) for window in (None, 200_000, 32_000, 16_000)] == [8_000, 8_000, 8_000, 4_000]


TALK = st.one_of(
    st.text(max_size=3_000).map(user),
    st.sampled_from(["never do it", "always do that, " * 30, "x" * 40_000, "plan:\n- a\n- b"]).map(user),
    st.text(max_size=5_000).map(said),
    st.sampled_from(["Plan:\n- a\n- b", "# H\n## Goal\nx"]).map(said),
    st.integers(0, 99).map(lambda number: {"role": "bashExecution", "command": f"run {number}", "exitCode": 1}),
)


@settings(max_examples=60)
@given(st.lists(st.lists(TALK, max_size=25), min_size=1, max_size=4), st.sampled_from([2_000, 8_000, 200_000]))
def test_it_stays_within_its_budget_however_often(rounds: list[list[Json]], window: int) -> None:
    text = ""
    for messages in rounds:
        text = text_of(*messages, earlier=text, window=window)
        assert TOKENS(text) <= budget(window)
        assert all(heading in text for heading in HEADINGS)


def test_where_there_is_not_room_for_all_the_rules_stay() -> None:
    talk = [user(f"Never touch file number {n}.") for n in range(40)] + [user(f"talk {n} " * 100) for n in range(200)]
    text = text_of(*talk, window=16_000)
    assert len(section(text, RULES)) == 40
    assert TOKENS(text) <= 4_000


def test_many_files_leave_room() -> None:
    found = Material(TOKENS, "", FileDetails(read_files=[f"r{n}.py" for n in range(5_000)], modified_files=[]))
    for number in range(3_000):
        found.add(f"e{number}", said("", ("c", "edit", {"path": f"src/module/file_{number:05}.py"})))
    text = summary(found, WINDOW).text()
    assert TOKENS(text) <= 8_000
    assert len(taken_apart(text).files.modified_files) > 100
    assert len(found.files.modified_files) == 3_000


def test_nothing_at_all_is_still_a_summary() -> None:
    text = text_of()
    assert text.startswith(MARKER)
    assert taken_apart(text).files == NO_FILES


@given(st.lists(st.dictionaries(st.sampled_from(["role", "content", "isError", "toolCallId"]), st.none() | st.text())))
def test_bad_messages_are_taken_in_without_a_word(messages: list[Json]) -> None:
    found = Extract()
    for message in messages:
        found.add("e1", message)
    assert notes(found, "", 8_000, TOKENS).startswith(MARKER)


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
def test_the_real_session_keeps_what_must_not_be_lost() -> None:
    from tests.benchmarks.retention import real, told

    for times in (1, 3):
        kept = told(real(), times)
        assert (kept.rules, kept.modified, kept.newest) == (1.0, 1.0, 1.0)
        assert kept.compression < 0.06


@pytest.mark.parametrize("window", [WINDOW, 16_000])
def test_a_generated_session_keeps_them_after_ten_compactions(window: int) -> None:
    from tests.benchmarks.retention import generated, told

    kept = told(generated(seed=9, turns=60), 10, window)
    assert (kept.rules, kept.modified, kept.failures, kept.newest) == (1.0, 1.0, 1.0, 1.0)
