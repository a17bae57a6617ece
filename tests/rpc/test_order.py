"""Order, cancelling and back-pressure: what comes when, and how much is held."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.shell import calls, connection
from tests.rpc.peer import Json, Local, cancel, connected, framed, notification, request
from tests.rpc.tiny import Tiny

CANCELLED = (-32800, "requestCancelled")


def error_of(answer: Json) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["data"]["kind"]


async def test_handlers_start_in_the_order_of_arrival(server: Tiny, peer: Local) -> None:
    peer.send(*(request(f"r{i}", "test/step", {"name": str(i)}) for i in range(500)))
    await peer.until(500)
    starts = [line for line in server.trace if line.startswith("start")]
    assert starts == [f"start {i}" for i in range(500)]


async def test_an_lsp_message_waits_for_the_requests_before_it(server: Tiny, peer: Local) -> None:
    peer.send(request("a", "test/step", {"name": "a"}), request("b", "shutdown"))
    await peer.answer("b")
    assert server.trace == ["start a", "end a", "goodbye"]


async def test_a_cancel_comes_after_its_request_has_begun(server: Tiny, peer: Local) -> None:
    for i in range(100):
        peer.send(request(i, "test/step", {"name": str(i), "seconds": 60}), cancel(i))
    for i in range(100):
        assert error_of(await peer.answer(i)) == CANCELLED
    for i in range(100):
        assert server.trace.index(f"start {i}") < server.trace.index(f"cancel {i}")


async def test_a_cancel_is_answered_while_others_run(peer: Local) -> None:
    peer.send(request(1, "test/hold"), request(2, "test/hold"), cancel(2))
    assert error_of(await peer.answer(2)) == CANCELLED
    peer.send(request(3, "test/release"))
    assert (await peer.answer(1))["result"] == {"held": True}


async def test_a_write_that_has_begun_gives_its_result(server: Tiny, peer: Local) -> None:
    peer.send(request(1, "test/write", {"name": "w", "seconds": 0.05}), cancel(1))
    assert (await peer.answer(1))["result"] == {"written": "w"}
    assert server.trace == ["asked to cancel"]


async def test_a_cancel_of_an_answer_that_is_being_written_comes_too_late(peer: Local) -> None:
    peer.send(request(1, "test/items", {"count": 100_000}))
    await asyncio.sleep(0.05)
    peer.send(cancel(1))
    assert len((await peer.answer(1))["result"]["items"]) == 100_000


async def test_a_cancel_after_the_answer_is_nothing(peer: Local) -> None:
    await peer.call("test/release")
    peer.send(cancel(1), cancel("1"), cancel(2))
    assert (await peer.call("test/release"))["result"] is None


async def test_ids_of_numbers_and_strings_differ(peer: Local) -> None:
    peer.send(request(1, "test/hold"), request("1", "test/hold"), cancel("1"))
    assert error_of(await peer.answer("1")) == CANCELLED
    peer.send(request(2, "test/release"))
    assert "result" in await peer.answer(1)


async def test_a_large_answer_does_not_hold_the_loop(peer: Local) -> None:
    """Others are answered between its slices."""
    peer.send(request("big", "test/items", {"count": 300_000}))
    peer.send(*(request(i, "test/release") for i in range(50)))
    messages = await peer.until(51)
    assert [message["id"] for message in messages] == [*range(50), "big"]
    items = messages[50]["result"]["items"]
    assert items[0] == {"id": "e0", "index": 0}
    assert [item["index"] for item in items] == list(range(300_000))


@pytest.mark.parametrize(
    ("count", "size"), [(0, 0), (1, 0), (64, 0), (65, 0), (3, 100_000), (100, 70_000), (1000, 5000), (20_000, 10)]
)
async def test_large_answers_are_whole(peer: Local, count: int, size: int) -> None:
    items = (await peer.call("test/items", {"count": count, "size": size}))["result"]["items"]
    assert [item["index"] for item in items] == list(range(count))
    raws = (await peer.call("test/raws", {"count": count, "size": size}))["result"]["items"]
    assert raws == ["y" * size] * count


async def test_a_client_that_writes_500_requests_before_it_reads() -> None:
    async with connected(Tiny(), reads=False) as peer:
        peer.send(request("first", "initialize", {}))
        for i in range(500):
            peer.send(request(i, "test/items", {"count": 1, "size": 50_000}))
        await peer.written()
        peer.reader.start()
        await peer.until(501)
        assert [message["id"] for message in peer.came] == ["first", *range(500)]


async def test_output_that_is_not_read_holds_new_requests_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_OUT", 1_000_000)
    monkeypatch.setattr(connection, "MAX_WAITING", 100_000)
    server = Tiny()
    async with connected(server, reads=False) as peer:
        peer.send(request("first", "initialize", {}))
        for i in range(3000):
            peer.send(request(i, "test/step", {"name": "x" * 5000}))
        for _ in range(100):
            await asyncio.sleep(0.005)
        begun = len(server.trace)
        assert 0 < begun < 1000
        assert peer.writer.queued > 0
        peer.reader.start()
        await peer.until(3001)
        assert [message["id"] for message in peer.came] == ["first", *range(3000)]


async def test_requests_that_stay_open_hold_new_ones_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_OPEN", 100_000)
    server = Tiny()
    async with connected(server) as peer:
        await peer.initialize()
        peer.send(*(request(i, "test/step", {"name": "x" * 10_000, "seconds": 0.2}) for i in range(30)))
        await asyncio.sleep(0.1)
        assert len(server.trace) <= 12
        await peer.until(30)


async def test_many_small_messages_in_odd_pieces(peer: Local) -> None:
    stream = b"".join(framed(request(i, "test/echo", {"value": "\u20ac" * i})) for i in range(100))
    for at in range(0, len(stream), 7):
        peer.raw(stream[at : at + 7])
        await asyncio.sleep(0)
    await peer.until(100)
    assert [message["result"]["value"] for message in peer.came] == ["\u20ac" * i for i in range(100)]


async def test_a_message_of_many_megabytes(peer: Local) -> None:
    text = "\u00e4" * 5_000_000
    assert (await peer.call("test/echo", {"value": text}))["result"]["value"] == text


ids = st.one_of(st.integers(-5, 5), st.sampled_from(["a", "b", "1"]), st.none(), st.booleans(), st.just(1.5))
methods = st.sampled_from(
    ["test/release", "test/echo", "test/step", "test/unknown", "textDocument/hover", "initialize", "", 5]
)
params = st.sampled_from([None, {}, [], {"value": 1}, {"name": "n"}, {"name": 5}, "text", 7])
requests = st.builds(request, ids, methods, params)  # type: ignore[arg-type]
noise = st.sampled_from(
    [notification("test/x"), cancel(1), cancel("a"), {"jsonrpc": "2.0", "id": 1, "result": 1}, notification("$/y")]
)
broken = st.sampled_from([b"{", b"", b"[]", b"[1,2]", b"null", b"7"])


@settings(max_examples=60)
@given(st.lists(requests | noise | broken, max_size=20), st.integers(1, 200))
def test_one_response_a_request(messages: list[Json | bytes], piece: int) -> None:
    """Whatever is sent, in whatever pieces: as many responses as requests and broken bodies, with their ids."""

    async def run() -> None:
        async with connected(Tiny()) as peer:
            await peer.initialize()
            stream = b"".join(map(framed, messages))
            for at in range(0, len(stream), piece):
                peer.raw(stream[at : at + piece])
                await asyncio.sleep(0)
            peer.close_input()
            answers = await peer.all_to_the_end()
            assert sorted(map(repr, (answer["id"] for answer in answers))) == sorted(expected(messages))
            assert all(("result" in answer) != ("error" in answer) for answer in answers)

    asyncio.run(run())


def expected(messages: list[Json | bytes]) -> list[str]:
    answered = []
    for message in messages:
        if isinstance(message, bytes):
            answered.append("None")
        elif "id" in message and "method" in message:
            id = message["id"]
            answered.append("None" if isinstance(id, bool) else repr(id))
    return answered
