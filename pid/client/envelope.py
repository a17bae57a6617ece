"""JSON-RPC's envelope, from the client's side: the bytes of what goes out, and what came in, by kind."""

from typing import Any

import msgspec

from pid.client.failures import ErrorAnswer
from pid.protocol import Wire

Id = int | str


class Incoming(msgspec.Struct):
    """Any message of the daemon. Params and results stay raw, a view of the message, until their type is known."""

    id: Id | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: ErrorAnswer | None = None


class _Outgoing(Wire, tag_field="jsonrpc", tag="2.0"):
    id: Id | None = None
    method: str
    params: Any = None


class _Result(Wire, tag_field="jsonrpc", tag="2.0"):
    id: Id
    result: Any


class _Error(Wire, tag_field="jsonrpc", tag="2.0"):
    id: Id
    error: ErrorAnswer


decode = msgspec.json.Decoder(Incoming).decode
_encode = msgspec.json.Encoder().encode


def request(call_id: Id, method: str, params: object) -> bytes:
    """A request; `params` is a wire type, a dict, or None for no params."""
    return _encode(_Outgoing(id=call_id, method=method, params=params))


def notification(method: str, params: object) -> bytes:
    return _encode(_Outgoing(method=method, params=params))


def result(call_id: Id, value: object) -> bytes:
    return _encode(_Result(id=call_id, result=value))


def failure(call_id: Id, code: int, message: str, data: object = None) -> bytes:
    return _encode(_Error(id=call_id, error=ErrorAnswer(code, message, data)))
