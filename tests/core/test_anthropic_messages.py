"""Raw API messages are stored as pi's, nothing of them is lost, and they come out again in the next payload."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.anthropic_calls import MOST_NUMBERS, Call, TurnCalls
from pid.core.anthropic_format import PayloadBuilder
from pid.core.anthropic_ids import fit_id, repeated_id
from pid.core.anthropic_messages import STOP_REASONS, read_message, stored_messages
from pid.errors import InvalidParams
from pid.protocol import ModelRef
from tests.agent_messages import assistant, call, png, user
from tests.payload_rules import payload_problems

Json = dict[str, Any]
NOW = 1_767_225_600_000

REPLY: Json = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I read.", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}, "caller": {"type": "direct"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 5,
        "output_tokens": 7,
        "cache_read_input_tokens": 11,
        "cache_creation_input_tokens": 13,
        "cache_creation": {"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 4},
        "output_tokens_details": {"thinking_tokens": 2},
        "service_tier": "standard",
    },
}


def stored(message: Json, **options: Any) -> tuple[list[Json], dict[str, list[str]]]:
    found = stored_messages(message, NOW, **options)
    told: dict[str, list[str]] = {}
    for kind, detail in (each for one in found for each in one.told):
        told.setdefault(kind, []).append(detail)
    return [one.message for one in found], told


def test_a_reply() -> None:
    [message], told = stored(REPLY)
    assert message == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "b3BhcXVl", "redacted": True},
            {"type": "text", "text": "I read."},
            {"type": "toolCall", "id": "toolu_1", "name": "read", "arguments": {"path": "a"}},
        ],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-x",
        "usage": {
            "input": 5,
            "output": 7,
            "cacheRead": 11,
            "cacheWrite": 13,
            "cacheWrite1h": 4,
            "reasoning": 2,
            "totalTokens": 36,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            "_raw": {key: REPLY["usage"][key] for key in ("cache_creation", "output_tokens_details", "service_tier")},
        },
        "stopReason": "toolUse",
        "timestamp": NOW,
        "responseId": "msg_01",
    }
    assert told == {}


@pytest.mark.parametrize("reason", [*STOP_REASONS, None, "new_reason"])
def test_stop_reasons(reason: str | None) -> None:
    details = {"stop_details": {"type": "refusal", "explanation": "not that"}} if reason == "refusal" else {}
    [message], told = stored(REPLY | {"stop_reason": reason} | details)
    assert message["stopReason"] == ("aborted" if reason is None else STOP_REASONS.get(reason, "stop"))
    lossless = reason in ("end_turn", "tool_use", "max_tokens", None)
    assert message.get("rawStopReason") == (None if lossless else reason)
    assert message.get("errorMessage") == ("The model refused to answer: not that" if details else None)
    assert message.get("_raw") == (details or None)
    assert told == ({"rawKept": ["stop_details is kept under `_raw`, and not sent again."]} if details else {})


def test_who_wrote_it() -> None:
    [message], _ = stored(REPLY, model=ModelRef(provider="proxy", model_id="sonnet"))
    assert (message["provider"], message["model"], message["responseModel"]) == ("proxy", "sonnet", "claude-x")
    with pytest.raises(InvalidParams) as caught:
        stored({key: value for key, value in REPLY.items() if key != "model"})
    assert caught.value.data["path"] == "model"


def test_a_reply_without_usage() -> None:
    [message], _ = stored({key: value for key, value in REPLY.items() if key != "usage"})
    assert message["usage"] == {
        **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
        "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
    }


def test_results_become_messages_of_their_own_in_order() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}}
    raw = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "plain", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "x"}, picture]},
            {"type": "tool_result", "tool_use_id": "t3", "is_error": True},
            {"type": "text", "text": "and now"},
            picture,
        ],
    }
    calls = TurnCalls([assistant(call("t1"), call("t 2", "look"))])
    raw["content"][1]["tool_use_id"] = sent = fit_id("t 2")
    assert sent != "t 2"
    messages, told = stored(raw, calls=calls)
    image = {"type": "image", "data": png(), "mimeType": "image/png"}
    head = {"role": "toolResult", "timestamp": NOW}
    plain, text = {"type": "text", "text": "plain"}, {"type": "text", "text": "x"}
    assert messages == [
        head | {"toolCallId": "t1", "toolName": "read", "content": [plain], "isError": False},
        head | {"toolCallId": "t 2", "toolName": "look", "content": [text, image], "isError": False},
        head | {"toolCallId": "t3", "toolName": "", "content": [], "isError": True},
        {"role": "user", "content": [{"type": "text", "text": "and now"}, image], "timestamp": NOW},
    ]
    assert told == {"orphanToolResult": ["The tool result of t3 answers no call of the assistant's last turn."]}


def test_texts_of_the_user() -> None:
    assert stored({"role": "user", "content": "hi"})[0] == [{"role": "user", "content": "hi", "timestamp": NOW}]
    assert stored({"role": "user", "content": []})[0] == [{"role": "user", "content": [], "timestamp": NOW}]
    before = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "tool_result", "tool_use_id": "t"}]}
    assert [message["role"] for message in stored(before)[0]] == ["user", "toolResult"]
    system = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert stored(system)[0] == [system | {"timestamp": NOW}]


def test_what_has_no_place_is_kept_and_told() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "t"}
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    [message], told = stored({"role": "user", "content": [document, linked]})
    assert [block["_raw"] for block in message["content"]] == [document, linked]
    assert [block["type"] for block in message["content"]] == ["text", "text"]
    assert len(told["rawKept"]) == 2
    cited = {"type": "text", "text": "so", "citations": [{"type": "char_location"}]}
    [message], told = stored(REPLY | {"content": [cited], "container": {"id": "c"}})
    assert message["content"] == [{"type": "text", "text": "so", "_raw": {"citations": cited["citations"]}}]
    assert message["_raw"] == {"container": {"id": "c"}}
    assert len(told["rawKept"]) == 2


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({}, "message.role"),
        ({"role": "tool"}, "message.role"),
        ({"role": "user"}, "message.content"),
        ({"role": "user", "content": 5}, "message.content"),
        ({"role": "user", "content": ["x"]}, "message.content.0"),
        ({"role": "user", "content": [{"type": "text"}]}, "message.content.0.text"),
        ({"role": "user", "content": [{"type": "image", "source": None}]}, "message.content.0.source"),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]},
            "message.content.0.source.data",
        ),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "message.content.0.tool_use_id"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text"}]}]},
            "message.content.0.content.0.text",
        ),
        (REPLY | {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": []}]}, "message.content.0.input"),
        (REPLY | {"content": [{"type": "tool_use", "id": 1, "name": "n", "input": {}}]}, "message.content.0.id"),
        (REPLY | {"content": [{"type": "thinking", "thinking": "x"}]}, "message.content.0.signature"),
        (REPLY | {"id": 5}, "message.id"),
        (REPLY | {"stop_reason": ["end_turn"]}, "message.stop_reason"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": 1}]},
            "message.content.0.is_error",
        ),
        (REPLY | {"usage": []}, "message.usage"),
        (REPLY | {"usage": {"output_tokens": 2**53 + 1}}, "message.usage.output_tokens"),
        (REPLY | {"usage": {"input_tokens": []}}, "message.usage.input_tokens"),
        (
            REPLY | {"usage": {"output_tokens_details": {"thinking_tokens": "2"}}},
            "message.usage.output_tokens_details.thinking_tokens",
        ),
        (REPLY | {"usage": {"input_tokens": "5"}}, "message.usage.input_tokens"),
        (REPLY | {"usage": {"output_tokens": -1}}, "message.usage.output_tokens"),
    ],
)
def test_what_is_no_message_is_refused_by_name(message: Json, path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        stored(message)
    assert caught.value.data["path"] == path
    assert caught.value.message.startswith(path)


def test_calls_are_found_by_the_id_that_was_sent() -> None:
    talk = [
        user("a"),
        assistant(call("0", "first")),
        assistant(call("x y", "odd")),
        assistant(call("0"), call("0", "b")),
    ]
    builder = PayloadBuilder()
    for message in talk:
        builder.add(message, [])
    asked = [block for message in builder.finish().payload["messages"] for block in message.content]
    ids = [block.id for block in asked if hasattr(block, "name")]
    calls = TurnCalls(reversed(talk))
    assert [calls.find(call_id) for call_id in ids] == [
        Call(ids[0], "read"),
        Call("x y", "odd"),
        Call(ids[2], "read"),
        Call(ids[3], "read"),
    ]
    assert TurnCalls(talk[1:2]).find("0") == Call("0", "first")
    assert calls.find("other") is None
    assert TurnCalls([user(call("c1"))]).find("c1") is None


def test_many_calls_are_found_in_one_look_and_made_up_repeats_end() -> None:
    calls = TurnCalls([assistant(*(call(f"c{number}") for number in range(10_000)))])
    assert all(calls.find(f"c{number}") == Call(f"c{number}", "read") for number in range(10_000))
    found = [calls.find(repeated_id("c7", str(number))) for number in range(2, 1000)]
    assert found == [Call("c7", "read")] * MOST_NUMBERS + [None] * (998 - MOST_NUMBERS)


def test_the_inputs_of_calls_stay_the_text_that_they_are() -> None:
    arguments = b'{ "b":123456789012345678901234567890, "10":1.0, "1":1e999, "e":"\\u00e9" }'
    raw = b'{"role":"assistant","model":"m","content":[{"type":"text","text":"x"},"y",{"input":%b}]}' % arguments
    message = read_message(raw)
    assert message["content"][:2] == [{"type": "text", "text": "x"}, "y"]
    assert bytes(message["content"][2]["input"]) == arguments
    for other in (b'{"content":[{"input":5}]}', b'{"content":{"input":{}}}', b'{"content":null}', b"{}"):
        assert read_message(other) == json.loads(other)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Json]:
    """A conversation that the API takes: any number of turns, calls answered in any order, thinking, images."""
    words = st.text(min_size=1).filter(str.strip)
    text = st.builds(lambda said: {"type": "text", "text": said}, words)
    picture = st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}})
    thought = st.builds(lambda said: {"type": "thinking", "thinking": said, "signature": "c2ln"}, st.text())
    hidden = st.just({"type": "redacted_thinking", "data": "b3BhcXVl"})
    arguments = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text())
    messages: list[Json] = [{"role": "user", "content": draw(st.lists(text | picture, min_size=1, max_size=3))}]
    for turn in range(draw(st.integers(0, 3))):
        said = draw(st.lists(thought | hidden, max_size=2)) + draw(st.lists(text, max_size=2))
        calls = [
            {"type": "tool_use", "id": f"t{turn}_{number}", "name": "read", "input": draw(arguments)}
            for number in range(draw(st.integers(0 if said and said[-1]["type"] == "text" else 1, 3)))
        ]
        messages.append({"role": "assistant", "model": "m", "content": said + calls, "stop_reason": "end_turn"})
        results: list[Json] = []
        for asked in draw(st.permutations(calls)):
            answer: Json = {"type": "tool_result", "tool_use_id": asked["id"]}
            if content := draw(st.lists(text, max_size=2)):
                answer |= {"content": content} | draw(st.sampled_from([{}, {"is_error": True}]))
            results.append(answer)
        heard = draw(st.lists(text | picture, min_size=0 if results else 1, max_size=2))
        messages.append({"role": "user", "content": results + heard})
    return messages


@settings(max_examples=200)
@given(exchanges())
def test_what_went_in_comes_out_in_the_next_payload(messages: list[Json]) -> None:
    builder = PayloadBuilder(ModelRef(provider="anthropic", model_id="m"))
    session: list[Json] = []

    for message in messages:
        for one in stored_messages(message, NOW, calls=TurnCalls(session[-1:])):
            assert one.told == []
            session.append(json.loads(json.dumps(one.message)))
    for message in session:
        builder.add(message, [])
    payload = builder.finish()
    sent = msgspec.json.decode(msgspec.json.encode(payload.payload))
    assert sent["messages"] == [{"role": message["role"], "content": message["content"]} for message in messages]
    assert payload.warnings == []
    assert payload_problems(sent) == []
