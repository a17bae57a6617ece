"""Messages as lines for people: all that a model would see, block by block. Takes any JSON that a file may hold."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from pid.client import plain
from pid.protocol import AnthropicPayload, ContextResult
from pid.shell.drawing import MARKS, Line

_FIELDS: Final = {
    "bashExecution": ("command", "output"),
    "branchSummary": ("summary",),
    "compactionSummary": ("summary",),
    "system": ("content", "sections", "toolsAdded", "toolsRemoved"),
}
"""What is shown of a message, by its role; of all others the content."""

_OTHER_MARK: Final = ("▪", "dim")
_STYLES: Final = {"toolResult": "dim", "system": "dim", "branchSummary": "yellow", "compactionSummary": "yellow"}
_IMAGE_SHARE: Final = 3 / 4  # of the length of base64


def transcript(result: ContextResult) -> Iterator[Line]:
    """A heading for each message, then its text, indented; before them what else a payload has."""
    if result.payload is not None:
        yield from _system(result.payload)
    messages = result.payload.messages if result.payload else result.messages or []
    for message, entry_ids in zip(messages, result.entry_ids, strict=True):
        value = _value(message) if isinstance(message, msgspec.Raw) else message
        role = value.get("role") if isinstance(value, dict) else None
        who = role if isinstance(role, str) else "message"
        mark, style = MARKS.get(who, _OTHER_MARK)
        name = value.get("toolName") or value.get("customType") if isinstance(value, dict) else None
        yield [(f"{mark} {who}", style), (f" {name}" if isinstance(name, str) else "", style),
               (f"  {' '.join(entry_ids) or 'synthetic'}", "dim")]  # fmt: skip
        for text, tone in _texts(value, who):
            yield from ([("  ", ""), (part, tone)] for part in text.splitlines())
        yield []


def _system(payload: AnthropicPayload) -> Iterator[Line]:
    texts = [] if payload.system is msgspec.UNSET else [text for text, _ in _content(payload.system)]
    texts += [text for text, _ in _other("tools", payload.tools)]
    if texts:
        mark, style = _OTHER_MARK
        yield [(f"{mark} system", style)]
        yield from ([("  ", ""), (part, style)] for text in texts for part in text.splitlines())
        yield []


def _value(raw: msgspec.Raw) -> Any:
    try:
        return plain(raw)
    except (msgspec.DecodeError, RecursionError):  # numbers beyond a double, nesting beyond Python's stack
        return bytes(raw).decode(errors="replace")


def _texts(message: Any, role: str) -> Iterator[tuple[str, str]]:
    if not isinstance(message, dict):
        yield _json(message), ""
        return
    for field in _FIELDS.get(role, ("content",)):
        value = message.get(field)
        for text, style in _content(value) if field in ("content", "summary", "output") else _other(field, value):
            yield text, style or _STYLES.get(role, "")
    if isinstance(message.get("errorMessage"), str):
        yield f"✗ {message['errorMessage']}", "red"


def _content(content: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(content, list):
        yield content if isinstance(content, str) else "" if content is None else _json(content), ""
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        yield _BLOCKS.get(kind if isinstance(kind, str) else "", _any_block)(block)


def _other(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if field == "command" and isinstance(value, str):
        yield f"$ {value}", "magenta"
    elif field == "sections" and isinstance(value, dict):
        yield from ((f"{name}: {_text(text)}", "") for name, text in value.items())
    elif isinstance(value, list):
        names = [tool.get("name", tool) if isinstance(tool, dict) else tool for tool in value]
        yield f"{field}: {', '.join(map(_text, names))}", ""


def _any_block(block: Any) -> tuple[str, str]:
    return _json(block), "dim"


def _text_block(block: dict[str, Any]) -> tuple[str, str]:
    return _text(block.get("text")), ""


def _thinking_block(block: dict[str, Any]) -> tuple[str, str]:
    return f"thinking: {_text(block.get('thinking'))}", "dim italic"


def _call_block(block: dict[str, Any]) -> tuple[str, str]:
    return f"→ {_text(block.get('name'))} {_json(block.get('arguments'))}", "cyan"


def _api_call_block(block: dict[str, Any]) -> tuple[str, str]:
    return f"→ {_text(block.get('name'))} {_json(block.get('input'))}", "cyan"


def _api_result_block(block: dict[str, Any]) -> tuple[str, str]:
    said = "\n".join(text for text, _ in _content(block.get("content")))
    return f"← {said}", "red" if block.get("is_error") else "dim"


def _image_block(block: dict[str, Any]) -> tuple[str, str]:
    source: dict[str, Any] = block["source"] if isinstance(block.get("source"), dict) else block
    size = int(len(_text(source.get("data"))) * _IMAGE_SHARE)
    return f"[{_text(source.get('mimeType') or source.get('media_type')) or 'image'}, {size:,} bytes]", "blue"


_BLOCKS: Final[dict[str, Callable[[Any], tuple[str, str]]]] = {
    "text": _text_block,
    "thinking": _thinking_block,
    "toolCall": _call_block,
    "image": _image_block,
    "tool_use": _api_call_block,
    "tool_result": _api_result_block,
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
