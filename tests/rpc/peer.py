"""A client of the tests: on pipes to a server in the same loop, or to a process."""

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from pid.core.framing import Body, Event, Framer, header
from pid.shell.rpc import RpcServer
from pid.shell.transport import Reader, Writer

Json = dict[str, Any]
WITHIN = 10.0  # seconds; a bound for a hang, not a figure


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return header(len(body)) + body


def request(id: Any, method: str, params: Any = None) -> Json:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> Json:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def cancel(id: Any) -> Json:
    return notification("$/cancelRequest", {"id": id})


class Peer:
    """The client's end. Messages are kept in `came`, in order, as they arrive."""

    def __init__(self, reading: int, writing: int) -> None:
        self.came: list[Json] = []
        self.bytes_came = 0
        self.ended = False
        self._moved = asyncio.Event()
        self._numbers = itertools.count(1)
        self._descriptors = {reading, writing}
        self._writing = writing
        self.reader = Reader(reading, Framer(), self._deliver, self._end)
        self.writer = Writer(writing, self._moved.set, self._moved.set)

    def _deliver(self, events: list[Event]) -> None:
        for event in events:
            assert isinstance(event, Body), event
            self.bytes_came += len(event.data)
            self.came.append(json.loads(event.data, parse_constant=_no_constant))
        self._moved.set()

    def _end(self) -> None:
        self.ended = True
        self._moved.set()

    def raw(self, data: bytes) -> None:
        self.writer.send([data])

    def send(self, *messages: Any) -> None:
        """Frame and send, all in one write."""
        self.raw(b"".join(map(framed, messages)))

    async def written(self) -> None:
        """All that was sent has left."""
        async with asyncio.timeout(WITHIN):
            self.writer.flush()
            while self.writer.queued:
                self._moved.clear()
                await self._moved.wait()

    async def until(self, count: int) -> list[Json]:
        """All that came, once that is `count` messages or more."""
        async with asyncio.timeout(WITHIN):
            while len(self.came) < count:
                assert not self.ended, f"the server ended after {self.came}"
                self._moved.clear()
                await self._moved.wait()
        return self.came

    async def answer(self, id: Any) -> Json:
        """The response with this id, taken out of what came."""
        async with asyncio.timeout(WITHIN):
            while True:
                for index, message in enumerate(self.came):
                    if "method" not in message and message["id"] == id:
                        return self.came.pop(index)
                assert not self.ended, f"no answer to {id} among {self.came}"
                self._moved.clear()
                await self._moved.wait()

    async def call(self, method: str, params: Any = None) -> Json:
        """The response to a new request."""
        id = next(self._numbers)
        self.send(request(id, method, params))
        return await self.answer(id)

    async def initialize(self, params: Any = None) -> Any:
        answer = await self.call("initialize", {} if params is None else params)
        self.send(notification("initialized", {}))
        return answer["result"]

    async def all_to_the_end(self) -> list[Json]:
        """All that came, once the server has closed its end."""
        async with asyncio.timeout(WITHIN):
            while not self.ended:
                self._moved.clear()
                await self._moved.wait()
        return self.came

    def close_input(self) -> None:
        """End the server's input, behind what it was sent already."""
        self.writer.flush()
        assert not self.writer.queued
        self.writer.close()
        self._descriptors.discard(self._writing)
        os.close(self._writing)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()
        for descriptor in self._descriptors:
            os.close(descriptor)


class Local(Peer):
    """With the server's task, whose result is the exit code."""

    served: "asyncio.Task[int]"

    async def code(self) -> int:
        async with asyncio.timeout(WITHIN):
            return await self.served


@contextlib.asynccontextmanager
async def connected(server: RpcServer, *, reads: bool = True) -> AsyncIterator[Local]:
    """A client of `server` in this loop; it reads at once if it `reads`."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    peer = Local(our_in, our_out)
    peer.served = asyncio.create_task(server.serve_on(their_in, their_out))
    peer.served.add_done_callback(lambda _: os.close(their_out))
    os.set_blocking(our_in, False)
    os.set_blocking(our_out, False)
    if reads:
        peer.reader.start()
    try:
        yield peer
    finally:
        peer.served.cancel()
        await asyncio.wait([peer.served])
    peer.close()
    os.close(their_in)


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")
