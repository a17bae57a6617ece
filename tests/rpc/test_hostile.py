"""Hostile and odd input: each message gets its right answer, and the next one gets its own."""

from typing import Any

import pytest

from pid.core.framing import header
from tests.rpc.peer import Json, Local, cancel, connected, notification, request
from tests.rpc.test_late import PLACE
from tests.rpc.tiny import FAILURES, RESULTS, Tiny

INVALID = -32600


def error_of(answer: Json) -> tuple[int, str]:
    """The code and kind of an error response, which never tells what the daemon keeps to itself."""
    text = str(answer)
    assert "Traceback" not in text
    assert "secret" not in text
    assert answer["jsonrpc"] == "2.0"
    assert isinstance(answer["error"]["data"]["retryable"], bool)
    return answer["error"]["code"], answer["error"]["data"]["kind"]


async def still_serves(peer: Local) -> None:
    answer = await peer.call("test/echo", {"value": [1]})
    assert answer["result"] == {"value": [1]}


# What stock pygls 2.1.1 answered with nothing, or with something else.
SERVED = {
    "without params": request(7, "test/hello"),
    "an extra key": {**request(7, "test/hello"), "extra": 1, "more": {"jsonrpc": "2.0"}},
    "params null": {**request(7, "test/hello"), "params": None},
    "params an empty object": request(7, "test/hello", {}),
    "params an empty array": request(7, "test/hello", []),
    "unknown params": request(7, "test/hello", {"unknown": {"class": 1}}),
    "id 0": request(0, "test/hello"),
    "a negative id": request(-3, "test/hello"),
    "a huge id": request(2**70, "test/hello"),
    "a string id": request("sieben \u20ac", "test/hello"),
    "an empty string id": request("", "test/hello"),
    "a number in a string id": request("7", "test/hello"),
}


@pytest.mark.parametrize("message", SERVED.values(), ids=SERVED)
async def test_is_served(peer: Local, message: Json) -> None:
    message = {**message, "method": "test/release"}
    peer.send(message)
    answer = await peer.answer(message["id"])
    assert answer == {"jsonrpc": "2.0", "id": message["id"], "result": None}
    assert type(answer["id"]) is type(message["id"])
    await still_serves(peer)


REFUSED: dict[str, tuple[Any, Any, int]] = {
    "malformed": (b"{]}", None, -32700),
    "empty": (b"", None, -32700),
    "cut off": (b'{"jsonrpc":"2.0","id":7', None, -32700),
    "two in one": (b'{"jsonrpc":"2.0","id":7,"method":"test/release"}{}', None, -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"value":NaN}}', None, -32700),
    "UTF-16": ('{"jsonrpc":"2.0","id":7,"method":"x"}'.encode("utf-16"), None, -32700),
    "an invalid byte in the id": (b'{"jsonrpc":"2.0","id":"\xff","method":"x"}', None, -32700),
    "a batch": ([request(7, "test/release"), request(8, "test/release")], None, INVALID),
    "an empty batch": ([], None, INVALID),
    "a number": (5, None, INVALID),
    "a string": ("test/release", None, INVALID),
    "null": (b"null", None, INVALID),
    "an empty object": ({}, None, INVALID),
    "only an id": ({"jsonrpc": "2.0", "id": 7}, 7, INVALID),
    "no version": ({"id": 7, "method": "test/release"}, 7, INVALID),
    "another version": ({**request(7, "test/release"), "jsonrpc": "1.0"}, 7, INVALID),
    "a version that is a number": ({**request("a", "test/release"), "jsonrpc": 2.0}, "a", INVALID),
    "a method that is a number": (request(7, 5), 7, INVALID),  # type: ignore[arg-type]
    "a method that is null, without an id": ({"jsonrpc": "2.0", "method": None}, None, INVALID),
    "an empty method": (request(7, ""), 7, INVALID),
    "id null": (request(None, "test/release"), None, INVALID),
    "id a fraction": (request(1.5, "test/release"), 1.5, INVALID),
    "id a whole float": (b'{"jsonrpc":"2.0","id":1.0,"method":"test/release"}', 1.0, INVALID),
    "id true": (request(True, "test/release"), None, INVALID),
    "id an object": (request({"a": 1}, "test/release"), None, INVALID),
    "id an array": (request([7], "test/release"), None, INVALID),
    "nested too deeply": (
        b'{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        7,
        INVALID,
    ),
    "malformed behind a wrong id": (b'{"jsonrpc":"2.0","id":[,"method":"x"}', None, -32700),
    "malformed behind a wrong method": (b'{"jsonrpc":"2.0","id":7,"method":5,}', None, -32700),
    "nested too deeply behind a wrong version": (
        b'{"jsonrpc":2,"id":7,"params":' + b"[" * 9999 + b"]" * 9999 + b"}",
        7,
        INVALID,
    ),
    "an unknown method": (request(7, "test/unknown"), 7, -32601),
    "an LSP method that is not served": (request(7, "textDocument/hover", {}), 7, -32601),
    "a method of LSP's clients": (request(7, "window/showMessageRequest", {}), 7, -32601),
    "a $/ request": (request(7, "$/unknown"), 7, -32601),
    "a notification sent as a request": (request(7, "initialized", {}), 7, -32601),
    "params a string": (request(7, "test/echo", "x"), 7, -32602),
    "params an array": (request(7, "test/echo", [1]), 7, -32602),
    "a second initialize": (request(7, "initialize", {}), 7, INVALID),
}


