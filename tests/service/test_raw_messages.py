"""Raw API messages appended to real files: what is stored, told and refused, and what comes out in the next payload."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pid.core.anthropic_ids import fit_id
from pid.errors import EntryNotFound, InvalidEntry, InvalidParams, LeafConflict
from pid.protocol import AppendParams, ContextParams, ContextWarning
from pid.service.answers import build_context
from pid.service.raw_messages import RawMessage
from pid.service.store import Resident
from tests.agent_messages import Json, png
from tests.payload_rules import payload_problems
from tests.service.daemon import append, make_store, move, open_path
from tests.trees import session_bytes

pytestmark = pytest.mark.anyio

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}}


@pytest.fixture
async def resident(tmp_path: Path) -> Resident:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(""))
    return await open_path(make_store(tmp_path), path)


async def say(resident: Resident, message: Json | bytes, **where: Any) -> tuple[tuple[str, ...], list[ContextWarning]]:
    """The entries that a raw message became, and what was told of it."""
    raw = message if isinstance(message, bytes) else json.dumps(message).encode()
    params = AppendParams(session_id="s", format="anthropic", message=msgspec.Raw(raw), **where)
    incoming = RawMessage(params)
    written = await resident.order.write(incoming.plan, "append")
    return written.planned.entry_ids, incoming.warnings


def stored(resident: Resident) -> list[Json]:
    """The messages in the file."""
    lines = Path(str(resident.session.journal.path)).read_bytes().splitlines()[1:]
    return [entry["message"] for line in lines if (entry := json.loads(line))["type"] == "message"]


async def payload(resident: Resident) -> list[Json]:
    found = await build_context(resident.session, ContextParams(session_id="s", format="anthropic"))
    body = msgspec.json.decode(msgspec.json.encode(found.payload))
    assert payload_problems(body) == []
    return body["messages"]


def reply(*blocks: Json, **more: Any) -> Json:
    return {"role": "assistant", "model": "m", "content": [*blocks], "stop_reason": "end_turn", **more}


def call(call_id: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": arguments}


def results(*call_ids: str) -> Json:
    content = [{"type": "text", "text": "r"}]
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": name, "content": content} for name in call_ids],
    }


async def test_what_went_in_comes_out_in_the_next_payload(resident: Resident) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE]},
        reply(thought, {"type": "redacted_thinking", "data": "eA=="}, call("t1", path="a"), call("t2"), call("t3")),
        results("t3", "t1", "t2"),
        reply({"type": "text", "text": "done"}),
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    ]
    for message in talk:
        assert (await say(resident, message))[1] == []
    assert await payload(resident) == [{"role": said["role"], "content": said["content"]} for said in talk]
    assert [message.get("toolCallId") for message in stored(resident)][2:5] == ["t3", "t1", "t2"]
    assert {message["toolName"] for message in stored(resident)[2:5]} == {"read"}


async def test_arguments_keep_their_bytes(resident: Resident) -> None:
    arguments = b'{ "b":123456789012345678901234567890, "10":1.0, "1":1e999, "e":"\\u00e9" }'
    call = b'{"type":"tool_use","id":"t","name":"n","input":%b}' % arguments
    await say(resident, b'{"role":"assistant","model":"m","content":[%b],"stop_reason":"tool_use"}' % call)
    assert arguments in Path(str(resident.session.journal.path)).read_bytes()
    found = await build_context(resident.session, ContextParams(session_id="s", format="anthropic"))
    assert arguments in msgspec.json.encode(found)


async def test_results_find_their_calls_in_the_last_turn_alone(resident: Resident) -> None:
    odd, again = "no good", "t1"
    await say(resident, {"role": "user", "content": "a"})
    await append(resident, assistant_with(odd), assistant_with("t1"))
    assert (await say(resident, results(fit_id(odd))))[1] == []
    await append(resident, {"type": "label", "targetId": "e1", "label": "x"})
    assert (await say(resident, results(again)))[1] == []
    assert [message.get("toolCallId") for message in stored(resident)][3:] == [odd, "t1"]
    await say(resident, reply(call("t2")))
    ids, told = await say(resident, results("t2", "t1", "t9"))
    assert [(warning.kind, warning.entry_id) for warning in told] == [
        ("orphanToolResult", ids[1]),
        ("orphanToolResult", ids[2]),
    ]
    assert [message["toolName"] for message in stored(resident)[-3:]] == ["read", "", ""]
    assert (await payload(resident))[-1]["role"] == "user"


def assistant_with(call_id: str) -> Json:
    block = {"type": "toolCall", "id": call_id, "name": "read", "arguments": {}}
    message = {"role": "assistant", "content": [block], "provider": "anthropic", "model": "m", "stopReason": "toolUse"}
    return {"type": "message", "message": message}


async def test_calls_are_looked_for_above_the_place_of_the_message(resident: Resident) -> None:
    await say(resident, {"role": "user", "content": "a"})
    (asked,), _ = await say(resident, reply(call("t1")))
    await say(resident, {"role": "user", "content": "b"})
    await say(resident, reply({"type": "text", "text": "c"}))
    (answer,), told = await say(resident, results("t1"), parent_id=asked)
    assert (told, resident.session.tree.id_of(resident.session.leaf)) == ([], answer)
    await move(resident, asked)
    _, told = await say(resident, results("t1"), parent_id=None, new_root=True)
    assert [warning.kind for warning in told] == ["orphanToolResult"]


async def test_what_has_no_place_is_kept_under_raw_and_told_by_entry(resident: Resident) -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    await say(resident, {"role": "user", "content": "a"})
    await say(resident, reply(call("t1")))
    ids, told = await say(resident, {"role": "user", "content": [*results("t1")["content"], document]})
    assert [(warning.kind, warning.entry_id) for warning in told] == [("rawKept", ids[1])]
    assert stored(resident)[-1]["content"][0]["_raw"] == document
    (entry_id,), told = await say(resident, reply({"type": "text", "text": "x"}, container={"id": "c"}))
    assert [(warning.kind, warning.entry_id) for warning in told] == [("rawKept", entry_id)]
    assert stored(resident)[-1]["_raw"] == {"container": {"id": "c"}}
    assert "container" not in json.dumps(await payload(resident))


@pytest.mark.parametrize("text", [rb"a\ud800b", b"a\xffb"])
async def test_what_no_utf8_says_is_replaced_and_told(resident: Resident, text: bytes) -> None:
    (entry_id,), told = await say(resident, b'{"role":"user","content":"%b"}' % text)
    assert [(warning.kind, warning.entry_id) for warning in told] == [("loneSurrogate", entry_id)]
    assert stored(resident)[0]["content"] == "a\ufffdb"


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (b"5", "message"),
        (b"[]", "message"),
        (b'"hello"', "message"),
        (b"{}", "message.role"),
        (b'{"role":"user","content":%b}' % deep(5000), "message"),
        (json.dumps(reply(call(5))).encode(), "message.content.0.id"),  # type: ignore[arg-type]
        (json.dumps(reply(stop_reason={})).encode(), "message.stop_reason"),
        (json.dumps(reply(usage={"input_tokens": 10**30})).encode(), "message.usage.input_tokens"),
        (b'{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"x","media_type":1}}]}',
         "message.content.0.source.media_type"),
        (b'{"role":"user","content":[{"type":"text","text":"good"},{"type":"tool_result"}]}',
         "message.content.1.tool_use_id"),
    ],
)  # fmt: skip
async def test_what_is_no_message_is_refused_and_nothing_is_stored(
    resident: Resident, message: bytes, path: str
) -> None:
    before = Path(str(resident.session.journal.path)).read_bytes()
    with pytest.raises((InvalidParams, InvalidEntry)) as caught:
        await say(resident, message)
    assert caught.value.data["path"] == path
    assert Path(str(resident.session.journal.path)).read_bytes() == before
    assert resident.session.revision == 0
    assert (await say(resident, {"role": "user", "content": "still there"}))[1] == []


async def test_deep_inputs_are_stored_or_refused_and_never_more(resident: Resident) -> None:
    for levels in (10, 200, 500, 900, 960, 980, 990, 994, 997, 999, 1000, 1001):
        raw = b'{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"n","input":%b}]}'
        try:
            await say(resident, raw % deep(levels))
        except (InvalidParams, InvalidEntry) as error:
            assert levels > 900
            assert "deep" in error.message
    assert await payload(resident)


async def test_guards_and_parents_hold_as_for_entries(resident: Resident) -> None:
    await say(resident, {"role": "user", "content": "a"}, expected_leaf_id=None)
    with pytest.raises(LeafConflict):
        await say(resident, {"role": "user", "content": "a"}, expected_leaf_id=None)
    with pytest.raises(EntryNotFound):
        await say(resident, results("t1"), parent_id="gone")
    assert len(stored(resident)) == 1


async def test_ten_thousand_calls_and_their_results_in_two_messages(resident: Resident) -> None:
    names = [f"t{number}" for number in range(10_000)]
    await say(resident, {"role": "user", "content": "all of them"})
    await say(resident, reply(*map(call, names)))
    ids, told = await say(resident, results(*reversed(names)))
    assert (len(ids), told) == (10_000, [])
    sent = await payload(resident)
    assert [block["tool_use_id"] for block in sent[2]["content"]] == names[::-1]
    assert {message["toolName"] for message in stored(resident)[2:]} == {"read"}
