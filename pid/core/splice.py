"""Takes JSON objects apart and puts them together again without touching the bytes of what stays.

Everything here wants valid JSON (clean bytes). It parses no number and no text: integers, escapes and the order of
keys survive. It knows no entry and no message.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

Json = bytes | Raw
"""The text of a JSON value."""

NULL: Final = b"null"

_by_key = msgspec.json.Decoder(dict[str, Raw]).decode
_text = msgspec.json.encode
_read_text = msgspec.json.Decoder(str).decode
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]|[:,]', re.DOTALL)
_FLAT_OBJECT = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\{(?:[^{}\[\]"]++|"(?:[^"\\]++|\\.)*+")*+\}', re.DOTALL)
_IMAGE = re.compile(rb'"type"\s*:\s*"image"')
_DATA = re.compile(rb'("data"\s*:\s*)"[^"\\]*+"')


def members(raw: Json) -> dict[str, Json]:
    """The members of an object: key to the text of its value, in order; of a repeated key the last value."""
    try:
        return dict(_by_key(raw))
    except RecursionError:  # deeper than the Python stack has room for
        return {_read_text(key): value for key, value in _split(bytes(raw))}


def _split(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    depth, key, start = 0, b"", 0
    for token in _TOKEN.finditer(raw):
        first = raw[token.start() : token.start() + 1]
        if first in b"[{":
            depth += 1
            start = token.end() if depth == 1 else start
        elif depth == 1 and first == b":":
            key, start = raw[start : token.start()].strip(), token.end()
        elif depth == 1 and first in b",}" and key:
            yield key, raw[start : token.start()].strip()
            key, start = b"", token.end()
        if first in b"]}":
            depth -= 1


def joined(parts: dict[str, Json]) -> bytes:
    """The object with these members."""
    return b"{" + b",".join(_text(key) + b":" + bytes(value) for key, value in parts.items()) + b"}"


def with_member(raw: Json, key: str, value: bytes) -> bytes:
    """The object with one member set: in its place if it is there, else at the end."""
    return joined(members(raw) | {key: value})


def value_of(raw: Json | None) -> Any:
    """The value that a JSON text says: scalars parsed, objects and arrays left as `Raw`, absent as None."""
    if raw is None or memoryview(raw)[0] in b"[{":
        return raw if raw is None else Raw(raw)
    try:
        return orjson.loads(bytes(raw))
    except orjson.JSONDecodeError:  # a number beyond a double
        return float(bytes(raw))


def is_null(raw: Json | None) -> bool:
    """Whether a value is absent or null."""
    return raw is None or bytes(raw) == NULL


def without_image_data(raw: bytes) -> bytes:
    """The JSON text with the `data` of every image block (`type`: `image`) empty."""
    return _FLAT_OBJECT.sub(_without_data, raw) if _IMAGE.search(raw) else raw


def _without_data(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return _DATA.sub(rb'\1""', found) if found[0] == 0x7B and _IMAGE.search(found) else found