@pytest.mark.parametrize(("message", "id", "code"), REFUSED.values(), ids=REFUSED)
async def test_is_refused_once(peer: Local, message: Any, id: Any, code: int) -> None:
    peer.send(message)
    (answer,) = await peer.until(1)
    peer.came.clear()
    assert (answer["id"], error_of(answer)[0]) == (id, code)
    await still_serves(peer)
    assert peer.came == []


IGNORED = {
    "an unknown notification": notification("test/unknown", {"a": 1}),
    "a $/ notification": notification("$/unknown"),
    "a notification of another version": {"method": "test/release"},
    "a notification for documents": notification("textDocument/didOpen", {"textDocument": 5}),
    "a cancel of nothing": cancel(99),
    "a cancel without an id": notification("$/cancelRequest", {}),
    "a cancel without params": notification("$/cancelRequest"),
    "a cancel of null": cancel(None),
    "a cancel as an array": notification("$/cancelRequest", [1]),
    "a response to nothing": {"jsonrpc": "2.0", "id": 99, "result": None},
    "an error to nothing": {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}},
    "an error without an id": {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
    "a response with a strange id": {"jsonrpc": "2.0", "id": [1], "result": 1},
    "trace": notification("$/setTrace", {"value": "verbose"}),
    "a bad trace": notification("$/setTrace", {"value": 5}),
    "a request of LSP sent as a notification": notification("shutdown"),
    "a request of ours sent as a notification": notification("test/release"),
}


@pytest.mark.parametrize("message", IGNORED.values(), ids=IGNORED)
async def test_is_ignored(peer: Local, message: Json) -> None:
    peer.send(message)
    await still_serves(peer)
    assert peer.came == []


async def test_invalid_params_name_the_field(peer: Local) -> None:
    answer = await peer.call("test/step", {"name": "a", "seconds": "soon"})
    assert error_of(answer) == (-32602, "invalidParams")
    assert answer["error"]["data"]["path"] == "seconds"


