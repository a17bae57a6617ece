"""Blocks of a payload, one at a time: texts, arguments, images, and content of any shape."""

import json
from typing import Any

import msgspec
import pytest

from pid.core.anthropic_format import PayloadBuilder
from tests.agent_messages import Built, Json, assistant, call, image, png, result, user


@pytest.mark.parametrize(
    "blank", ["", " ", "\n", "\t \r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\x1c", "\x85", "\u1680"]
)
def test_blank_texts_are_left_out(blank: str) -> None:
    raw = json.dumps(user(blank, "a")).encode()
    for message in (user(blank, "a"), raw, json.dumps(user(blank, "a"), ensure_ascii=False).encode()):
        built = Built(message, assistant(blank), user("b"), result("c", blank))
        assert built.said == [("user", ["a", "b", "[A result of the tool read:]"])]
        assert built.mends["emptyText"] == ["e0", "e1", "e3"]


@pytest.mark.parametrize(
    "words",
    [
        "\u200b",
        "\ufeff",
        "  x",
        "\n\nx",
        "\u00a0x",
        "é",
        "—",
        "漢字",
        "\u3000漢",
        "😀",
        "\\",
        '"',
        "\x00",
        "\u00bf",
        "\u1681",
        "\u2070",
    ],
)
def test_texts_that_are_not_blank_stay(words: str) -> None:
    for ascii_only in (True, False):
        built = Built(json.dumps(user(words), ensure_ascii=ascii_only).encode())
        assert built.said == [("user", [words])]


def test_a_failed_call_says_something_and_shows_nothing() -> None:
    built = Built(
        user("a"),
        assistant(call("c1"), call("c2"), call("c3")),
        result("c1", error=True),
        result("c2", image(), "x", error=True),
        result("c3"),
    )
    silent = "The tool failed and said nothing."
    assert built.said[2] == ("user", [("c1", [silent], True), ("c2", ["x"], True), ("c3", [], False), "image"])
    assert built.mends == {"emptyErrorResult": ["e2"], "errorResultImage": ["e3"]}


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        ("ls -l", {"value": "ls -l"}),
        ("[1]", {"value": "[1]"}),
        ([1, {"b": 2}], {"value": [1, {"b": 2}]}),
        (7, {"value": 7}),
        (False, {"value": False}),
    ],
)
def test_arguments_that_are_no_object(arguments: Any, sent: Json) -> None:
    built = Built(
        user("a"), assistant({"type": "toolCall", "id": "c1", "name": "read", "arguments": arguments}), result("c1")
    )
    assert built.messages[1]["content"][0]["input"] == sent
    assert built.mends == {"toolArguments": ["e1"]}


def test_arguments_are_sent_byte_for_byte() -> None:
    arguments = b'{"n":12345678901234567890123, "x" :1.0,"x":2}'
    blocks = b'[{"type":"toolCall","id":"c","name":"n","arguments":%b}]' % arguments
    builder = PayloadBuilder()
    builder.add(b'{"role":"assistant","content":%b}' % blocks, ["e"])
    assert b'"input":' + arguments in msgspec.json.encode(builder.finish().payload)


def test_tool_names() -> None:
    odd = "server.tool/ü"
    system = {
        "role": "system",
        "content": "",
        "toolsAdded": [{"name": odd, "description": "d", "parameters": {"type": "object"}}],
    }
    built = Built(system, user("a"), assistant(call("c1", odd)), result("c1", "r"))
    assert built.messages[1]["content"][0]["name"] == built.payload["tools"][0]["name"]
    assert built.mends == {"toolName": ["e2", "e0"]}


@pytest.mark.parametrize(
    ("data", "media_type", "kind"),
    [
        (png(), "image/jpeg", "imageType"),
        (png(), "", "imageType"),
        ("data:image/png;base64," + png(), "image/gif", None),
        (png()[:20] + "\r\n" + png()[20:], "image/png", None),
        ("/9j/4AAQ", "image/jpg", None),
        ("", "image/png", "imageDropped"),
        ("not base64!", "image/png", "imageDropped"),
        ("AAAAA", "image/png", "imageDropped"),
        ("AAAA", "image/bmp", "imageDropped"),
        ("A" * (5 * 1024 * 1024 + 4), "image/png", "imageDropped"),
        (png(8001, 10), "image/png", "imageDropped"),
        (png(8000, 8000), "image/png", None),
    ],
)
def test_images(data: str, media_type: str, kind: str | None) -> None:
    built = Built(user("look", image(data, media_type)), assistant(call("c1")), result("c1", image(data, media_type)))
    blocks = [built.messages[0]["content"][1], built.messages[2]["content"][0]["content"][0]]
    assert [block["type"] for block in blocks] == ["text" if kind == "imageDropped" else "image"] * 2
    assert built.mends == ({kind: ["e0", "e2"]} if kind else {})


