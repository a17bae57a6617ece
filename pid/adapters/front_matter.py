"""YAML front matter: the scalars at its top, and the only importer of PyYAML.

It walks the parser's events and builds no object: aliases are never followed, tags never obeyed, and what is
nested is passed over, so no document grows larger in memory than it is in the file.
"""

import re
from collections.abc import Iterator
from typing import Any

Scalar = str | bool | None

MAX_FRONT_MATTER = 16_384
"""The longest front matter that is parsed, in characters."""

MAX_NESTING = 32
"""How deep the collections in it may stand in one another."""

_BLOCK = re.compile(r"---[ \t]*\n(?P<yaml>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_LINE = 2  # of the YAML in the file, behind the line of dashes


def _spellings(words: str, value: bool | None) -> dict[str, bool | None]:
    return {form: value for word in words.split() for form in (word, word.capitalize(), word.upper())}


# The plain scalars of YAML 1.1 that are not text.
_PLAIN: dict[str, bool | None] = {
    "": None,
    "~": None,
    **_spellings("null", None),
    **_spellings("true yes on", True),
    **_spellings("false no off", False),
}


class BadFrontMatter(Exception):
    """Front matter that cannot be read. The message says why, with the line of the file if that is known."""


def scalars(text: str) -> dict[str, Scalar]:
    """The top-level keys of a text's front matter and their values where those are scalars.

    A plain `true`, `yes` and their kin are booleans, a plain `null` or nothing is None; every other scalar is
    its text, numbers and dates too. Keys whose value is a list or a mapping are left out.
    Raises `BadFrontMatter`: none, too long, invalid YAML, not a mapping, a key twice, an alias as a value,
    nested too deep.
    """
    block = _BLOCK.match(text)
    if block is None:
        closed = "its first line is not ---" if not text.startswith("---") else "no line --- ends it"
        raise BadFrontMatter(f"there is no front matter: {closed}")
    if len(block["yaml"]) > MAX_FRONT_MATTER:
        raise BadFrontMatter(f"the front matter is longer than {MAX_FRONT_MATTER} characters")
    return _scalars(block["yaml"])


def _scalars(document: str) -> dict[str, Scalar]:
    import yaml  # type: ignore[import-untyped]

    found: dict[str, Scalar] = {}
    try:
        nodes = _top_nodes(yaml, document)
        for key, value in zip(nodes, nodes, strict=True):
            if not isinstance(key, yaml.ScalarEvent):
                continue
            if key.value in found:
                raise _bad(key, f"the key {key.value} stands twice")
            if isinstance(value, yaml.AliasEvent):
                raise _bad(value, "aliases are not followed")
            if isinstance(value, yaml.ScalarEvent):
                found[key.value] = _scalar(value)
    except yaml.YAMLError as error:
        raise BadFrontMatter(_explain(error)) from None
    return found


def _top_nodes(yaml: Any, document: str) -> Iterator[Any]:
    """The events that begin the nodes right under the top mapping: its keys and values in turn."""
    depth = documents = 0
    for event in yaml.parse(document, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.NodeEvent):
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                raise _bad(event, "it is not a mapping of keys to values")
            if depth == 1:
                yield event
        depth += isinstance(event, yaml.CollectionStartEvent)
        if documents > 1 or depth > MAX_NESTING:
            raise _bad(event, "more than one document" if documents > 1 else "it is nested too deep")


def _scalar(event: Any) -> Scalar:
    text: str = event.value
    if _SURROGATE.search(text):  # PyYAML's parser in Python lets escapes make one
        raise _bad(event, "half of a surrogate pair is no character")
    plain = event.implicit[0]
    return _PLAIN.get(text, text) if plain else text


def _bad(event: Any, reason: str) -> BadFrontMatter:
    return BadFrontMatter(f"line {event.start_mark.line + _FIRST_LINE}: {reason}")


def _explain(error: Any) -> str:
    """What the parser found, in one line, with the line of the file where it says so."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + _FIRST_LINE}: " if mark else ""
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "invalid YAML"
    hint = " (put a value that holds ': ' in quotes)" if "mapping values" in reason else ""
    return f"{where}{reason}{hint}"
