"""The summarizer that asks the Messages API: the real SDK against a loopback server that answers as the API does."""

import asyncio
import logging
import os
import threading
import time

import pytest

from pid.adapters.anthropic import DEFAULT_MODEL, AnthropicSummarizer
from pid.core.prompts import Capacity, Task, task
from pid.core.replies import Call, SummarizerFault
from pid.errors import SummarizerFailed
from pid.protocol import ModelRef, SummaryRequest
from pid.service import summarizing
from pid.service.summarizing import Asking
from tests import anthropic_server as api
from tests.anthropic_server import AnthropicServer, Reply, count_tokens

pytestmark = pytest.mark.anyio

KEY = "sk-ant-a-key-that-nobody-may-see"


@pytest.fixture
def server(monkeypatch):
    with AnthropicServer(api_key=KEY, context_window=20_000) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        yield running


@pytest.fixture
def summarizer(server):
    return AnthropicSummarizer(os.environ)


def call(model=None, seconds=10.0, prompt="the conversation", max_tokens=1_000):
    request = SummaryRequest(purpose="history", system="You write notes.", prompt=prompt, max_tokens=max_tokens)
    return Call(request, model, seconds, "s", "c")


class Clock:
    """Pauses that take no time, kept."""

    def __init__(self):
        self.pauses = []

    async def pause(self, seconds):
        self.pauses.append(seconds)


def asking(summarizer, clock=None):
    found = Asking(summarizer, None, "s", "c", lambda step: None)
    found.pause = (clock or Clock()).pause
    return found


async def whole(capacity):
    return Task("history", ("the conversation",), 1_000)


def tokens(text):
    return len(text.encode()) // 4


async def test_what_is_asked_and_what_comes_back(summarizer, server):
    server.script(Reply("the notes", usage={"cache_read_input_tokens": 7, "output_tokens": 5}))
    reply = await summarizer.ask(call())
    body = server.requests[0].body
    assert body["model"] == DEFAULT_MODEL
    assert (body["system"], body["max_tokens"]) == ("You write notes.", 1_000)
    assert body["messages"] == [{"role": "user", "content": "the conversation"}]
    assert body["stream"] is True
    assert (reply.text, reply.stop_reason) == ("the notes", "stop")
    assert reply.usage["output"] == 5
    assert reply.usage["cacheRead"] == 7
    assert reply.usage["totalTokens"] == sum(reply.usage[key] for key in ("input", "output", "cacheRead", "cacheWrite"))
    assert reply.model.provider == "anthropic"


async def test_the_model_that_is_named_is_asked_if_it_is_of_this_provider(summarizer, server):
    await summarizer.ask(call(ModelRef(provider="anthropic", model_id="claude-x")))
    await summarizer.ask(call(ModelRef(provider="openai", model_id="gpt-5")))
    assert [request.body["model"] for request in server.requests] == ["claude-x", DEFAULT_MODEL]


def test_it_is_there_with_a_key_only():
    assert AnthropicSummarizer({"ANTHROPIC_API_KEY": "k"}).is_available
    assert AnthropicSummarizer({"ANTHROPIC_AUTH_TOKEN": "k"}).is_available
    assert not AnthropicSummarizer({}).is_available
    assert not AnthropicSummarizer({"ANTHROPIC_API_KEY": ""}).is_available