def images_in(built: Built) -> int:
    return json.dumps(built.payload).count('"type": "image"')


def test_too_many_images_lose_the_oldest_in_steps() -> None:
    assert images_in(Built(*[user(image())] * 100)) == 100
    built = Built(user("a"), assistant(call("c")), result("c", image(), "b"), *[user(image())] * 108)
    assert images_in(built) == 99
    assert built.mends == {"imageDropped": [f"e{number}" for number in range(2, 12)]}
    assert built.messages[2]["content"][0]["content"][0]["text"].startswith("[An image was left out")
    before, after = (Built(*[user(image())] * count) for count in (108, 109))
    assert [block["type"] for block in after.messages[0]["content"][:108]] == [
        block["type"] for block in before.messages[0]["content"]
    ]


def test_all_images_together_leave_room_for_the_texts() -> None:
    big = png() + "A" * (4 * 1024 * 1024)
    assert images_in(Built(*[user(image(big[: len(big) // 4 * 4].replace("=", "A")))] * 12)) == 2


def test_many_images_may_not_be_large() -> None:
    large = user(image(png(2001, 10)))
    assert images_in(Built(large, *[user(image())] * 19)) == 20
    built = Built(large, *[user(image())] * 20)
    assert images_in(built) == 20
    assert built.mends == {"imageDropped": ["e0"]}


def test_lone_surrogates_are_replaced() -> None:
    built = Built(
        user("a\ud800b"), assistant(call("c1", **{"k\udfff": ["\ud83d"]})), result("c1", "\ude00"), user("😀")
    )
    assert built.said[0] == ("user", ["a\ufffdb"])
    assert built.messages[1]["content"][0]["input"] == {"k\ufffd": ["\ufffd"]}
    assert built.mends == {"loneSurrogate": ["e0", "e1", "e2"]}


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        7,
        "plain",
        ["plain"],
        [None],
        [[]],
        [{"type": 7}],
        [{"text": "x"}],
        [{"type": "text"}],
        [{"type": "text", "text": 5}],
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "custom", "system"])
def test_content_of_any_shape(role: str, content: Any) -> None:
    Built({"role": role, "content": content, "customType": "x"}, user("end"))


def test_a_broken_message_of_each_role() -> None:
    for broken in ({}, {"role": None}, {"role": 7}, {"role": "weird", "content": "?"}, b"null", b"[1]", b'"x"', b"{}"):
        assert Built(broken, user("a")).mends == {"unknownRole": ["e0"]}
    shapes = {"type": "toolCall", "id": 5, "name": None, "arguments": {"a": 1}}
    built = Built(
        user("a"),
        {"role": "assistant", "content": [shapes]},
        {"role": "toolResult", "toolCallId": 5, "content": "r", "isError": None},
    )
    assert built.said[2] == ("user", [("5", ["r"], False)])


def test_deep_arguments() -> None:
    deep: Any = "x"
    for _ in range(50_000):
        deep = {"a": deep}
    assert Built(user("a"), assistant(call("c", deep=deep)), result("c")).messages[1]["content"][0]["input"] == {}
    stored = (
        b'{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":'
        + b"[" * 990
        + b"]" * 990
        + b"}]}"
    )
    Built(user("a"), stored, result("c"))


def test_unknown_blocks_leave_a_note() -> None:
    built = Built(user({"type": "video", "url": "x"}, call("c1")), assistant(image()), user("b"))
    assert built.said[0] == (
        "user",
        ["[A block of the type video was left out.]", "[A block of the type toolCall was left out.]"],
    )
    assert built.mends == {"unsupportedBlock": ["e0", "e1"]}
