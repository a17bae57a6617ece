"""What an entry tells people at a glance: the fields that a tree shows, and one line of preview.

A line is read in one pass, in which long texts stay bytes: a preview needs the beginning of one. It knows no tree
and no session, and takes any shape of entry for what it is worth.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, get_args

import msgspec
import orjson
from msgspec import UNSET, Raw, UnsetType

from pid.entries import DamagedLine, Kind, read_body
from pid.protocol import PREVIEW_CODE_POINTS

_NOTHING: Final = Raw(b"")
Shape = TypeVar("Shape", bound=msgspec.Struct)


class Block(msgspec.Struct, rename="camel", gc=False):
    """A content block; `text`, `thinking` and `arguments` are JSON text."""

    type: str | None = None
    id: str | None = None
    text: Raw = _NOTHING
    thinking: Raw = _NOTHING
    name: str | None = None
    arguments: Raw = _NOTHING
    mime_type: str | None = None


class Said(msgspec.Struct, rename="camel", gc=False):
    """Anything with content: a message, a custom message, a replacement."""

    content: list[Block] | str | None = None
    role: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    custom_type: str | None = None
    command: str | None = None


class Line(Said, rename="camel", gc=False):
    """The fields of an entry that a node shows, or that its preview is made of."""

    type: str | None = None
    timestamp: str | None = None
    message: Said | None = None
    replacement: Said | UnsetType | None = UNSET
    summary: str | None = None
    first_kept_entry_id: str | int | None = None
    from_id: str | int | None = None
    target_id: str | int | None = None
    label: str | None = None
    name: str | None = None
    thinking_level: str | None = None
    provider: str | None = None
    model: str | None = None
    model_id: str | None = None
    kind: str | None = None
    data: Raw = _NOTHING


_decode = msgspec.json.Decoder(Line).decode


def read_line(body: bytes) -> Line:
    """An entry's fields; those of an unexpected type are left out.

    `body` need not be proven. Raises ValueError or `DamagedLine` for what is not JSON.
    """
    try:
        return _decode(body)
    except (msgspec.ValidationError, RecursionError):
        return _fitted(Line, read_body(body))


def _fitted(struct: type[Shape], value: Mapping[str, Any]) -> Shape:
    """A struct of the fields that have the type they should have."""
    fields = [field for field in msgspec.structs.fields(struct) if field.encode_name in value]
    return struct(**{field.name: _part(field.type, value[field.encode_name]) for field in fields})


def _part(kind: Any, part: Any) -> Any:
    allowed = get_args(kind)
    match part:
        case str() if kind is Raw:
            return Raw(orjson.dumps(part))
        case dict() if kind is Raw:  # of arguments and data, only texts are shown
            return Raw(orjson.dumps({key: text for key, text in part.items() if isinstance(text, str)}))
        case dict() if Said in allowed:
            return _fitted(Said, part)
        case list() if list[Block] in allowed:
            return [_fitted(Block, block) for block in part if isinstance(block, dict)]
        case str() | int() | None if kind is not Raw:
            return part if part is None or type(part) in allowed else None
    return _NOTHING if kind is Raw else None


# One line


_ENOUGH: Final = PREVIEW_CODE_POINTS + 40  # code points of a text, of which mostly a whole preview is left
_ENOUGH_WORDS: Final = PREVIEW_CODE_POINTS // 2 + 1
_UNSHOWN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")  # controls, and turns of direction


def one_line(text: str) -> str | None:
    """The first 120 code points of a text, each run of white space as one space; None if nothing is left."""
    return _shortened(_collapsed(text))


def _shortened(line: str) -> str | None:
    return line[:PREVIEW_CODE_POINTS].rstrip() or None


def _collapsed(text: str) -> str:
    """The beginning of a text as one line; at least 120 code points long, if the text says as much."""
    line = _usual_line(text[:_ENOUGH])
    if line.isprintable() and (len(line) == PREVIEW_CODE_POINTS or len(text) <= _ENOUGH):
        return line
    line = " ".join(text[:_ENOUGH].split())
    if len(line) < PREVIEW_CODE_POINTS and len(text) > _ENOUGH:
        line = " ".join(text.split(None, _ENOUGH_WORDS)[:_ENOUGH_WORDS])
    return line if line.isprintable() else " ".join(_UNSHOWN.sub(" ", line[: 4 * PREVIEW_CODE_POINTS]).split())


def _usual_line(text: str) -> str:
    """The first 120 code points of a text as one line, if that is printable: else other white space may be left.

    A few passes over all of it, faster than word by word.
    """
    line = text.replace("\n", " ").replace("\t", " ").strip()
    while len(closer := line.replace("  ", " ")) < len(line):
        line = closer
    return line[:PREVIEW_CODE_POINTS]


_PARTS: Final = (240, 2048)
"""How many bytes of a long text are looked at, at first and then."""
_beginning = re.compile(rb'"(.{%d}).' % (_PARTS[0] - 1), re.DOTALL).match
_INCOMPLETE: Final = re.compile(rb"(?:[\xc0-\xff][\x80-\xbf]*+|\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_LAST: Final = _PARTS[0] - 1 - 6  # where what is incomplete may start, at the end of a beginning
_QUOTE: Final = 0x22


def _text_line(raw: Raw) -> str:
    """The beginning of a string in JSON text as one line; "" for what is no string."""
    beginning = _beginning(raw)
    if beginning and (line := _plain_line(beginning[1])):
        return line
    view = memoryview(raw)
    if len(view) < 2 or view[0] != _QUOTE:
        return ""
    for size in _PARTS:
        if len(view) > size and len(line := _collapsed(_head(bytes(view[1:size])))) >= PREVIEW_CODE_POINTS:
            return line
    return _collapsed(orjson.loads(view))


def _plain_line(part: bytes) -> str:
    """The first 120 code points of a text from its beginning; "" if it takes a closer look."""
    end = _INCOMPLETE.search(part, _LAST)  # a whole character at the end is cut off too: cheaper than to try
    try:
        text = orjson.loads(b'"%b"' % (part[: end.start()] if end else part))
    except ValueError:
        return ""
    line = _usual_line(text[:_ENOUGH])
    return line if len(line) == PREVIEW_CODE_POINTS and line.isprintable() else ""


def _head(part: bytes) -> str:
    """The text of the first bytes of a JSON string; "" if they do not tell it."""
    try:
        return _unescaped(part)
    except ValueError:  # cut in the middle of a character or an escape
        pass
    try:
        return _unescaped(_INCOMPLETE.sub(b"", part))
    except ValueError:
        return ""


def _unescaped(part: bytes) -> str:
    return orjson.loads(b'"%b"' % part) if b"\\" in part else part.decode()


# What an entry says


MAIN_ARGUMENTS: Final = frozenset(
    {"path", "file_path", "filePath", "command", "pattern", "query", "url", "prompt", "task", "description", "name"}
)
"""The argument of a tool call that says what the call is about; the first one that is there."""


def preview(kind: int, line: Line) -> str | None:
    """The preview of an entry of this kind; None if it says nothing."""
    build = _PREVIEWS.get(kind)
    return _shortened(build(line)) if build else None


def _content(said: Said | None) -> str:
    """What content says first: a text, or its tool calls; an image or a thought only if there is nothing else."""
    content = said.content if said else None
    if content is None or isinstance(content, str):
        return _collapsed(content or "")
    for block in content:
        if block.type == "text" and (text := _text_line(block.text)):
            return text
        if block.type == "toolCall":
            return _collapsed(", ".join(_call(block) for block in content if block.type == "toolCall"))
    return next(filter(None, map(_silent, content)), "")


def _silent(block: Block) -> str:
    return f"[{block.mime_type or 'image'}]" if block.type == "image" else _text_line(block.thinking)


def _call(block: Block) -> str:
    """A tool call: its name and its main argument, or else its first text."""
    texts = {key: value for key, value in _arguments(block) if isinstance(value, str) and value.strip()}
    main = next((key for key in texts if key in MAIN_ARGUMENTS), next(iter(texts), None))
    return " ".join(filter(None, (block.name, texts.get(main or ""))))


def _arguments(block: Block) -> Iterable[tuple[str, Any]]:
    try:
        return read_body(bytes(block.arguments)).items()
    except DamagedLine:  # null, a string, a list; or not JSON at all, which is told where the line is proven
        return ()


def _assistant(line: Line) -> str:
    message = line.message
    return _content(message) or _collapsed((message and message.error_message) or "")


def _bash(line: Line) -> str:
    return _collapsed(f"$ {line.message.command or ''}") if line.message else ""


def _model(line: Line) -> str:
    return _collapsed("/".join(filter(None, (line.provider, line.model_id or line.model))))


def _edit(line: Line) -> str:
    replacement = line.replacement
    return "" if replacement is UNSET else _content(replacement) if replacement else "left out"


_PREVIEWS: Final[Mapping[int, Callable[[Line], str]]] = {
    **dict.fromkeys(
        (Kind.USER, Kind.TOOL_RESULT, Kind.CUSTOM_ROLE, Kind.SYSTEM, Kind.MESSAGE),
        lambda line: _content(line.message),
    ),
    Kind.ASSISTANT: _assistant,
    Kind.BASH: _bash,
    Kind.THINKING_LEVEL_CHANGE: lambda line: _collapsed(line.thinking_level or ""),
    Kind.MODEL_CHANGE: _model,
    **dict.fromkeys((Kind.COMPACTION, Kind.BRANCH_SUMMARY), lambda line: _collapsed(line.summary or "")),
    Kind.CUSTOM: lambda line: _text_line(line.data) or _collapsed(_head(bytes(memoryview(line.data)[: _PARTS[0]]))),
    Kind.CUSTOM_MESSAGE: _content,
    Kind.LABEL: lambda line: _collapsed(line.label or ""),
    Kind.SESSION_INFO: lambda line: _collapsed(line.name or ""),
    Kind.CONTEXT_EDIT: _edit,
    Kind.USAGE: lambda line: _collapsed(f"{line.kind or ''} {_model(line)}"),
}
