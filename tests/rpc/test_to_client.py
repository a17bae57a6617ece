"""What the server says by itself: notifications, requests to the client, progress; and what comes back."""

import asyncio
from typing import Any

import pytest

from pid.protocol import SummarizeResult
from pid.shell.rpc import AnswerError
from tests.rpc.peer import Json, Local, cancel, connected, request
from tests.rpc.tiny import Tiny


async def test_notifications_stand_around_the_response(peer: Local) -> None:
    await peer.call("test/release")
    peer.send(request("t", "test/tell"))
    messages = await peer.until(3)
    assert [message.get("method", message.get("id")) for message in messages] == ["test/before", "t", "test/after"]
    assert messages[0] == {"jsonrpc": "2.0", "method": "test/before", "params": {"n": 1}}
    assert messages[2]["params"] == {"id": "e", "index": 2}


async def test_a_notification_from_another_thread(peer: Local) -> None:
    answer = await peer.call("test/tellFromThread")
    assert answer["result"] is None
    assert peer.came == [{"jsonrpc": "2.0", "method": "test/fromThread", "params": {"n": 1}}]


async def asked(peer: Local, count: int = 1) -> Json:
    """The last of `count` messages, which is a request to the client."""
    message = (await peer.until(count))[-1]
    assert message["jsonrpc"] == "2.0"
    return message


async def test_a_request_to_the_client(peer: Local) -> None:
    peer.send(request("a", "test/ask", {"value": [1, 2]}))
    question = await asked(peer)
    assert (question["method"], question["params"]) == ("client/question", {"question": [1, 2]})
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": {"summary": "s"}})
    assert (await peer.answer("a"))["result"] == {"answer": {"summary": "s"}}


async def test_an_undefined_result_is_null(peer: Local) -> None:
    """JavaScript leaves it out."""
    peer.send(request("a", "test/ask", {"value": 1}))
    question = await asked(peer)
    peer.send({"jsonrpc": "2.0", "id": question["id"]})
    assert (await peer.answer("a"))["result"] == {"answer": None}


async def test_requests_to_the_client_are_told_apart(peer: Local) -> None:
    """Also from the client's own with the same ids."""
    peer.send(*(request(i, "test/ask", {"value": i}) for i in range(1, 4)))
    for question in (await peer.until(3))[::-1]:
        peer.send({"jsonrpc": "2.0", "id": question["id"], "result": question["params"]})
    peer.came.clear()
    for i in range(1, 4):
        assert (await peer.answer(i))["result"] == {"answer": {"question": i}}


async def answer_of(server: Tiny, peer: Local, response: Json | None, result: Any = Any) -> Any:
    """What `server.request` gives, or raises, when the client answers with this."""
    work = asyncio.create_task(server.request("client/question", {}, result))
    await asyncio.sleep(0)
    question = await asked(peer)
    if response is None:
        peer.close_input()
    else:
        peer.send({"jsonrpc": "2.0", "id": question["id"], **response})
    async with asyncio.timeout(5):
        return await work


@pytest.mark.parametrize(
    ("response", "code", "data"),
    [
        ({"error": {"code": 429, "message": "busy", "data": {"retryAfterMs": 5}}}, 429, {"retryAfterMs": 5}),
        ({"error": {"code": -32800, "message": "no"}}, -32800, None),
        ({"error": None}, None, None),
        ({"error": {"code": "x"}}, None, None),
        ({"result": {"summary": 5}}, None, None),
        ({"result": None}, None, None),
        (None, None, None),
    ],
)
async def test_an_answer_that_is_none(server: Tiny, peer: Local, response: Any, code: Any, data: Any) -> None:
    with pytest.raises(AnswerError) as caught:
        await answer_of(server, peer, response, SummarizeResult)
    assert (caught.value.code, caught.value.data) == (code, data)


async def test_half_of_a_surrogate_pair_in_an_answer(server: Tiny, peer: Local) -> None:
    """JavaScript cuts strings anywhere."""
    result = {"summary": "cut \ud83d", "stopReason": "stop"}
    answer = await answer_of(server, peer, {"result": result}, SummarizeResult)
    assert answer.summary == "cut \ufffd"
    peer.came.clear()
    with pytest.raises(AnswerError) as caught:
        await answer_of(server, peer, {"error": {"code": 429, "message": "cut \ud83d", "data": {"retryAfterMs": 5}}})
    assert (caught.value.message, caught.value.data) == ("cut \ufffd", {"retryAfterMs": 5})


async def test_an_answer_past_the_limit() -> None:
    server = Tiny(max_message=100_000)
    async with connected(server) as peer:
        await peer.initialize()
        with pytest.raises(AnswerError) as caught:
            await answer_of(server, peer, {"result": "x" * 200_000})
        assert caught.value.code == 1020


async def test_a_client_that_is_gone_is_not_asked(server: Tiny, peer: Local) -> None:
    peer.close_input()
    await peer.code()
    with pytest.raises(AnswerError):
        await server.request("client/question", {}, Any)


async def test_what_is_no_longer_wanted_is_cancelled_at_the_client(peer: Local) -> None:
    peer.send(request("a", "test/ask", {"value": 1}), cancel("a"))
    question, told, answer = await peer.until(3)
    assert told == cancel(question["id"])
    assert (answer["id"], answer["error"]["code"]) == ("a", -32800)
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": "late"})
    assert (await peer.call("test/release"))["result"] is None
