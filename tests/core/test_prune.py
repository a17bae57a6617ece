"""Old tool results are shortened by rule: the newest protected, errors and last turns whole, the rest in steps."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.agent_message import read
from pid.core.prune import SHORT_TOKENS, results_to_shorten, shortened
from pid.protocol import PruneToolResults
from tests.agent_messages import Built, assistant, call, image, result, text, user

ROLES = {"u": "user", "a": "assistant", "t": "toolResult", "e": "toolResult", "b": "bashExecution", "s": "system"}


def chosen(letters: str, size: int | dict[int, int] = 1100, **limits: int) -> list[int]:
    """Of a conversation in letters (`e`: a failed result), where a result takes `size` tokens, or those by place."""
    asked: list[int] = []

    def tokens(at: int) -> int:
        asked.append(at)
        return size if isinstance(size, int) else size[at]

    found = results_to_shorten(
        [ROLES[letter] for letter in letters],
        tokens,
        lambda at: letters[at] == "e",
        PruneToolResults(**{"protect_tokens": 0, "minimum_saving": 0, "keep_turns": 0} | limits),
    )
    assert all(letters[at] == "t" for at in asked)
    return found


def test_all_go_where_nothing_holds_them() -> None:
    assert chosen("uatataua") == [2, 4]
    assert chosen("") == []
    assert chosen("uaua") == []


def test_the_newest_are_protected() -> None:
    assert chosen("uatatatat", protect_tokens=2200) == [2, 4]
    assert chosen("uatatatat", protect_tokens=2199) == [2, 4, 6]
    assert chosen("uatatatat", protect_tokens=9999) == []


def test_failed_results_stay_and_protect_nothing() -> None:
    assert chosen("uatatae", protect_tokens=1100) == [2]
    assert chosen("uaeaeae") == []


def test_the_last_turns_stay_whole() -> None:
    assert chosen("uatuatuat", keep_turns=1) == [2, 5]
    assert chosen("uatuatuat", keep_turns=2) == [2]
    assert chosen("uatuatuat", keep_turns=3) == []
    assert chosen("uatuatuat", keep_turns=9) == []
    assert chosen("uatbatsat", keep_turns=1) == [2]


def test_small_results_are_not_worth_it() -> None:
    assert chosen("uatat", size=SHORT_TOKENS) == []
    assert chosen("uatat", size=SHORT_TOKENS + 1) == [2, 4]
    assert chosen("uatatat", size={2: 50, 4: 1100, 6: 50}) == [4]


def test_they_go_in_steps() -> None:
    assert chosen("ua" + "ta" * 2, minimum_saving=3000) == []
    assert chosen("ua" + "ta" * 3, minimum_saving=3000) == [2, 4, 6]
    assert chosen("ua" + "ta" * 5, minimum_saving=3000) == [2, 4, 6]
    assert chosen("ua" + "ta" * 6, minimum_saving=3000) == [2, 4, 6, 8, 10, 12]


@given(st.text(alphabet="uatteb", max_size=40), st.text(alphabet="uatteb", max_size=10), st.integers(0, 5000))
def test_what_was_shortened_stays_so_as_the_session_grows(before: str, more: str, minimum: int) -> None:
    earlier = chosen(before, minimum_saving=minimum, protect_tokens=3000, keep_turns=1)
    later = chosen(before + more, minimum_saving=minimum, protect_tokens=3000, keep_turns=1)
    assert later[: len(earlier)] == earlier


LONG = result("c1", "x" * 150 + "😀" * 100, "y", image())


@pytest.mark.parametrize("form", ["dict", "bytes", "read"])
def test_a_shortened_result_names_its_entry(form: str) -> None:
    raw = json.dumps(LONG | {"details": {"n": 12345678901234567890123}}).encode()
    forms: dict[str, Any] = {"dict": LONG, "bytes": raw, "read": read(LONG, lambda *_: None)}
    short = shortened(forms[form], "e7")
    note = "[Shortened: 52 of 252 characters and 1 image(s) left out. The entry e7 holds the whole result.]"
    built = Built(user("a"), assistant(call("c1")), short)
    assert built.said[2] == ("user", [("c1", ["x" * 150 + "😀" * 50 + "\n" + note], False)])
    if form == "bytes":
        assert b"12345678901234567890123" in bytes(short)
    assert len(LONG["content"]) == 3


def test_results_of_any_shape_are_shortened() -> None:
    for content in (None, [], "plain", [text("")], [{"type": "text", "text": 5}], [image()]):
        short = shortened({"role": "toolResult", "toolCallId": "c1", "content": content}, "e1")
        assert "The entry e1 holds the whole result." in msgspec.json.encode(short).decode()
