"""The records of a session file: what kinds of entry there are, and one line to and from bytes.

The format is pi's, version 3: append-only JSON lines, the header first, then entries with `id` and
`parentId`. This module knows a single line at a time: it never sees a file, a tree or a clock.
"""

import hashlib
import json
import re
from collections.abc import Container, Iterator
from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache
from sys import getrecursionlimit, version_info
from typing import Any, Final

import msgspec
import orjson

FORMAT_VERSION: Final = 3
LEAF_MARKER: Final = "pid.leaf"
MAX_DEPTH: Final = 1_000
NO_TIME: Final = -(1 << 62)
_INTEGER_DIGITS: Final = 20


class Kind(IntEnum):
    """What an entry is, in one number: its `type` and, for a message, its `role`."""

    OTHER = 0
    MESSAGE = 1  # a message whose role is unknown or was not read
    USER = 2
    ASSISTANT = 3
    TOOL_RESULT = 4
    BASH = 5
    CUSTOM_ROLE = 6
    SYSTEM = 7
    THINKING_LEVEL_CHANGE = 8
    MODEL_CHANGE = 9
    COMPACTION = 10
    BRANCH_SUMMARY = 11
    CUSTOM = 12
    CUSTOM_MESSAGE = 13
    LABEL = 14
    SESSION_INFO = 15
    CONTEXT_EDIT = 16
    USAGE = 17
    LEAF_MARKER = 18


ROLES: Final[dict[str, Kind]] = {
    "user": Kind.USER,
    "assistant": Kind.ASSISTANT,
    "toolResult": Kind.TOOL_RESULT,
    "bashExecution": Kind.BASH,
    "custom": Kind.CUSTOM_ROLE,
    "hookMessage": Kind.CUSTOM_ROLE,  # the name that version 2 gave to `custom`
    "system": Kind.SYSTEM,
}
TYPES: Final[dict[str, Kind]] = {
    "message": Kind.MESSAGE,
    "thinking_level_change": Kind.THINKING_LEVEL_CHANGE,
    "model_change": Kind.MODEL_CHANGE,
    "compaction": Kind.COMPACTION,
    "branch_summary": Kind.BRANCH_SUMMARY,
    "custom": Kind.CUSTOM,
    "custom_message": Kind.CUSTOM_MESSAGE,
    "label": Kind.LABEL,
    "session_info": Kind.SESSION_INFO,
    "context_edit": Kind.CONTEXT_EDIT,
    "usage": Kind.USAGE,
}
TYPE_NAMES: Final[dict[int, str]] = {
    **{kind: name for name, kind in TYPES.items()},
    **dict.fromkeys(ROLES.values(), "message"),
    Kind.LEAF_MARKER: "custom",
}
ROLE_NAMES: Final[dict[int, str]] = {kind: name for name, kind in ROLES.items() if name != "hookMessage"}
MESSAGE_KINDS: Final = frozenset({Kind.MESSAGE, *ROLES.values()})


def kind_of(body: dict[str, Any]) -> Kind:
    """The kind of a parsed entry; an unknown type is `OTHER`, an unknown role `MESSAGE`."""
    entry_type = body.get("type")
    kind = TYPES.get(entry_type, Kind.OTHER) if isinstance(entry_type, str) else Kind.OTHER
    if kind is Kind.MESSAGE:
        message = body.get("message")
        role = message.get("role") if isinstance(message, dict) else None
        return ROLES.get(role, Kind.MESSAGE) if isinstance(role, str) else Kind.MESSAGE
    if kind is Kind.CUSTOM and body.get("customType") == LEAF_MARKER:
        return Kind.LEAF_MARKER
    return kind


class DamagedLine(Exception):
    """A line that is no valid JSON object. `kind` is the `Problem` kind: `malformedLine` or `tooDeep`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Skip(msgspec.Struct):
    """A JSON object of which nothing is kept: decoding it checks the grammar and builds nothing."""


_check_grammar = msgspec.json.Decoder(_Skip).decode
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F]..)|.)", re.DOTALL)
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


def _mend_escape(match: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if match[1] else match[0]


def replace_lone_surrogates(raw: bytes) -> bytes:
    r"""JSON text with each `\ud800`-like escape that has no partner replaced by `\ufffd` (same length)."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    mended = _ESCAPE.sub(_mend_escape, raw)
    return raw if mended == raw else mended


def depth_of(raw: bytes) -> int:
    """How deep the arrays and objects of a JSON text are nested."""
    depth = deepest = 0
    for token in _STRUCTURE.finditer(raw):
        first = raw[token.start()]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first != 0x22:
            depth -= 1
    return deepest


