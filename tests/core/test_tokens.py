"""Estimates of single messages: pi's numbers exactly, and what every role and block takes."""

from __future__ import annotations

from typing import Any

import pytest

from pid.core.tokens import IMAGE_TOKENS, Size, calibration_for, chars4, parts_of, size_of, total
from tests import interop

Json = dict[str, Any]
IMAGE = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo" * 5_000}


def estimates(case: str) -> list[tuple[Json, int]]:
    found = interop.expected(case)
    if "perMessage" not in found.get("estimate", {}):
        return []
    return list(zip(found["context"]["messages"], found["estimate"]["perMessage"], strict=True))


PI_ESTIMATES = [(case, *pair) for case in interop.CASES for pair in estimates(case)]


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
def test_every_message_of_every_interop_case_takes_what_pi_says() -> None:
    assert len(PI_ESTIMATES) > 100
    assert [chars4(message) for _, message, _ in PI_ESTIMATES] == [tokens for *_, tokens in PI_ESTIMATES]


CHARS4: list[tuple[Json, int]] = [
    ({"role": "user", "content": "12345"}, 2),
    ({"role": "user", "content": "😀😀"}, 1),  # two UTF-16 units each
    ({"role": "user", "content": [IMAGE, {"type": "text", "text": "1234"}]}, 1_201),
    ({"role": "toolResult", "content": [IMAGE]}, 1_200),
    ({"role": "custom", "content": [IMAGE]}, 1_200),
    ({"role": "assistant", "content": [IMAGE]}, 0),  # pi does not look for one here
    ({"role": "assistant", "content": [{"type": "thinking", "thinking": "12345678"}]}, 2),
    ({"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {"n": 1.0}}]}, 3),
    ({"role": "assistant", "content": "a string is no list of blocks"}, 0),
    ({"role": "user", "content": [{"type": "thinking", "thinking": "12345678"}]}, 0),
    ({"role": "bashExecution", "command": "1234", "output": "5678", "excludeFromContext": True}, 2),
    ({"role": "branchSummary", "summary": "12345678"}, 2),
    ({"role": "compactionSummary", "summary": "123456789"}, 3),
    ({"role": "system", "content": "1234", "sections": {"a": "5678", "b": None}, "toolsAdded": []}, 3),
    ({"role": "nobody knows", "content": "1234"}, 0),
]


@pytest.mark.parametrize(("message", "tokens"), CHARS4)
def test_chars4_is_pi_s(message: Json, tokens: int) -> None:
    assert chars4(message) == tokens


BAD: list[Json] = [
    {},
    {"role": None},
    {"role": 7, "content": 7},
    {"role": "user"},
    {"role": "user", "content": None},
    {"role": "user", "content": [None, "text", 7, {"type": None}, {"type": "text"}, {"type": "text", "text": None}]},
    {"role": "assistant", "content": [{"type": "toolCall"}]},
    {"role": "assistant", "content": [{"type": "toolCall", "name": None, "arguments": None}]},
    {"role": "bashExecution"},
    {"role": "compactionSummary", "summary": None},
    {"role": "system", "sections": [], "toolsAdded": 7},
]


@pytest.mark.parametrize("message", BAD)
def test_bad_messages_take_little_and_raise_nothing(message: Json) -> None:
    assert chars4(message) <= 2
    assert size_of(message).text <= 2


@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "custom", "system"])
def test_an_image_counts_in_every_role_and_its_bytes_as_no_text(role: str) -> None:
    size = size_of({"role": role, "content": [IMAGE]})
    assert size.images == 1
    assert size.text <= 1
    assert calibration_for("claude-opus-4-5").tokens(size) in range(IMAGE_TOKENS, IMAGE_TOKENS + 20)


SPOKEN: list[tuple[Json, Size]] = [
    ({"role": "user", "content": "four"}, Size(4, 1)),
    ({"role": "toolResult", "content": [{"type": "text", "text": "four"}]}, Size(4, 1, results=1)),
    ({"role": "toolResult", "content": []}, Size()),
    (
        {"role": "assistant", "content": [{"type": "toolCall", "name": "ls", "arguments": {}}] * 2},
        Size(8, 1, calls=2),
    ),
    ({"role": "bashExecution", "command": "ls", "output": "a"}, Size(3, 1)),
    ({"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": True}, Size()),
    ({"role": "compactionSummary", "summary": "four"}, Size(4, 1)),
    ({"role": "nobody knows", "content": "four"}, Size()),
]


@pytest.mark.parametrize(("message", "size"), SPOKEN)
def test_the_size_of_each_role(message: Json, size: Size) -> None:
    assert size_of(message, len) == size


def test_sizes_add_up() -> None:
    assert total([Size(1, 1, 1, 0, 2), Size(2, 1, 0, 3, 0)]) == Size(3, 2, 1, 3, 2)
    assert total([]) == Size()


def test_texts_are_counted_one_by_one() -> None:
    message = {"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {"path": "a"}}]}
    assert parts_of(message).texts == ["read", '{"path":"a"}']


@pytest.mark.parametrize(
    ("model", "slope"),
    [("claude-sonnet-4-5", 1.25), ("GPT-5.1-codex", 1.0), ("qwen/qwen3-coder", 1.02), ("m1", 1.1), (None, 1.1)],
)
def test_the_family_comes_from_the_model_id(model: str | None, slope: float) -> None:
    assert calibration_for(model).slope == slope
