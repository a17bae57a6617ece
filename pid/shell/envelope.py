"""JSON-RPC messages to and from bytes: an envelope is read in one pass, params and results stay as they are.

`read_event` takes a body apart; what is not a message comes back as a `Fault`, which says what to answer, and whom.
Pure: no I/O, no state, no pygls. How results are written is in `results`.

What is answered, whatever arrives: a body that is no JSON gets -32700 and the id null. So does a batch, with
-32600: LSP has none. A request with a wrong `jsonrpc`, `method` or `id` gets -32600, with its id if that is a
number or a string, else null. Nothing answers a notification or a response.
"""

import logging
import re
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from pid.core.framing import BadHeader, Body, CutOff, Event, Oversized
from pid.entries import members, replace_lone_surrogates
from pid.errors import MessageTooLarge
from pid.protocol.tables import ERRORS, RPC_ERRORS

Raw = msgspec.Raw
Id = int | str
Buffer = bytes | bytearray | memoryview

ABSENT: Final = Raw(b"")

T = TypeVar("T")


class Message(msgspec.Struct, frozen=True):
    """A request (`method` and `id`), a notification (`method`) or a response (`id`) as it arrived.

    A response may lack both `result` and `error`: JavaScript writes an undefined result like that.
    """

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: Id | msgspec.UnsetType = msgspec.UNSET
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class ResponseError(msgspec.Struct, frozen=True):
    """The `error` of a response from the client."""

    code: int
    message: str
    data: Any = None


class Fault(NamedTuple):
    """What is wrong with a message. `id` is what the error goes to, as JSON: `null` if nobody can be named."""

    code: int
    message: str
    id: bytes = b"null"


PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
NOT_INITIALIZED: Final = -32002
CANCELLED: Final = -32800


class Discarded(NamedTuple):
    """What is wrong, and answered by nothing: a notification or a response that does not fit."""

    reason: str


Incoming = Message | Fault | Discarded


class _Loose(msgspec.Struct, frozen=True):
    """Any JSON object at all: for finding out why one is not a `Message`."""

    jsonrpc: Raw = ABSENT
    method: Raw = ABSENT
    id: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


_KINDS: Final = {code: kind for code, (kind, _) in RPC_ERRORS.items()} | {
    row.error.code: kind for kind, row in ERRORS.items()
}
logger = logging.getLogger(__name__)

_ENCODER: Final = msgspec.json.Encoder()
_MESSAGE: Final = msgspec.json.Decoder(Message)
_ECHOED: Final = msgspec.json.Decoder(int | float | str)
_LOOSE: Final = msgspec.json.Decoder(_Loose)


def read_event(event: Event) -> Incoming:
    """What an event of the `Framer` means. Raises nothing: one message must not stop those behind it."""
    try:
        return _meaning(event)
    except Exception:
        logger.exception("a message could not be read")
        return Fault(PARSE_ERROR, "the message cannot be read")