_BUT_OPENING: Final = bytes(code for code in range(256) if code not in b"[{")


def may_be_deeper(raw: bytes, depth: int = MAX_DEPTH) -> bool:
    """Whether a JSON text may be nested deeper, told cheaply: a level takes two bytes, and one of them opens it."""
    return len(raw) > 2 * depth and len(raw.translate(None, _BUT_OPENING)) > depth


INVALID_UTF8: Final = "invalidUtf8"
NOT_UTF8: Final = "bytes that are not UTF-8; they stay as they are, and go out as U+FFFD"


def is_utf8(raw: bytes) -> bool:
    """Whether all of it is UTF-8."""
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError:
            return False
    return True


_STACK_IS_SHARED: Final = version_info < (3, 12)  # then msgspec goes no deeper than Python itself


def clean(raw: bytes, depth: int = MAX_DEPTH) -> bytes:
    """The bytes of an object as they may go out: RFC 8259 to a `depth` (of 1,000), UTF-8, no lone surrogate.

    Returns `raw` itself where nothing had to be replaced by U+FFFD. Raises `DamagedLine`.
    """
    if not is_utf8(raw):
        raw = raw.decode(errors="replace").encode()
    try:
        _check_grammar(raw)
    except msgspec.DecodeError as error:
        mended = replace_lone_surrogates(raw)
        if mended is raw:
            raise DamagedLine("malformedLine", f"not a JSON object: {error}") from None
        return clean(mended, depth)
    except RecursionError:  # msgspec counts Python's own stack; orjson allows 1,024 levels above any
        _check_depth(raw, depth)
        _check_deep(raw)
    else:
        if not _STACK_IS_SHARED or getrecursionlimit() > depth:
            _check_depth(raw, depth)
    return raw


def is_clean(raw: bytes, depth: int) -> bool:
    """Whether `clean` gives the bytes themselves: told faster, for this is asked of every message."""
    try:
        if not raw.isascii():
            raw.decode()
        _check_grammar(raw)
    except ValueError:
        return False
    except RecursionError:
        try:
            return clean(raw, depth) is raw
        except DamagedLine:
            return False
    return not may_be_deeper(raw, depth) or depth_of(raw) <= depth


def _check_deep(raw: bytes) -> None:
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise DamagedLine("malformedLine", f"not a JSON object: {error}") from None


def _check_depth(raw: bytes, depth: int) -> None:
    if may_be_deeper(raw, depth) and depth_of(raw) > depth:
        raise DamagedLine("tooDeep", f"JSON nested deeper than {MAX_DEPTH:,} levels")


def read_body(raw: bytes) -> dict[str, Any]:
    """One entry (clean or as stored) as a dict. Raises `DamagedLine`.

    Integers beyond 64 bits become floats here: the bytes, not this dict, are what is sent on.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = _read_unusual(clean(raw))
    if not isinstance(body, dict):
        raise DamagedLine("notAnObject", "a JSON value that is not an object")
    return body


def _integer(text: str) -> int | float:
    # Python makes no int of more than 4,300 digits, and long ones take it long; JavaScript has infinity here.
    return int(text) if len(text) <= _INTEGER_DIGITS else float(text)


def _read_unusual(raw: bytes) -> Any:
    # What `clean` lets through and orjson does not: numbers beyond a double (1e999), infinity in
    # JavaScript too.
    try:
        return json.loads(raw, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DamagedLine("malformedLine", f"not a JSON object: {error}") from None


_decode_value = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode  # numbers of any length: only keys count
_BLANK = re.compile(r"[ \t\r\n]*")


def _past_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def members(text: str) -> Iterator[tuple[str, str, str]]:
    """The members of a valid JSON object, in order, with repeats: decoded key, its text, its value's text."""
    at = _past_blanks(text, text.index("{") + 1)
    while text[at] != "}":
        key, key_end = _decode_value(text, at)
        start = _past_blanks(text, text.index(":", key_end) + 1)
        _, end = _decode_value(text, start)
        yield key, text[at:key_end], text[start:end]
        at = _past_blanks(text, end)
        if text[at] == ",":
            at = _past_blanks(text, at + 1)


def elements(text: str) -> Iterator[str]:
    """The texts of the elements of a valid JSON array, in order."""
    at = _past_blanks(text, text.index("[") + 1)
    while text[at] != "]":
        _, end = _decode_value(text, at)
        yield text[at:end]
        at = _past_blanks(text, end)
        if text[at] == ",":
            at = _past_blanks(text, at + 1)


