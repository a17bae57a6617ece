"""How JavaScript counts and prints, where that shows: lengths in UTF-16 units, cuts, `JSON.stringify`.

pi measures and writes text this way, so equal numbers need equal rules. Nothing here knows what a message is.
Values are those of `entries.read_body`: strings without lone surrogates, integers, floats, lists and dicts.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import orjson

_EXACT: Final = 1 << 53  # from here on JavaScript rounds integers


def utf16_length(text: str) -> int:
    """The length of a text in UTF-16 units: what `.length` gives in JavaScript."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_head(text: str, units: int) -> str:
    """At most the first `units` UTF-16 units of a text; a pair that stands across the cut is left out whole."""
    if len(text) <= units and utf16_length(text) <= units:
        return text
    head = text[:units].encode("utf-16-le", "surrogatepass")[: 2 * units]
    return head.decode("utf-16-le", "ignore")


def json_text(value: Any) -> str:
    """A JSON value as `JSON.stringify` prints it. Not recursive: depth costs memory only."""
    if isinstance(value, dict) and all(type(member) is str for member in value.values()) and not _has_index(value):
        return orjson.dumps(value).decode()  # most tool calls
    parts: list[str] = []
    open_values: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter([("", value)]), "")]
    while open_values:
        members, end = open_values[-1]
        for prefix, member in members:
            parts.append(prefix)
            if isinstance(member, dict):
                parts.append("{")
                open_values.append((_members(member), "}"))
                break
            if isinstance(member, list):
                parts.append("[")
                open_values.append((_items(member), "]"))
                break
            parts.append(_scalar(member))
        else:
            open_values.pop()
            parts.append(end)
    return "".join(parts)


def _members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for key in ordered_keys(value):
        yield f"{comma}{_scalar(key)}:", value[key]
        comma = ","


def _items(value: list[Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for item in value:
        yield comma, item
        comma = ","


def ordered_keys(value: dict[str, Any]) -> list[str]:
    """The keys in JavaScript's order: array indices ascending, then the others as they stand."""
    if not _has_index(value):
        return list(value)
    indices = [key for key in value if _is_index(key)]
    return sorted(indices, key=int) + [key for key in value if not _is_index(key)]


def _has_index(value: dict[str, Any]) -> bool:
    return any(map(_is_index, value))


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdecimal() and (key == "0" or key[0] != "0") and int(key[:11]) < (1 << 32) - 1


def _scalar(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int():
            return str(value) if abs(value) <= _EXACT else _number(float(value))
        case float():
            return _number(value)
        case _:
            return orjson.dumps(str(value)).decode()


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    magnitude = len(digits) + int(exponent)  # the place of the point, from the first digit
    if -6 < magnitude <= 21:
        return f"{Decimal(repr(value)).normalize():f}"
    text = "".join(map(str, digits))
    mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{'-' * sign}{mantissa}e{magnitude - 1:+d}"
