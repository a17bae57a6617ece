"""Raw messages of the Messages API as the entries that pi stores: the way back of `anthropic_format`.

What the API said comes out again in the next payload. What pi's form has no place for stays in the entry under
`_raw`, beside what it belongs to, and is told (but for details of usage); the next payload does not carry it.
`cache_control` marks belong to a request, not to a message, and are not stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pid.core.agent_message import AgentMessage, ToolCall, read
from pid.core.anthropic_ids import is_sent_for
from pid.errors import InvalidParams
from pid.protocol import ContextWarning, ModelRef

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


Kept = list[tuple[str, str]]
"""What is told of a message: `rawKept` and what it was, or `orphanToolResult`."""


class Call(NamedTuple):
    """A tool call as the session names it."""

    id: str
    name: str


class Stored(NamedTuple):
    """`entries`: `message` entries, to be appended in this order in one write; `warnings`: what is not sent again."""

    entries: list[Json]
    warnings: list[ContextWarning]


def stored_entries(
    message: Mapping[str, Any],
    now_ms: int,
    *,
    model: ModelRef | None = None,
    find: Callable[[str], Call | None] = lambda call_id: None,
) -> Stored:
    """The entries for a raw API message: one, or several for the user's with tool results.

    `model` is who wrote an assistant's reply, if not Anthropic's model that it names. `find` gives the call that a
    `tool_use_id` stands for (see `find_call`). Raises `InvalidParams` (`data.path`: `message.…`) for what is no
    message of the API.
    """
    kept: Kept = []
    role = message.get("role")
    if role == "assistant":
        messages = [_assistant(message, now_ms, model, kept)]
    elif role == "user":
        messages = list(_user(message, now_ms, find, kept))
    elif role == "system":
        messages = [{"role": "system", "content": _content(message, _SYSTEM, kept), "timestamp": now_ms}]
    else:
        raise InvalidParams("message.role: user, assistant or system is expected", path="message.role")
    told = [ContextWarning(kind=kind, message=detail) for kind, detail in dict.fromkeys(kept)]
    return Stored([{"type": "message", "message": message} for message in messages], told)


def find_call(call_id: str, newest_first: Iterable[AgentMessage]) -> Call | None:
    """The call that was sent under this id, looked for in the messages of a path from its end.

    Of two calls that bear one id in the same message, only the id that was sent tells them apart: it is kept.
    """
    for message in newest_first:
        known = read(message, lambda kind, detail: None)
        calls = [block for block in known.blocks if type(block) is ToolCall]
        for call in calls if known.role == "assistant" else ():
            if is_sent_for(call_id, call.id):
                alone = sum(other.id == call.id for other in calls) == 1
                return Call(call.id if alone else call_id, call.name)
    return None


def _assistant(message: Mapping[str, Any], now_ms: int, model: ModelRef | None, kept: Kept) -> Json:
    content = _content(message, _ASSISTANT, kept)
    says_model = message.get("model")
    if model is None:
        if not isinstance(says_model, str):
            raise InvalidParams("model: the message names no model", path="model")
        model = ModelRef(provider=PROVIDER, model_id=says_model)
    reason = message.get("stop_reason")
    stored: Json = {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": model.provider,
        "model": model.model_id,
        "usage": _usage(message.get("usage")),
        "stopReason": "aborted" if reason is None else STOP_REASONS.get(str(reason), "stop"),
        "timestamp": now_ms,
    }
    more = {
        "responseId": message.get("id"),
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
        raise InvalidParams("message.usage: an object is expected", path="message.usage")
    counts = {ours: _count(usage, theirs) for ours, theirs in _COUNTS.items()}
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
    return _count(found, name) if isinstance(found, dict) else 0


def _count(usage: Json, name: str) -> int:
    count = usage.get(name) or 0
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidParams(f"message.usage.{name}: a count is expected", path=f"message.usage.{name}")
    return count


def _user(message: Mapping[str, Any], now_ms: int, find: Callable[[str], Call | None], kept: Kept) -> Iterator[Json]:
    if isinstance(message.get("content"), str):
        yield {"role": "user", "content": message["content"], "timestamp": now_ms}
        return
    heard: list[Json] = []
    results = 0
    for at, block in enumerate(_blocks(message, "message")):
        if block.get("type") != "tool_result":
            heard.append(_block(block, f"message.content.{at}", _USER, kept))
            continue
        if heard:
            yield {"role": "user", "content": heard, "timestamp": now_ms}
            heard = []
        results += 1
        yield _tool_result(block, f"message.content.{at}", now_ms, find, kept)
    if heard or not results:
        yield {"role": "user", "content": heard, "timestamp": now_ms}


def _tool_result(block: Json, path: str, now_ms: int, find: Callable[[str], Call | None], kept: Kept) -> Json:
    call_id = _field(block, "tool_use_id", path)
    call = find(call_id)
    if call is None:
        kept.append(("orphanToolResult", f"The tool result of {call_id} answers no call on this path."))
        call = Call(call_id, "")
    stored = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": _content(block, _USER, kept, path) if block.get("content") is not None else [],
        "isError": block.get("is_error") is True,
        "timestamp": now_ms,
    }
    raw = _rest(block, frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}), "tool_result.", kept)
    return stored | ({"_raw": raw} if raw else {})


def _content(holder: Mapping[str, Any], readers: "Readers", kept: Kept, path: str = "message") -> list[Json]:
    content = holder.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = _blocks(holder, path)
    return [_block(block, f"{path}.content.{at}", readers, kept) for at, block in enumerate(blocks)]


def _blocks(holder: Mapping[str, Any], path: str) -> list[Json]:
    content = holder.get("content")
    if not isinstance(content, list):
        raise InvalidParams(f"{path}.content: a text or blocks are expected", path=f"{path}.content")
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise InvalidParams(f"{path}.content.{at}: a block is expected", path=f"{path}.content.{at}")
    return content


def _block(block: Json, path: str, readers: "Readers", kept: Kept) -> Json:
    kind = block.get("type")
    reader = readers.get(kind) if isinstance(kind, str) else None
    stored = reader.read(block, path) if reader else None
    if reader is None or stored is None:
        kept.append(("rawKept", f"A block of the type {kind} is kept under `_raw`, and not sent again."))
        return {"type": "text", "text": f"[A block of the type {kind}, kept in the session.]", "_raw": block}
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
        raise InvalidParams(f"{path}.source: an object is expected", path=f"{path}.source")
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
    if not isinstance(block.get("input"), dict):
        raise InvalidParams(f"{path}.input: an object is expected", path=f"{path}.input")
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


def _field(holder: Json, name: str, path: str) -> str:
    value = holder.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"{path}.{name}: a text is expected", path=f"{path}.{name}")
    return value


def _rest(holder: Mapping[str, Any], known: frozenset[str], prefix: str, kept: Kept) -> Json:
    """What stands beside the known fields and says something; it is noted in `kept`."""
    unknown = holder.keys() - known
    rest = {key: value for key, value in holder.items() if key in unknown and value not in SAYS_NOTHING}
    kept += [("rawKept", f"{prefix}{key} is kept under `_raw`, and not sent again.") for key in rest]
    return rest
