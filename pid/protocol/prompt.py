"""The wire types of the system prompt."""

from pid.protocol.base import AbsolutePath, Date, ResourceProblemKind, Wire


class ContextFile(Wire):
    """A file that the prompt carries."""

    path: str  #: Where it is.
    content: str  #: Its text.


class Skill(Wire):
    """Instructions for one kind of task, which the model reads when it needs them."""

    name: str  #: Its name.
    description: str  #: What it is for.
    location: str  #: Its `SKILL.md`.
    disable_model_invocation: bool = False  #: Only people call for it: the prompt does not name it.


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
    #: Beside those that are found, or in the place of the one at the same path.
    context_files: list[ContextFile] | None = None
    skills: list[Skill] | None = None  #: Before those that are found; the first of a name counts.
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
