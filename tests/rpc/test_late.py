"""LSP's features: pygls serves them, and is loaded when a client asks for the first of them."""

import subprocess
import sys
from typing import Any

import pytest

from pid.shell.bridge import Bridge
from pid.shell.late import Late
from tests.rpc.peer import Local, cancel, connected, notification, request
from tests.rpc.tiny import Tiny

PLACE = {"textDocument": {"uri": "file:///a"}, "position": {"line": 3, "character": 1}}


def at(line: int) -> Any:
    return {**PLACE, "position": {"line": line, "character": 0}}


def bridge_of(server: Tiny) -> Bridge:
    assert server.dispatch is not None
    loaded = server.dispatch._foreign._loaded
    assert isinstance(loaded, Bridge)
    return loaded


async def test_initialize_names_them(fresh: Local) -> None:
    result = await fresh.initialize()
    assert result["capabilities"]["definitionProvider"] is True


async def test_a_request(peer: Local) -> None:
    answer = await peer.call("textDocument/definition", PLACE)
    place = {"line": 3, "character": 1}
    assert answer["result"] == {"uri": "file:///a", "range": {"start": place, "end": place}}


async def test_half_of_a_surrogate_pair(peer: Local) -> None:
    answer = await peer.call("textDocument/definition", {**PLACE, "textDocument": {"uri": "file:///\ud83d"}})
    assert answer["result"]["uri"] == "file:///\ufffd"


async def test_the_order_holds_while_pygls_is_loaded(server: Tiny, peer: Local) -> None:
    peer.send(
        notification("textDocument/didSave", {"textDocument": {"uri": "file:///1"}}),
        request(1, "textDocument/definition", PLACE),
        request(2, "test/release"),
        notification("textDocument/didSave", {"textDocument": {"uri": "file:///2"}}),
        request(3, "textDocument/definition", PLACE),
    )
    await peer.until(3)
    assert [message["id"] for message in peer.came] == [2, 1, 3]
    assert [line.partition(",")[0] for line in server.trace] == [
        "saved file:///1",
        "definition",
        "saved file:///2",
        "definition",
    ]


async def test_its_errors(peer: Local) -> None:
    own = await peer.call("textDocument/definition", at(404))
    assert (own["error"]["code"], own["error"]["message"]) == (1404, "there is no such line")
    assert own["error"]["data"]["line"] == 404
    crash = await peer.call("textDocument/definition", at(500))
    assert crash["error"]["code"] == -32603
    assert "secret" not in str(crash)
    wrong = await peer.call("textDocument/definition", {"textDocument": {"uri": 5}, "position": {"line": 1}})
    assert (wrong["error"]["code"], wrong["error"]["data"]["path"]) == (-32602, "position.character")


async def test_cancelled_before_and_after_it_is_loaded(server: Tiny, peer: Local) -> None:
    for number in (1, 2):
        peer.send(request(number, "textDocument/implementation", PLACE))
        await peer.call("test/release")
        if number == 2:
            assert server.trace == ["implementation"]
        peer.send(cancel(number))
        assert (await peer.answer(number))["error"]["code"] == -32800
        await peer.call("textDocument/definition", PLACE)
        server.trace.clear()


async def test_a_request_of_pygls_own(peer: Local) -> None:
    peer.send(request("a", "workspace/executeCommand", {"command": "test/configuration"}))
    (question,) = await peer.until(1)
    assert question["params"] == {"items": [{"section": "pid"}]}
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": [{"class": 1}]})
    assert (await peer.answer("a"))["result"] == [{"class": 1}]


async def test_the_client_that_pygls_knows(server: Tiny, fresh: Local) -> None:
    await fresh.initialize({"workspaceFolders": [{"uri": "file:///a", "name": "a"}]})
    await fresh.call("textDocument/definition", PLACE)
    assert list(bridge_of(server).workspace.folders) == ["file:///a"]


async def test_loading_that_fails_is_tried_again() -> None:
    class Failing(Tiny):
        failures = 1

        def bring(self) -> Any:
            if self.failures:
                self.failures -= 1
                raise ImportError("the secret")
            return super().bring()

    async with connected(Failing()) as peer:
        await peer.initialize()
        peer.send(
            notification("textDocument/didSave", {"textDocument": {"uri": "file:///1"}}),
            request(1, "textDocument/definition", PLACE),
            request(2, "textDocument/definition", PLACE),
        )
        for number in (1, 2):
            answer = await peer.answer(number)
            assert answer["error"]["code"] == -32603
            assert "secret" not in str(answer)
        assert "result" in await peer.call("textDocument/definition", PLACE)


async def test_the_end_while_it_is_loaded(server: Tiny, peer: Local) -> None:
    peer.send(request(1, "textDocument/implementation", PLACE), request(2, "shutdown"), notification("exit"))
    assert await peer.code() == 0
    answers = {message["id"]: message for message in await peer.all_to_the_end()}
    assert answers[1]["error"]["code"] in (-32800, 1000)
    assert answers[2]["result"] is None


@pytest.mark.parametrize("method", ["textDocument/definition", "textDocument/didSave", "textDocument/hover", "x"])
def test_what_it_takes(method: str) -> None:
    late = Late(Tiny().features, lambda: lambda: pytest.fail("loaded"), lambda id, error: None)
    assert late.takes(method, as_request=True) is (method == "textDocument/definition")
    assert late.takes(method, as_request=False) is (method == "textDocument/didSave")


def test_serving_starts_without_it() -> None:
    script = "import sys, pid.__main__, pid.shell.server; print({'pygls', 'lsprotocol', 'attrs'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "set()"
