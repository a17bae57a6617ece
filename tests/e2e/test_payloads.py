"""Payloads over the wire: a real daemon builds them, and the loopback server takes them through Anthropic's own SDK."""

from collections.abc import AsyncIterator
from pathlib import Path

import anthropic
import anyio
import pytest

from pid.client import Client, plain, raw
from pid.errors import InvalidParams, PidError
from pid.protocol import InitializationOptions, PruneToolResults
from tests import interop
from tests.agent_messages import Json, png
from tests.anthropic_server import AnthropicServer, Reply, tool_use

pytestmark = pytest.mark.anyio
needs_files = pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    with anyio.fail_after(300):
        yield


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    options = InitializationOptions(session_dir=str(tmp_path), agent_dir=str(tmp_path / "agent"))
    async with Client.spawn(log="discard", options=options) as client:
        yield client


class Model:
    """The API through its SDK. Whatever it refuses is an error here."""

    def __init__(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        self.server = server
        self._sdk = sdk

    async def answer(self, payload: Json) -> Json:
        reply = await self._sdk.messages.create(model="m", max_tokens=10, **payload)
        return reply.to_dict(mode="json")


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    with AnthropicServer(context_window=10**9) as server:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key=server.api_key, max_retries=0) as sdk:
            yield Model(server, sdk)


async def taken(client: Client, model: Model, path: Path, step: int) -> int:
    """How many leaves of a file give a payload, all of which the API takes."""
    state = await client.session.open(path=str(path))
    ids = (await client.session.get_entries(session_id=state.session_id, omit=("imageData",))).entry_ids
    count = 0
    for leaf_id in ids[::step]:
        found = await client.session.build_context(
            session_id=state.session_id, leaf_id=leaf_id, format="anthropic", cache_breakpoints=4
        )
        if (payload := plain(found.payload))["messages"]:
            await model.answer(payload)
            count += 1
    await client.session.close(session_id=state.session_id)
    return count


@needs_files
async def test_every_leaf_of_every_interop_case(client: Client, model: Model) -> None:
    opened = 0
    for case in interop.CASES:
        try:
            opened += await taken(client, model, interop.case_file(case), 1) > 0
        except PidError as error:
            assert error.kind == "notASession", case
    assert opened > len(interop.CASES) / 2


@needs_files
async def test_every_tenth_leaf_of_the_real_session(client: Client, model: Model) -> None:
    assert await taken(client, model, interop.FOLDER / "real-session-v1.jsonl", 10) > 90


async def test_a_reply_and_its_results_come_back_as_the_api_said_them(client: Client, model: Model) -> None:
    session_id = (await client.session.create(cwd="/p")).session_id
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    calls = [{"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"n": number}} for number in (1, 2)]
    model.server.script(Reply([thought, *calls], "tool_use"), Reply("Done."))

    async def say(message: Json) -> list[str]:
        said = await client.session.append(session_id=session_id, format="anthropic", message=raw(message))
        assert said.warnings is None
        return said.entry_ids or []

    async def payload() -> Json:
        found = await client.session.build_context(session_id=session_id, format="anthropic")
        assert found.warnings == []
        sent: Json = plain(found.payload)
        return sent

    await say({"role": "user", "content": [{"type": "text", "text": "Look."}, picture]})
    reply = await model.answer(await payload())
    await say(reply)
    results = [{"type": "tool_result", "tool_use_id": name, "content": [picture]} for name in ("t2", "t1")]
    assert len(await say({"role": "user", "content": [*results, {"type": "text", "text": "Well?"}]})) == 3
    sent = await payload()
    assert [message["content"] for message in sent["messages"][1:]] == [
        [thought, *calls],
        [*results, {"type": "text", "text": "Well?"}],
    ]
    assert (await model.answer(sent))["content"][0]["text"] == "Done."


async def test_a_tree_with_branches_an_aborted_call_and_a_compaction(client: Client, model: Model) -> None:
    """The payload is of the leaf: an undo leaves an unanswered call behind, and none goes out without a result."""
    session_id = (await client.session.create(cwd="/p")).session_id

    async def say(message: Json) -> str:
        return (await client.session.append(session_id=session_id, format="anthropic", message=raw(message))).entry_id

    async def ask() -> Json:
        found = await client.session.build_context(
            session_id=session_id,
            format="anthropic",
            cache_breakpoints=4,
            trailing_assistant="drop",
            prune_tool_results=PruneToolResults(protect_tokens=0, minimum_saving=0, keep_turns=1),
        )
        return await model.answer(plain(found.payload))

    first = await say({"role": "user", "content": "Look. " * 3000})
    call = tool_use("read", {"path": "a"}).blocks[0]
    asked = await say({"role": "assistant", "model": "m", "content": [call], "stop_reason": None})
    await say({"role": "user", "content": "Never mind."})
    await ask()
    await client.session.set_leaf(session_id=session_id, entry_id=asked)
    long = "word " * 5000
    await say({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": long}]})
    await ask()
    await say({"role": "assistant", "model": "m", "content": [{"type": "text", "text": "Seen."}]})
    await say({"role": "user", "content": "And now?"})
    await ask()
    assert "holds the whole result" in model.server.requests[-1].prompt
    await client.session.compact(session_id=session_id, summarizer="extractive", keep_recent_tokens=10)
    await ask()
    assert "<summary>" in model.server.requests[-1].prompt
    await client.session.set_leaf(session_id=session_id, entry_id=first, summarize=True)
    await ask()
    assert [request.refused for request in model.server.requests] == [None] * 5


async def test_what_is_no_message_stores_nothing(client: Client) -> None:
    session_id = (await client.session.create(cwd="/p")).session_id
    for message in ({"role": "tool"}, {"role": "user", "content": [{"type": "text"}]}, [], "hi", {"role": ["user"]}):
        with pytest.raises(InvalidParams) as caught:
            await client.session.append(session_id=session_id, format="anthropic", message=raw(message))
        assert caught.value.data["path"].startswith("message")
    assert (await client.session.get_state(session_id=session_id)).entry_count == 0
