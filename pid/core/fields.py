"""Where the fields of an entry stand in its line: byte places of values, and what names an entry.

For people who point at a line, one at a time; the scan of whole files is in `lines`. Damaged lines are welcome.
"""

import json
import re
from typing import Final, NamedTuple

from pid.entries import id_text

_decode = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode  # numbers of any length: only places count
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_AFTER_VALUE: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_COLON: Final = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_MOST_WALKED: Final = 4 << 20  # a longer entry is looked at by its head alone
_HEAD: Final = 400


class Named(NamedTuple):
    """A field that names something by an id: its key, the id, and the bytes `[start, stop)` of its value."""

    key: str
    id: str
    start: int
    stop: int


def value_span(line: bytes, start: int, stop: int, key: str) -> tuple[int, int] | None:
    """The bytes of a member's value in the object `line[start:stop]`; None if it is not found.

    What is damaged is walked as far as it is sound.
    """
    if stop - start > _MOST_WALKED:
        stop = start + _HEAD
    text = line[start:stop].decode("latin-1")  # a character a byte: JSON's structure is ASCII, and places stay places
    opening = text.find("{")
    at = _past(_BLANK, text, opening + 1)
    try:
        while opening >= 0 and text[at : at + 1] == '"':
            name, behind = _decode(text, at)
            first = _past(_COLON, text, behind)
            _, last = _decode(text, first)
            if name == key:
                return start + first, start + last
            at = _past(_AFTER_VALUE, text, last)
    except (ValueError, RecursionError):
        pass
    return None


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def fault_at(line: bytes, start: int, stop: int) -> int:
    """The byte at which `line[start:stop]` stops being JSON; `start` if it does not."""
    text = line[start:stop].decode("latin-1")
    try:
        _decode(text)
    except json.JSONDecodeError as error:
        return start + min(error.pos, len(text))
    except RecursionError:
        pass
    return start


_KEYS: Final = "id|parentId|targetId|firstKeptEntryId|firstKeptEntryIndex|fromId|toolCallId"
_NAMING: Final = re.compile(rb'"(%b)"[ \t]*:[ \t]*("(?:[^"\\]|\\.){1,256}"|-?\d{1,20})' % _KEYS.encode())
_AROUND: Final = 320


def named_at(line: bytes, at: int) -> Named | None:
    """The field around a byte that names an entry or a tool call, wherever in the line it stands."""
    begin = max(0, at - _AROUND)
    for match in _NAMING.finditer(line, begin, at + _AROUND):
        if match.start() <= at < match.end() and (value := id_text(json.loads(_utf8(match[2])))):
            return Named(match[1].decode(), value, match.start(2), match.end(2))
    return None


def _utf8(raw: bytes) -> str:
    return raw.decode(errors="replace")
