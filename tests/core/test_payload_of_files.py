"""Payloads from whole trees: each leaf of the interop files, of a real session and of any tree gives a valid one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import anthropic
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.anthropic_calls import TurnCalls
from pid.core.anthropic_format import Payload, PayloadBuilder
from pid.core.anthropic_messages import stored_messages
from pid.core.context import entries_in_effect, messages_in_effect
from pid.core.tree import ROOT
from pid.protocol import ModelRef
from pid.service.session import Session
from tests import interop, trees
from tests.anthropic_server import AnthropicServer, Reply
from tests.payload_rules import payload_problems
from tests.service.daemon import make_store, open_path
from tests.trees import Json, Loaded

needs_files = pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")


def payload_at(loaded: Loaded | Session, leaf: int, **options) -> Payload:
    effect = entries_in_effect(loaded.tree, leaf, loaded.bodies)
    builder = PayloadBuilder(effect.model)
    rows = list(effect.rows)
    for row, message in messages_in_effect(loaded.tree, effect, rows, loaded.bodies(rows), []):
        builder.add(message, [loaded.tree.ids[row]])
    return builder.finish(**options)


def sent(payload: Payload) -> Json:
    return msgspec.json.decode(msgspec.json.encode(payload.payload))


def problems(payload: Payload) -> list[str]:
    """What the API would refuse, and what does not add up; nothing to send is no fault of a session."""
    body = sent(payload)
    assert len(payload.entry_ids) == len(body["messages"])
    if not body["messages"]:
        assert "emptyContext" in [warning.kind for warning in payload.warnings]
        return []
    return payload_problems(body)


def openable(case: str) -> Loaded | None:
    try:
        return trees.load(interop.case_file(case).read_bytes())
    except ValueError:
        return None


@needs_files
@pytest.mark.parametrize("case", interop.CASES)
def test_every_leaf_of_an_interop_case(case: str) -> None:
    if (loaded := openable(case)) is None:
        pytest.skip("no session")
    for leaf in range(ROOT, len(loaded.tree)):
        for trailing in ("keep", "drop"):
            assert problems(payload_at(loaded, leaf, trailing_assistant=trailing, cache_breakpoints=4)) == []


@needs_files
async def test_every_tenth_leaf_of_a_real_session(tmp_path: Path) -> None:
    path = shutil.copy(interop.FOLDER / "real-session-v1.jsonl", tmp_path)
    session = (await open_path(make_store(tmp_path), path)).session
    for leaf in range(0, len(session.tree), 10):
        assert problems(payload_at(session, leaf, cache_breakpoints=4)) == []


LETTERS = st.sampled_from("uuaaattbmsxrcdelnkoqz")
ABOUT = st.sampled_from(["", "", "(u1)", "(a2)", "(bash)", "(t3)"])
SAID = st.sampled_from(["", "=", "=_", "=words", "=p/m"])


@st.composite
def any_tree(draw: st.DrawFn) -> str:
    """A tree written as text: entries of all types, on branches, with calls, results, edits and compactions."""
    said: list[str] = []
    ids: list[str] = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        letter = draw(LETTERS)
        branch = draw(st.sampled_from([*ids[-4:], "", ""])) if ids else ""
        ids.append(f"{letter}{number}")
        said += [branch, ">"] * bool(branch) + [f"{letter}{number}{draw(ABOUT)}{draw(SAID)}"]
    return " ".join(said)


@settings(max_examples=200)
@given(any_tree())
def test_every_leaf_of_any_tree(text: str) -> None:
    loaded = trees.tree_of(text)
    for leaf in range(ROOT, len(loaded.tree)):
        assert problems(payload_at(loaded, leaf, cache_breakpoints=4)) == []


def all_payloads() -> Iterator[Json]:
    texts = [
        "u1 a2(bash) t3 a4 u5",
        "u1 a2(bash) | a2 > u3 a4",
        "a1 u2 b3 x4 r5 c6(u2) a7(bash)",
        "s1=Be_brief u2 a3=_",
    ]
    loaded = [trees.tree_of(text) for text in texts] + [found for case in interop.CASES if (found := openable(case))]
    for tree in loaded:
        body = sent(payload_at(tree, len(tree.tree) - 1, cache_breakpoints=4))
        if body["messages"]:
            yield body


async def test_the_api_takes_them_through_its_own_sdk() -> None:
    with AnthropicServer() as server:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key=server.api_key, max_retries=0) as client:
            for body in all_payloads():
                await client.messages.create(model="m", max_tokens=10, **body)
                await client.messages.count_tokens(model="m", **body)
                assert server.requests[-1].body["messages"] == body["messages"]
        assert [request.refused for request in server.requests] == [None] * len(server.requests)


async def test_a_loop_of_calls_through_the_sdk() -> None:
    """What an agent does: send the payload, store the reply and the results as the API has them, send again."""
    thought = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
    calls = [{"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"n": number}} for number in (1, 2)]
    session: list[Json] = [{"role": "user", "content": "look"}]

    def store(message: Json) -> None:
        stored = stored_messages(message, 0, calls=TurnCalls(session[-1:]))
        assert [one.told for one in stored if one.told] == []
        session.extend(one.message for one in stored)

    with AnthropicServer() as server:
        server.script(Reply([thought, *calls], "tool_use"), Reply("Both read."))
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key=server.api_key, max_retries=0) as client:
            for _ in range(2):
                builder = PayloadBuilder(ModelRef(provider="anthropic", model_id="m"))
                for message in session:
                    builder.add(message, [])
                body = sent(builder.finish(cache_breakpoints=4))
                async with client.messages.stream(model="m", max_tokens=10, **body) as stream:
                    reply = (await stream.get_final_message()).to_dict(mode="json")
                store(reply)
                asked = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
                results = [{"type": "tool_result", "tool_use_id": call_id, "content": "data"} for call_id in asked]
                store({"role": "user", "content": [*results, {"type": "text", "text": "go on"}]})
    first, second = (request.body["messages"] for request in server.requests)
    assert [message["role"] for message in second] == ["user", "assistant", "user"]
    assert second[1]["content"] == [thought, *calls]
    roles = [message["role"] for message in session]
    assert roles == ["user", "assistant", "toolResult", "toolResult", "user", "assistant", "user"]
    assert session[2]["toolName"] == "read"
    assert len(first) == 1
