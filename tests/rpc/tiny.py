"""A server with a few methods of the tests, on the real bridge. `python -m tests.rpc.tiny` serves stdio.

`trace` records what handlers did, in order.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from pid.errors import EntryNotFound, PidError
from pid.protocol import InitializeParams, Wire
from pid.shell.late import Features
from pid.shell.rpc import RpcServer, after_response, register


class Nothing(Wire):
    """No params."""


class Echo(Wire):
    value: msgspec.Raw
    name: str | None = None


class Named(Wire):
    name: str
    seconds: float = 0.0


class Count(Wire):
    count: int
    size: int = 0


class Item(Wire):
    id: str
    index: int
    entry: msgspec.Raw | None = None


class Items(Wire):
    items: list[Any]
    after: str = "after"
    more: list[Any] | None = None
    text: msgspec.Raw | None = None


class Secret(Exception):
    """What must not reach a client."""


FEATURES = {
    "requests": frozenset({"textDocument/definition", "textDocument/implementation", "workspace/executeCommand"}),
    "notifications": frozenset({"textDocument/didSave"}),
}


class Tiny(RpcServer):
    def __init__(self, **options: Any) -> None:
        super().__init__(
            "tiny",
            "1.2.3",
            on_initialize=self.hello,
            on_shutdown=options.pop("on_shutdown", self.goodbye),
            features=Features(
                FEATURES["requests"], FEATURES["notifications"], {"definitionProvider": True}, self.bring
            ),
            **options,
        )
        self.trace: list[str] = []
        self.params: InitializeParams | None = None
        self.released = asyncio.Event()
        self.unstuck = asyncio.Event()
        for name, params, handler in METHODS:
            register(self, f"test/{name}", params, self.bound(handler))

    def bound(self, handler: Callable[["Tiny", Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def call(params: Any) -> Any:
            return await handler(self, params)

        return call

    def hello(self, params: InitializeParams) -> dict[str, Any]:
        self.params = params
        return {"protocolVersion": 1, "methods": ["test/echo"]}

    def bring(self) -> Callable[[Any], None]:
        """Imported late, as the daemon's features are."""
        from tests.rpc.features import add

        return lambda server: add(server, self.trace)

    async def goodbye(self) -> None:
        self.trace.append("goodbye")
        self.released.set()


async def echo(server: Tiny, params: Echo) -> Any:
    return {"value": params.value}


async def step(server: Tiny, params: Named) -> Any:
    """Traces its beginning, waits, traces its end or that it was cancelled."""
    server.trace.append(f"start {params.name}")
    try:
        await asyncio.sleep(params.seconds)
    except asyncio.CancelledError:
        server.trace.append(f"cancel {params.name}")
        raise
    server.trace.append(f"end {params.name}")
    return {"name": params.name}


async def hold(server: Tiny, params: Nothing) -> Any:
    await server.released.wait()
    return {"held": True}


async def release(server: Tiny, params: Nothing) -> Any:
    server.released.set()
    return None


async def write(server: Tiny, params: Named) -> Any:
    """What a cancel does not stop, as a write that has begun."""
    work = asyncio.ensure_future(asyncio.sleep(params.seconds))
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            server.trace.append("asked to cancel")
    return {"written": params.name}


async def stubborn(server: Tiny, params: Nothing) -> Any:
    """Does not end, and takes no cancel."""
    while not server.unstuck.is_set():
        try:
            await server.unstuck.wait()
        except asyncio.CancelledError:
            server.trace.append("stubborn")


async def thread(server: Tiny, params: Nothing) -> Any:
    """A call that blocks, in a thread that nothing can stop."""
    await asyncio.to_thread(time.sleep, 3600)


FAILURES: dict[str, Callable[[], Any]] = {
    "known": lambda: EntryNotFound("there is no entry e1", entryId="e1"),
    "crash": lambda: Secret("the secret"),
    "memory": lambda: MemoryError("the secret"),
    "recursion": lambda: RecursionError("the secret"),
    "cancelled": lambda: asyncio.CancelledError("the secret"),
    "bad data": lambda: PidError("data that does not serialise", thing=object()),
}


async def fail(server: Tiny, params: Named) -> Any:
    raise FAILURES[params.name]()


def circle() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


RESULTS: dict[str, Callable[[], Any]] = {
    "an object": object,
    "a set of objects": lambda: {object()},
    "a surrogate": lambda: {"text": "\ud800"},
    "a circle": circle,
    "deep in a large list": lambda: Items(items=[*range(1000), object()]),
    "NaN": lambda: {"value": float("nan"), "more": [float("inf")]},
    "keys": lambda: {"class": 1, "a-b": 2, "_u": 3, "type_name": 4, "jsonrpc": {"jsonrpc": "2.0"}},
    "nothing": lambda: None,
}


async def give(server: Tiny, params: Named) -> Any:
    return RESULTS[params.name]()


async def items(server: Tiny, params: Count) -> Any:
    entry = msgspec.Raw(b'"' + b"x" * params.size + b'"') if params.size else None
    return Items(items=[Item(id=f"e{index}", index=index, entry=entry) for index in range(params.count)])


async def raws(server: Tiny, params: Count) -> Any:
    return {"items": [msgspec.Raw(b'"' + b"y" * params.size + b'"')] * params.count}


async def ask(server: Tiny, params: Echo) -> Any:
    answer = await server.request(params.name or "client/question", {"question": params.value}, Any)
    return {"answer": answer}


async def tell(server: Tiny, params: Nothing) -> Any:
    server.notify("test/before", {"n": 1})
    after_response(lambda: server.notify("test/after", Item(id="e", index=2)))
    await asyncio.sleep(0)
    return {"told": True}


async def tell_from_thread(server: Tiny, params: Nothing) -> Any:
    await asyncio.to_thread(server.notify, "test/fromThread", {"n": 1})
    return None


async def noise(server: Tiny, params: Count) -> Any:
    """Prints to everything that is not the wire."""
    print("a stray print")
    os.write(1, b"a stray write\n")
    for _ in range(params.count):
        logging.getLogger("test").error("noise %s", "n" * params.size)
        print("more noise", file=sys.stderr)
    return None


METHODS: tuple[tuple[str, type[Wire], Callable[..., Awaitable[Any]]], ...] = (
    ("echo", Echo, echo),
    ("step", Named, step),
    ("hold", Nothing, hold),
    ("release", Nothing, release),
    ("write", Named, write),
    ("stubborn", Nothing, stubborn),
    ("thread", Nothing, thread),
    ("fail", Named, fail),
    ("give", Named, give),
    ("items", Count, items),
    ("raws", Count, raws),
    ("ask", Echo, ask),
    ("tell", Nothing, tell),
    ("tellFromThread", Nothing, tell_from_thread),
    ("noise", Count, noise),
)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    sys.exit(Tiny().serve())
