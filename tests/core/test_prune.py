"""Old tool results are shortened by rule: the newest protected, errors and last turns whole, the rest in steps."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from pid.core.prune import HEAD, SHORT_TOKENS, Result, result_of, results_to_shorten, shortened
from pid.core.tokens import IMAGE_TOKENS
from pid.protocol import PruneToolResults
from tests.agent_messages import Built, Json, assistant, call, image, png, result, text, user


def chosen(letters: str, size: int | dict[int, int] = 1100, **limits: int) -> list[int]:
    """Of a conversation in letters (`t` a result, `e` a failed one); a result takes `size` tokens, or by place."""
    results = {
        at: Result(size if isinstance(size, int) else size[at], failed=letter == "e")
        for at, letter in enumerate(letters)
        if letter in "te"
    }
    turns = [at for at, letter in enumerate(letters) if letter in "ub"]
    asked = PruneToolResults(**{"protect_tokens": 0, "minimum_saving": 0, "keep_turns": 0} | limits)
    return results_to_shorten(results, turns, asked)


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


def shortest(message: Json, entry_id: str = "e7") -> Raw:
    return shortened(Raw(json.dumps(message)), entry_id)


def test_a_shortened_result_names_its_entry() -> None:
    short = shortest(LONG | {"details": {"n": 12345678901234567890123}})
    note = "[Shortened: 52 of 252 characters and 1 image(s) left out. The entry e7 holds the whole result.]"
    built = Built(user("a"), assistant(call("c1")), short)
    assert built.said[2] == ("user", [("c1", ["x" * 150 + "😀" * 50 + "\n" + note], False)])
    assert b"12345678901234567890123" in bytes(short)


def test_results_of_any_shape_are_shortened() -> None:
    for content in ([image()], [{"type": "text", "text": 5}, {"type": "video"}], "long " * 50):
        short = shortest({"role": "toolResult", "toolCallId": "c1", "content": content})
        assert b"The entry e7 holds the whole result." in bytes(short)


@pytest.mark.parametrize("content", [None, [], "plain", [text("")], [text("漢" * HEAD)]])
def test_a_result_that_is_all_head_stays_as_it_is(content: Any) -> None:
    message = {"role": "toolResult", "toolCallId": "c1", "content": content}
    assert json.loads(bytes(shortest(message))) == message


def weight(*blocks: Json | str) -> int:
    return result_of(Raw(json.dumps(result("c1", *blocks), ensure_ascii=False))).tokens


def test_what_a_result_weighs() -> None:
    words = "some words of a long text. "
    assert weight(words * 100_000) == pytest.approx(weight(words * 1000) * 100, rel=0.05)
    assert weight("漢字" * 50_000) == pytest.approx(weight("漢字" * 500) * 100, rel=0.05)
    assert weight(image(png() + "A" * 1_000_000)) == IMAGE_TOKENS
    assert result_of(Raw(json.dumps(result("c1", "no", error=True)))).failed
    assert result_of(Raw(b'{"role":"toolResult","content":7,"isError":"yes"}')) == Result(0)
