"""Results to JSON, in pieces that are each made in bounded time, with large stored JSON passed on uncopied.

`outline` writes a value around its large parts (long lists, large raw JSON), and `fill` writes one of those.
Together they give the bytes that msgspec would give in one go. The value must not change in between.
"""

import copy
from collections.abc import Iterator
from functools import cache
from operator import is_not
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from pid.shell.envelope import Raw, encode
from pid.shell.transport import Buffer

_HOLE: Final = Raw(b"\0")  # no JSON text holds this byte, so it marks where a large part goes
_FEW: Final = 64  # items of a list that are written with the rest
_LARGE: Final = 64 * 1024  # bytes that are worth passing on instead of copying; also the aim for one piece
_DEPTH: Final = 4  # how deep large parts are looked for
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})

Hole = list[Any] | tuple[Any, ...] | Raw


def outline(value: Any) -> tuple[list[bytes], list[Hole]]:
    """The JSON of `value` around its large parts: one piece more than there are parts.

    The value must not change until the parts were written with `fill`.
    """
    holes: list[Hole] = []
    text = encode(_hollow(value, holes, _DEPTH))
    pieces = text.split(b"\0") if holes else [text]
    if len(pieces) != len(holes) + 1:
        raise ValueError("a NUL byte in raw JSON")
    return pieces, holes


def fill(hole: Hole) -> Iterator[Buffer]:
    """The JSON of a large part, in pieces of about `_LARGE` bytes, large raw JSON as it stands."""
    if isinstance(hole, Raw):
        yield memoryview(hole)
        return
    yield b"["
    at, count = 0, 16
    while at < len(hole):
        comma = b"," if at else b""
        if isinstance(hole[at], Raw) and len(memoryview(hole[at])) >= _LARGE:
            yield from filter(None, (comma, memoryview(hole[at])))
            at += 1
            continue
        text = _items(hole[at : at + count])
        at += count
        yield from filter(None, (comma, text))
        count = min(count * 2, 8192) if len(text) < _LARGE else max(count // 2, 1)
    yield b"]"


def _items(part: list[Any] | tuple[Any, ...]) -> Buffer:
    """The items of a list, without its brackets."""
    if all(type(item) is Raw for item in part):
        return b",".join(part)  # one copy; an encoder that grows its buffer makes more
    return memoryview(encode(part))[1:-1]


def filled(pieces: list[bytes], holes: list[Hole]) -> Iterator[Buffer]:
    """The whole JSON of what `outline` took apart."""
    yield pieces[0]
    for hole, after in zip(holes, pieces[1:], strict=True):
        yield from fill(hole)
        yield after


def _hollow(value: Any, holes: list[Hole], depth: int) -> Any:
    """`value` with its large parts moved to `holes`; the same object if it has none."""
    kind = type(value)
    if kind in _PLAIN or depth == 0:
        return value
    if kind is Raw:
        return _moved(value, holes) if len(memoryview(value)) >= _LARGE else value
    if isinstance(value, list | tuple):
        if len(value) > _FEW:
            return _moved(value, holes)
        if not value:
            return value
        items = [_hollow(item, holes, depth - 1) for item in value]
        return items if any(map(is_not, items, value)) else value
    if isinstance(value, msgspec.Struct):
        return _hollow_struct(value, holes, depth)
    if isinstance(value, dict) and len(value) <= _FEW:
        fields = {name: _hollow(item, holes, depth - 1) for name, item in value.items()}
        return fields if any(fields[name] is not value[name] for name in value) else value
    return value


def _hollow_struct(value: msgspec.Struct, holes: list[Hole], depth: int) -> msgspec.Struct:
    changed = value
    for name in _roomy(type(value)):
        old = getattr(value, name)
        if old and (new := _hollow(old, holes, depth - 1)) is not old:
            changed = copy.copy(value) if changed is value else changed
            msgspec.structs.force_setattr(changed, name, new)
    return changed


@cache
def _roomy(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a wire type that may hold something large."""
    return tuple(field.name for field in msgspec.structs.fields(kind) if not _is_plain(field.type))


def _is_plain(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_plain(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return all(map(_is_plain, get_args(annotation)))
    return origin is Literal or annotation in _PLAIN or annotation is UnsetType


def _moved(part: Hole, holes: list[Hole]) -> Raw:
    holes.append(part)
    return _HOLE
