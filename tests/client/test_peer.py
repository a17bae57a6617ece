"""The client against a peer with bad habits: every call ends, and nothing is lost or mixed up."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import NoneType
from typing import Any

import anyio
import pytest

from pid import errors
from pid.client import Client, DaemonGone, OtherError
from pid.protocol import (
    DidChangeNotice,
    InitializationOptions,
    ProblemsNotice,
    SettingsUpdate,
    SummarizeAbility,
    SummarizeParams,
    SummarizeResult,
    WorkDoneProgress,
)

pytestmark = pytest.mark.anyio

PEER = [sys.executable, str(Path(__file__).with_name("peer.py"))]
CHANGE = {
    "sessionId": "s",
    "epoch": "e",
    "revision": 1,
    "leafId": None,
    "added": [],
    "changed": [],
    "cause": "append",
}
SUMMARIZE = {
    "sessionId": "s",
    "compactionId": "c",
    "system": "…",
    "prompt": "…",
    "maxTokens": 9,
    "timeoutMs": 1000,
    "purpose": "history",
}


def spawn(**options: Any) -> AbstractAsyncContextManager[Client]:
    return Client.spawn(PEER, **{"log": "capture", **options})


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with spawn() as client:
        yield client


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    with anyio.fail_after(20):
        yield


async def test_the_handshake_says_who_asks_and_what_it_wants() -> None:
    options = InitializationOptions(settings=SettingsUpdate(context_window=None, durability="written"))
    async with spawn(notifications=["session/problems", "session/didChange"], options=options) as client:
        assert client.initialized.server_info.name == "peer"
        assert await client.call("greeting", None, dict) == {
            "processId": os.getpid(),
            "capabilities": {"experimental": {"pid": {"notifications": ["session/didChange", "session/problems"]}}},
            "initializationOptions": {"settings": {"contextWindow": None, "durability": "written"}},
        }
    async with spawn(summarize=never, summarize_ability=SummarizeAbility(max_input_tokens=9)) as client:
        greeting = await client.call("greeting", None, dict)
        assert greeting["capabilities"]["experimental"]["pid"] == {"summarize": {"maxInputTokens": 9}}


async def never(wanted: SummarizeParams) -> SummarizeResult:
    raise AssertionError


async def test_answers_find_their_calls_in_any_order(client: Client) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(client.call("wait", {"stubborn": True}, str))
        echoes = [group.create_task(client.call("echo", {"n": n}, dict)) for n in range(200)]
        await asyncio.wait(echoes)
        waiting.cancel()
    assert [echo.result() for echo in echoes] == [{"n": n} for n in range(200)]


async def test_calls_go_out_in_order_behind_a_peer_that_does_not_read(client: Client) -> None:
    """The peer first writes an answer larger than any pipe; meanwhile more than a pipe holds waits for it."""
    async with asyncio.TaskGroup() as group:
        large = group.create_task(client.call("readSlowly", {"size": 5_000_000}, str))
        calls = [group.create_task(client.call("echo", {"n": n, "pad": "z" * 50_000}, dict)) for n in range(40)]
        late = group.create_task(client.call("cancelled", None, list))
    assert len(large.result()) == 5_000_000
    assert [call.result()["n"] for call in calls] == list(range(40))
    assert late.result() == []


@pytest.mark.parametrize(
    ("error", "kind", "data"),
    [
        ({"code": 1003, "message": "no", "data": {"kind": "leafConflict", "retryable": True, "currentLeafId": "a"}},
         errors.LeafConflict, {"kind": "leafConflict", "retryable": True, "currentLeafId": "a"}),
        ({"code": -32602, "message": "no", "data": {"kind": "invalidParams", "retryable": False, "path": "x"}},
         errors.InvalidParams, {"kind": "invalidParams", "retryable": False, "path": "x"}),
        ({"code": 1009, "message": "no"}, errors.SessionBusy, {"kind": "sessionBusy", "retryable": False}),
        ({"code": -32601, "message": "no"}, OtherError, {"kind": "internalError", "retryable": False}),
        ({"code": 4711, "message": "no", "data": {"kind": "tooNew", "retryable": True, "message": "m"}},
         OtherError, {"kind": "tooNew", "retryable": True, "message": "m"}),
        ({"code": 1002, "message": "no", "data": {"message": "m", "self": 1}},
         errors.EntryNotFound, {"kind": "entryNotFound", "retryable": False, "message": "m", "self": 1}),
        ({"code": -32603, "message": "no", "data": ["odd"]}, OtherError, {"kind": "internalError", "retryable": False}),
    ],
)  # fmt: skip
async def test_errors_are_raised_by_their_codes(
    client: Client, error: dict[str, Any], kind: type[errors.PidError], data: dict[str, Any]
) -> None:
    with pytest.raises(errors.PidError) as caught:
        await client.call("fail", error, NoneType)
    assert type(caught.value) is kind
    assert caught.value.code == error["code"]
    assert caught.value.message == "no"
    assert caught.value.data == data


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_cancelled_call_tells_the_daemon_and_waits_for_its_answer(client: Client, stubborn: bool) -> None:
    call = asyncio.create_task(client.call("wait", {"stubborn": stubborn}, str))
    await client.call("echo", {}, dict)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(await client.call("cancelled", None, list)) == 1


async def test_a_scope_that_ends_waits_too(client: Client) -> None:
    with anyio.move_on_after(0.05) as scope:
        await client.call("wait", {}, str)
    assert scope.cancelled_caught
    assert len(await client.call("cancelled", None, list)) == 1


async def test_a_call_that_was_not_sent_yet_is_cancelled_without_a_word(client: Client) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(client.call("readSlowly", {"size": 2_000_000}, str))
        group.create_task(client.call("echo", {"pad": "z" * 900_000}, dict))
        behind = group.create_task(client.call("die", None, str))
        await asyncio.sleep(0)
        behind.cancel()
    assert await client.call("cancelled", None, list) == []


async def test_all_pending_calls_learn_that_the_daemon_died(client: Client) -> None:
    calls = [asyncio.create_task(client.call("wait", {}, str)) for _ in range(3)]
    with pytest.raises(DaemonGone, match=r"no answer to die: .* ended with code 3. It said:\nit hurts"):
        await client.call("die", None, str)
    for call in calls:
        with pytest.raises(DaemonGone, match="no answer to wait"):
            await call
    with pytest.raises(DaemonGone, match="no answer to echo"):
        await client.call("echo", None, dict)


@pytest.mark.parametrize(
    ("habit", "why"),
    [
        ("nonsense", "the connection broke: it sent what is no message"),
        ("misread", r"the connection broke: it could not read a message: what was that\?"),
        ("half", "the connection broke: a message cannot be taken: CutOff"),
        ("closeOutput", "has closed its output"),
    ],
)
async def test_a_broken_connection_ends_every_call(client: Client, habit: str, why: str) -> None:
    waiting = asyncio.create_task(client.call("wait", {}, str))
    with pytest.raises(DaemonGone, match=why):
        await client.call(habit, None, str)
    with pytest.raises(DaemonGone, match=why):
        await waiting


async def test_what_is_printed_to_the_output_by_mistake_is_passed_over(client: Client) -> None:
    assert await client.call("babble", None, str) == "and went on"


async def test_a_log_larger_than_any_pipe_is_read_and_its_end_kept(client: Client) -> None:
    await client.call("writeLog", {"size": 1_000_000}, NoneType)
    assert 0 < len(client.log) <= 64 * 1024


async def test_no_such_command() -> None:
    with pytest.raises(DaemonGone, match="could not be started"):
        async with Client.spawn(["/no/such/daemon"]):
            pass


async def test_a_daemon_that_ends_at_once_says_why() -> None:
    with pytest.raises(DaemonGone, match=r"no answer to initialize: .* code 7. It said:\nno luck"):
        async with Client.spawn([sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(7)"],
                                log="capture"):  # fmt: skip
            pass


async def test_a_message_larger_than_the_daemon_takes_is_not_sent(client: Client) -> None:
    with pytest.raises(errors.MessageTooLarge):
        await client.call("echo", {"pad": "z" * 1_000_000}, dict)


async def test_notifications_come_typed_and_in_order_to_all_who_listen() -> None:
    async with spawn(notifications=["session/didChange", "session/problems"]) as client:
        with client.listen(DidChangeNotice) as changes, client.listen(DidChangeNotice, ProblemsNotice) as both:
            notices = [
                ["session/didChange", CHANGE],
                ["session/problems", {"sessionId": "s", "added": []}],
                ["session/didChange", {"sessionId": 5}],
                ["session/unknown", {}],
                ["session/didChange", {**CHANGE, "revision": 2, "aNewField": 1}],
            ]
            await client.call("notify", {"notices": notices}, NoneType)
        assert [change.revision async for change in changes] == [1, 2]
        assert [type(notice) for notice in [n async for n in both]] == [
            DidChangeNotice,
            ProblemsNotice,
            DidChangeNotice,
        ]


async def test_listening_for_what_never_comes_is_refused(client: Client) -> None:
    with pytest.raises(ValueError, match="DidChangeNotice never comes"):
        client.listen(DidChangeNotice)


async def test_listening_ends_with_the_daemon() -> None:
    async with spawn(notifications=["session/didChange"]) as client:
        changes = client.listen(DidChangeNotice)
        with pytest.raises(DaemonGone):
            await client.call("die", None, str)
        with pytest.raises(DaemonGone, match="code 3"):
            await anext(changes)
    async with spawn(notifications=["session/didChange"]) as client:
        changes = client.listen(DidChangeNotice)
    assert [change async for change in changes] == []


def refuse(_: WorkDoneProgress) -> None:
    raise ValueError


async def test_progress_comes_to_the_call_it_is_for(client: Client) -> None:
    seen: list[WorkDoneProgress] = []
    with client.progress(seen.append) as token, client.progress(refuse) as bad:
        notices = [["$/progress", {"token": name, "value": {"kind": "begin", "title": "x"}}] for name in (bad, token)]
        await client.call("notify", {"notices": notices}, NoneType)
    await client.call("notify", {"notices": notices}, NoneType)
    assert [progress.title for progress in seen] == ["x"]


async def ask(client: Client, cancel: bool = False, **params: Any) -> dict[str, Any]:
    """What the peer is answered to `pid/summarize`."""
    request = {"method": "pid/summarize", "params": SUMMARIZE | params}
    return await client.call("ask", request | ({"cancel": True} if cancel else {}), dict)


async def test_a_summary_is_asked_of_the_callback() -> None:
    async def summarize(wanted: SummarizeParams) -> SummarizeResult:
        await asyncio.sleep(0)
        return SummarizeResult(summary=f"{wanted.purpose} {wanted.max_tokens}", stop_reason="stop")

    async with spawn(summarize=summarize) as client:
        assert (await ask(client))["result"] == {"summary": "history 9", "stopReason": "stop"}
        assert (await ask(client, maxTokens="many"))["error"]["code"] == -32602


async def test_what_a_summarizer_raises_is_the_answer() -> None:
    async def summarize(wanted: SummarizeParams) -> SummarizeResult:
        if wanted.purpose == "history":
            raise errors.SummarizerFailed("no key", reason="auth", retryAfterMs=5)
        raise KeyError("a secret")

    async with spawn(summarize=summarize) as client:
        assert (await ask(client))["error"] == {
            "code": 1014,
            "message": "no key",
            "data": {"kind": "summarizerFailed", "retryable": False, "reason": "auth", "retryAfterMs": 5},
        }
        error = (await ask(client, purpose="branch"))["error"]
        assert error["code"] == -32603
        assert "secret" not in error["message"]


async def test_a_summary_no_longer_wanted_is_cancelled() -> None:
    running: list[str] = []

    async def summarize(wanted: SummarizeParams) -> SummarizeResult:
        running.append(wanted.compaction_id)
        try:
            await asyncio.sleep(60)
        finally:
            running.remove(wanted.compaction_id)
        raise AssertionError

    async with spawn(summarize=summarize) as client:
        assert (await ask(client, cancel=True))["error"]["code"] == -32800
        assert not running


async def test_requests_nobody_answers_are_refused(client: Client) -> None:
    assert (await ask(client))["error"]["code"] == -32601
    other = await client.call("ask", {"method": "workspace/configuration", "params": {}}, dict)
    assert other["error"]["code"] == -32601


async def test_a_daemon_that_does_not_end_is_killed_after_the_grace() -> None:
    async with spawn(grace=0.2) as client:
        await client.call("goDeaf", None, NoneType)
        process_id = client.process_id
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)
    with pytest.raises(DaemonGone, match="the client is closed"):
        await client.call("echo", None, dict)


async def test_an_error_in_the_block_still_ends_the_daemon() -> None:
    with pytest.raises(ZeroDivisionError):
        async with spawn() as client:
            raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(client.process_id, 0)


async def test_a_cancelled_block_still_ends_the_daemon() -> None:
    started: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    async def block() -> None:
        async with spawn() as client:
            started.set_result(client)
            await asyncio.sleep(60)

    task = asyncio.create_task(block())
    client = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(client.process_id, 0)
