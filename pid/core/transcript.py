"""A conversation as text, for a model that is to summarise it and not to continue it.

One part for each thing said, in pi's form: `[User]: `, `[Assistant]: `, `[Assistant tool calls]: name(key=value)`,
`[Tool result]: `. What a message says can never look like a part of its own: a line of it that begins with such a
mark is quoted. Thinking is left out, images leave a word.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pid.core.javascript import json_text, ordered_keys, utf16_head, utf16_length
from pid.core.messages import to_llm
from pid.core.tokens import Message, blocks_of

RESULT_UNITS: Final = 2_000
"""UTF-16 units of a tool result that are shown."""

_MARKS: Final = ("User", "Assistant", "Assistant tool calls", "Tool result", "Earlier summary")
_MARKED_LINE: Final = re.compile(rf"^(?=\[(?:{'|'.join(_MARKS)})\]: )", re.MULTILINE)


def parts_of(message: Message) -> list[str]:
    """The parts of one agent message; none where it says nothing to a model, or is state (`system`)."""
    found = to_llm(message)
    if found is None:
        return []
    blocks = blocks_of(found.get("content"))
    match found.get("role"):
        case "user":
            return _part("User", _text(blocks, ""))
        case "assistant":
            calls = "; ".join(_call(block) for block in blocks if block.get("type") == "toolCall")
            return [*_part("Assistant", _text(blocks, "\n")), *_part("Assistant tool calls", calls)]
        case "toolResult":
            return _part("Tool result", shortened(_text(blocks, ""), RESULT_UNITS))
    return []


def _part(mark: str, text: str) -> list[str]:
    return [f"[{mark}]: {quoted(text)}"] if text else []


def quoted(text: str) -> str:
    """The text, its lines that look like a part's beginning marked as quotations."""
    return _MARKED_LINE.sub("> ", text) if "]: " in text else text


def _text(blocks: list[Mapping[str, Any]], separator: str) -> str:
    return separator.join(filter(None, map(_block_text, blocks)))


def _block_text(block: Mapping[str, Any]) -> str:
    if block.get("type") == "image":
        return "[image]"
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _call(block: Mapping[str, Any]) -> str:
    arguments = block.get("arguments")
    if isinstance(arguments, dict):
        shown = ", ".join(f"{key}={json_text(arguments[key])}" for key in ordered_keys(arguments))
    else:
        shown = "" if arguments is None else json_text(arguments)
    return f"{block.get('name')}({shown})"


def shortened(text: str, units: int) -> str:
    """At most so many UTF-16 units of a text, and how many more there were."""
    head = utf16_head(text, units)
    left = utf16_length(text) - utf16_length(head)
    return f"{head}\n\n[{left:,} more characters left out]" if left else text
