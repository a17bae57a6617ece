"""The seam to pygls: its protocol class, with `pid`'s own way in and out.

What pygls still does: the handlers of LSP's own methods, lsprotocol's types for them, the workspace, progress
tokens. What it does no more: read, frame, parse, encode, write, number its errors. Private names of pygls 2.1.1
are used in this file alone, and tests/rpc/test_pygls_seams.py holds them.
"""

import asyncio
import contextvars
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Generator
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import cattrs
import msgspec
from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress
from pygls.protocol import LanguageServerProtocol, lsp_method

from pid.errors import InvalidParams, PidError
from pid.protocol import InitializeParams, Wire, decode_params
from pid.shell import envelope
from pid.shell.calls import CALL, Call, Calls
from pid.shell.connection import FINISH_WITHIN, Connection
from pid.shell.envelope import Discarded, Fault, Id, Incoming, Message, Raw, ResponseError
from pid.shell.lifeline import watch_process
from pid.shell.transport import Buffer

if TYPE_CHECKING:
    from pid.shell.rpc import RpcServer

logger = logging.getLogger(__name__)

_LAST_CHANCE: Final = 0.05  # seconds that cancelled requests have for their own answer

Handler = Callable[[Any], Awaitable[Any]]


class Registered(NamedTuple):
    params: type[Wire]
    handler: Handler