async def test_invalid_params_of_lsp_name_the_field(peer: Local) -> None:
    answer = await peer.call("workspace/executeCommand", {"arguments": []})
    assert error_of(answer) == (-32602, "invalidParams")
    assert answer["error"]["data"]["path"] == "command"
    answer = await peer.call("workspace/executeCommand", {"command": "unknown"})
    assert error_of(answer) == (-32602, "invalidParams")


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"processId": "x"}, "processId"),
        ({"workspaceFolders": [{"name": "a"}]}, "workspaceFolders[0].uri"),
        (
            {"capabilities": {"experimental": {"pid": {"notifications": 5}}}},
            "capabilities.experimental.pid.notifications",
        ),
        ({"capabilities": 5}, "capabilities"),
        ([1], ""),
        ("x", ""),
    ],
)
async def test_a_bad_initialize_may_be_followed_by_a_good_one(fresh: Local, params: Any, path: str) -> None:
    answer = await fresh.call("initialize", params)
    assert error_of(answer) == (-32602, "invalidParams")
    assert answer["error"]["data"]["path"] == path
    assert error_of(await fresh.call("test/echo", {"value": 1})) == (-32002, "serverNotInitialized")
    await fresh.initialize()
    await still_serves(fresh)


async def test_capabilities_of_a_later_lsp_are_no_fault(fresh: Local, server: Tiny) -> None:
    later = {"hover": {"contentFormat": ["a later format"]}}
    known = {"workspace": {"applyEdit": True}, "experimental": {"x": [1]}}
    await fresh.initialize({"capabilities": {"textDocument": later, "new": 5, **known}})
    await fresh.call("textDocument/definition", PLACE)
    client = server.trace[-1]
    assert client == "definition, workspace known, text_document unknown"


@pytest.mark.parametrize("params", [None, {}, [], {"capabilities": None}, {"capabilities": []}, {"x": 1}])
async def test_initialize_with_little(fresh: Local, params: Any) -> None:
    fresh.send({**request(1, "initialize"), "params": params})
    assert "experimental" in (await fresh.answer(1))["result"]["capabilities"]
    await still_serves(fresh)


@pytest.mark.parametrize("name", FAILURES)
async def test_a_handler_that_fails(peer: Local, name: str) -> None:
    answer = await peer.call("test/fail", {"name": name})
    known = (1002, "entryNotFound") if name == "known" else (-32603, "internalError")
    assert error_of(answer) == known
    await still_serves(peer)


async def test_an_error_of_the_tree_keeps_its_data(peer: Local) -> None:
    answer = await peer.call("test/fail", {"name": "known"})
    assert answer["error"] == {
        "code": 1002,
        "message": "there is no entry e1",
        "data": {"kind": "entryNotFound", "retryable": False, "entryId": "e1"},
    }


UNSERIALISABLE = ["an object", "a set of objects", "a surrogate", "a circle", "deep in a large list"]


@pytest.mark.parametrize("name", UNSERIALISABLE)
async def test_a_result_that_does_not_serialise(peer: Local, name: str) -> None:
    answer = await peer.call("test/give", {"name": name})
    assert error_of(answer) == (-32603, "internalError")
    await still_serves(peer)


async def test_keys_stay_as_they_are(peer: Local) -> None:
    keys = RESULTS["keys"]()
    assert (await peer.call("test/give", {"name": "keys"}))["result"] == keys
    assert (await peer.call("test/echo", {"value": keys}))["result"] == {"value": keys}


async def test_nan_goes_out_as_null(peer: Local) -> None:
    assert (await peer.call("test/give", {"name": "NaN"}))["result"] == {"value": None, "more": [None]}


