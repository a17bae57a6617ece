"""The seam to pygls: its protocol class, with `pid`'s own way in and out. Importing this loads lsprotocol's types.

What pygls does: the handlers of LSP's features, lsprotocol's types for them, the workspace. What it does no more:
read, frame, parse, dispatch, encode, write, number its errors, begin and end the session. Private names of
pygls 2.1.1 are used in this file alone, and tests/rpc/test_pygls_seams.py holds them.
"""

import asyncio
import contextvars
import logging
import re
from collections.abc import Callable
from typing import Any

import cattrs
import msgspec
from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.protocol import LanguageServerProtocol

from pid.errors import InvalidParams
from pid.shell import envelope
from pid.shell.calls import RpcError
from pid.shell.dispatch import Dispatch
from pid.shell.envelope import Id, Message, Raw
from pid.shell.questions import outgoing

logger = logging.getLogger(__name__)


def bridge(name: str, version: str, dispatch: Dispatch, add: Callable[[LanguageServer], None]) -> "Bridge":
    """pygls behind `dispatch`, initialized as its client said, with the features that `add` registers."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it would log messages, and what we log better
    server = FeatureServer(name, version, types.TextDocumentSyncKind.Incremental, protocol_cls=Bridge)
    add(server)
    server.protocol.connect(dispatch)
    return server.protocol


class FeatureServer(LanguageServer):
    """Where handlers are registered with `feature` and `command`."""

    protocol: "Bridge"

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what pygls could not tell a client as the answer to a request."""
        logger.error("a handler failed", exc_info=error)


class ClearedProgress(Progress):
    """pygls' progress, which forgets a token when its work has ended."""

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        super().end(token, value)
        self.tokens.pop(token, None)


class Bridge(LanguageServerProtocol):
    """pygls as the `Foreign` side of a `Dispatch`. `connect` comes first."""

    dispatch: Dispatch

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.progress = ClearedProgress(self)
        self.capabilities: types.ServerCapabilities
        """What pygls would have answered to `initialize`."""

    def connect(self, dispatch: Dispatch) -> None:
        """Serve the client of `dispatch`, which has been greeted."""
        assert dispatch.hello is not None
        self.dispatch = dispatch
        hello: types.InitializeRequest = self._structured(dispatch.hello)
        greeting = self.lsp_initialize(hello.params)
        try:
            next(greeting)
        except StopIteration as stop:
            self.capabilities = stop.value.capabilities

    # What the dispatch asks

    def ask(self, message: Message, id: Id) -> None:
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
            data["result"] = envelope.read_carried(message.result or Raw(b"null"))
        else:
            data["error"] = envelope.read_carried(message.error)
        self.handle_message(self.structure_message(data))
        return True

    def cancel(self, id: Id) -> None:
        if id in self._request_futures:
            self._handle_cancel_notification(id)

    # From pygls

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """What a handler of pygls' gave becomes the answer."""
        self._request_futures.pop(msg_id, None)
        call = self.dispatch.calls.get(msg_id)
        if call is None:
            logger.error("a handler answered a request that is not open")
        elif future.cancelled():
            self.dispatch.calls.fail(call, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self.dispatch.calls.fail(call, _own(error))
        else:
            self.dispatch.calls.reply(call, self._plain(future.result()))

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        """What pygls answers by itself: that a request failed before its handler ran."""
        call = self.dispatch.calls.get(msg_id)
        if call is None:
            logger.error("an answer to a request that is not open")
        elif error is None:
            self.dispatch.calls.reply(call, self._plain(result))
        else:
            self.dispatch.calls.fail(call, _own(JsonRpcException(error.message, error.code)))

    def _send_data(self, data: Any) -> None:
        """A request or notification of pygls' own."""
        self.dispatch.connection.send([envelope.encode(self._converter.unstructure(data))])

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; `params` are a Struct, plain values or, for LSP's own, lsprotocol's type."""
        if method in types.METHOD_TO_TYPES and not isinstance(params, msgspec.Struct | dict):
            super().notify(method, params)
        else:
            self.dispatch.connection.send([outgoing(method, params)])

    # lsprotocol's types

    def _plain(self, result: Any) -> Any:
        """lsprotocol's objects as plain values; `pid`'s own, and lists of them, are ready to be encoded."""
        first = result[0] if isinstance(result, list) and result else result
        own = first is None or isinstance(first, msgspec.Struct | Raw)
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


def _plain_params(message: Message) -> Any:
    """The params for lsprotocol: absent, null and `[]` are an empty object, `initialize` may leave out all."""
    params: Any = envelope.read_carried(message.params) if len(message.params) else {}
    if params is None or params == []:
        params = {}
    if message.method == types.INITIALIZE:
        params = {"processId": None, "capabilities": {}, **params}
    return params


def _own(error: BaseException) -> BaseException:
    """pygls' errors that carry a code of their own as ours; what failed in any other way stays as it is."""
    if isinstance(error, JsonRpcException) and error.code != envelope.INTERNAL_ERROR:
        return RpcError(error.code, error.message, error.data if isinstance(error.data, dict) else None)
    return error


def _invalid_params(error: JsonRpcException) -> InvalidParams:
    """What lsprotocol's converter complains of, with the path of the first field that is wrong."""
    cause = error.__cause__
    problem = transform_error(cause)[0] if isinstance(cause, Exception) else "they do not fit the method"
    what, _, where = problem.partition(" @ $")
    path = where.removeprefix(".params").removeprefix(".")
    path = re.sub("_([a-z])", lambda found: found[1].upper(), path)
    return InvalidParams(f"{path or 'params'}: {what}", path=path)
