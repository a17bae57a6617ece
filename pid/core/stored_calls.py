"""How the calls in a stored line use files, found in one pass over its bytes: no text of it becomes an object.

A history is looked through for the files that its calls name, and most of it is texts that name none. The line need
not be proven; what is unusual in it (invalid bytes, deep nesting, patches, calls recorded on a result) is said to be
so, and is to be read the whole way.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from pid.core.files import PATCHED, PATH_KEYS, Use, use_of_tool, uses_of, uses_of_call
from pid.core.messages import stored_message
from pid.entries import MAX_DEPTH, read_body

_ABSENT: Final = Raw(b"")
_NOTHING: Final[list[Use]] = []

_Arguments: Any = msgspec.defstruct("_Arguments", [(key, Any, None) for key in (*PATH_KEYS, "command")], gc=False)


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    name: Any = None
    arguments: _Arguments | None = None


class _Message(msgspec.Struct, rename="camel", gc=False):
    role: Any = None
    content: list[_Block] | str | None = None
    nested_calls: Raw = _ABSENT


class _Entry(msgspec.Struct, gc=False):
    message: _Message | None = None


_read = msgspec.json.Decoder(_Entry).decode
_fields = msgspec.structs.asdict


def uses_in_line(raw: bytes) -> list[Use] | None:
    """What `uses_in_body` gives for the line of a `message` entry, in one pass; None if it is unusual."""
    try:
        message = _read(raw).message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if message is None:
        return _NOTHING
    if message.role == "assistant" and isinstance(message.content, list):
        return _uses_of(message.content, raw)
    return None if message.role == "toolResult" and message.nested_calls is not _ABSENT else _NOTHING


def uses_in_body(kind: int, body: bytes) -> list[Use]:
    """How the calls of a `message` entry of this kind use files; `body` is clean."""
    message = stored_message(kind, body)
    return _NOTHING if message is None else uses_of(read_body(bytes(message)))


def _uses_of(content: list[_Block], raw: bytes) -> list[Use] | None:
    found: list[Use] = []
    for block in content:
        if block.type == "toolCall" and (how := use_of_tool(block.name)):
            if how == PATCHED or _may_be_too_deep(raw):
                return None
            if block.arguments:
                found += uses_of_call(block.name, _fields(block.arguments))
    return found


def _may_be_too_deep(raw: bytes) -> bool:
    return len(raw) > 2 * MAX_DEPTH and raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
