"""Raw messages of the Messages API as the entries that pi stores: the way back of `anthropic_format`.

What the API said comes out again in the next payload. What pi's form has no place for stays in the entry under
`_raw`, beside what it belongs to, and is told (but for details of usage); the next payload does not carry it.
`cache_control` marks belong to a request, not to a message, and are not stored.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from pid.core.anthropic_calls import NO_CALLS, Call, TurnCalls
from pid.core.splice import members
from pid.entries import read_body
from pid.errors import InvalidParams
from pid.protocol import ModelRef

Json = dict[str, Any]
PROVIDER: Final = "anthropic"

STOP_REASONS: Final = {
    "end_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}
"""The API's reasons as pi's. No reason yet is a reply that was cut off (`aborted`), an unknown one a `stop`."""
SAYS_NOTHING: Final[tuple[Any, ...]] = (None, [], {}, {"type": "direct"})
"""Values of fields that the API fills in when there is nothing to say (`caller` of a tool call, `citations`)."""
_SAME_MEANING: Final = frozenset({"end_turn", "tool_use", "max_tokens"})

MAX_COUNT: Final = 2**53
"""No usage is larger: JavaScript counts no further."""

Kept = list[tuple[str, str]]
"""What is told of a message: `rawKept` and what it was, or `orphanToolResult`."""


class Stored(NamedTuple):
    """An agent message for an entry of its own, and what of it is not sent again."""

    message: Json
    told: Kept


_texts_of_elements: Final = msgspec.json.Decoder(list[Raw]).decode


def read_message(raw: bytes) -> Json:
    """A raw API message (clean JSON) as a dict; the inputs of tool calls stay the text that they are, as `Raw`.

    Raises `DamagedLine` for what is no object, and RecursionError for inputs deeper than Python's stack.
    """
    message = read_body(raw)
    content = message.get("content")
    calls = [at for at, block in enumerate(content) if _has_input(block)] if isinstance(content, list) else []
    texts = _texts_of_elements(members(raw)["content"]) if calls else []
    for at in calls:
        message["content"][at]["input"] = Raw(members(texts[at])["input"])
    return message


def _has_input(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("input"), dict)


def stored_messages(
    message: Mapping[str, Any], now_ms: int, *, model: ModelRef | None = None, calls: TurnCalls = NO_CALLS
) -> list[Stored]:
    """The agent messages for a raw API message: one, or several for the user's with tool results, in their order.

    `model` is who wrote an assistant's reply, if not Anthropic's model that it names. `calls` are those that tool
    results may answer. Raises `InvalidParams` (`data.path`: `message.…`) for what is no message of the API.
    """
    kept: Kept = []
    role = message.get("role")
    if role == "assistant":
        return [Stored(_assistant(message, now_ms, model, kept), kept)]
    if role == "user":
        return list(_user(message, now_ms, calls))
    if role == "system":
        return [Stored({"role": "system", "content": _content(message, _SYSTEM, kept), "timestamp": now_ms}, kept)]
    raise _refused("message.role", "user, assistant or system is expected")


def _assistant(message: Mapping[str, Any], now_ms: int, model: ModelRef | None, kept: Kept) -> Json:
    content = _content(message, _ASSISTANT, kept)
    says_model = message.get("model")
    if model is None:
        if not isinstance(says_model, str):
            raise _refused("model", "the message names no model")
        model = ModelRef(provider=PROVIDER, model_id=says_model)
    reason = _text_or_none(message, "stop_reason")
    stored: Json = {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": model.provider,
        "model": model.model_id,
        "usage": _usage(message.get("usage")),
        "stopReason": "aborted" if reason is None else STOP_REASONS.get(reason, "stop"),
        "timestamp": now_ms,
    }
    more = {
        "responseId": _text_or_none(message, "id"),
        "responseModel": says_model if says_model != model.model_id else None,
        "rawStopReason": None if reason in _SAME_MEANING else reason,
        "errorMessage": _refusal(message) if reason == "refusal" else None,
        "_raw": _rest(message, _ASSISTANT_FIELDS, "", kept),
    }
    return stored | {key: value for key, value in more.items() if value}


_ASSISTANT_FIELDS: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})


def _refusal(message: Mapping[str, Any]) -> str:
    details = message.get("stop_details")
    why = details.get("explanation") if isinstance(details, dict) else None
    return f"The model refused to answer: {why}" if isinstance(why, str) else "The model refused to answer."


def _usage(usage: Any) -> Json:
    """The reported usage; without one all zero, which counts as none."""
    if usage is None:
        usage = {}
    if not isinstance(usage, dict):
        raise _refused("message.usage", "an object is expected")
    counts = {ours: _count(usage, theirs, "message.usage") for ours, theirs in _COUNTS.items()}
    parts = {ours: _part(usage, *place) for ours, place in _PARTS.items()}
    stored: Json = {**counts, **{ours: count for ours, count in parts.items() if count}}
    stored["totalTokens"] = sum(counts.values())
    stored["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    raw = _rest(usage, frozenset(_COUNTS.values()), "", [])
    return stored | ({"_raw": raw} if raw else {})


_COUNTS: Final = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


_PARTS: Final = {
    "cacheWrite1h": ("cache_creation", "ephemeral_1h_input_tokens"),
    "reasoning": ("output_tokens_details", "thinking_tokens"),
}
"""What pi knows to be a part of a count, too."""


def _part(usage: Json, holder: str, name: str) -> int:
    found = usage.get(holder)
    return _count(found, name, f"message.usage.{holder}") if isinstance(found, dict) else 0


def _count(usage: Json, name: str, path: str) -> int:
    count = 0 if usage.get(name) is None else usage[name]
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_COUNT:
        raise _refused(f"{path}.{name}", "a count is expected")
    return count


def _user(message: Mapping[str, Any], now_ms: int, calls: TurnCalls) -> Iterator[Stored]:
    def heard(content: str | list[Json], kept: Kept) -> Stored:
        return Stored({"role": "user", "content": content, "timestamp": now_ms}, kept)

    content = message.get("content")
    if isinstance(content, str):
        yield heard(content, [])
        return
    said: list[Json] = []
    kept: Kept = []
    results = 0
    for at, block in enumerate(_blocks(message, "message")):
        if block.get("type") != "tool_result":
            said.append(_block(block, f"message.content.{at}", _USER, kept))
            continue
        if said:
            yield heard(said, kept)
            said, kept = [], []
        results += 1
        yield _tool_result(block, f"message.content.{at}", now_ms, calls)
    if said or not results:
        yield heard(said, kept)


def _tool_result(block: Json, path: str, now_ms: int, calls: TurnCalls) -> Stored:
    kept: Kept = []
    call_id = _field(block, "tool_use_id", path)
    is_error = block.get("is_error")
    if not isinstance(is_error, bool | None):
        raise _refused(f"{path}.is_error", "true or false is expected")
    call = calls.find(call_id)
    if call is None:
        kept.append(("orphanToolResult", f"The tool result of {call_id} answers no call of the assistant's last turn."))
        call = Call(call_id, "")
    stored = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": _content(block, _USER, kept, path) if block.get("content") is not None else [],
        "isError": is_error is True,
        "timestamp": now_ms,
    }
    raw = _rest(block, frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}), "tool_result.", kept)
    return Stored(stored | ({"_raw": raw} if raw else {}), kept)


def _content(holder: Mapping[str, Any], readers: "Readers", kept: Kept, path: str = "message") -> list[Json]:
    content = holder.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = _blocks(holder, path)
    return [_block(block, f"{path}.content.{at}", readers, kept) for at, block in enumerate(blocks)]


def _blocks(holder: Mapping[str, Any], path: str) -> list[Json]:
    content = holder.get("content")
    if not isinstance(content, list):
        raise _refused(f"{path}.content", "a text or blocks are expected")
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise _refused(f"{path}.content.{at}", "a block is expected")
    return content


def _block(block: Json, path: str, readers: "Readers", kept: Kept) -> Json:
    kind = block.get("type")
    reader = readers.get(kind) if isinstance(kind, str) else None
    stored = reader.read(block, path) if reader else None
    if reader is None or stored is None:
        name = kind if isinstance(kind, str) else "(none)"
        kept.append(("rawKept", f"A block of the type {name} is kept under `_raw`, and not sent again."))
        return {"type": "text", "text": f"[A block of the type {name}, kept in the session.]", "_raw": block}
    raw = _rest(block, reader.fields, f"{kind}.", kept)
    return stored | ({"_raw": raw} if raw else {})


class Reader(NamedTuple):
    """Reads a block of one type, or gives None for a form that pi does not have; `fields` are what it reads."""

    fields: frozenset[str]
    read: Callable[[Json, str], Json | None]


Readers = Mapping[str, Reader]


def _text(block: Json, path: str) -> Json:
    return {"type": "text", "text": _field(block, "text", path)}


def _image(block: Json, path: str) -> Json | None:
    source = block.get("source")
    if not isinstance(source, dict):
        raise _refused(f"{path}.source", "an object is expected")
    if source.get("type") != "base64":
        return None
    data, media_type = _field(source, "data", f"{path}.source"), _field(source, "media_type", f"{path}.source")
    return {"type": "image", "data": data, "mimeType": media_type}


def _thinking(block: Json, path: str) -> Json:
    signature = _field(block, "signature", path)
    return {"type": "thinking", "thinking": _field(block, "thinking", path), "thinkingSignature": signature}


def _redacted(block: Json, path: str) -> Json:
    return {"type": "thinking", "thinking": "", "thinkingSignature": _field(block, "data", path), "redacted": True}


def _tool_use(block: Json, path: str) -> Json:
    if not isinstance(block.get("input"), dict | Raw):
        raise _refused(f"{path}.input", "an object is expected")
    named = {"id": _field(block, "id", path), "name": _field(block, "name", path)}
    return {"type": "toolCall", **named, "arguments": block["input"]}


def _reader(read: Callable[[Json, str], Json | None], *fields: str) -> Reader:
    return Reader(frozenset({"type", "cache_control", *fields}), read)


_SYSTEM: Final[Readers] = {"text": _reader(_text, "text")}
_USER: Final[Readers] = {**_SYSTEM, "image": _reader(_image, "source")}
_ASSISTANT: Final[Readers] = {
    **_SYSTEM,
    "thinking": _reader(_thinking, "thinking", "signature"),
    "redacted_thinking": _reader(_redacted, "data"),
    "tool_use": _reader(_tool_use, "id", "name", "input"),
}


def _field(holder: Mapping[str, Any], name: str, path: str) -> str:
    value = holder.get(name)
    if not isinstance(value, str):
        raise _refused(f"{path}.{name}", "a text is expected")
    return value


def _text_or_none(message: Mapping[str, Any], name: str) -> str | None:
    return None if message.get(name) is None else _field(message, name, "message")


def _refused(path: str, why: str) -> InvalidParams:
    return InvalidParams(f"{path}: {why}", path=path)


def _rest(holder: Mapping[str, Any], known: frozenset[str], prefix: str, kept: Kept) -> Json:
    """What stands beside the known fields and says something; it is noted in `kept`."""
    unknown = holder.keys() - known
    rest = {key: value for key, value in holder.items() if key in unknown and value not in SAYS_NOTHING}
    kept += [("rawKept", f"{prefix}{key} is kept under `_raw`, and not sent again.") for key in rest]
    return rest
