"""Agent messages as the payload rules read them: the stored JSON as it is, whatever shape it has.

A message comes as its stored bytes (clean: valid JSON, no lone surrogates) or as a dict, when it was edited or
made up. Long values (texts, arguments) stay the JSON text they were, as `msgspec.Raw`, and are spliced into what
is built from them: they are neither decoded nor copied. A message of an unexpected shape is brought into the
expected one, and each repair is told; nothing here raises for bad data.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

from pid.core.anthropic_types import Text
from pid.entries import replace_lone_surrogates

Tell = Callable[[str, str], None]
"""Told of each mend: its kind, and a sentence."""

NOTHING: Final = Raw(b"null")
MAX_DEPTH: Final = 200
"""How deep arguments may be nested, where they are too deep to be taken as they are."""
PLAIN_ROLES: Final = frozenset({"user", "assistant", "toolResult"})
"""The roles of messages that go to a model as they are."""


class StoredImage(msgspec.Struct, tag_field="type", tag="image", rename="camel", gc=False):
    data: str = ""
    mime_type: str = ""


class StoredThinking(msgspec.Struct, tag_field="type", tag="thinking", rename="camel", gc=False):
    thinking: Raw = NOTHING
    thinking_signature: str | None = None
    redacted: bool | None = None


class ToolCall(msgspec.Struct, tag_field="type", tag="toolCall", gc=False):
    id: str = ""
    name: str = ""
    arguments: Raw = NOTHING


class OtherBlock(msgspec.Struct, tag_field="type", tag="other", gc=False):
    """A block of a type that pi does not know, or of none."""

    kind: str = ""


Block = Text | StoredImage | StoredThinking | ToolCall | OtherBlock


class Message(msgspec.Struct, rename="camel", gc=False):
    """The fields of an agent message that a payload is made from."""

    role: str = ""
    content: list[Block] | str | None = None
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool | None = None

    @property
    def blocks(self) -> list[Block]:
        content = self.content
        if isinstance(content, str):
            return [Text(text=json_text(content))]
        return content or []


AgentMessage = dict[str, Any] | bytes | memoryview | Raw | Message


class _Entry(msgspec.Struct):
    type: str
    message: Message


_decode = msgspec.json.Decoder(Message).decode
_decode_entry = msgspec.json.Decoder(_Entry).decode
_encode = msgspec.json.Encoder().encode


def read_entry(line: bytes | memoryview) -> Message | None:
    """The message of a whole stored entry, without a parse of its own; None unless shape and role are plain.

    Its blocks may become part of the payload that it is added to: add it to one only.
    """
    try:
        entry = _decode_entry(line)
    except (msgspec.ValidationError, RecursionError):
        return None
    return entry.message if entry.type == "message" and entry.message.role in PLAIN_ROLES else None


def read(message: AgentMessage, tell: Tell) -> Message:
    """The message in the expected shape."""
    if isinstance(message, Message):
        return message
    try:
        raw = stored(message, tell) if isinstance(message, dict) else message
        return _decode(raw)
    except (msgspec.ValidationError, RecursionError):
        return _decode(stored(_reshaped(as_dict(message), tell), tell))


def as_dict(message: AgentMessage) -> dict[str, Any]:
    """The message parsed; empty where it is no object. One of `read_entry` has nothing to parse."""
    if isinstance(message, dict):
        return message
    if isinstance(message, Message):
        raise TypeError("a message of a plain role is not parsed again")
    raw = bytes(message)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = json.loads(raw)  # numbers beyond a double
    return value if isinstance(value, dict) else {}


def stored(value: dict[str, Any], tell: Tell) -> bytes:
    """The JSON text of a dict. A number that JSON cannot say becomes null, a lone surrogate U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        tell("loneSurrogate", "Half of a surrogate pair was replaced by U+FFFD.")
        return _encode(json.loads(replace_lone_surrogates(json.dumps(value).encode())))


def json_text(text: str) -> Raw:
    """A string without lone surrogates as JSON text."""
    return Raw(_encode(text))


# For each type of block the fields that are read; a field of another type of value is left out.
_BLOCK_FIELDS: Final[dict[str, dict[str, type]]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "thinking": {"thinking": str, "thinkingSignature": str, "redacted": bool},
    "toolCall": {"id": str, "name": str, "arguments": object},
}
_MESSAGE_FIELDS: Final[dict[str, type]] = {
    "role": str,
    "provider": str,
    "model": str,
    "stopReason": str,
    "toolCallId": str,
    "toolName": str,
    "isError": bool,
}
_IDS: Final = ("id", "toolCallId")


def _reshaped(message: dict[str, Any], tell: Tell) -> dict[str, Any]:
    shaped = _typed(message, _MESSAGE_FIELDS)
    content = message.get("content")
    if isinstance(content, list):
        shaped["content"] = [_block(value, tell) for value in content]
    elif isinstance(content, str):
        shaped["content"] = content
    elif content is not None:
        tell("malformedContent", "The content is neither a text nor blocks, and was left out.")
    return shaped


def _block(value: Any, tell: Tell) -> dict[str, Any]:
    if isinstance(value, str):
        tell("malformedContent", "A text stood where a block is expected, and was taken as one.")
        return {"type": "text", "text": value}
    kind = value.get("type") if isinstance(value, dict) else None
    fields = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        return {"type": "other", "kind": kind if isinstance(kind, str) else ""}
    block = _typed(value, fields)
    if is_deeper(block.get("arguments"), MAX_DEPTH):
        tell("toolArguments", f"Arguments nested deeper than {MAX_DEPTH} levels were left out.")
        block["arguments"] = {}
    if any(name not in block for name in fields if value.get(name) is not None):
        tell("malformedContent", "A field of a block has an unexpected type, and was left out.")
    if kind == "text":
        block.setdefault("text", "")
    return {"type": kind, **block}


def _typed(value: dict[str, Any], fields: dict[str, type]) -> dict[str, Any]:
    named = {name: value[name] for name in fields if name in value}
    for name in _IDS:
        if type(named.get(name)) is int:
            named[name] = str(named[name])
    return {name: part for name, part in named.items() if part is not None and isinstance(part, fields[name])}


def is_deeper(value: Any, limit: int) -> bool:
    """Whether arrays and objects are nested more than `limit` deep."""
    level = [value]
    for _ in range(limit):
        level = [part for outer in level for part in _parts(outer)]
        if not level:
            return False
    return True


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
