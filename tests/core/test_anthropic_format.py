"""Every payload is one that the Messages API takes, whatever the messages are; system, tools and cache marks."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.agent_message import read_entry
from pid.protocol import PAYLOAD_MENDS as MENDS
from pid.protocol import ModelRef
from tests.agent_messages import SONNET, Built, Json, assistant, call, conversations, image, result, text, user


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
    assert built.mends == {"toolSchema": ["e2"]}
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


@settings(max_examples=300)
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
        assert f"e{number}" in named or f"e{number}" in left_out or quiet
    if trailing == "drop" and built.messages:
        assert built.messages[-1]["role"] == "user"


@settings(max_examples=100)
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
    return read_entry(_line(message)) or message


def test_only_plain_messages_are_read_from_entries() -> None:
    assert read_entry(_line(b'{"role":"user","content":"a"}')).role == "user"
    assert read_entry(b'{"type":"custom","message":{"role":"user","content":"a"}}') is None
    for message in (b'{"role":"system","content":"a"}', b'{"role":"bashExecution"}', b"null", b'{"role":7}'):
        assert read_entry(_line(message)) is None


def _line(message: bytes) -> bytes:
    return b'{"type":"message","id":"x","message":%b}' % message


@settings(max_examples=100)
@given(conversations)
def test_messages_are_never_changed(messages: list[Json]) -> None:
    before = repr(messages)
    Built(*messages, may_be_empty=True, cache_breakpoints=4)
    assert repr(messages) == before
