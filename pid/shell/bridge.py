"""The seam to pygls: its protocol class, with `pid`'s own way in and out.

What pygls still does: the handlers of LSP's own methods, lsprotocol's types for them, the workspace, progress
tokens. What it does no more: read, frame, parse, dispatch, encode, write, number its errors. Private names of
pygls 2.1.1 are used in this file alone, and tests/rpc/test_pygls_seams.py holds them.
"""

import asyncio
import contextvars
import logging
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import cattrs
import msgspec
from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress
from pygls.protocol import LanguageServerProtocol, lsp_method

from pid.errors import InvalidParams
from pid.protocol import InitializeParams, decode_params
from pid.shell import envelope
from pid.shell.connection import FINISH_WITHIN
from pid.shell.dispatch import Dispatch, Registered
from pid.shell.envelope import Id, Message, Raw
from pid.shell.lifeline import watch_process
from pid.shell.questions import outgoing
from pid.shell.transport import Buffer

if TYPE_CHECKING:
    from pid.shell.rpc import RpcServer

logger = logging.getLogger(__name__)


class ClearedProgress(Progress):
    """pygls' progress, which forgets a token when its work has ended."""

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        super().end(token, value)
        self.tokens.pop(token, None)


class Bridge(LanguageServerProtocol):
    """pygls as the `Foreign` side of a `Dispatch`. `connect` comes first."""

    _server: "RpcServer"

    def __init__(self, server: "RpcServer", converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.progress = ClearedProgress(self)
        self.methods: dict[str, Registered] = {}
        self.listeners: dict[str, Callable[[Raw], None]] = {}
        self.dispatch: Dispatch | None = None
        self._hello: InitializeParams | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def connect(self, reading: int, writing: int) -> Dispatch:
        """The dispatch of the client on these descriptors, on the running loop."""
        self.dispatch = Dispatch(self, self.methods, self.listeners)
        self.dispatch.connect(reading, writing, self._server.max_message)
        return self.dispatch

    # What the dispatch asks

    def takes(self, method: str, *, as_request: bool) -> bool:
        """LSP says which of its methods are requests; pygls' features beside it may be both."""
        if method not in self.fm.builtin_features and method not in self.fm.features:
            return False
        return method not in types.METHOD_TO_TYPES or as_request is bool(self.get_result_type(method))

    def ask(self, message: Message, id: Id) -> None:
        if message.method == types.INITIALIZE:
            self._hello = decode_params(InitializeParams, message.params if len(message.params) else None)
        data = self._structured(message)
        if isinstance(data, dict):
            contextvars.copy_context().run(self._handle_request, id, message.method, data.get("params"))
        else:
            self.handle_message(data)

    def tell(self, message: Message) -> None:
        data = self._structured(message)
        if isinstance(data, dict):
            contextvars.copy_context().run(self._handle_notification, message.method, data.get("params"))
        else:
            self.handle_message(data)

    def answered(self, message: Message, id: Id) -> bool:
        """A response to what pygls itself asked, such as `client/registerCapability`."""
        if id not in self._request_futures:
            return False
        data: dict[str, Any] = {"jsonrpc": "2.0", "id": id}
        if message.error is envelope.ABSENT:
            data["result"] = msgspec.json.decode(message.result or b"null")
        else:
            data["error"] = msgspec.json.decode(message.error)
        self.handle_message(self.structure_message(data))
        return True

    def cancel(self, id: Id) -> None:
        if id in self._request_futures:
            self._handle_cancel_notification(id)

    async def leave(self) -> None:
        self._unwatch()
        try:
            await self._server.on_shutdown()
        except Exception:
            logger.exception("leaving failed")

    # The life cycle

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        assert self._hello is not None
        assert self.dispatch is not None
        experimental = self._server.on_initialize(self._hello)
        result = yield from super().lsp_initialize(params)
        if types.TEXT_DOCUMENT_DID_OPEN not in self.fm.features:
            result.capabilities.text_document_sync = None
        for name, offer in self._server.offers.items():
            setattr(result.capabilities, name, offer)
        result.capabilities.experimental = {"pid": msgspec.to_builtins(experimental)}
        if self._hello.process_id is not None:
            self._unwatch = watch_process(self._hello.process_id, self._orphaned)
        self.dispatch.initialized = True
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        assert self.dispatch is not None
        self.dispatch.shut_down_by = self.msg_id
        yield self.dispatch.drain, (FINISH_WITHIN,), None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        """Nothing: the dispatch ends the connection. pygls would end the process."""

    def _orphaned(self) -> None:
        assert self.dispatch is not None
        self.dispatch.connection.end("the process of the client is gone")

    # From pygls

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """What a handler of pygls' gave becomes the answer."""
        self._request_futures.pop(msg_id, None)
        call = self.dispatch.calls.get(msg_id) if self.dispatch else None
        if self.dispatch is None or call is None:
            logger.error("a handler answered a request that is not open")
        elif future.cancelled():
            self.dispatch.calls.fail(call, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self.dispatch.calls.fail(call, error)
        else:
            self.dispatch.calls.reply(call, self._plain(future.result()))

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        """What pygls answers by itself: that a request failed before its handler ran."""
        call = self.dispatch.calls.get(msg_id) if self.dispatch else None
        if self.dispatch is None or call is None:
            logger.error("an answer to a request that is not open")
        elif error is None:
            self.dispatch.calls.reply(call, self._plain(result))
        else:
            self.dispatch.calls.fail(call, JsonRpcException(error.message, error.code))

    def _send_data(self, data: Any) -> None:
        """A request or notification of pygls' own."""
        self._transmit([envelope.encode(self._converter.unstructure(data))])

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; `params` are a Struct, plain values or, for LSP's own, lsprotocol's type."""
        if method in types.METHOD_TO_TYPES and not isinstance(params, msgspec.Struct | dict):
            super().notify(method, params)
        else:
            self._transmit([outgoing(method, params)])

    def _transmit(self, parts: list[Buffer]) -> None:
        if self.dispatch is None:
            logger.error("nothing can be sent before there is a client")
        else:
            self.dispatch.connection.send(parts)

    # lsprotocol's types

    def _plain(self, result: Any) -> Any:
        """lsprotocol's objects as plain values; `pid`'s own are ready to be encoded."""
        own = result is None or isinstance(result, msgspec.Struct | Raw)
        return result if own else self._converter.unstructure(result)

    def _structured(self, message: Message) -> Any:
        """The message as lsprotocol's type; raises InvalidParams. A method unknown to LSP stays a dict."""
        data: dict[str, Any] = {"jsonrpc": "2.0", "method": message.method}
        if message.id is not msgspec.UNSET:
            data["id"] = message.id
        try:
            params = _plain_params(message)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidParams(f"params: {error}", path="") from None
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


_WITHOUT_PARAMS = frozenset({types.SHUTDOWN, types.EXIT})


def _plain_params(message: Message) -> Any:
    """The params for lsprotocol: absent, null and `[]` are an empty object, `initialize` may leave out all."""
    if message.method in _WITHOUT_PARAMS:
        return None
    params = msgspec.json.decode(message.params) if len(message.params) else {}
    if params is None or params == []:
        params = {}
    if message.method == types.INITIALIZE:
        params = {"processId": None, "capabilities": {}, **params}
    return params


def _invalid_params(error: JsonRpcException) -> InvalidParams:
    """What lsprotocol's converter complains of, with the path of the first field that is wrong."""
    cause = error.__cause__
    problem = transform_error(cause)[0] if isinstance(cause, Exception) else "they do not fit the method"
    what, _, where = problem.partition(" @ $")
    path = where.removeprefix(".params").removeprefix(".")
    path = re.sub("_([a-z])", lambda found: found[1].upper(), path)
    return InvalidParams(f"{path or 'params'}: {what}", path=path)