@pytest.mark.parametrize(
    ("behaviour", "reason", "transient"),
    [
        (api.too_long(), "overflow", False),
        (api.too_large(), "overflow", False),
        (api.unauthorized(), "auth", False),
        (api.Failure(403, "permission_error", "no"), "auth", False),
        (api.Failure(404, "not_found_error", "model: x"), "model", False),
        (api.Failure(400, "invalid_request_error", "messages: bad"), "request", False),
        (api.Failure(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 9 > 9"),
         "overflow", False),
        (api.rate_limited(7), "rateLimit", True),
        (api.internal_error(), "overloaded", True),
        (api.overloaded(), "overloaded", True),
        (api.cut(), "transport", True),
        (Reply("x", cut_after=0), "transport", True),
        (Reply("a reply", error_after=(3, api.overloaded())), "overloaded", True),
    ],
)  # fmt: skip
async def test_faults_are_told_apart(summarizer, server, behaviour, reason, transient):
    server.script(behaviour)
    with pytest.raises(SummarizerFault) as fault:
        await summarizer.ask(call())
    assert (fault.value.reason, fault.value.transient) == (reason, transient)
    assert fault.value.retry_after == (7 if reason == "rateLimit" else None)
    assert len(server.requests) == 1, "the SDK retries nothing by itself"


@pytest.mark.parametrize(
    ("behaviour", "stop_reason", "text"),
    [(api.refused(), "refusal", ""), (api.truncated("The"), "length", "The"), (api.empty(), "stop", ""),
     (api.thinking_only(), "stop", ""), (api.tool_use("bash", {}, text="I"), "toolUse", "I")],
)  # fmt: skip
async def test_why_a_reply_ended(summarizer, server, behaviour, stop_reason, text):
    server.script(behaviour)
    reply = await summarizer.ask(call())
    assert (reply.stop_reason, reply.text) == (stop_reason, text)


async def test_a_slow_reply_is_given_up_in_time(summarizer, server):
    server.script(Reply("slow", between=0.2))
    with pytest.raises(SummarizerFault) as fault:
        await summarizer.ask(call(seconds=0.5))
    assert (fault.value.reason, fault.value.transient) == ("timeout", True)
    assert server.requests[0].done.wait(5)


async def test_a_cancel_is_prompt_and_hangs_up(summarizer, server):
    gate = threading.Event()
    server.script(Reply("late", gate=gate))
    asked = asyncio.create_task(summarizer.ask(call()))
    while not server.requests:
        await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert server.requests[0].done.wait(5)
    assert server.requests[0].disconnected


async def test_nobody_listens(summarizer, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(SummarizerFault) as fault:
        await summarizer.ask(call())
    assert (fault.value.reason, fault.value.transient) == ("transport", True)


async def test_an_older_model_is_asked_for_no_more_than_it_writes(summarizer, server):
    server.max_output = 500
    assert (await summarizer.ask(call())).text == "ok"
    assert [request.body["max_tokens"] for request in server.requests] == [1_000, 500]


# Trying again


async def test_the_wait_that_the_server_asks_for_is_kept(summarizer, server):
    clock = Clock()
    server.script(api.rate_limited(7), api.rate_limited(0.5), Reply("notes"))
    found = asking(summarizer, clock)
    assert await found.answer(whole, tokens, 9_999) == "notes"
    assert clock.pauses == [7, 0.5]
    assert found.spent.attempts == 3


async def test_a_real_wait_is_as_long_as_asked(summarizer, server):
    server.script(api.rate_limited(0.3), Reply("notes"))
    found = Asking(summarizer, None, "s", "c", lambda step: None)
    began = time.monotonic()
    assert await found.answer(whole, tokens, 9_999) == "notes"
    assert time.monotonic() - began >= 0.3
    assert server.requests[1].received_at - server.requests[0].received_at >= 0.3


async def test_a_wait_that_is_too_long_is_not_begun(summarizer, server):
    clock = Clock()
    server.script(api.rate_limited(3_600))
    with pytest.raises(SummarizerFailed) as error:
        await asking(summarizer, clock).answer(whole, tokens, 9_999)
    assert (error.value.details["reason"], error.value.retryable, clock.pauses) == ("rateLimit", True, [])


@pytest.mark.parametrize("behaviour", [api.internal_error(), api.overloaded(), api.cut()])
async def test_what_may_pass_is_tried_so_often_and_no_more(summarizer, server, behaviour):
    clock = Clock()
    server.default = behaviour
    with pytest.raises(SummarizerFailed) as error:
        await asking(summarizer, clock).answer(whole, tokens, 9_999)
    assert len(server.requests) == error.value.details["attempts"] == summarizing.MAX_ATTEMPTS
    assert clock.pauses == [1, 2, 4]
    assert error.value.retryable


@pytest.mark.parametrize("behaviour", [api.unauthorized(), api.Failure(400, "invalid_request_error", "bad")])
async def test_what_can_never_succeed_is_asked_once(summarizer, server, behaviour):
    server.default = behaviour
    with pytest.raises(SummarizerFailed) as error:
        await asking(summarizer).answer(whole, tokens, 9_999)
    assert (len(server.requests), error.value.retryable) == (1, False)


async def test_there_is_a_deadline_for_the_whole(summarizer, server):
    found = asking(summarizer)
    found.deadline = asyncio.get_running_loop().time() - 1
    with pytest.raises(SummarizerFailed) as error:
        await found.answer(whole, tokens, 9_999)
    assert (error.value.details["reason"], server.requests) == ("timeout", [])


# What does not fit


def conversation(count, size=2_000):
    return [(f"[User]: message {number} " + "word " * (size // 5), size // 4) for number in range(count)]


async def test_an_overlong_history_is_folded_in_requests_within_the_limit(summarizer, server):
    server.default = lambda request: Reply(f"notes {len(server.requests)}")
    summarizer.capacity = Capacity(server.context_window, 1_000)
    parts = conversation(400)

    async def make(capacity):
        return task("history", parts, capacity, tokens, max_tokens=1_000)

    notes = await asking(summarizer).answer(make, tokens, 999_999)
    count = len(server.requests)
    assert notes == f"notes {count}"
    assert 10 < count < 20
    assert not [request for request in server.requests if request.refused]
    assert max(request.tokens for request in server.requests) + 1_000 <= server.context_window
    sent = "".join(request.prompt for request in server.requests)
    assert all(f"message {number} " in sent for number in range(400))
    assert all(f"notes {number}" in server.requests[number].prompt for number in range(1, count))


async def test_what_the_server_finds_too_long_is_sent_in_smaller_pieces_never_unchanged(summarizer, server):
    summarizer.capacity = Capacity(30_000, 1_000)  # more than the server takes
    parts = conversation(100)

    async def make(capacity):
        return task("history", parts, capacity, tokens, max_tokens=1_000)

    assert await asking(summarizer).answer(make, tokens, 999_999) == "ok"
    refused = [request for request in server.requests if request.refused]
    assert refused
    assert len({request.prompt for request in server.requests}) == len(server.requests)
    assert not server.requests[-1].refused


async def test_what_is_always_too_long_ends(summarizer, server):
    server.default = api.too_long()
    parts = conversation(50)

    async def make(capacity):
        return task("history", parts, capacity, tokens, max_tokens=1_000)

    with pytest.raises(SummarizerFailed) as error:
        await asking(summarizer).answer(make, tokens, 999_999)
    assert error.value.details["reason"] == "overflow"
    assert len(server.requests) == error.value.details["attempts"] <= 6
    assert len({request.prompt for request in server.requests}) == len(server.requests)


def test_the_server_counts_as_the_tests_do():
    assert count_tokens({"messages": [{"role": "user", "content": "word " * 400}]}) >= tokens("word " * 400)


# The key


@pytest.mark.parametrize("behaviour", [api.unauthorized(), api.too_long(), api.cut(), api.internal_error()])
async def test_the_key_is_in_no_log_error_or_message(summarizer, server, behaviour, caplog):
    caplog.set_level(logging.DEBUG)
    server.script(behaviour)
    with pytest.raises(SummarizerFault) as fault:
        await summarizer.ask(call(prompt="a secret conversation"))
    logged = "".join(record.getMessage() for record in caplog.records if record.name.startswith("pid"))
    told = f"{fault.value} {fault.value.reason} {fault.value.__cause__} {logged}"
    assert KEY not in told + caplog.text
    assert "a secret conversation" not in told


async def test_a_key_that_no_header_can_hold_is_not_told_either(server, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "\n…")
    with pytest.raises(SummarizerFault) as fault:
        await AnthropicSummarizer(os.environ).ask(call())
    assert KEY not in str(fault.value) + caplog.text
