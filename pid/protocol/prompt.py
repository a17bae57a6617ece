"""The wire types of the system prompt."""

from typing import Annotated

from msgspec import Meta

from pid.protocol.base import AbsolutePath, Wire

Date = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)")]


RESOURCE_PROBLEM_KINDS = {
    "missingDirectory": "The working directory is not there.",
    "unreadable": "The system refuses to read it.",
    "notAFile": "Something else than a regular file has the name; the next name is tried.",
    "brokenLink": "A link leads nowhere.",
    "linkCircle": "Links lead round in a circle.",
    "badName": "Its path is not UTF-8.",
    "tooLarge": "It is larger than 1 MiB.",
    "tooMuch": "All together would be too long.",
    "tooMany": "There are too many skills, or files to look for them in.",
    "tooDeep": "Directories stand too deep in one another.",
    "binary": "It holds NUL bytes.",
    "invalidUtf8": "It is not UTF-8.",
    "changedWhileRead": "It was written to or replaced each time it was read.",
    "invalidFrontMatter": "A skill's front matter is missing or cannot be read.",
    "invalidSkill": "A skill breaks a rule of the Agent Skills convention.",
    "skillCollision": "A skill found before it has its name.",
}

ResourceProblemKind = Annotated[str, Meta(examples=list(RESOURCE_PROBLEM_KINDS))]


class ContextFile(Wire):
    """A file that the prompt carries."""

    path: str  #: Where it is.
    content: str  #: Its text.


class Skill(Wire):
    """Instructions for one kind of task, which the model reads when it needs them."""

    name: str  #: Its name.
    description: str  #: What it is for.
    location: str  #: Its `SKILL.md`.
    disable_model_invocation: bool = False  #: Only the user calls it: the prompt does not name it.


class PromptParams(Wire):
    """Assembles the system prompt of an agent."""

    cwd: AbsolutePath  #: The working directory.
    agent_dir: AbsolutePath | None = None  #: Default: the daemon's.
    custom_prompt: str | None = None  #: Instead of the preamble, tools, guidelines and documentation.
    append_prompt: str | None = None  #: Text behind them.
    selected_tools: list[str] | None = None  #: The tools that are on. Default: read, bash, edit, write.
    tool_snippets: dict[str, str] | None = None  #: A line for each tool, by its name.
    guidelines: list[str] | None = None  #: Further guidelines.
    documentation: list[str] | None = None  #: Pointers to documentation.
    context_files: list[ContextFile] | None = None  #: Instead of those that are found.
    skills: list[Skill] | None = None  #: Instead of those that are found.
    sections: dict[str, str | None] | None = None  #: Sections to replace or add; null leaves one out.
    discover: bool = True  #: Whether to look for context files and skills.
    date: Date | bool | None = None  #: The date to name. False: none. Default: today.


class ResourceProblem(Wire):
    """A context file or a skill that could not be taken."""

    path: str  #: Where it is.
    kind: ResourceProblemKind  #: What is wrong.
    message: str  #: The same in words for people.


class PromptResult(Wire):
    """The system prompt and what it is made of."""

    prompt: str  #: All of it.
    sections: dict[str, str]  #: Its parts by name, in order.
    context_files: list[ContextFile]  #: The context files in it, those without text too.
    skills: list[Skill]  #: The skills there are, those too that it does not name.
    problems: list[ResourceProblem]  #: What could not be taken.
