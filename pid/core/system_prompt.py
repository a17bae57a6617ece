"""The system prompt of an agent: its sections by name, in their order.

The same input gives the same bytes, whatever the order of its keys, so that a provider's prompt cache holds;
what changes soonest stands last. Files, skills and the date are handed in: nothing here looks at a disk, a
clock or the environment.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pid.protocol.prompt import ContextFile, PromptParams, Skill

DEFAULT_TOOLS = ("read", "bash", "edit", "write")
"""The tools that are on when none are named: pi's."""

READERS = ("read", "bash")
"""The tools that can load a skill's file, the better one first."""

HEAD = ("preamble", "tools", "guidelines", "documentation")
"""The sections that a custom prompt replaces; it stands in the place of the first, under its name."""

STEADY = (*HEAD, "append", "context", "skills")
LAST = ("date", "cwd")
"""Sections that a client adds stand between these two groups, by name."""

TOOL_LINES = {
    "read": "look into a file, or a part of a long one",
    "bash": "run a command in a shell, in the working directory",
    "edit": "replace an exact piece of text in a file",
    "write": "write a whole file, new or over an old one",
    "grep": "search the contents of files for a pattern",
    "find": "find files by a pattern of their names",
    "ls": "list what is in a directory",
}

PREAMBLE = (
    "You are a coding agent. With the tools below you read, run and change the code in the user's working "
    "directory, until what the user asks for is done or you know why it cannot be."
)


class Guideline(NamedTuple):
    """A sentence that holds while all tools of `on` and none of `off` are on."""

    text: str
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()


def _when(on: str, text: str, off: str = "") -> Guideline:
    return Guideline(text, frozenset(on.split()), frozenset(off.split()))


_SEARCH = "Search and list with the tools made for it where they suffice, and with bash where they do not."
_READ_FIRST = "Read a file before you change it."
_CHECK = "After a change run the checks that cover it, and report a failure as it is."

TOOL_GUIDELINES = (
    _when("bash", "Search and list files by commands that skip ignored ones, such as rg.", off="grep find ls"),
    _when("bash grep", _SEARCH),
    _when("bash find", _SEARCH),
    _when("bash ls", _SEARCH),
    _when("read bash", "Open files with read, not by commands that print them."),
    _when("read edit", _READ_FIRST),
    _when("read write", _READ_FIRST),
    _when("edit", "Keep each edit small; the text it replaces must stand in exactly one place of the file."),
    _when("edit write", "Change files with edit; use write for new ones, or where little would stay."),
    _when("write", "write replaces the whole file: carry over all that should stay.", off="edit"),
    _when("bash edit", _CHECK),
    _when("bash write", _CHECK),
    _when("bash", "Ask before you run what cannot be undone."),
)

GENERAL_GUIDELINES = (
    "Answer briefly, the most important thing first.",
    "Name files by their paths.",
)


def build_sections(
    params: PromptParams, context_files: Sequence[ContextFile], skills: Sequence[Skill], date: str | None
) -> dict[str, str]:
    """The sections that have a text, by name, in the order of the prompt.

    `params.sections` has the last word on each. Of `params` neither `context_files`, `skills` nor `date` is
    looked at: the caller decides on them. An empty custom prompt is none.
    """
    tools = DEFAULT_TOOLS if params.selected_tools is None else params.selected_tools
    custom = _trimmed(params.custom_prompt)
    own = {
        **({"preamble": custom} if custom else _standard_head(params, tools)),
        "append": _trimmed(params.append_prompt),
        "context": _context(context_files),
        "skills": _skills(skills, tools),
        "date": f"Current date: {date}" if date else "",
        "cwd": f"Current working directory: {shown_path(params.cwd)}",
    }
    asked = {name: _trimmed(text) for name, text in (params.sections or {}).items()}
    added = sorted(asked.keys() - {*STEADY, *LAST})
    texts = {**own, **asked}
    return {name: texts[name] for name in (*STEADY, *added, *LAST) if texts.get(name)}


def joined(sections: dict[str, str]) -> str:
    """The whole prompt: its sections with an empty line between them."""
    return "\n\n".join(sections.values())


def shown_path(path: str) -> str:
    """A path as one line: as it is, or as a JSON string if it holds what cannot be printed."""
    return path if path.isprintable() else json.dumps(path, ensure_ascii=False)


def _standard_head(params: PromptParams, tools: Sequence[str]) -> dict[str, str]:
    return {
        "preamble": PREAMBLE,
        "tools": _tools(tools, {**TOOL_LINES, **(params.tool_snippets or {})}),
        "guidelines": _listed("Guidelines:", _guidelines(frozenset(tools), params.guidelines or ())),
        "documentation": _listed("Documentation, for when a task needs it:", params.documentation or ()),
    }


def _tools(tools: Sequence[str], lines: dict[str, str]) -> str:
    listed = [f"{tool}: {lines[tool]}" if lines.get(tool) else tool for tool in tools]
    return _listed("Available tools:", listed) or "Available tools: none"


def _guidelines(tools: frozenset[str], further: Iterable[str]) -> list[str]:
    hold = [rule.text for rule in TOOL_GUIDELINES if rule.on <= tools and not rule.off & tools]
    return [*hold, *further, *GENERAL_GUIDELINES]


def _context(files: Sequence[ContextFile]) -> str:
    texts = [f"## {shown_path(file.path)}\n\n{text}" for file in files if (text := _trimmed(file.content))]
    head = "# Project Context\n\nInstructions for your work here; where two differ, the later one holds."
    return "\n\n".join([head, *texts]) if texts else ""


def _skills(skills: Sequence[Skill], tools: Sequence[str]) -> str:
    """The skills that the model may call, if it has a tool to read them with."""
    reader = next((tool for tool in READERS if tool in tools), None)
    named = [skill for skill in skills if not skill.disable_model_invocation]
    if reader is None or not named:
        return ""
    head = (
        "# Skills\n\nEach is a file of instructions for one kind of task. If a task fits a description, load"
        f" the file with {reader} before you begin, and follow it; paths in it start at its own directory."
    )
    return "\n".join([head, "", *map(_skill, named)])


def _skill(skill: Skill) -> str:
    line = f"- {_one_line(skill.name)}: {_one_line(skill.description)}"
    return f"{line}\n  Location: {shown_path(skill.location)}"


def _listed(head: str, items: Iterable[str]) -> str:
    """The items as a list under their head, each on one line and once; nothing if there are none."""
    lines = dict.fromkeys(filter(None, map(_one_line, items)))
    return "\n".join([head, *(f"- {line}" for line in lines)]) if lines else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _trimmed(text: str | None) -> str:
    """A text without empty lines at its ends; its indentation stays."""
    lines = (text or "").rstrip()
    return lines.lstrip("\n") if lines else ""
