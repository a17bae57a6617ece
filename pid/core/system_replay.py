"""The system prompt and the tools in effect, from the `system` messages of a context.

Each such message is a patch: it adds text, sets or removes named sections, removes tools and adds tools. Replayed
in order they give the current state. Nothing here knows a provider's form.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Json = dict[str, Any]


class SystemState(NamedTuple):
    """`content`: all contents; `sections` in the order in which they were first set; `tools`: pi's own."""

    content: str
    sections: dict[str, str]
    tools: list[Json]

    @property
    def text(self) -> str:
        """The system prompt as a whole."""
        return "\n\n".join(part for part in (self.content, *self.sections.values()) if part.strip())

    def as_message(self) -> Json | None:
        """One `system` message that leads to the same state; None for an empty state."""
        if not (self.content or self.sections or self.tools):
            return None
        sections = {"sections": self.sections} if self.sections else {}
        tools = {"toolsAdded": self.tools} if self.tools else {}
        return {"role": "system", "content": self.content, **sections, **tools}


def replay(messages: Iterable[Json]) -> SystemState:
    """The state after the `system` messages, whatever shape their fields have."""
    texts: list[str] = []
    sections: dict[str, str] = {}
    tools: dict[str, Json] = {}
    for message in messages:
        texts.append(_text(message.get("content")))
        _patch_sections(sections, message.get("sections"))
        for name in _names(message.get("toolsRemoved")):
            tools.pop(name, None)
        tools.update({tool["name"]: tool for tool in added_tools(message)})
    return SystemState("\n\n".join(text for text in texts if text), sections, list(tools.values()))


def added_tools(message: Json) -> list[Json]:
    """The tools that a message adds."""
    return [tool for tool in _dicts(message.get("toolsAdded")) if _named(tool)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in _dicts(content) if isinstance(block.get("text"), str))


def _patch_sections(sections: dict[str, str], patch: Any) -> None:
    for name, value in patch.items() if isinstance(patch, dict) else ():
        if value is None:
            sections.pop(name, None)
        elif isinstance(value, str):
            sections[name] = value


def _names(removed: Any) -> list[str]:
    listed = removed if isinstance(removed, list) else []
    names = (entry.get("name") if isinstance(entry, dict) else entry for entry in listed)
    return [name for name in names if isinstance(name, str)]


def _dicts(value: Any) -> list[Json]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _named(tool: Json) -> bool:
    return isinstance(tool.get("name"), str) and tool["name"] != ""
