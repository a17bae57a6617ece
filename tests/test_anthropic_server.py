"""The loopback Messages API, seen through the real SDK: each behaviour arrives as the API's own would."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import anthropic
import anyio
import pytest

from tests import anthropic_server as api
from tests.anthropic_server import AnthropicServer, Reply

ASK: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


def client(server: AnthropicServer, **options: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.url, **{"api_key": server.api_key, "max_retries": 0} | options)


async def test_a_plain_and_a_streamed_reply_are_the_same_message(server: AnthropicServer) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "I think " * 20, "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "A reply\nof — more than forty characters, in several deltas."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "/a" * 40, "n": [1, None]}},
    ]
    server.script(Reply(blocks, "tool_use"), Reply(blocks, "tool_use", between=0.001))
    async with client(server) as sdk:
        plain = await sdk.messages.create(**ASK)
        async with sdk.messages.stream(**ASK) as stream:
            streamed = await stream.get_final_message()
    keys = {"id", "content", "stop_reason", "usage", "role", "model"}
    assert streamed.to_dict().keys() >= keys
    got = [{key: message.to_dict()[key] for key in keys} for message in (plain, streamed)]
    assert got[0]["content"] == blocks
    assert got[0]["usage"].items() <= got[1]["usage"].items()
    assert [message["content"] for message in got] == [blocks, blocks]
    assert [request.body.get("stream") for request in server.requests] == [None, True]


async def test_tokens_are_counted(server: AnthropicServer) -> None:
    async with client(server) as sdk:
        counted = await sdk.messages.count_tokens(model="m", messages=ASK["messages"])
        reply = await sdk.messages.create(**ASK)
    assert counted.input_tokens == reply.usage.input_tokens > 3
    assert [request.path for request in server.requests] == ["/v1/messages/count_tokens", "/v1/messages"]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (api.too_long(), anthropic.BadRequestError),
        (api.unauthorized(), anthropic.AuthenticationError),
        (api.too_large(), anthropic.ContentTooLargeError),
        (api.rate_limited(7), anthropic.RateLimitError),
        (api.internal_error(), anthropic.InternalServerError),
        (api.overloaded(), anthropic.OverloadedError),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_failures(server: AnthropicServer, behaviour: api.Failure, error: type, streaming: bool) -> None:
    server.script(behaviour)
    async with client(server) as sdk:
        with pytest.raises(error) as caught:
            await sdk.messages.create(**ASK, stream=streaming)
    assert caught.value.status_code == behaviour.status
    assert caught.value.type == behaviour.type
    assert caught.value.response.headers.get("retry-after") == behaviour.headers.get("retry-after")
    assert server.left == 0


async def test_the_sdk_retries_as_the_server_says(server: AnthropicServer) -> None:
    server.script(api.rate_limited(0.01), api.overloaded(), Reply("at last"))
    async with client(server, max_retries=2) as sdk:
        reply = await sdk.messages.create(**ASK)
    assert reply.content[0].text == "at last"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("behaviour", "stop_reason", "kinds"),
    [
        (api.empty(), "end_turn", []),
        (api.thinking_only(), "end_turn", ["thinking"]),
        (api.refused(), "refusal", []),
        (api.truncated(), "max_tokens", ["text"]),
        (api.tool_use("read", {"path": "a"}, text="I look."), "tool_use", ["text", "tool_use"]),
    ],
)
async def test_replies(server: AnthropicServer, behaviour: Reply, stop_reason: str, kinds: list[str]) -> None:
    server.script(behaviour)
    async with client(server) as sdk, sdk.messages.stream(**ASK) as stream:
        message = await stream.get_final_message()
    assert message.stop_reason == stop_reason
    assert [block.type for block in message.content] == kinds


async def test_a_stream_that_is_cut_or_fails_midway(server: AnthropicServer) -> None:
    server.script(api.cut(), Reply("x" * 400, error_after=(4, api.overloaded())))
    for error in (Exception, anthropic.APIStatusError):
        seen = []
        async with client(server) as sdk:
            with pytest.raises(error):
                async with sdk.messages.stream(**ASK) as stream:
                    seen.extend([text async for text in stream.text_stream])
    async with client(server) as sdk:
        server.script(api.cut())
        with pytest.raises(anthropic.APIConnectionError):
            await sdk.messages.create(**ASK)


async def test_a_held_reply_comes_when_the_gate_opens(server: AnthropicServer) -> None:
    gate = threading.Event()
    server.script(Reply("now", gate=gate))
    replies = []

    async def ask() -> None:
        async with client(server) as sdk:
            replies.append(await sdk.messages.create(**ASK))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.to_thread.run_sync(server.wait_for_requests, 1)
        assert not replies
        gate.set()
    assert replies[0].content[0].text == "now"


async def test_a_client_that_goes_is_noticed(server: AnthropicServer) -> None:
    server.script(Reply("a long story" * 100, between=5))
    async with client(server) as sdk:
        with anyio.move_on_after(0.3):
            await sdk.messages.create(**ASK | {"max_tokens": 10}, stream=False, timeout=60)
    server.script(Reply(after=60))
    async with client(server) as sdk:
        with anyio.move_on_after(0.3) as scope:
            await sdk.messages.create(**ASK)
    assert scope.cancelled_caught
    assert await anyio.to_thread.run_sync(server.requests[-1].done.wait, 5)
    assert server.requests[-1].disconnected


def test_closing_ends_what_waits() -> None:
    with AnthropicServer() as server:
        server.script(Reply(after=60))
        sdk = anthropic.Anthropic(base_url=server.url, api_key=server.api_key, max_retries=0)
        failed = threading.Event()

        def ask() -> None:
            try:
                sdk.messages.create(**ASK)
            except anthropic.APIConnectionError:
                failed.set()

        thread = threading.Thread(target=ask)
        thread.start()
        server.wait_for_requests(1)
        started = time.monotonic()
    thread.join(5)
    assert failed.is_set()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"max_tokens": 70_000}, "maximum allowed number"),
        (
            {"max_tokens": 64_000, "messages": [{"role": "user", "content": "x" * 600_000}]},
            "exceed context limit",
        ),
        ({"messages": [{"role": "user", "content": "x" * 900_000}]}, "prompt is too long"),
        ({"messages": []}, "at least one message"),
        ({"extra_body": {"temperature": 0.5}}, "temperature"),
        ({"extra_body": {"unknown": 1}}, "unknown"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "first message"),
        ({"messages": [{"role": "user", "content": ""}]}, "non-empty"),
    ],
)
async def test_bad_requests_are_refused_and_take_nothing_from_the_script(
    server: AnthropicServer, change: dict[str, Any], says: str
) -> None:
    server.script(Reply("kept"))
    async with client(server) as sdk:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await sdk.messages.create(**ASK | change, timeout=60)
        assert says in caught.value.message
        assert says in (server.requests[0].refused or "")
        assert (await sdk.messages.create(**ASK)).content[0].text == "kept"


async def test_a_wrong_key_and_a_body_that_is_too_large() -> None:
    with AnthropicServer(max_bytes=1000) as server:
        async with client(server, api_key="wrong") as sdk:
            with pytest.raises(anthropic.AuthenticationError):
                await sdk.messages.create(**ASK)
        async with client(server) as sdk:
            with pytest.raises(anthropic.ContentTooLargeError):
                await sdk.messages.create(**ASK | {"messages": [{"role": "user", "content": "x" * 2000}]})
        assert server.received_bytes > 2000


async def test_a_model_without_prefill() -> None:
    with AnthropicServer(prefill=False) as server:
        async with client(server) as sdk:
            with pytest.raises(anthropic.BadRequestError, match="prefill"):
                await sdk.messages.create(
                    **ASK | {"messages": [*ASK["messages"], {"role": "assistant", "content": "I"}]}
                )
            await sdk.messages.create(**ASK, extra_headers={"anthropic-version": "2023-06-01"}, extra_body={"top_p": 1})


async def test_a_behaviour_may_depend_on_the_request(server: AnthropicServer) -> None:
    server.default = lambda request: Reply(request.prompt.upper())
    async with client(server) as sdk:
        assert (await sdk.messages.create(**ASK)).content[0].text == "HELLO"
