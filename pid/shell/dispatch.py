"""From a message to who handles it, and the life cycle of LSP: who may ask what, and when.

The handler of a registered method begins at once, and goes on in a task if it has to wait; a notification goes to its
listener at once. LSP's features are handed to pygls, once it is loaded (`late`).
What is out of turn is refused here: before `initialize`, after `shutdown`, with an id that is open, for a method
that nobody has.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from pid.errors import PidError
from pid.protocol import InitializeParams, Wire, decode_params
from pid.service.turns import begin
from pid.shell import envelope
from pid.shell.calls import CALL, Call, Calls
from pid.shell.connection import FINISH_WITHIN, Connection
from pid.shell.envelope import Discarded, Fault, Id, Incoming, Message, Raw
from pid.shell.late import Features, Foreign, Late
from pid.shell.lifeline import watch_process
from pid.shell.questions import Questions

logger = logging.getLogger(__name__)

_LIFE: Final = frozenset({"initialize", "shutdown"})
_UNHEARD: Final = frozenset({"initialized", "workspace/didChangeConfiguration"})
"""Notifications that clients send unasked, and that ask for nothing."""

_LAST_CHANCE: Final = 0.05  # seconds that cancelled requests have for their own answer


class Registered(NamedTuple):
    params: type[Wire]
    handler: Callable[[Any], Awaitable[Any]]


class Host(Protocol):
    """Whose requests these are."""

    def greet(self, params: InitializeParams) -> Any:
        """The result of `initialize`. What it raises refuses the client."""

    async def leave(self) -> None:
        """The connection ends: end what does not end by itself. Called once."""


Load = Callable[["Dispatch"], Callable[[], Foreign]]
"""Imports what serves LSP's features, in a thread; what it gives is called on the loop."""


