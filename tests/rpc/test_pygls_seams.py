"""What `pid.shell.bridge` takes for granted of pygls 2.1.1. A new version of pygls has to pass these first."""

import asyncio
import inspect
from importlib.metadata import version

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.feature_manager import FeatureManager
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.protocol import LanguageServerProtocol

from pid.shell.bridge import Bridge


def test_the_version_is_the_one_that_was_read() -> None:
    assert version("pygls") == "2.1.1"


CALLED = {  # what we call
    "_handle_request": ["msg_id", "method_name", "params"],
    "_handle_notification": ["method_name", "params"],
    "_handle_cancel_notification": ["msg_id"],
    "structure_message": ["data"],
    "handle_message": ["message"],
    "get_message_type": ["method"],
    "lsp_initialize": ["params"],
}
OVERRIDDEN = {  # what pygls calls, and we do instead
    "_send_data": ["data"],
    "_send_response": ["msg_id", "result", "error"],
    "_send_handler_result": ["future", "msg_id"],
    "notify": ["method", "params"],
}


@pytest.mark.parametrize(("name", "parameters"), (CALLED | OVERRIDDEN).items())
def test_a_method_has_the_parameters_that_we_know(name: str, parameters: list[str]) -> None:
    method = getattr(LanguageServerProtocol, name)
    assert list(inspect.signature(inspect.unwrap(method)).parameters) == ["self", *parameters]


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_we_override_it(name: str) -> None:
    assert name in vars(Bridge)


def test_the_attributes_that_we_use() -> None:
    protocol = LanguageServer("x", "1").protocol
    assert protocol._request_futures == {}
    assert protocol._result_types == {}
    assert protocol._converter is not None
    assert isinstance(protocol.fm, FeatureManager)
    assert isinstance(protocol.fm.builtin_features, dict)
    assert isinstance(protocol.fm.features, dict)
    assert isinstance(protocol.progress, Progress)
    assert protocol.progress.tokens == {}
    assert protocol.msg_id is None


def test_initializing_is_a_generator_that_ends_with_the_result() -> None:
    hello = types.InitializeParams(capabilities=types.ClientCapabilities())
    with pytest.raises(StopIteration) as stopped:
        next(LanguageServer("x", "1").protocol.lsp_initialize(hello))
    assert isinstance(stopped.value.value, types.InitializeResult)


def test_structure_message_gives_lsprotocols_types_and_raises_jsonrpcexception() -> None:
    protocol = LanguageServer("x", "1").protocol
    good = {"jsonrpc": "2.0", "id": 1, "method": "shutdown"}
    assert isinstance(protocol.structure_message(good), types.ShutdownRequest)
    with pytest.raises(JsonRpcException) as caught:
        protocol.structure_message({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert isinstance(caught.value, JsonRpcInvalidParams)
    assert caught.value.__cause__ is not None


async def test_a_handler_is_a_future_by_its_id_and_its_result_comes_to_send_handler_result() -> None:
    server = LanguageServer("x", "1")
    results: list[tuple[object, object]] = []
    protocol = server.protocol
    protocol._send_handler_result = lambda future, *, msg_id: results.append((msg_id, future.result()))  # type: ignore[method-assign]

    @server.feature("test/x")
    async def handler(params: dict[str, int]) -> object:
        return params

    protocol._handle_request(5, "test/x", {"a": 1})
    assert isinstance(protocol._request_futures[5], asyncio.Task)
    await asyncio.sleep(0.01)
    assert results == [(5, {"a": 1})]
