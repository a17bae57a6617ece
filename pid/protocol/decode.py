"""From the bytes of a message's params to a wire type, with an error that names the field.

Absent params and `[]` are an empty object, and null is an absent field wherever the type gives it no meaning
of its own. A well-formed message takes one pass; only one that fails is looked at again.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from pid.entries import elements, members, replace_lone_surrogates
from pid.errors import InvalidParams
from pid.protocol.base import PATTERNS, Wire, wire_name

T = TypeVar("T", bound=Wire)
Raw = bytes | msgspec.Raw
Path = list[str | int]

_MENDS = 16  # more nulls and `[]` than a message can mean; the bound for a hostile one
_ERROR = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `(.+)`")
_ARRAY_FOR_OBJECT = re.compile(r"Expected `.*\bobject\b.*`, got `array`")


def decode_params(kind: type[T], raw: Raw | None) -> T:
    """The params of a message as `kind`; raises InvalidParams with `data.path` (`entries[2]`; empty: all)."""
    params = decode_value(kind, b"{}" if raw is None else raw)
    for name, default in _later(kind):
        if getattr(params, name) != default:
            path = wire_name(name)
            raise InvalidParams(f"{path}: not supported by this version of the daemon", path=path)
    return params


def decode_value(kind: type[T], raw: Raw, path: str = "") -> T:
    """The value at `path` of some params as `kind`; raises InvalidParams as `decode_params` does."""
    for _ in range(_MENDS):
        try:
            value: T = _decoder(kind).decode(raw)
            return value
        except msgspec.ValidationError as error:
            what, steps = _read(str(error))
            mended = _mended(raw, steps, what)
            if mended is None:
                raise _invalid(what + _choices(kind, steps, what), path, steps) from None
            raw = mended
        except RecursionError:
            raise _invalid("Nested too deeply", path, []) from None
        except msgspec.DecodeError as error:
            unpaired = _decode_unpaired(kind, bytes(raw), path)
            if unpaired is None:
                raise _invalid(str(error), path, []) from None
            return unpaired
    raise _invalid("Too many nulls", path, [])


def _decode_unpaired(kind: type[T], sent: bytes, path: str) -> T | None:
    """The value of a text with lone surrogates, U+FFFD for each; None if it has none."""
    mended = replace_lone_surrogates(sent)
    if mended is sent:
        return None
    value = decode_value(kind, mended, path)
    try:
        return _as_sent(value, sent)
    except RecursionError:
        raise _invalid("Nested too deeply", path, []) from None


def _as_sent(value: T, sent: bytes) -> T:
    """A value that was read without its lone surrogates, with them in the bytes that are stored as they came."""
    # Bytes that are no UTF-8 may stand in what is stored; escaped, they come through as they are.
    texts = {key: text for key, _, text in members(sent.decode(errors="surrogateescape"))}
    changed: dict[str, Any] = {}
    for field in msgspec.structs.fields(value):
        old = getattr(value, field.name)
        if field.encode_name not in texts:
            continue
        if isinstance(old, msgspec.Raw):
            changed[field.name] = _raw(texts[field.encode_name])
        elif isinstance(old, list) and old and isinstance(old[0], msgspec.Raw):
            changed[field.name] = [_raw(text) for text in elements(texts[field.encode_name])]
    return msgspec.structs.replace(value, **changed) if changed else value


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode(errors="surrogateescape"))


@cache
def _decoder(kind: type[Wire]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _later(kind: type[Wire]) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, f.default) for f in msgspec.structs.fields(kind) if f.name in kind.LATER)


def _read(error: str) -> tuple[str, Path]:
    """msgspec's message, taken apart: what is wrong, and the steps to where."""
    what, where = _ERROR.fullmatch(error).groups()  # type: ignore[union-attr]  # it matches every text
    steps: Path = [name or (int(at) if at.isdigit() else at) for name, at in _STEP.findall(where or "")]
    if missing := _MISSING.fullmatch(what):
        return "This field is required", [*steps, missing[1]]
    for pattern, words in PATTERNS.items():
        if what.endswith(repr(pattern)):
            return f"Expected {words}", steps
    return what, steps


def _invalid(what: str, path: str, steps: Path) -> InvalidParams:
    """`data.path` is `entry.message.role`, `entries[2].id`; a key that msgspec does not tell is `[...]`."""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) or step == "..." else f".{step}" if path else step
    return InvalidParams(f"{path or 'params'}: {what}", path=path)


def _choices(kind: type[Wire], steps: Path, what: str) -> str:
    """Behind a word that is none of those a field takes: which it takes."""
    if not what.startswith("Invalid enum value"):
        return ""
    inner = [msgspec.inspect.type_info(kind)]
    for step in steps:
        inner = [found for info in inner for found in _inside(info, step)]
    words = [repr(word) for info in inner if isinstance(info, msgspec.inspect.LiteralType) for word in info.values]
    return f"; expected one of {', '.join(words)}" if words else ""


def _inside(info: msgspec.inspect.Type, step: str | int) -> Iterator[msgspec.inspect.Type]:
    """The types that a value has at one step inside a type; each of a union."""
    match info:
        case msgspec.inspect.StructType(fields=fields):
            found = [each.type for each in fields if each.encode_name == step]
        case msgspec.inspect.ListType(item_type=item):
            found = [item]
        case _:
            found = []
    for each in found:
        yield from each.types if isinstance(each, msgspec.inspect.UnionType) else (each,)


def _mended(raw: Raw, steps: Path, what: str) -> bytes | None:
    """`raw` without the null, or with `{}` for the `[]`, that is complained of; None: it is a real fault."""
    try:
        if what.endswith("got `null`") and (not steps or isinstance(steps[-1], str)):
            return _changed(raw, steps, lambda _: None) or b"{}"
        if _ARRAY_FOR_OBJECT.fullmatch(what):
            return _changed(raw, steps, _empty_object)
    except (LookupError, msgspec.DecodeError):
        pass
    return None


def _changed(raw: Raw, steps: Path, change: Callable[[Raw], bytes | None]) -> bytes | None:
    """`raw` with one value in it changed (None takes the member out); all beside it keeps its bytes."""
    if not steps:
        return change(raw)
    step, *rest = steps
    container = dict[str, msgspec.Raw] if isinstance(step, str) else list[msgspec.Raw]
    parts: Any = msgspec.json.decode(raw, type=container)
    inner = _changed(parts[step], rest, change)
    if inner is None:
        del parts[step]
    else:
        parts[step] = msgspec.Raw(inner)
    return msgspec.json.encode(parts)


def _empty_object(raw: Raw) -> bytes:
    """`{}` for an array without elements; raises LookupError for one with any."""
    if msgspec.json.decode(raw, type=list[msgspec.Raw]):
        raise LookupError("an array with elements is no object")
    return b"{}"
