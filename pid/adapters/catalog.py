"""Where session files are, and how they are called: pi's directories and names.

Facts: `<agent dir>/sessions/--<cwd>--/<time>_<session id>.jsonl`. The encoding of `<cwd>` collides, so a directory
may hold the sessions of several projects: the header decides. This module opens no session file.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pid.adapters.settings_files import SettingsFiles

_SEPARATORS = re.compile(r"[/\\:]")


@dataclass(frozen=True, slots=True)
class Places:
    """The directories that a daemon looks in: the agent directory, and one for all sessions if it was given.

    `files` are the settings files, which may name another directory for the sessions of a project.
    """

    agent_dir: str
    session_dir: str | None = None
    files: SettingsFiles | None = None

    @classmethod
    def of(
        cls,
        environment: Mapping[str, str],
        *,
        agent_dir: str | None = None,
        session_dir: str | None = None,
        trusted_roots: Sequence[str] | None = None,
    ) -> "Places":
        """The places by precedence: given, then `PI_CODING_AGENT_DIR` and `PI_CODING_AGENT_SESSION_DIR`, then pi's."""
        agent = _absolute(agent_dir or environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent")
        session = session_dir or environment.get("PI_CODING_AGENT_SESSION_DIR")
        return cls(agent, _absolute(session) if session else None, SettingsFiles(agent, trusted_roots))

    def trusts(self, cwd: str) -> bool:
        """Whether a project's own files may be read."""
        return self.files is None or self.files.trusts(cwd)

    def directory(self, cwd: str, session_dir: str | None = None) -> str:
        """Where the sessions of a working directory are."""
        named = self.files.session_dir(cwd) if self.files and not (session_dir or self.session_dir) else None
        return session_dir or self.session_dir or named or self.own_directory(cwd)

    def own_directory(self, cwd: str) -> str:
        """pi's own directory for the sessions of a working directory."""
        return os.path.join(self.agent_dir, "sessions", encoded(cwd))

    def directories(self, cwd: str | None = None) -> Iterator[str]:
        """Where a session may be: with `cwd` only its own directory."""
        if cwd is not None or self.session_dir is not None:
            yield self.directory(cwd or "/")
            return
        named = self.files.session_dir("") if self.files else None
        if named and named.startswith("/"):  # else each working directory has its own
            yield named
        with contextlib.suppress(OSError):
            yield from sorted(
                entry.path for entry in os.scandir(os.path.join(self.agent_dir, "sessions")) if entry.is_dir()
            )


def encoded(cwd: str) -> str:
    """The name of a working directory's folder: `/home/me/x` is `--home-me-x--`."""
    return f"--{_SEPARATORS.sub('-', os.path.normpath(cwd).lstrip('/'))}--"


def file_name(session_id: str, timestamp: str) -> str:
    """The name of a session's file; `timestamp` is ISO 8601."""
    return f"{re.sub('[:.]', '-', timestamp)}_{session_id}.jsonl"


def find_by_id(session_id: str, directories: Iterator[str]) -> str | None:
    """The file named after a session id (which is no path: `OwnSessionId`), the newest if there are several."""
    ending = f"_{session_id}.jsonl"
    for directory in directories:
        try:
            names = sorted(name for name in os.listdir(directory) if name.endswith(ending))
        except OSError:
            continue
        if names:
            return os.path.join(directory, names[-1])
    return None


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))