class AnswerError(Exception):
    """The client answered a request with an error, with what does not fit, or went away (code None)."""

    def __init__(self, code: int | None, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ClearedProgress(Progress):
    """pygls' progress, which forgets a token when its work has ended."""

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        super().end(token, value)
        self.tokens.pop(token, None)


class Bridge(LanguageServerProtocol):
    """Messages in, handlers, messages out. `connect` comes first; all else runs on the connection's loop."""

    _server: "RpcServer"

    def __init__(self, server: "RpcServer", converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.progress = ClearedProgress(self)
        self.methods: dict[str, Registered] = {}
        self._calls: Calls
        self._asked: dict[Id, asyncio.Future[Raw]] = {}
        self._numbers = count(1)
        self._hello: InitializeParams | None = None
        self._initialized = False
        self._connection: Connection | None = None
        self._thread = 0
        self._draining: asyncio.Task[None] | None = None
        self._shutdown_id: Id | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def connect(self, reading: int, writing: int) -> Connection:
        """The connection that this bridge serves from now on, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._connection = Connection(self, reading, writing, self._server.max_message)
        self._calls = Calls(self._transmit, self._connection.wake, self._server.max_message)
        return self._connection

    def full(self) -> bool:
        return self._calls.full

    @property
    def was_shut_down(self) -> bool:
        return bool(self._shutdown)

    # What comes in

    def starts_task(self, message: Incoming) -> bool:
        return isinstance(message, Message) and message.method in self.methods

    def take(self, message: Incoming, size: int) -> None:
        try:
            if isinstance(message, Fault):
                self._calls.refuse(self._free(message.id), message.code, message.message)
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

    def _free(self, id: bytes) -> bytes:
        """The id for an error about a message that was not read: null if another request has it."""
        return b"null" if self._calls.get(msgspec.json.decode(id)) is not None else id

    def _requested(self, message: Message, id: Id, size: int) -> None:
        refusal = self._refusal(message.method, id)
        if refusal is not None:
            self._calls.refuse(envelope.encode(id), *refusal)
            return
        call = self._calls.open(id, size)
        method = self.methods.get(message.method)
        if method is not None:
            call.task = asyncio.Task(self._answer(call, method, message.params), loop=self._loop)
            return
        try:
            self._ask_pygls(message, id)
        except Exception as error:
            self._calls.fail(call, error)

    def _refusal(self, method: str, id: Id) -> tuple[int, str] | None:
        """Why a request is not let in: the code and the message of its error."""
        if self._calls.get(id) is not None:
            return envelope.INVALID_REQUEST, "a request with this id is not answered yet"
        if self._shutdown:
            return envelope.INVALID_REQUEST, "the server is shutting down"
        if self._initialized and method == types.INITIALIZE:
            return envelope.INVALID_REQUEST, "the server is initialized already"
        if not self._initialized and method != types.INITIALIZE:
            return envelope.NOT_INITIALIZED, "the first request must be initialize"
        if method not in self.methods and not self._pygls_takes(method, as_request=True):
            return envelope.METHOD_NOT_FOUND, f"no such method: {method[:100]}"
        return None

    async def _answer(self, call: Call, method: Registered, params: Raw) -> None:
        CALL.set(call)
        try:
            result = await method.handler(decode_params(method.params, params if len(params) else None))
        except (Exception, asyncio.CancelledError) as error:
            self._calls.fail(call, error)
        else:
            self._calls.reply(call, result)

    def _notified(self, message: Message) -> None:
        method = message.method
        if method == types.CANCEL_REQUEST:
            self._cancel_requested(message.params)
        elif method == types.EXIT:
            self.lsp_exit()
        elif not self._initialized or self._shutdown:
            logger.warning("ignored outside of the session: notification %.100s", method)
        elif self._pygls_takes(method, as_request=False):
            self._tell_pygls(message)
        elif not method.startswith("$/"):
            logger.warning("ignored: unknown notification %.100s", method)

    def _cancel_requested(self, params: Raw) -> None:
        try:
            wanted = msgspec.json.decode(params, type=_Cancel).id
        except msgspec.DecodeError as error:
            logger.warning("ignored: $/cancelRequest: %s", error)
            return
        call = self._calls.get(wanted)
        if call is not None:
            self._cancel(call)

    def _cancel(self, call: Call) -> None:
        call.cancelled = True
        if call.task is not None:
            call.task.cancel()
        elif call.id in self._request_futures:
            self._handle_cancel_notification(call.id)

    def _responded(self, message: Message, id: Id) -> None:
        answer = self._asked.get(id)
        if answer is None:
            self._tell_pygls_of_answer(message, id)
        elif answer.done():
            logger.debug("a response came too late: %s", id)
        elif message.error is envelope.ABSENT:
            answer.set_result(message.result)
        else:
            answer.set_exception(_answer_error(message.error))

    # To and from pygls

    def _pygls_takes(self, method: str, *, as_request: bool) -> bool:
        """Whether pygls has a handler for such a message; LSP says which methods are requests."""
        if method not in self.fm.builtin_features and method not in self.fm.features:
            return False
        return method not in types.METHOD_TO_TYPES or as_request is bool(self.get_result_type(method))

    def _ask_pygls(self, message: Message, id: Id) -> None:
        if message.method == types.INITIALIZE:
            self._hello = decode_params(InitializeParams, message.params if len(message.params) else None)
        data = self._structured(message)
        if isinstance(data, dict):
            contextvars.copy_context().run(self._handle_request, id, message.method, data.get("params"))
        else:
            self.handle_message(data)

    def _tell_pygls(self, message: Message) -> None:
        data = self._structured(message)
        if isinstance(data, dict):
            contextvars.copy_context().run(self._handle_notification, message.method, data.get("params"))
        else:
            self.handle_message(data)

    def _tell_pygls_of_answer(self, message: Message, id: Id) -> None:
        """A response to what pygls itself asked, such as `client/registerCapability`."""
        if id not in self._request_futures:
            logger.warning("ignored: a response to no request: %s", id)
            return
        data: dict[str, Any] = {"jsonrpc": "2.0", "id": id}
        for name, value in (("result", message.result), ("error", message.error)):
            if value is not envelope.ABSENT:
                data[name] = msgspec.json.decode(value)
        self.handle_message(self.structure_message(data))

    def _structured(self, message: Message) -> Any:
        """The message as lsprotocol's type; raises InvalidParams. A method unknown to LSP stays a dict."""
        data: dict[str, Any] = {"jsonrpc": "2.0", "method": message.method}
        if message.id is not msgspec.UNSET:
            data["id"] = message.id
        params = _plain_params(message)
        if params is not None:
            data["params"] = params
        if self.get_message_type(message.method) is None:
            return data
        if message.method == types.INITIALIZE:
            params["capabilities"] = self._known(params["capabilities"] or {})
        try:
            return self.structure_message(data)
        except JsonRpcException as error:
            raise _invalid_params(error) from None

    def _known(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        """The client's capabilities without the sections that lsprotocol cannot read: later LSPs name more."""
        known = {}
        for name, section in capabilities.items():
            try:
                self._converter.structure({name: section}, types.ClientCapabilities)
                known[name] = section
            except Exception as error:
                logger.warning("ignored: the client's capabilities for %.100s: %r", name, type(error))
        return known

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        assert self._hello is not None
        experimental = self._server.on_initialize(self._hello)
        result = yield from super().lsp_initialize(params)
        if types.TEXT_DOCUMENT_DID_OPEN not in self.fm.features:
            result.capabilities.text_document_sync = None
        result.capabilities.experimental = {"pid": msgspec.to_builtins(experimental)}
        if self._hello.process_id is not None:
            self._unwatch = watch_process(self._hello.process_id, self._orphaned)
        self._initialized = True
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        self._shutdown = True
        self._shutdown_id = self.msg_id
        yield self.drain, (FINISH_WITHIN,), None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        if self._connection is not None:
            self._connection.end("exit", discard=True)

    def _orphaned(self) -> None:
        if self._connection is not None:
            self._connection.end("the process of the client is gone")

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """What a handler of pygls' gave becomes the answer."""
        self._request_futures.pop(msg_id, None)
        call = self._calls.get(msg_id)
        if call is None:
            logger.error("a handler answered a request that is not open")
        elif future.cancelled():
            call.cancelled = True
            self._calls.fail(call, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self._calls.fail(call, error)
        else:
            self._calls.reply(call, self._plain(future.result()))

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        """What pygls answers by itself: that a request failed before its handler ran."""
        call = self._calls.get(msg_id)
        if call is None:
            logger.error("an answer to a request that is not open")
        elif error is None:
            self._calls.reply(call, self._plain(result))
        else:
            self._calls.fail(call, JsonRpcException(error.message, error.code))

    def _plain(self, result: Any) -> Any:
        """lsprotocol's objects as plain values; `pid`'s own are ready to be encoded."""
        own = result is None or isinstance(result, msgspec.Struct | Raw)
        return result if own else self._converter.unstructure(result)

    def _send_data(self, data: Any) -> None:
        """A request or notification of pygls' own."""
        self._transmit([envelope.encode(self._converter.unstructure(data))])

    # What goes out

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; `params` are a Struct, plain values or, for LSP's own, lsprotocol's type."""
        if method in types.METHOD_TO_TYPES and not isinstance(params, msgspec.Struct | dict):
            super().notify(method, params)
        else:
            self._transmit([_outgoing(method, params)])

    async def request(self, method: str, params: Any) -> Raw:
        """Ask the client. Raises AnswerError. Cancelling the caller sends `$/cancelRequest` to the client."""
        if self._draining is not None:
            raise _gone()
        number = next(self._numbers)
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._asked[number] = answer
        try:
            self._transmit([_outgoing(method, params, number)])
            return await answer
        except asyncio.CancelledError:
            self._transmit([_outgoing(types.CANCEL_REQUEST, {"id": number})])
            raise
        finally:
            del self._asked[number]

    def _transmit(self, parts: list[Buffer]) -> None:
        if self._connection is None:
            logger.error("nothing can be sent before there is a client")
        elif threading.get_ident() == self._thread:
            self._connection.send(parts)
        else:
            self._loop.call_soon_threadsafe(self._connection.send, parts)

    # The end

    async def drain(self, grace: float) -> None:
        """Let open requests end within `grace` seconds, and cancel those that do not. Done once.

        The server's `on_shutdown` runs meanwhile: it ends what does not end by itself.
        """
        if self._draining is None:
            self._draining = self._loop.create_task(self._drain(self._loop.time() + grace))
        await asyncio.shield(self._draining)
        own = self.msg_id  # at `shutdown` its id, which is answered when this returns; at the end None
        await self._calls.quiet(self._loop.time() + _LAST_CHANCE, but=own)

    async def _drain(self, deadline: float) -> None:
        leaving = self._loop.create_task(self._leave())
        await self._calls.quiet(deadline, self._shutdown_id)
        for call in self._calls.others(self._shutdown_id):
            self._cancel(call)
        await self._calls.quiet(self._loop.time() + _LAST_CHANCE, self._shutdown_id)
        for call in self._calls.others(self._shutdown_id):
            self._calls.fail(call, _unfinished())
        await asyncio.wait([leaving], timeout=max(_LAST_CHANCE, deadline - self._loop.time()))

    async def _leave(self) -> None:
        self._unwatch()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(_gone())
        try:
            await self._server.on_shutdown()
        except Exception:
            logger.exception("leaving failed")


class _Cancel(msgspec.Struct):
    id: Id


_WITHOUT_PARAMS: Final = frozenset({types.SHUTDOWN, types.EXIT})


def _gone() -> AnswerError:
    return AnswerError(None, "the client is not there any more")


def _unfinished() -> PidError:
    """Not -32800, which says that nothing was written."""
    return PidError("the daemon ended before this was done", retryable=True, outcome="unknown")


def _plain_params(message: Message) -> Any:
    """The params for lsprotocol: absent, null and `[]` are an empty object, `initialize` may leave out all."""
    if message.method in _WITHOUT_PARAMS:
        return None
    params = (msgspec.json.decode(message.params) if len(message.params) else None) or {}
    if message.method == types.INITIALIZE:
        params = {"processId": None, "capabilities": {}, **params}
    return params


def _invalid_params(error: JsonRpcException) -> InvalidParams:
    """What lsprotocol's converter complains of, with the path of the first field that is wrong."""
    cause = error.__cause__
    problem = transform_error(cause)[0] if isinstance(cause, Exception) else "they do not fit the method"
    what, _, where = problem.partition(" @ $")
    path = re.sub("_([a-z])", lambda found: found[1].upper(), where.removeprefix(".params").removeprefix("."))
    return InvalidParams(f"{path or 'params'}: {what}", path=path)


def _answer_error(raw: Raw) -> AnswerError:
    try:
        error = msgspec.json.decode(raw, type=ResponseError)
    except (msgspec.DecodeError, RecursionError):
        return AnswerError(None, "the client answered with an error that does not fit JSON-RPC")
    return AnswerError(error.code, error.message, error.data)


def _outgoing(method: str, params: Any, id: int | None = None) -> bytes:
    """The body of a notification, or of a request with `id`."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return envelope.encode(message)
