"""Takes an unusual line apart: two objects on it, NUL bytes or a BOM before it, a torn object in front of a whole one.

Only lines that the fast scan does not know come here. The work is bounded by the length of the line, whatever it
holds, and no byte is lost from sight: what is no object is returned as a damaged piece.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pid.entries import INVALID_UTF8, NOT_UTF8, DamagedLine, is_utf8, read_body

_NOISE = re.compile(rb"(?:[\x00 \t\r\n]|\xef\xbb\xbf)*")
_CANDIDATE = re.compile(rb'\{[ \t]*"type"[ \t]*:')
_LEADING = re.compile(
    rb'[ \t]*"(\w{1,64})"[ \t]*:[ \t]*("(?:[^"\\\x00-\x1f]++|\\.)*+"|null|-?\d{1,18}(?![\d.eE]))[ \t]*,?'
)
_TRAILING = re.compile(rb',[ \t]*"id"[ \t]*:[ \t]*("[^"\\]*"),[ \t]*"parentId"[ \t]*:[ \t]*(null|"[^"\\]*")\}\s*\Z')
_TAIL_BYTES: Final = 200
_EFFORT: Final = 8  # how often the bytes of a line may be looked at in the search for an object in it
_parse = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode  # numbers of any length: only the end counts


@dataclass(frozen=True, slots=True)
class Piece:
    """`line[start:stop]`: an object with its parsed `body`, or damaged bytes with what could still be read.

    `error` is a `Problem` kind (None for a sound object; one with a body may hold `invalidUtf8`); `salvaged` has the
    scalar fields at the damaged object's head and tail. A piece of noise has neither (`nulBytes`, `byteOrderMark`).
    """

    start: int
    stop: int
    body: dict[str, Any] | None = None
    error: str | None = None
    reason: str = ""
    salvaged: dict[str, Any] = field(default_factory=dict)


def pieces(line: bytes) -> Iterator[Piece]:
    """The objects and the damaged spans of one line (without its line break), in order; nothing for a blank line."""
    at, noise = _past_noise(line, 0) if line[:1] != b"{" else (0, ())
    yield from noise
    end = len(line.rstrip(b"\x00 \t\r\n"))
    if at >= end:
        return
    try:
        yield _whole(line, at, end)
    except DamagedLine as error:
        if error.kind == "malformedLine":
            yield from _search(line, at, end, str(error))
        else:
            yield _damaged(line, at, end, error.kind, str(error))
    if b"\x00" in line[end:]:
        yield Piece(end, len(line), error="nulBytes", reason="NUL bytes")


def _past_noise(line: bytes, at: int) -> tuple[int, Sequence[Piece]]:
    match = _NOISE.match(line, at)
    stop = match.end() if match else at
    noise = line[at:stop]
    found = []
    if b"\x00" in noise:
        found.append(Piece(at, stop, error="nulBytes", reason=f"{noise.count(0):,} NUL bytes"))
    if b"\xef\xbb\xbf" in noise:
        found.append(Piece(at, stop, error="byteOrderMark", reason="a byte order mark"))
    return stop, found


def _search(line: bytes, at: int, end: int, reason: str) -> Iterator[Piece]:
    text = line.decode("latin-1")  # a character a byte: JSON's structure is ASCII, and places stay places
    effort = _EFFORT * (end - at) + 4096
    torn = False
    while at < end:
        start, stop = at, _object_end(text, at)
        effort -= abs(stop) - at + 1
        if stop > 0 and (piece := _sound(line, start, stop, entry_only=torn)):
            yield piece
            at, noise = _past_noise(line, stop)
            yield from noise
            torn = False
            continue
        torn = True
        at = _next_whole(line, text, max(start + 1, stop), end, effort)
        yield _damaged(line, start, at, "malformedLine", reason)


def _object_end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends; minus the place where reading it failed."""
    try:
        _, stop = _parse(text, at)
    except json.JSONDecodeError as error:
        return -max(error.pos, at)
    except RecursionError:
        return -at
    return stop


def _sound(line: bytes, start: int, stop: int, *, entry_only: bool) -> Piece | None:
    # Behind a torn object stand its own inner objects too: only what links itself into the tree is an entry.
    try:
        piece = _whole(line, start, stop)
    except DamagedLine as error:
        return None if entry_only else _damaged(line, start, stop, error.kind, str(error))
    return None if entry_only and "parentId" not in (piece.body or {}) else piece


def _whole(line: bytes, start: int, stop: int) -> Piece:
    """The object in these bytes. Raises `DamagedLine`."""
    raw = line[start:stop]
    body = read_body(raw)
    if is_utf8(raw):
        return Piece(start, stop, body)
    return Piece(start, stop, body, INVALID_UTF8, NOT_UTF8, body)


def _next_whole(line: bytes, text: str, at: int, end: int, effort: int) -> int:
    """Where the next whole entry begins in the bytes behind a torn one; `end` if none does."""
    while effort > 0 and (match := _CANDIDATE.search(line, at, end)):
        start, stop = match.start(), _object_end(text, match.start())
        effort -= abs(stop) - start + 1
        if stop > 0 and _sound(line, start, stop, entry_only=True):
            return start
        at = max(start + 1, stop)
    return end


def _damaged(line: bytes, start: int, stop: int, kind: str, reason: str) -> Piece:
    return Piece(start, stop, error=kind, reason=reason, salvaged=_salvage(line, start, stop))


def _salvage(line: bytes, start: int, stop: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if line[start : start + 1] != b"{":
        return found
    at = start + 1
    while match := _LEADING.match(line, at, stop):
        found[match[1].decode()] = _scalar(match[2])
        at = match.end()
    if "id" not in found and (match := _TRAILING.search(line, max(start, stop - _TAIL_BYTES), stop)):
        found |= {"id": _scalar(match[1]), "parentId": _scalar(match[2])}
    return found


def _scalar(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(errors="replace"))
    except ValueError:
        return None