class Dispatch:
    """The receiver of one connection: `connect` comes first, all else runs on the connection's loop."""

    calls: Calls
    questions: Questions
    connection: Connection

    def __init__(
        self,
        host: Host,
        methods: dict[str, Registered],
        listeners: dict[str, Callable[[Raw], None]],
        features: Features,
        load: Load,
    ) -> None:
        self._host = host
        self._methods = methods
        self._listeners = listeners
        self._foreign = Late(features, lambda: load(self), self._unhandled)
        self._unwatch: Callable[[], None] = _nothing
        self.hello: Message | None = None
        """`initialize`, as it came."""
        self._draining: asyncio.Task[None] | None = None
        self.shut_down_by: Id | None = None
        """The request for `shutdown`, once it has come."""

    def connect(self, reading: int, writing: int, max_message: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.connection = Connection(self, reading, writing, max_message)
        self.calls = Calls(self.connection.send, self.connection.wake, max_message)
        self.questions = Questions(self.connection.send)

    # What the connection asks

    def full(self) -> bool:
        return self.calls.full

    def take(self, message: Incoming, size: int) -> None:
        try:
            if isinstance(message, Fault):
                self.calls.refuse(self._free(message.id), message.code, message.message)
            elif isinstance(message, Discarded):
                logger.warning("ignored: %s", message.reason)
            elif message.id is msgspec.UNSET:
                self._notified(message)
            elif message.method:
                self._requested(message, message.id, size)
            else:
                self._responded(message, message.id)
        except Exception:
            logger.exception("a message could not be handled")

    async def drain(self, grace: float) -> None:
        """Let open requests end within `grace` seconds, and cancel those that do not. Done once.

        The host's `leave` runs meanwhile. Of `shutdown`, which waits for this itself, the answer goes out last.
        """
        if self._draining is None:
            self._draining = self._loop.create_task(self._drain(self._loop.time() + grace))
        await asyncio.shield(self._draining)

    async def settle(self) -> None:
        """What `drain` leaves: the answer to `shutdown`."""
        await self.calls.quiet(self._loop.time() + _LAST_CHANCE)

    # What comes in

    def _free(self, id: bytes) -> bytes:
        """The id for an error about a message that was not read: null if another request has it."""
        return b"null" if self.calls.get(msgspec.json.decode(id)) is not None else id

    def _requested(self, message: Message, id: Id, size: int) -> None:
        refusal = self._refusal(message.method, id)
        if refusal is not None:
            self.calls.refuse(envelope.encode(id), *refusal)
            return
        call = self.calls.open(id, size)
        method = self._methods.get(message.method)
        if method is not None:
            call.task = begin(self._answer(call, method, message.params))
            return
        try:
            match message.method:
                case "initialize":
                    self.calls.reply(call, self._greeting(message))
                case "shutdown":
                    self.shut_down_by = id
                    call.task = self._loop.create_task(self._shut_down(call))
                case _:
                    self._foreign.ask(message, id)
        except Exception as error:
            self.calls.fail(call, error)

    def _greeting(self, message: Message) -> Any:
        hello = decode_params(InitializeParams, message.params if len(message.params) else None)
        result = self._host.greet(hello)
        if hello.process_id is not None:
            self._unwatch = watch_process(hello.process_id, self._orphaned)
        self.hello = message
        return result

    def _orphaned(self) -> None:
        self.connection.end("the process of the client is gone")

    async def _shut_down(self, call: Call) -> None:
        await self.drain(FINISH_WITHIN)
        self.calls.reply(call, None)

    def _unhandled(self, id: Id, error: BaseException) -> None:
        if (call := self.calls.get(id)) is not None:
            self.calls.fail(call, error)

    def _refusal(self, method: str, id: Id) -> tuple[int, str] | None:
        """Why a request is not let in: the code and the message of its error."""
        if self.calls.get(id) is not None:
            return envelope.INVALID_REQUEST, "a request with this id is not answered yet"
        if self.shut_down_by is not None:
            return envelope.INVALID_REQUEST, "the server is shutting down"
        if self.hello is None:
            return (
                None if method == "initialize" else (envelope.NOT_INITIALIZED, "the first request must be initialize")
            )
        if method == "initialize":
            return envelope.INVALID_REQUEST, "the server is initialized already"
        if not (method in self._methods or method in _LIFE or self._foreign.takes(method, as_request=True)):
            return envelope.METHOD_NOT_FOUND, f"no such method: {method[:100]}"
        return None

    async def _answer(self, call: Call, method: Registered, params: Raw) -> None:
        CALL.set(call)
        try:
            result = await method.handler(decode_params(method.params, params if len(params) else None))
        except (Exception, asyncio.CancelledError) as error:
            self.calls.fail(call, error)
        else:
            self.calls.reply(call, result)

    def _notified(self, message: Message) -> None:
        method = message.method
        if method == "$/cancelRequest":
            self._cancel_requested(message.params)
        elif method == "exit":
            self.connection.end("exit", discard=True)
        elif self.hello is None or self.shut_down_by is not None:
            logger.warning("ignored outside of the session: notification %.100s", method)
        elif (listener := self._listeners.get(method)) is not None:
            listener(message.params)
        elif self._foreign.takes(method, as_request=False):
            self._foreign.tell(message)
        elif method not in _UNHEARD and not method.startswith("$/"):
            logger.warning("ignored: unknown notification %.100s", method)

    def _cancel_requested(self, params: Raw) -> None:
        try:
            call = self.calls.get(msgspec.json.decode(params, type=_Cancel).id)
        except msgspec.DecodeError as error:
            logger.warning("ignored: $/cancelRequest: %s", error)
            return
        if call is not None:
            self._cancel(call)

    def _responded(self, message: Message, id: Id) -> None:
        if self.questions.answered(message, id) or self._foreign.answered(message, id):
            return
        if message.result is envelope.ABSENT and message.error is envelope.ABSENT:
            problem = "a message needs a method, a result or an error"
            self.calls.refuse(envelope.encode(id), envelope.INVALID_REQUEST, problem)
        else:
            logger.warning("ignored: a response to no request: %.100s", id)

    # The end

    def _cancel(self, call: Call) -> None:
        call.cancelled = True
        if call.task is not None:
            call.task.cancel()
        else:
            self._foreign.cancel(call.id)

    async def _drain(self, deadline: float) -> None:
        self.questions.give_up()
        leaving = self._loop.create_task(self._leave())
        await self.calls.quiet(deadline, self.shut_down_by)
        for call in self.calls.others(self.shut_down_by):
            self._cancel(call)
        await self.calls.quiet(self._loop.time() + _LAST_CHANCE, self.shut_down_by)
        for call in self.calls.others(self.shut_down_by):
            self.calls.fail(call, _unfinished())
        await asyncio.wait([leaving], timeout=max(_LAST_CHANCE, deadline - self._loop.time()))

    async def _leave(self) -> None:
        self._unwatch()
        try:
            await self._host.leave()
        except Exception:
            logger.exception("leaving failed")


class _Cancel(msgspec.Struct):
    id: Id


def _nothing() -> None:
    return None


def _unfinished() -> PidError:
    """Not -32800, which says that nothing was written."""
    return PidError("the daemon ended before this was done", retryable=True, outcome="unknown")
