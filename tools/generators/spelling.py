"""How a schema is spelt as a type: one walk for all languages, each of which is a table of words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generators.schema import REF, Schema


@dataclass(frozen=True)
class Language:
    """The words of a language for JSON's types. `or_` joins the members of a union."""

    words: dict[str, str]
    reference: Callable[[str], str]
    literal: Callable[[Any], str]
    array: Callable[[str], str]
    mapping: Callable[[str], str]
    or_: str = " | "
    grouped: Callable[[str], str] = "({})".format


def spell(schema: Schema, language: Language) -> str:
    """The type that a schema describes; an open enumeration or another definition by its name."""
    members = list(dict.fromkeys(_members(schema, language)))
    return language.or_.join(members)


def spell_field(field: Schema, language: Language) -> str:
    """The type of a field, without the null that says no more than the field's absence."""
    text = spell(field, language)
    null = language.or_ + language.words["null"]
    return text.removesuffix(null) if field.get("default", ...) is None else text


def is_optional(name: str, definition: Schema) -> bool:
    """Whether a field of an object may be absent."""
    return name not in definition.get("required", ())


def _members(schema: Schema, language: Language) -> list[str]:
    match schema:
        case {"$ref": str(ref)}:
            return [language.reference(ref.removeprefix(REF))]
        case {"anyOf": list(options)}:
            return [member for option in options for member in _members(option, language)]
        case {"const": value}:
            return [language.literal(value)]
        case {"enum": list(values)}:
            return [language.literal(value) for value in values]
        case {"type": list(kinds)}:
            return [member for kind in kinds for member in _members({**schema, "type": kind}, language)]
        case {"type": "array"}:
            return [language.array(_grouped(schema.get("items", {}), language))]
        case {"type": "object", "additionalProperties": dict(values)}:
            return [language.mapping(spell(values, language))]
        case {"type": str(kind)}:
            return [language.words[kind]]
    return [language.words["any"]]


def _grouped(schema: Schema, language: Language) -> str:
    """An element's type, in brackets if it is a union."""
    members = list(dict.fromkeys(_members(schema, language)))
    text = language.or_.join(members)
    return language.grouped(text) if len(members) > 1 else text
