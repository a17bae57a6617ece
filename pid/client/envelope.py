"""JSON-RPC's envelope, from the client's side: the bytes of what goes out, and what came in, by kind."""

import re
from typing import Any, Final

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


_decode = msgspec.json.Decoder(Incoming).decode
_is_result: Final = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\s*,\s*"result"\s*:').match
_encode = msgspec.json.Encoder().encode


def decode(data: bytes | bytearray) -> Incoming:
    """Any message. A result that is nested deeper than Python's stack has room for fails its own call, not this.

    Raises msgspec's DecodeError, and RecursionError for any other message of that kind.
    """
    try:
        return _decode(data)
    except RecursionError:
        head = _is_result(data)
        if head is None:
            raise
        text = bytes(data)
        return Incoming(id=int(head[1]), result=msgspec.Raw(text[head.end() : text.rindex(b"}")]))


def request(call_id: Id, method: str, params: object) -> bytes:
    """A request; `params` is a wire type, a dict, or None for no params."""
    return _encode(_Outgoing(id=call_id, method=method, params=params))


def notification(method: str, params: object) -> bytes:
    return _encode(_Outgoing(method=method, params=params))


def result(call_id: Id, value: object) -> bytes:
    return _encode(_Result(id=call_id, result=value))


def failure(call_id: Id, code: int, message: str, data: object = None) -> bytes:
    return _encode(_Error(id=call_id, error=ErrorAnswer(code, message, data)))
