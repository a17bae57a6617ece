"""The life of a connection in one process: initialize, shutdown, exit, the end of input, a client that is gone."""

import asyncio
import os
from typing import Any

import pytest

from pid.errors import NotASession
from tests.rpc.peer import Local, connected, notification, request
from tests.rpc.tiny import Tiny


async def test_initialize_tells_who_answers(server: Tiny, fresh: Local) -> None:
    result = await fresh.initialize(
        {
            "processId": None,
            "capabilities": {"experimental": {"pid": {"notifications": ["session/didChange"]}}},
            "initializationOptions": {"sessionDir": "/sessions"},
            "workspaceFolders": [{"uri": "file:///a", "name": "a"}],
        }
    )
    assert result["serverInfo"] == {"name": "tiny", "version": "1.2.3"}
    assert result["capabilities"]["experimental"] == {"pid": {"protocolVersion": 1, "methods": ["test/echo"]}}
    assert "textDocumentSync" not in result["capabilities"]
    assert server.params is not None
    assert server.params.capabilities.experimental.pid.notifications == ("session/didChange",)
    assert server.params.initialization_options is not None
    assert server.params.initialization_options.session_dir == "/sessions"
    assert [folder.uri for folder in server.params.workspace_folders or ()] == ["file:///a"]


async def test_a_server_that_refuses_the_client() -> None:
    class Refusing(Tiny):
        def hello(self, params: Any) -> Any:
            raise NotASession("not today", reason="x")

    async with connected(Refusing()) as peer:
        answer = await peer.call("initialize")
        assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (1005, "x")
        assert (await peer.call("test/release"))["error"]["code"] == -32002


async def test_a_pipelined_session(server: Tiny, fresh: Local) -> None:
    """All in one write, as a script sends it."""
    fresh.send(
        request(1, "initialize", {}),
        notification("initialized", {}),
        request(2, "test/step", {"name": "a", "seconds": 0.02}),
        request(3, "shutdown"),
        notification("exit"),
    )
    assert await fresh.code() == 0
    answers = await fresh.all_to_the_end()
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[1]["result"] == {"name": "a"}
    assert server.trace == ["start a", "end a", "goodbye"] or server.trace == ["start a", "goodbye", "end a"]


async def test_exit_without_shutdown(peer: Local) -> None:
    peer.send(notification("exit"))
    assert await peer.code() == 1


async def test_exit_before_initialize(fresh: Local) -> None:
    fresh.send(notification("exit"))
    assert await fresh.code() == 1


async def test_nothing_behind_exit_is_looked_at(server: Tiny, peer: Local) -> None:
    peer.send(notification("exit"), request(1, "test/step", {"name": "a"}))
    assert await peer.code() == 1
    assert server.trace == ["goodbye"]


async def test_the_end_of_input(peer: Local) -> None:
    """What was received is answered: also what came in the last moment."""
    peer.send(*(request(i, "test/step", {"name": str(i), "seconds": 0.01}) for i in range(300)))
    peer.close_input()
    assert await peer.code() == 1
    answers = await peer.all_to_the_end()
    assert sorted(answer["id"] for answer in answers) == list(range(300))
    assert all("result" in answer for answer in answers)


async def test_the_end_of_input_after_shutdown(peer: Local) -> None:
    await peer.call("shutdown")
    peer.close_input()
    assert await peer.code() == 0


@pytest.mark.parametrize("how", ["shutdown", "end of input"])
async def test_what_does_not_end_is_cancelled(peer: Local, how: str) -> None:
    """Within a second, and answered all the same: also a handler that takes no cancel."""
    peer.send(request(1, "test/step", {"name": "a", "seconds": 3600}), request(2, "test/stubborn"))
    peer.send(request(3, "shutdown"))
    if how == "end of input":
        peer.close_input()
    started = asyncio.get_running_loop().time()
    answers = {answer["id"]: answer for answer in await peer.until(3)}
    assert asyncio.get_running_loop().time() - started < 2
    assert answers[1]["error"]["code"] == -32800
    assert answers[2]["error"]["data"] == {"kind": "internalError", "retryable": True, "outcome": "unknown"}
    assert answers[3]["result"] is None


async def test_on_shutdown_runs_once_and_ends_what_waits(server: Tiny, peer: Local) -> None:
    peer.send(request(1, "test/hold"), request(2, "shutdown"))
    assert (await peer.answer(1))["result"] == {"held": True}
    await peer.answer(2)
    peer.send(notification("exit"))
    assert await peer.code() == 0
    assert server.trace == ["goodbye"]


@pytest.mark.parametrize("failure", [RuntimeError("the secret"), None])
async def test_an_on_shutdown_that_fails_or_hangs(failure: Exception | None) -> None:
    async def leave() -> None:
        if failure is None:
            await asyncio.sleep(3600)
        else:
            raise failure

    async with connected(Tiny(on_shutdown=leave)) as peer:
        await peer.initialize()
        assert (await peer.call("shutdown"))["result"] is None
        peer.send(notification("exit"))
        assert await peer.code() == 0


async def test_a_client_that_reads_no_more(server: Tiny, peer: Local) -> None:
    peer.reader.close()
    for descriptor in list(peer._descriptors - {peer._writing}):
        os.close(descriptor)
        peer._descriptors.discard(descriptor)
    peer.send(request(1, "test/release"))
    assert await peer.code() == 1
    assert server.trace == ["goodbye"]


async def test_a_client_that_does_not_read_does_not_keep_the_server() -> None:
    async with connected(Tiny(), reads=False) as peer:
        peer.send(request(0, "initialize", {}), request(1, "test/items", {"count": 1, "size": 5_000_000}))
        await peer.written()
        peer.close_input()
        assert await peer.code() == 1
