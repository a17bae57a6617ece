"""The judge of payloads refuses what the Messages API is known to refuse, and nothing that it takes."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent_messages import png
from tests.payload_rules import image_header, payload_problems, request_problems

Json = dict[str, Any]

GOOD: Json = {
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "I read."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "gone"}],
                    "is_error": True,
                },
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}},
                {"type": "text", "text": "go on"},
            ],
        },
        {"role": "assistant", "content": "The answer is"},
    ],
}


def picture(**source: Any) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()} | source}


def block(message: int, at: int, **fields: Any) -> Callable[[Json], None]:
    return lambda payload: payload["messages"][message]["content"][at].update(fields)


def content(message: int, value: Any) -> Callable[[Json], None]:
    return lambda payload: payload["messages"][message].update(content=value)


def without(message: int, at: int) -> Callable[[Json], None]:
    return lambda payload: payload["messages"][message]["content"].pop(at)


def put(message: int, at: int, new: Any) -> Callable[[Json], None]:
    return lambda payload: payload["messages"][message]["content"].insert(at, new)


def whole(**fields: Any) -> Callable[[Json], None]:
    return lambda payload: payload.update(fields)


MARK = {"cache_control": {"type": "ephemeral"}}
BAD: dict[str, Callable[[Json], Any]] = {
    "no messages": whole(messages=[]),
    "messages of another type": whole(messages={}),
    "an unknown field": whole(temperature=1),
    "the assistant first": lambda payload: payload["messages"].pop(0),
    "two of the user's in a row": lambda payload: payload["messages"].insert(0, payload["messages"][0]),
    "an unknown role": lambda payload: payload["messages"][0].update(role="system"),
    "a message with another field": lambda payload: payload["messages"][0].update(name="x"),
    "no content": content(0, []),
    "an empty text as content": content(0, ""),
    "null as content": content(0, None),
    "an empty text": block(0, 0, text=""),
    "a text of blanks": block(0, 0, text=" \n"),
    "a text that is none": block(0, 0, text=None),
    "half of a surrogate pair": block(0, 0, text="\ud800"),
    "a number that is none": block(1, 3, input={"a": float("nan")}),
    "blanks at the end": content(3, "The answer is "),
    "a block of an unknown type": block(0, 0, type="video"),
    "a block with another field": block(0, 0, textSignature="x"),
    "a tool call of the user": put(0, 0, {"type": "tool_use", "id": "x", "name": "n", "input": {}}),
    "an image of the assistant": put(1, 2, picture()),
    "thinking without a signature": block(1, 0, signature=""),
    "redacted thinking without data": block(1, 1, data=""),
    "thinking at the end": content(3, [{"type": "thinking", "thinking": "x", "signature": "c"}]),
    "a cache mark at thinking": block(1, 0, **MARK),
    "a cache mark of another kind": block(0, 0, cache_control={"type": "forever"}),
    "five cache marks": lambda payload: [block(2, at, **MARK)(payload) for at in range(4)],
    "a call without a result": without(2, 0),
    "a result without a call": without(1, 4),
    "two results of a call": put(2, 0, {"type": "tool_result", "tool_use_id": "toolu_1"}),
    "a result behind a text": put(2, 0, {"type": "text", "text": "first"}),
    "calls at the end": lambda payload: payload["messages"].__delitem__(slice(2, None)),
    "an id with a blank": lambda payload: [block(1, 3, id="a b")(payload), block(2, 1, tool_use_id="a b")(payload)],
    "an id of 65 letters": lambda payload: [
        block(1, 3, id="a" * 65)(payload),
        block(2, 1, tool_use_id="a" * 65)(payload),
    ],
    "an id twice": block(1, 4, id="toolu_1"),
    "a tool name with a dot": block(1, 3, name="a.b"),
    "arguments that are no object": block(1, 3, input=None),
    "an empty error": block(2, 0, is_error=True),
    "an image in an error": block(2, 1, content=[picture()]),
    "an empty text in a result": block(2, 1, content=[{"type": "text", "text": ""}]),
    "an empty text as a result": block(2, 0, content=""),
    "an image of another type": block(2, 2, source=picture(media_type="image/bmp")["source"]),
    "an image that is another": block(2, 2, source=picture(media_type="image/jpeg")["source"]),
    "an image by URL": block(2, 2, source={"type": "url", "url": "https://example.com/a.png"}),
    "an image that is no base64": block(2, 2, source=picture(data="?")["source"]),
    "an empty image": block(2, 2, source=picture(data="")["source"]),
    "an image of 6 MB": block(2, 2, source=picture(data=png() + "A" * 6 * 1024 * 1024)["source"]),
    "an image of 8001 pixels": block(2, 2, source=picture(data=png(8001))["source"]),
    "101 images": content(0, [picture()] * 101),
    "21 images, one of 2001 pixels": content(0, [picture()] * 20 + [picture(data=png(2001))]),
    "more than 32 MB": block(0, 0, text="x" * 32_000_001),
    "an empty system prompt": whole(system=""),
    "an empty block in the system prompt": whole(system=[{"type": "text", "text": ""}]),
    "tools of another type": whole(tools={}),
    "a tool without a schema": whole(tools=[{"name": "read"}]),
    "a tool with another field": whole(tools=[{"name": "read", "input_schema": {"type": "object"}, "label": "x"}]),
    "two tools of a name": whole(tools=[{"name": "read", "input_schema": {"type": "object"}}] * 2),
    "a tool name of 129 letters": whole(tools=[{"name": "r" * 129, "input_schema": {"type": "object"}}]),
}


def test_a_good_payload_passes() -> None:
    assert payload_problems(GOOD) == []
    assert request_problems(GOOD | {"model": "m", "max_tokens": 1}) == []


BREAKS_TWO_RULES = {"an id twice", "an image of another type"}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_payload_is_refused_for_its_own_fault(case: str) -> None:
    payload = copy.deepcopy(GOOD)
    BAD[case](payload)
    assert len(payload_problems(payload)) == (2 if case in BREAKS_TWO_RULES else 1)


@pytest.mark.parametrize("more", [{}, {"model": "m"}, {"model": "", "max_tokens": 1}, {"model": "m", "max_tokens": -1}])
def test_a_request_needs_a_model_and_a_limit(more: Json) -> None:
    assert request_problems(GOOD | more) != []


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"GIF89a\x02\x01\x03\x00", ("image/gif", 258, 3)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x01\x02\x03\x04", ("image/jpeg", 772, 258)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8X\n\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x04\x00\x00", ("image/webp", 10, 5)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x09\x00\x01\x00", ("image/webp", 10, 5)),
        (b"plain text", None),
    ],
)
def test_headers_of_images(data: bytes, header: Any) -> None:
    assert image_header(data) == header
