"""JSON-RPC for the rest of `pid`: LSP's life cycle and registered methods on `pid`'s own reader, envelope and writer.

    server = RpcServer("pid", __version__, on_initialize=…, on_shutdown=…)
    register(server, "session/append", AppendParams, append)
    sys.exit(server.serve())

A registered handler gets its params as a wire type and answers with a Struct or plain values, which must not
change afterwards; it raises `PidError` for what a client may see. Requests begin at once, in the order of their
arrival, each up to its first suspension, and go on in a task (`turns.begin`); `$/cancelRequest` cancels that until it
returns, then its result is what comes. LSP's features are pygls', loaded when a client asks for the first (`late`).
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import msgspec

from pid.core.framing import MAX_BODY
from pid.protocol import InitializeParams, Wire
from pid.shell.calls import CALL
from pid.shell.dispatch import Dispatch, Registered
from pid.shell.envelope import Raw, read_carried
from pid.shell.late import NO_FEATURES, Features, Foreign
from pid.shell.lifeline import patient_stderr
from pid.shell.questions import AnswerError, outgoing
from pid.shell.transport import stdio

__all__ = ["AnswerError", "RpcServer", "after_response", "listen", "register"]

logger = logging.getLogger(__name__)

P = TypeVar("P", bound=Wire)
T = TypeVar("T")

_THREADS: Final = 4  # of `asyncio.to_thread`
_THREADS_END_WITHIN: Final = 0.1  # seconds


async def _nothing_to_leave() -> None:
    return None


class RpcServer:
    """A server for one client.

    `on_initialize` gets the params of `initialize` and gives `capabilities.experimental.pid` of the answer (a
    mapping or a Struct); what it raises refuses the client. `on_shutdown` is awaited once, at `shutdown` or at
    the end of the connection, while requests that were received still run: it ends what does not end by itself
    (summaries) and waits for what must not be lost. All of it has well under a second.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        on_initialize: Callable[[InitializeParams], Mapping[str, Any] | msgspec.Struct],
        on_shutdown: Callable[[], Awaitable[None]] = _nothing_to_leave,
        features: Features = NO_FEATURES,
        max_message: int = MAX_BODY,
    ) -> None:
        self.name = name
        self.version = version
        self.on_initialize = on_initialize
        self.on_shutdown = on_shutdown
        self.features = features
        self.max_message = max_message
        self.methods: dict[str, Registered] = {}
        self.listeners: dict[str, Callable[[Raw], None]] = {}
        self.dispatch: Dispatch | None = None

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, from any thread. Raises what `msgspec.json.encode` raises."""
        if self.dispatch is None:
            logger.error("nothing can be sent before there is a client")
        else:
            self.dispatch.connection.send([outgoing(method, params)])

    async def request(self, method: str, params: Any, result: type[T]) -> T:
        """Ask the client, and give its answer as `result`.

        Raises AnswerError: the client answered with an error, or with what does not fit, or is gone. When the
        caller is cancelled, the client gets `$/cancelRequest`.
        """
        if self.dispatch is None:
            raise AnswerError(None, "there is no client yet")
        answer = await self.dispatch.questions.ask(method, params)
        try:
            return read_carried(answer, result)
        except (msgspec.DecodeError, RecursionError) as error:
            raise AnswerError(None, f"the client's answer to {method} does not fit: {error}") from None

    def greet(self, params: InitializeParams) -> dict[str, Any]:
        """The result of `initialize`."""
        experimental = {"experimental": {"pid": self.on_initialize(params)}}
        return {
            "capabilities": {**self.features.capabilities, **experimental},
            "serverInfo": {"name": self.name, "version": self.version},
        }

    async def leave(self) -> None:
        """The connection ends."""
        await self.on_shutdown()

    async def serve_on(self, reading: int, writing: int) -> int:
        """Serve the client on these descriptors to its end; the exit code: 0 after `shutdown`, else 1."""
        self.dispatch = dispatch = Dispatch(self, self.methods, self.listeners, self.features, self._bring)
        dispatch.connect(reading, writing, self.max_message)
        await dispatch.connection.run()
        return 1 if dispatch.shut_down_by is None else 0

    def serve(self) -> int:
        """Serve the client on stdin and stdout; the exit code. What cannot be stopped ends with the process."""
        loop = asyncio.new_event_loop()
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pid")
        loop.set_default_executor(threads)
        with patient_stderr(), stdio() as (reading, writing):
            code = loop.run_until_complete(self.serve_on(reading, writing))
        threads.shutdown(wait=False, cancel_futures=True)
        if asyncio.all_tasks(loop) or _threads_remain():
            os._exit(code)
        loop.close()
        return code

    def _bring(self, dispatch: Dispatch) -> Callable[[], Foreign]:
        """Imports pygls and what registers the handlers; the result makes them serve."""
        from pid.shell.bridge import bridge

        add = self.features.bring()
        return lambda: bridge(self.name, self.version, dispatch, add)


def register(server: RpcServer, method: str, params: type[P], handler: Callable[[P], Awaitable[Any]]) -> None:
    """Answer `method` with what `handler` gives for its params. Raises ValueError for a method that is taken."""
    if method in server.methods:
        raise ValueError(f"{method} is registered already")
    server.methods[method] = Registered(params, handler)


def listen(server: RpcServer, method: str, handler: Callable[[Raw], None]) -> None:
    """Give the params of each notification `method` to `handler`, at once and as they came.

    Raises ValueError for a method that is taken.
    """
    if method in server.listeners:
        raise ValueError(f"{method} is listened to already")
    server.listeners[method] = handler


def after_response(action: Callable[[], None]) -> None:
    """Do this right behind the answer to the running request; at once where none is being answered."""
    call = CALL.get()
    if call is None or call.answered:
        action()
    else:
        call.afterwards.append(action)


def _threads_remain() -> bool:
    """Whether a thread would keep the process from ending."""
    deadline = time.monotonic() + _THREADS_END_WITHIN
    others = [thread for thread in threading.enumerate() if not thread.daemon]
    for thread in others:
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
    return any(thread.is_alive() for thread in others if thread is not threading.current_thread())
