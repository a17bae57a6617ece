"""Every payload is one that the Messages API takes, whatever the messages are; and each mend is told."""

import base64
import json
import struct
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.agent_message import read_entry
from pid.core.anthropic_format import build_payload
from pid.core.anthropic_notes import MENDS
from pid.protocol import ModelRef
from tests.payload_rules import payload_problems

Json = dict[str, Any]
SONNET = ModelRef(provider="anthropic", model_id="sonnet")


def png(width: int = 1, height: int = 1) -> str:
    """A picture's true header and no more: what the rules look at."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    data = struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def image(data: str | None = None, media_type: str = "image/png") -> Json:
    return {"type": "image", "data": png() if data is None else data, "mimeType": media_type}


def call(id: str, name: str = "read", **arguments: Any) -> Json:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def thinking(words: str = "hm", signature: str | None = "c2ln", **more: Any) -> Json:
    return {"type": "thinking", "thinking": words, "thinkingSignature": signature, **more}


def user(*blocks: Json | str) -> Json:
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: Json | str, stop: str = "stop", model: str = "sonnet") -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    who = {"api": "anthropic-messages", "provider": "anthropic", "model": model, "stopReason": stop}
    return {"role": "assistant", "content": content, **who}


def result(id: str, *blocks: Json | str, error: bool = False) -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    return {"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content, "isError": error}


class Built:
    """A payload as the API would get it, proven valid, with the mends by kind."""

    def __init__(
        self, *messages: Any, may_be_empty: bool = False, model: ModelRef | None = SONNET, **options: Any
    ) -> None:
        ids = [[f"e{number}"] for number in range(len(messages))]
        built = build_payload(messages, ids, model=model, **options)
        self.payload = msgspec.json.decode(msgspec.json.encode(built.payload))
        self.entry_ids = built.entry_ids
        self.mends: dict[str, list[str | None]] = {}
        for warning in built.warnings:
            self.mends.setdefault(warning.kind, []).append(warning.entry_id)
        if self.payload["messages"] or not may_be_empty:
            assert payload_problems(self.payload) == []
        assert len(self.entry_ids) == len(self.messages)

    @property
    def messages(self) -> list[Json]:
        return self.payload["messages"]

    @property
    def said(self) -> list[tuple[str, list[Any]]]:
        """Each message in short: its role, and its blocks by their most telling field."""
        return [(message["role"], [_short(block) for block in message["content"]]) for message in self.messages]


def _short(block: Json) -> Any:
    kind = block["type"]
    if kind == "tool_result":
        return (block["tool_use_id"], [_short(part) for part in block.get("content", [])], block.get("is_error", False))
    fields = {"text": "text", "tool_use": "id", "thinking": "thinking", "redacted_thinking": "data"}
    return block[fields[kind]] if kind in fields else kind


LOST = "No result of this call was recorded: it was aborted, or its result was lost."


def test_a_plain_conversation_goes_as_it_is() -> None:
    built = Built(
        user("hi", image()),
        assistant("hello", call("c1", path="a")),
        result("c1", "data"),
        assistant("done"),
        user("bye"),
    )
    assert built.messages == [
        {
            "role": "user",
            "content": [
                text("hi"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}},
            ],
        },
        {
            "role": "assistant",
            "content": [text("hello"), {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [text("data")]}]},
        {"role": "assistant", "content": [text("done")]},
        {"role": "user", "content": [text("bye")]},
    ]
    assert built.entry_ids == [["e0"], ["e1"], ["e2"], ["e3"], ["e4"]]
    assert built.mends == {}


def test_messages_of_one_role_are_merged() -> None:
    summary = {"role": "branchSummary", "summary": "elsewhere", "fromId": "x"}
    built = Built(user("a"), summary, user("b"), assistant("c"), assistant("d"), user("e"))
    assert [role for role, _ in built.said] == ["user", "assistant", "user"]
    assert built.entry_ids == [["e0", "e1", "e2"], ["e3", "e4"], ["e5"]]
    assert built.said[1] == ("assistant", ["c", "d"])


def test_results_come_first_in_the_order_they_came_and_the_user_behind() -> None:
    built = Built(user("a"), assistant(call("c1"), call("c2")), user("wait"), result("c2", "2"), result("c1", "1"))
    assert built.said[2] == ("user", [("c2", ["2"], False), ("c1", ["1"], False), "wait"])
    assert built.entry_ids[2] == ["e2", "e3", "e4"]
    assert built.mends == {}


def test_a_call_that_was_aborted_gets_an_error_result() -> None:
    built = Built(user("a"), assistant(call("c1"), call("c2"), stop="aborted"), result("c1", "1"), user("go on"))
    assert built.said[2] == ("user", [("c1", ["1"], False), ("c2", [LOST], True), "go on"])
    assert built.mends == {"missingToolResult": ["e1"]}
    alone = Built(user("a"), assistant(call("c1")))
    assert alone.said[-1] == ("user", [("c1", [LOST], True)])
    assert alone.entry_ids[-1] == []


def test_results_without_a_call_become_text() -> None:
    built = Built(
        user("a"),
        result("gone", "orphan"),
        assistant(call("c1")),
        result("c1", "first"),
        result("c1", "again"),
        assistant("b"),
        result("c1", "late", image()),
    )
    note = "[A result of the tool read:]"
    assert built.said == [
        ("user", ["a", note, "orphan"]),
        ("assistant", ["c1"]),
        ("user", [("c1", ["first"], False), note, "again"]),
        ("assistant", ["b"]),
        ("user", [note, "late", "image"]),
    ]
    assert built.mends == {"orphanToolResult": ["e1", "e6"], "duplicateToolResult": ["e4"]}


def test_calls_told_in_several_messages_are_one_turn() -> None:
    built = Built(user("a"), assistant(call("c1")), assistant(call("c2")), result("c1", "1"), result("c2", "2"))
    assert built.said[1:] == [("assistant", ["c1", "c2"]), ("user", [("c1", ["1"], False), ("c2", ["2"], False)])]
    assert built.mends == {}


def test_ids_that_do_not_fit_are_the_same_on_both_sides() -> None:
    long = "call_" + "x" * 100 + "|fc_1"
    built = Built(
        user("a"),
        assistant(call(long), call("a b"), call("a_b"), call("")),
        result("a b", "1"),
        result(long, "2"),
        result("", "3"),
        result("a_b", "4"),
    )
    asked = [block["id"] for block in built.messages[1]["content"]]
    answered = [block["tool_use_id"] for block in built.messages[2]["content"]]
    assert answered == [asked[1], asked[0], asked[3], asked[2]]
    assert asked[2] == "a_b"
    assert built.mends == {"toolCallId": ["e1"]}


def test_ids_that_are_used_again() -> None:
    turn = [assistant(call("0")), result("0", "r")]
    built = Built(user("a"), *turn, *turn, assistant(call("0"), call("0")), result("0", "x"), result("0", "y"))
    asked = [block["id"] for message in built.messages[1::2] for block in message["content"]]
    answered = [block["tool_use_id"] for message in built.messages[2::2] for block in message["content"]]
    assert asked == answered
    assert len(set(asked)) == 4
    assert "missingToolResult" not in built.mends


def test_a_result_may_name_the_id_that_was_sent() -> None:
    first = Built(user("a"), assistant(call("call 0")))
    sent = first.messages[1]["content"][0]["id"]
    assert Built(user("a"), assistant(call("call 0")), result(sent, "r")).said[2] == ("user", [(sent, ["r"], False)])


def test_ids_do_not_change_when_the_conversation_grows() -> None:
    messages = [
        user("a"),
        assistant(call("x!"), call("x!")),
        result("x!", "1"),
        result("x!", "2"),
        assistant(call("x!")),
        result("x!", "3"),
    ]
    whole = Built(*messages)
    for count in range(1, len(messages)):
        part = Built(*messages[:count], user("more"))
        assert whole.messages[: len(part.messages) - 1] == part.messages[:-1]


def test_thinking_goes_only_to_the_model_that_signed_it() -> None:
    thoughts = [thinking("one"), thinking("", "b3BhcXVl", redacted=True), thinking("")]
    conversation = [user("a"), assistant(*thoughts, "b"), user("c")]
    built = Built(*conversation)
    assert built.messages[1]["content"] == [
        {"type": "thinking", "thinking": "one", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        text("b"),
    ]
    for model in (None, ModelRef(provider="anthropic", model_id="opus"), ModelRef(provider="x", model_id="sonnet")):
        other = Built(*conversation, model=model)
        assert other.said[1] == ("assistant", ["b"])
        assert other.mends == {"thinkingDropped": ["e1"]}
    assert Built(user("a"), assistant(thinking("x", None), thinking("y", ""), "b"), user("c")).said[1] == (
        "assistant",
        ["b"],
    )


def test_a_turn_never_ends_in_thinking() -> None:
    built = Built(user("a"), assistant(thinking()), user("b"), assistant("c", thinking()), user("d"))
    assert built.said == [("user", ["a", "b"]), ("assistant", ["c"]), ("user", ["d"])]
    assert built.mends == {"thinkingDropped": ["e1", "e3"]}
    split = Built(user("a"), assistant(thinking("x")), assistant("b"), user("c"))
    assert split.said[1] == ("assistant", ["x", "b"])


def test_a_failed_attempt_gives_way_to_the_next() -> None:
    built = Built(
        user("a"),
        assistant(thinking(), "half", stop="error"),
        assistant(thinking("hm 2"), call("c1")),
        result("c1", "r"),
    )
    assert built.said[1] == ("assistant", ["hm 2", "c1"])
    assert built.entry_ids[1] == ["e2"]
    assert built.mends == {"failedAttempt": ["e1"]}
    kept = Built(user("a"), assistant("half", stop="aborted"), user("go on"))
    assert kept.said[1] == ("assistant", ["half"])
    hollow = Built(user("a"), assistant("half", stop="error"), assistant(stop="error"), user("go on"))
    assert hollow.said[1] == ("assistant", ["half"])


def test_merged_turns_keep_thinking_at_their_head_alone() -> None:
    built = Built(user("a"), assistant("b"), assistant(thinking(), "c"), user("d"))
    assert built.said[1] == ("assistant", ["b", "c"])
    assert built.mends == {"thinkingDropped": ["e2"]}


def test_the_assistant_may_not_begin() -> None:
    built = Built(assistant("hello"), user("a"))
    assert built.said[0] == ("user", ["[The conversation begins with the assistant.]"])
    assert built.entry_ids == [[], ["e0"], ["e1"]]
    assert built.mends == {"firstMessage": ["e0"]}


def test_a_trailing_assistant_message() -> None:
    kept = Built(user("a"), assistant("The answer is \n\t "))
    assert kept.said[-1] == ("assistant", ["The answer is"])
    assert kept.mends == {"trailingAssistant": ["e1"], "trailingBlanks": ["e1"]}
    dropped = Built(user("a"), assistant("b"), assistant(call("c1")), trailing_assistant="drop")
    assert dropped.said == [("user", ["a"])]
    assert dropped.mends == {"trailingDropped": ["e2"]}
    answered = Built(user("a"), assistant(call("c1")), result("c1", "r"), trailing_assistant="drop")
    assert answered.mends == {}


def test_nothing_to_send() -> None:
    for messages in ([], [assistant(" ")], [user("")], [{"role": "bashExecution", "excludeFromContext": True}]):
        built = Built(*messages, may_be_empty=True)
        assert built.messages == []
        assert built.mends["emptyContext"] == [None]


@pytest.mark.parametrize(
    "blank", ["", " ", "\n", "\t \r\n", "\u00a0", "\u2003\u3000", "\u2028", "\x1c", "\x85", "\u1680"]
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
    raw = b'{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{"n":12345678901234567890123, "x" :1.0,"x":2}}]}'
    built = build_payload([raw], [["e"]])
    assert b'"input":{"n":12345678901234567890123, "x" :1.0,"x":2}' in msgspec.json.encode(built.payload)


def test_tool_names() -> None:
    odd = "server.tool/ü"
    system = {
        "role": "system",
        "content": "",
        "toolsAdded": [{"name": odd, "description": "d", "parameters": {"type": "object"}}],
    }
    built = Built(system, user("a"), assistant(call("c1", odd)), result("c1", "r"))
    assert built.messages[1]["content"][0]["name"] == built.payload["tools"][0]["name"]
    assert built.mends == {"toolName": ["e2", None]}


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
    for _ in range(5000):
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


def test_system_messages_are_replayed() -> None:
    read = {"name": "read", "description": "reads", "parameters": {"type": "object", "properties": {}}}
    write = {"name": "write", "parameters": None}
    first = {"role": "system", "content": "Base.", "sections": {"a": "A1", "b": "B1"}, "toolsAdded": [read]}
    second = {
        "role": "system",
        "content": [text("More.")],
        "sections": {"a": "A2", "b": None, "c": "C"},
        "toolsRemoved": [{"name": "read"}],
        "toolsAdded": [write],
    }
    built = Built(first, user("x"), second, assistant("y"), user("z"))
    assert built.payload["system"] == "Base.\n\nMore.\n\nA2\n\nC"
    assert built.payload["tools"] == [{"name": "write", "input_schema": {"type": "object"}}]
    assert built.said == [("user", ["x"]), ("assistant", ["y"]), ("user", ["z"])]
    assert built.mends == {"toolSchema": [None]}
    assert Built(first, user("x")).payload["tools"] == [
        {"name": "read", "description": "reads", "input_schema": read["parameters"]}
    ]
    assert "system" not in Built({"role": "system", "content": " "}, user("x")).payload


def marks(built: Built) -> list[Any]:
    """Where the marks stand: `system`, `tools`, or (message, block)."""
    places: list[Any] = [
        part
        for part in ("system", "tools")
        for block in built.payload.get(part, [])
        if isinstance(block, dict) and "cache_control" in block
    ]
    for number, message in enumerate(built.messages):
        places += [(number, at) for at, block in enumerate(message["content"]) if "cache_control" in block]
    return places


def test_cache_marks() -> None:
    system = {"role": "system", "content": "Base.", "toolsAdded": [{"name": "read", "parameters": {"type": "object"}}]}
    talk = [system, user("a"), assistant("b"), user("c", image()), assistant(call("c1")), result("c1", "r")]
    assert marks(Built(*talk)) == []
    assert marks(Built(*talk, cache_breakpoints=1)) == [(4, 0)]
    assert marks(Built(*talk, cache_breakpoints=2)) == ["system", (4, 0)]
    assert marks(Built(*talk, cache_breakpoints=3)) == ["system", (2, 1), (4, 0)]
    assert marks(Built(*talk, cache_breakpoints=4)) == ["system", "tools", (2, 1), (4, 0)]
    assert marks(Built(*talk, cache_breakpoints=9)) == ["system", "tools", (2, 1), (4, 0)]
    assert marks(Built(*talk[1:], assistant("pre"), cache_breakpoints=4)) == [(2, 1), (4, 0)]
    assert marks(Built(cache_breakpoints=4, may_be_empty=True)) == []


def test_from_call_to_call_one_mark_moves() -> None:
    talk = [
        user("a"),
        assistant(call("c0")),
        result("c0", "r"),
        assistant(call("c1"), call("c2")),
        result("c1", "r"),
        result("c2", "r"),
    ]
    first, second = Built(*talk[:3], cache_breakpoints=4), Built(*talk, cache_breakpoints=4)
    assert set(marks(first)) & set(marks(second)) == {(2, 0)}
    stored = json.dumps({"role": "user", "content": [{**text("a"), "cache_control": {"type": "ephemeral"}}]}).encode()
    assert marks(Built(*[stored, assistant("b")] * 9, user("c"))) == []


def test_each_kind_of_mend_is_explained() -> None:
    assert all(sentence.endswith(".") for sentence in MENDS.values())


texts = st.one_of(st.text(max_size=5), st.sampled_from(["", " ", "\n", "x ", "\ud800", "漢"]))
call_ids = st.sampled_from(["a", "b", "c", "a b", "x" * 70, "", "ü"])
text_blocks = st.builds(text, texts)
image_blocks = st.builds(
    image,
    st.sampled_from([png(), png(3000, 1), png(9000, 1), "", "AAAA", "?"]),
    st.sampled_from(["image/png", "image/jpeg", "image/bmp", ""]),
)
signatures = st.sampled_from([None, "", "c2ln"])
thoughts = st.builds(
    lambda words, signature, redacted: thinking(words, signature, redacted=redacted), texts, signatures, st.booleans()
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
calls = st.builds(
    lambda id, name, arguments: {**call(id, name), "arguments": arguments},
    call_ids,
    st.sampled_from(["read", "a.b", ""]),
    anything,
)
odd_blocks = st.one_of(
    anything,
    st.builds(
        lambda kind, rest: {"type": kind, "text": rest, "id": rest},
        st.sampled_from(["text", "toolCall", "image", "video", None]),
        anything,
    ),
)
stops = st.sampled_from(["stop", "toolUse", "error", "aborted", "length"])
users = st.builds(lambda blocks: user(*blocks), st.lists(text_blocks | image_blocks, max_size=3))
assistants = st.builds(
    lambda blocks, stop, model: assistant(*blocks, stop=stop, model=model),
    st.lists(text_blocks | thoughts | calls, max_size=4),
    stops,
    st.sampled_from(["sonnet", "opus"]),
)
results = st.builds(
    lambda id, blocks, error: result(id, *blocks, error=error),
    call_ids,
    st.lists(text_blocks | image_blocks, max_size=2),
    st.booleans(),
)
others = st.one_of(
    st.builds(
        lambda words, hidden: {
            "role": "bashExecution",
            "command": words,
            "output": words,
            "excludeFromContext": hidden,
        },
        texts,
        st.booleans(),
    ),
    st.builds(
        lambda content: {"role": "custom", "customType": "x", "content": content},
        texts | st.lists(text_blocks | image_blocks, max_size=2),
    ),
    st.builds(lambda words: {"role": "branchSummary", "summary": words, "fromId": "x"}, texts),
    st.builds(lambda words: {"role": "compactionSummary", "summary": words, "tokensBefore": 1}, texts),
    st.builds(
        lambda words, sections: {"role": "system", "content": words, "sections": sections},
        texts,
        st.dictionaries(texts, texts | st.none(), max_size=2),
    ),
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "toolResult", "weird", None]),
        anything | st.lists(odd_blocks, max_size=3),
    ),
)
conversations = st.lists(st.one_of(users, assistants, assistants, results, results, others), max_size=12)


@settings(max_examples=300, deadline=None)
@given(conversations, st.integers(0, 4), st.sampled_from(["keep", "drop"]), st.sampled_from([None, SONNET]))
def test_any_messages_make_a_valid_payload(
    messages: list[Json], marks: int, trailing: Any, model: ModelRef | None
) -> None:
    built = Built(*messages, may_be_empty=True, cache_breakpoints=marks, trailing_assistant=trailing, model=model)
    named = [entry for ids in built.entry_ids for entry in ids]
    assert len(set(named)) == len(named)
    assert set(built.mends) <= set(MENDS)
    left_out = {entry for ids in built.mends.values() for entry in ids}
    for number, message in enumerate(messages):
        quiet = message.get("role") == "system" or message.get("excludeFromContext")
        assert f"e{number}" in named or f"e{number}" in left_out or quiet or trailing == "drop"
    if trailing == "drop" and built.messages:
        assert built.messages[-1]["role"] == "user"


@settings(max_examples=100, deadline=None)
@given(conversations)
def test_bytes_and_dicts_make_the_same_payload(messages: list[Json]) -> None:
    stored = [msgspec.json.encode(json.loads(json.dumps(m).encode("utf-8"))) if _is_clean(m) else m for m in messages]
    assert Built(*stored, may_be_empty=True).payload == Built(*messages, may_be_empty=True).payload
    lines = [_entry(message) if isinstance(message, bytes) else message for message in stored]
    assert Built(*lines, may_be_empty=True).payload == Built(*messages, may_be_empty=True).payload


def _is_clean(message: Json) -> bool:
    try:
        msgspec.json.encode(message)
    except UnicodeEncodeError:
        return False
    return True


def _entry(message: bytes) -> Any:
    return read_entry(b'{"type":"message","id":"x","message":' + message + b"}") or message


@settings(max_examples=100, deadline=None)
@given(conversations)
def test_messages_are_never_changed(messages: list[Json]) -> None:
    before = repr(messages)
    Built(*messages, may_be_empty=True, cache_breakpoints=4)
    assert repr(messages) == before
