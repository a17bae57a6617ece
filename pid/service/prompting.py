"""`prompt/build`: joins what a client asks for with what lies on disk into a system prompt.

Synchronous, and it reads files: the shell runs it in a worker thread. It keeps nothing between calls.
"""

import datetime
import os

import msgspec

from pid.adapters import resources
from pid.core import system_prompt
from pid.errors import InvalidParams
from pid.protocol.prompt import PromptParams, PromptResult, ResourceProblem

MAX_PATH_BYTES = 4096
"""No path is longer on Linux (macOS: 1024)."""


def build_prompt(
    params: PromptParams, *, home: str, agent_dir: str, today: datetime.date, project: bool = True
) -> PromptResult:
    """The prompt, its sections, the files and skills in question and what is wrong with them.

    `contextFiles` and `skills` of the params stand instead of those on disk, which `discover: false` leaves
    out. `agent_dir` holds where the params name none; `project` says whether the project is looked into.
    Raises `InvalidParams` for what cannot be a path or a date.
    """
    cwd = _path(params.cwd, "cwd")
    agent_dir = agent_dir if params.agent_dir is None else _path(params.agent_dir, "agentDir")
    date = _date(params.date, today)
    context_files, skills = params.context_files, params.skills
    problems: list[ResourceProblem] = resources.missing_directory(cwd) if params.discover else []
    if context_files is None and params.discover:
        context_files, told = resources.find_context_files(cwd, agent_dir=agent_dir, project=project)
        problems += told
    if skills is None and params.discover:
        skills, told = resources.find_skills(cwd, agent_dir=agent_dir, home=home, project=project)
        problems += told
    context_files, skills = context_files or [], skills or []
    params = msgspec.structs.replace(params, cwd=cwd)
    sections = system_prompt.build_sections(params, context_files, skills, date)
    return PromptResult(
        prompt=system_prompt.joined(sections),
        sections=sections,
        context_files=context_files,
        skills=skills,
        problems=problems,
    )


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
