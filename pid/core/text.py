"""The text of a document in an editor, as lines of bytes, and places in it as LSP counts them.

A line ends at a line feed and nowhere else: U+2028 and its like are text, as they are in the file. Columns are
UTF-16 units. A text is never changed: an edit makes another one that shares its lines. Nothing here knows JSON lines.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import orjson
from msgspec import Raw

from pid.entries import replace_lone_surrogates

Lines = list[bytes]
"""A text in UTF-8, split at each line feed: at least one line; the last one has no line feed behind it."""

Json = bytes | memoryview | Raw
"""A string in JSON."""

_LONG_LEADS: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")  # of characters that are two units in UTF-16


class Place(NamedTuple):
    """A line (from 0) and a column in UTF-16 units."""

    line: int
    column: int


class Stretch(NamedTuple):
    """A part of a text, from one place up to another."""

    start: Place
    stop: Place


def units_before(line: bytes, at: int) -> int:
    """The column of a byte of a line: how many UTF-16 units stand before it."""
    head = line[:at]
    if head.isascii():
        return len(head)
    return len(head.decode(errors="replace")) + sum(map(head.count, _LONG_LEADS))


def byte_at(line: bytes, column: int) -> int:
    """The byte at a column; the end of the line if it is shorter, the character's start inside a pair."""
    if line.isascii():
        return min(max(column, 0), len(line))
    units = line.decode(errors="replace").encode("utf-16-le")[: 2 * max(column, 0)]
    return min(len(units.decode("utf-16-le", "ignore").encode()), len(line))


def end_of(lines: Lines) -> Place:
    """The place behind the last character."""
    return Place(len(lines) - 1, units_before(lines[-1], len(lines[-1])))


def edited(lines: Lines, part: Stretch, new: Lines) -> Lines:
    """The text with one part of it replaced. Places behind the end of a line or of the text mean that end."""
    (first, head), (last, tail) = (_byte_place(lines, place) for place in part)
    if (last, tail) < (first, head):
        last, tail = first, head
    between = list(new)
    between[0] = lines[first][:head] + between[0]
    between[-1] += lines[last][tail:]
    return [*lines[:first], *between, *lines[last + 1 :]]


def _byte_place(lines: Lines, place: Place) -> tuple[int, int]:
    if place.line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    line = max(place.line, 0)
    return line, byte_at(lines[line], place.column)


def first_difference(old: Sequence[bytes], new: Sequence[bytes], start: int = 0) -> int:
    """The first line from `start` on in which two texts differ; the length of the shorter one if none does."""
    shorter = min(len(old), len(new))
    return next((index for index in range(start, shorter) if old[index] != new[index]), shorter)


# From the JSON of a message

_SLICE: Final = 512 << 10
_CUT: Final = re.compile(rb"[^\\]{6}(?=[^\\\x80-\xbf])")
_CUT_WITHIN: Final = 4096


def read_lines(text: Json) -> Lines:
    """The lines of a text that is a string in JSON. Raises ValueError for what is none.

    It is taken apart in slices, so that a thread which reads 40 MB never holds the interpreter for long.
    """
    view = memoryview(text)
    if len(view) < 2 or view[0] != 0x22 or view[-1] != 0x22:
        raise ValueError("a text is a string")
    view, at = view[1:-1], 0
    lines: Lines = []
    parts: list[bytes] = []  # of the line that is not at its end yet
    while at < len(view):
        raw = _slice(view, at)
        at += len(raw)
        first, *rest = _characters(raw).split(b"\n")
        parts.append(first)
        if rest:
            lines.append(b"".join(parts))
            lines += rest[:-1]
            parts = [rest[-1]]
    lines.append(b"".join(parts))
    return lines


def head_line(text: Json) -> bytes:
    """The first line of such a text, as far as one slice holds it. Raises ValueError."""
    view = memoryview(text)
    return read_lines(b'"%b"' % _slice(view[1:-1], 0) if len(view) > 2 else text)[0]


def _slice(view: memoryview, at: int) -> bytes:
    """The next bytes of a string in JSON, up to where neither an escape, nor a pair, nor a character is cut."""
    size = _SLICE
    while at + size < len(view):
        raw = bytes(view[at : at + size])
        start = len(raw) - _CUT_WITHIN
        cuts = [match.end() for match in _CUT.finditer(raw, start)]
        if cuts:
            return raw[: cuts[-1]]
        size *= 2
    return bytes(view[at:])


def _characters(raw: bytes) -> bytes:
    text: str
    try:
        text = orjson.loads(b'"%b"' % raw)
    except orjson.JSONDecodeError:
        mended = replace_lone_surrogates(raw).decode(errors="replace")
        text = orjson.loads(f'"{mended}"')
    return text.encode()
