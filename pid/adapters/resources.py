"""What lies on disk for a system prompt: the context files, and where skills are looked for.

Links are followed, and nothing is taken twice (by real path). Whatever is wrong with a file is a
`ResourceProblem`: nothing here raises for what it finds, blocks on a FIFO or grows past its bounds. Whether a
project's own files may be read is decided elsewhere and handed in.
"""

import os
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from pid.adapters import files, skills
from pid.adapters.files import Unusable, problem
from pid.protocol.prompt import ContextFile, ResourceProblem, Skill

CONTEXT_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""In each directory the first of these that is a regular file is taken, or told if it cannot be read."""

MAX_CONTEXT = 4 << 20
"""The most text that all context files may hold together, in characters."""

# What stands under one of the names and is no file hides no other name; a file that cannot be used does.
_NO_FILE = frozenset({"notAFile", "brokenLink", "linkCircle"})


class Found(NamedTuple):
    """What was found, in the order of the prompt, and what could not be taken."""

    context_files: list[ContextFile]
    skills: list[Skill]
    problems: list[ResourceProblem]


def discover(cwd: str, *, agent_dir: str, home: str, project: bool = True, before: Iterable[Skill] = ()) -> Found:
    """All there is for a prompt in `cwd`: the user's and, if `project`, the project's own.

    The skills `before` stand already: a skill on disk with the name of one is left out.
    """
    context_files, problems = find_context_files(cwd, agent_dir=agent_dir, project=project)
    roots = skill_roots(cwd, agent_dir=agent_dir, home=home, project=project)
    found, told = skills.load(roots, before)
    return Found(context_files, found, [*missing_directory(cwd), *problems, *told])


def find_context_files(
    cwd: str, *, agent_dir: str, project: bool = True
) -> tuple[list[ContextFile], list[ResourceProblem]]:
    """The agent directory's context file and, if `project`, those from the root down to `cwd`."""
    found: list[ContextFile] = []
    problems: list[ResourceProblem] = []
    directories = [agent_dir, *(upwards(cwd)[::-1] if project else [])]
    paths: dict[str, str] = {}  # by real path
    for directory in directories:
        if path := _context_path(directory, problems):
            paths.setdefault(os.path.realpath(path), path)
    reader = files.BoundedReader(MAX_CONTEXT)
    for path in paths.values():
        try:
            found.append(ContextFile(path=path, content=reader.read(path)))
        except Unusable as error:
            problems.append(problem(path, error))
    return found, problems


def skill_roots(cwd: str, *, agent_dir: str, home: str, project: bool = True) -> list[str]:
    """Where skills are looked for, the first to win: the user's, so that no project replaces one.

    The project's are `.pi/skills` in `cwd` (as in pi), then `.agents/skills` from `cwd` up to the root of its
    repository, the nearest first. Outside a repository `cwd` is all: the directories above it may be anyone's
    (`/tmp`), and a skill can make an agent run programs.
    """
    user = [os.path.join(agent_dir, "skills"), os.path.join(home, ".agents", "skills")]
    if not project:
        return user
    shared = [os.path.join(directory, ".agents", "skills") for directory in _up_to_repository(cwd)]
    return [*user, os.path.join(cwd, ".pi", "skills"), *shared]


def upwards(directory: str) -> list[str]:
    """The directory and all above it, as its path names them."""
    path = PurePosixPath(directory)
    return [str(path), *map(str, path.parents)]


def missing_directory(cwd: str) -> list[ResourceProblem]:
    """A problem if no directory is there."""
    absent = Unusable("missingDirectory", "there is no such directory")
    return [] if os.path.isdir(cwd) else [problem(cwd, absent)]


def _up_to_repository(cwd: str) -> list[str]:
    directories = upwards(cwd)
    for depth, directory in enumerate(directories):
        if os.path.lexists(os.path.join(directory, ".git")):
            return directories[: depth + 1]
    return directories[:1]


def _context_path(directory: str, problems: list[ResourceProblem]) -> str | None:
    for name in CONTEXT_NAMES:
        path = os.path.join(directory, name)
        try:
            if files.is_regular(path):
                return path
        except Unusable as error:
            problems.append(problem(path, error))
            if error.kind not in _NO_FILE:
                return None
    return None