def read_carried(raw: Raw, kind: type[T] = Any) -> T:  # type: ignore[assignment]  # Any is what it gives then
    """What a message carries, as `kind`; U+FFFD for each half of a surrogate pair: JavaScript cuts strings anywhere.

    Raises `msgspec.DecodeError` and `RecursionError`.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError:
        sent = bytes(raw)
        mended = replace_lone_surrogates(sent)
        if mended is sent:
            raise
        return msgspec.json.decode(mended, type=kind)


def _meaning(event: Event) -> Incoming:
    match event:
        case Body(data):
            return _read(data)
        case Oversized(length, head):
            return _too_large(f"a message of {length} bytes is larger than this daemon takes", peek(head))
        case BadHeader(reason):
            return Fault(PARSE_ERROR, reason)
        case CutOff(received, expected):
            where = "in a header" if expected is None else f"after {received} of {expected} bytes of a message"
            return Fault(PARSE_ERROR, f"the input ended {where}")


def _too_large(problem: str, found: "Peek") -> Incoming:
    """An answer for a request; for a response, the news that it is an error."""
    if not found.is_response:
        return Fault(MessageTooLarge.code, problem, found.id)
    id = msgspec.json.decode(found.id)
    if not isinstance(id, Id):
        return Discarded(problem)
    return Message("2.0", id=id, error=Raw(encode({"code": MessageTooLarge.code, "message": problem})))


def _read(body: Buffer) -> Incoming:
    """The message in a body, or what is wrong with it."""
    try:
        message = _MESSAGE.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        sent = bytes(body)
        mended = replace_lone_surrogates(sent)
        if mended is sent:
            return _diagnose(body, error)
        return _with_lone_surrogates(_read(mended), sent)
    if message.method or message.id is not msgspec.UNSET:
        return message
    return Fault(INVALID_REQUEST, "a message needs a method or an id")


def _with_lone_surrogates(found: "Incoming", sent: bytes) -> "Incoming":
    """A message that was read without its lone surrogates, with them in what it carries: stored bytes stay as sent."""
    if not isinstance(found, Message):
        return found
    texts = {key: text for key, _, text in members(sent.decode("latin-1"))}  # a character a byte: others are wrong too
    carried = {name: Raw(texts[name].encode("latin-1")) for name in ("params", "result", "error") if name in texts}
    return msgspec.structs.replace(found, **carried)


def _diagnose(body: Buffer, error: Exception) -> Fault | Discarded:
    if isinstance(error, RecursionError):
        return Fault(INVALID_REQUEST, "the message is nested too deeply", peek(bytes(body[:1024])).id)
    if not isinstance(error, msgspec.ValidationError):
        return Fault(PARSE_ERROR, f"the message is not JSON: {error}")
    try:
        loose = _LOOSE.decode(body)
    except msgspec.ValidationError:
        batch = bytes(body[:100]).lstrip()[:1] == b"["
        return Fault(INVALID_REQUEST, "a batch: send its messages one by one" if batch else "not an object")
    except (msgspec.DecodeError, RecursionError) as worse:  # behind what does not fit: found only now
        return _diagnose(body, worse)
    if loose.method is ABSENT and (loose.result is not ABSENT or loose.error is not ABSENT):
        return Discarded("a response that does not fit JSON-RPC 2.0")
    for name, value, allowed, must in (
        ("jsonrpc", loose.jsonrpc, _VERSION, 'must be "2.0"'),
        ("method", loose.method, _STRING, "must be a string"),
        ("id", loose.id, _ID, "must be an integer or a string"),
    ):
        if not allowed.fullmatch(bytes(value)):
            if loose.id is ABSENT and _STRING.fullmatch(bytes(loose.method)):
                return Discarded(f"a notification whose {name} is wrong")
            return Fault(INVALID_REQUEST, f"{name} {must}", _echo(loose.id))
    return Fault(INVALID_REQUEST, "not a JSON-RPC message", _echo(loose.id))


_VERSION: Final = re.compile(rb'"2\.0"')
_STRING: Final = re.compile(rb'(?s)".*"')
_ID: Final = re.compile(rb'(?s)(".*"|-?[0-9]+)?')


def _echo(id: Raw | bytes) -> bytes:
    """An id as it goes back: a number or a string as it came, else null."""
    try:
        _ECHOED.decode(id)
    except (msgspec.DecodeError, RecursionError):
        return b"null"
    return bytes(id)


class Peek(NamedTuple):
    """What the first bytes of a body tell: the id, if it stands there, and whether this is a response."""

    id: bytes
    is_response: bool


_OPENING: Final = re.compile(rb"\s*\{")
_MEMBER: Final = re.compile(
    rb'[\s,]*"([^"\\]*)"\s*:\s*(?:("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|null|true|false)(?=\s*[,}])|)'
)


def peek(head: bytes) -> Peek:
    """Read the plain members at the head of a body that was not read whole, up to the first large one."""
    id = b"null"
    opening = _OPENING.match(head)
    start = opening.end() if opening else len(head)
    while member := _MEMBER.match(head, start):
        name, value = member.groups()
        if value is None:
            return Peek(id, is_response=name in (b"result", b"error"))
        if name == b"id":
            id = _echo(value)
        start = member.end()
    return Peek(id, is_response=False)


def error_body(id: bytes, code: int, message: str, data: dict[str, Any] | None = None) -> bytes:
    """The body of an error response. `data` says `kind` and `retryable`; JSON-RPC's own codes have theirs."""
    if data is None or "kind" not in data:
        retryable = code in (NOT_INITIALIZED, CANCELLED)
        data = {"kind": _KINDS.get(code, "error"), "retryable": retryable, **(data or {})}
    error = {"code": code, "message": message, "data": data}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id, encode(error))


def encode(value: Any) -> bytes:
    """JSON of plain values and Structs. Raises `TypeError`, `ValueError` or `RecursionError` for others."""
    return _ENCODER.encode(value)