async def test_raw_values_keep_their_bytes(peer: Local) -> None:
    value = b'{ "big": 123456789012345678901234567890, "one": 1.0, "esc": "\\u00e4\\/" , "10": 1, "2": 2}'
    peer.send(b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"value":' + value + b"}}")
    before = peer.bytes_came
    await peer.answer(1)
    assert peer.bytes_came - before == len(b'{"jsonrpc":"2.0","id":1,"result":{"value":}}') + len(value)


async def test_requests_before_initialize(fresh: Local) -> None:
    for method in ("test/echo", "shutdown", "textDocument/hover", "test/unknown"):
        assert error_of(await fresh.call(method, {})) == (-32002, "serverNotInitialized")
    fresh.send(notification("initialized", {}), notification("textDocument/didOpen", {}))
    await fresh.initialize()
    await still_serves(fresh)


async def test_requests_after_shutdown(peer: Local) -> None:
    assert (await peer.call("shutdown"))["result"] is None
    for method in ("test/echo", "shutdown", "initialize", "test/unknown"):
        assert error_of(await peer.call(method, {"value": 1})) == (INVALID, "invalidRequest")
    peer.send(notification("exit"))
    assert await peer.code() == 0


async def test_two_requests_with_one_id(peer: Local) -> None:
    peer.send(request(5, "test/hold"), request(5, "test/echo", {"value": 1}))
    assert error_of(await peer.answer(5)) == (INVALID, "invalidRequest")
    peer.send(request(6, "test/release"))
    assert (await peer.answer(5))["result"] == {"held": True}
    peer.send(request(5, "test/echo", {"value": 2}))
    assert (await peer.answer(5))["result"] == {"value": 2}


async def test_an_answered_id_may_be_used_again_at_once(peer: Local) -> None:
    peer.send(*[request(1, "test/unknown")] * 20)
    assert len(await peer.until(20)) == 20


@pytest.mark.parametrize(
    "bad", [b"Content-Length: -1\r\n\r\n", b"Content-Length: 1000000000000\r\n\r\n{}", b"X: y\r\n\r\n{}"]
)
async def test_a_bad_header(peer: Local, bad: bytes) -> None:
    peer.raw(bad)
    (answer,) = await peer.until(1)
    assert answer["id"] is None
    assert error_of(answer) == (-32700, "parseError")
    peer.came.clear()
    await still_serves(peer)


TOO_LARGE = {
    "the id first": (b'{"id": "a\\"b" , "jsonrpc":"2.0","method":"test/echo","params":{"value":"%s"}}', 'a"b'),
    "the id behind the method": (b'{"jsonrpc":"2.0","method":"test/echo","id":7,"params":{"value":"%s"}}', 7),
    "the id at the end": (b'{"jsonrpc":"2.0","method":"test/echo","params":{"value":"%s"},"id":7}', None),
    "no JSON": (b"%s", None),
    "a key in the params": (b'{"jsonrpc":"2.0","params":{"id":7,"value":"%s"}}', None),
    "a fractional id": (b'{"id":1.5,"method":"test/echo","params":{"value":"%s"}}', 1.5),
    "an id that is an object": (b'{"id":{"id":7},"method":"test/echo","params":{"value":"%s"}}', None),
    "an id that is cut off": (b'{"method":"test/echo","id":"%s"}', None),
}


@pytest.mark.parametrize(("body", "id"), TOO_LARGE.values(), ids=TOO_LARGE)
async def test_a_message_past_the_limit(body: bytes, id: Any) -> None:
    async with connected(Tiny(max_message=100_000)) as peer:
        await peer.initialize()
        peer.send(body % (b"x" * 200_000))
        answer = await peer.answer(id)
        assert error_of(answer) == (1020, "messageTooLarge")
        await still_serves(peer)
        assert peer.came == []


async def test_an_answer_past_the_limit() -> None:
    async with connected(Tiny(max_message=100_000)) as peer:
        await peer.initialize()
        for params in ({"count": 1, "size": 200_000}, {"count": 9000}, {"count": 30, "size": 5000}):
            assert error_of(await peer.call("test/items", params)) == (1020, "messageTooLarge")
        await still_serves(peer)


async def test_the_end_of_input_inside_a_message(peer: Local) -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"test/step","params":{"name":"a"}}'
    peer.raw(header(len(body) + 1) + body)
    peer.close_input()
    (answer,) = await peer.all_to_the_end()
    assert (answer["id"], error_of(answer)) == (None, (-32700, "parseError"))
    assert await peer.code() == 1
