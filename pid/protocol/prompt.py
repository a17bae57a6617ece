"""The wire types of the system prompt."""

from typing import Annotated

from msgspec import Meta

from pid.protocol.base import AbsolutePath, Wire

Date = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)")]


class ContextFile(Wire):
    """A file that the prompt carries."""

    path: str  #: Where it is.
    content: str  #: Its text.


class Skill(Wire):
    """A skill that the prompt names."""

    name: str  #: Its name.
    description: str  #: What it is for.
    location: str  #: Its `SKILL.md`.


class PromptParams(Wire):
    """Assembles the system prompt of an agent."""

    cwd: AbsolutePath  #: The working directory.
    agent_dir: AbsolutePath | None = None  #: Default: the daemon's.
    custom_prompt: str | None = None  #: Instead of the preamble, tools, guidelines and documentation.
    append_prompt: str | None = None  #: Text behind them.
    selected_tools: list[str] | None = None  #: The tools that are on.
    tool_snippets: dict[str, str] | None = None  #: A line for each tool, by its name.
    guidelines: list[str] | None = None  #: Further guidelines.
    documentation: list[str] | None = None  #: Pointers to documentation.
    context_files: list[ContextFile] | None = None  #: Instead of those that are found.
    skills: list[Skill] | None = None  #: Instead of those that are found.
    sections: dict[str, str | None] | None = None  #: Sections to replace, by name; null leaves one out.
    discover: bool = True  #: Whether to look for context files and skills.
    date: Date | bool | None = None  #: The date to name. False: none. Default: today.


class ResourceProblem(Wire):
    """A context file or a skill that could not be taken."""

    path: str  #: Where it is.
    kind: str  #: What is wrong.
    message: str  #: The same in words for people.


class PromptResult(Wire):
    """The system prompt and what it is made of."""

    prompt: str  #: All of it.
    sections: dict[str, str]  #: Its parts by name, in order.
    context_files: list[ContextFile]  #: The context files in it.
    skills: list[Skill]  #: The skills in it.
    problems: list[ResourceProblem]  #: What could not be taken.
