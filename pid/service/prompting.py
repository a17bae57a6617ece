"""`prompt/build`: joins what a client asks for with what lies on disk into a system prompt.

Synchronous, and it reads files: the shell runs it in a worker thread. It keeps nothing between calls.
"""

import datetime
import os

import msgspec

from pid.adapters import resources
from pid.core import system_prompt
from pid.errors import InvalidParams
from pid.protocol.prompt import ContextFile, PromptParams, PromptResult

MAX_PATH_BYTES = 4096
"""No path is longer on Linux (macOS: 1024)."""


def build_prompt(
    params: PromptParams, *, home: str, agent_dir: str, today: datetime.date, project: bool = True
) -> PromptResult:
    """The prompt, its sections, the files and skills in question and what is wrong with them.

    `agent_dir` holds where the params name none; `project` says whether the project is looked into. A context
    file of the params stands in the place of the one on disk at its path (an editor's unsaved text), else
    behind those; skills of the params come first and keep their names.
    Raises `InvalidParams` for what cannot be a path or a date.
    """
    cwd = _path(params.cwd, "cwd")
    agent_dir = agent_dir if params.agent_dir is None else _path(params.agent_dir, "agentDir")
    date = _date(params.date, today)
    given = params.skills or []
    found = resources.Found([], [], [])
    if params.discover:
        found = resources.discover(cwd, agent_dir=agent_dir, home=home, project=project, before=given)
    context_files = _one_a_path(found.context_files, params.context_files or [])
    skills = [*given, *found.skills]
    params = msgspec.structs.replace(params, cwd=cwd)
    sections = system_prompt.build_sections(params, context_files, skills, date)
    return PromptResult(
        prompt=system_prompt.joined(sections),
        sections=sections,
        context_files=context_files,
        skills=skills,
        problems=found.problems,
    )


def _one_a_path(found: list[ContextFile], given: list[ContextFile]) -> list[ContextFile]:
    """Those found, each as it was given if it was, then the others that were given; of two the last."""
    return list({file.path: file for file in [*found, *given]}.values())


def _path(path: str, field: str) -> str:
    """The path without `.`, `..` and doubled separators."""
    try:
        usable = path.startswith("/") and "\0" not in path and len(path.encode()) <= MAX_PATH_BYTES
    except UnicodeEncodeError:
        usable = False
    if not usable:
        message = f"{field}: give an absolute path in UTF-8, without NUL, of at most {MAX_PATH_BYTES} bytes"
        raise InvalidParams(message, path=field)
    return "/" + os.path.normpath(path).lstrip("/")


def _date(asked: str | bool | None, today: datetime.date) -> str | None:
    if asked is False:
        return None
    if asked is None or asked is True:
        return today.isoformat()
    try:
        return datetime.datetime.strptime(asked, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise InvalidParams("date: give a date such as 2026-01-31, or false", path="date") from None