OWN_KEYS: Final = ("type", "id", "parentId", "timestamp")
_LEADING = re.compile(rb'[ \t]*"(type|id|parentId|timestamp)"[ \t]*:[ \t]*(?:"(?:[^"\\]|\\.)*"|null)[ \t]*(,|(?=\}))')


class EntryHead(msgspec.Struct, rename="camel"):
    """The fields of an entry that the daemon sets or looks at when it is appended."""

    type: str
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None


def compose(entry: bytes, head: EntryHead, present: int) -> bytes:
    """The line of an entry: `head` first, in pi's order, then the client's own members byte for byte.

    `entry` is a valid JSON object; `present` says how many of the four keys of `head` it holds itself.
    Only raw line breaks, which JSON allows between tokens alone, are taken out. The line has none at its end.
    """
    if b"\n" in entry or b"\r" in entry:
        entry = entry.replace(b"\n", b" ").replace(b"\r", b" ")
    rest = entry.index(b"{") + 1
    while match := _LEADING.match(entry, rest):
        rest, present = match.end(), present - 1
    tail = entry[rest:].strip() if present <= 0 else _other_members(entry)
    opening = orjson.dumps({"type": head.type, "id": head.id, "parentId": head.parent_id, "timestamp": head.timestamp})[
        :-1
    ]
    return b"".join((opening, b"" if tail == b"}" else b",", tail))


def _other_members(entry: bytes) -> bytes:
    kept = (f"{name}:{value}" for key, name, value in members(entry.decode()) if key not in OWN_KEYS)
    return (",".join(kept) + "}").encode()


def leaf_marker(entry_id: str, parent_id: str | None, timestamp: str) -> bytes:
    """The line that keeps a moved leaf: invisible to the model, and pi opens at the same place."""
    return orjson.dumps(
        {
            "type": "custom",
            "id": entry_id,
            "parentId": parent_id,
            "timestamp": timestamp,
            "customType": LEAF_MARKER,
        }
    )


def id_text(value: object) -> str | None:
    """An id as text: numbers are read as their decimal text; anything else, and "", is no id."""
    if isinstance(value, str) and value:
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def name_text(value: object) -> str | None:
    """A session's name as shown: line breaks become spaces; an empty one is none."""
    return (re.sub(r"\r\n|\r|\n", " ", value).strip() or None) if isinstance(value, str) else None


def derived_id(session_id: str, place: str, *taken: Container[str]) -> str:
    """A stable id for an entry without one: 8 hex characters from the session id and its place in the file.

    The same at every opening; of two that meet, the later one is hashed again with a counter.
    """
    for attempt in range(1 << 32):
        seed = f"{session_id}:{place}:{attempt}".encode(errors="surrogatepass")
        entry_id = hashlib.sha256(seed).hexdigest()[:8]
        if not any(entry_id in ids for ids in taken):
            return entry_id
    raise AssertionError("2^32 ids are taken")


def minute_ms(minute: str) -> int:
    """`2026-01-31T23:59` as milliseconds since 1970 (UTC); `NO_TIME` if there is no such minute."""
    day, hours, minutes = _day_ms(minute[:10]), int(minute[11:13]), int(minute[14:])
    return NO_TIME if day == NO_TIME or hours > 23 or minutes > 59 else day + (hours * 60 + minutes) * 60_000


@lru_cache(maxsize=1024)
def _day_ms(day: str) -> int:
    try:
        return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return NO_TIME


_CANONICAL_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):([0-5]\d)\.(\d{3})Z", re.ASCII)


def canonical_ms(text: object) -> int:
    """A timestamp in the canonical form (ISO 8601, ms, `Z`) as milliseconds since 1970, else `NO_TIME`."""
    match = _CANONICAL_TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None or (minute := minute_ms(match[1])) == NO_TIME:
        return NO_TIME
    return minute + int(match[2]) * 1000 + int(match[3])


def iso_of(ms: int) -> str:
    """Milliseconds since 1970 in the canonical form."""
    minutes, rest = divmod(ms, 60_000)
    digits = str(100_000 + rest)  # behind the one, two of seconds and three of ms: cheaper than two paddings
    return f"{_minute_text(minutes)}:{digits[1:3]}.{digits[3:]}Z"


@lru_cache(maxsize=4096)
def _minute_text(minutes: int) -> str:
    return datetime.fromtimestamp(minutes * 60, UTC).replace(tzinfo=None).isoformat(timespec="minutes")
