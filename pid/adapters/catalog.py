"""Where session files are, and how they are called: pi's directories and names.

Facts: `<agent dir>/sessions/--<cwd>--/<time>_<session id>.jsonl`. The encoding of `<cwd>` collides, so a directory
may hold the sessions of several projects: the header decides. This module opens no session file.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_SEPARATORS = re.compile(r"[/\\:]")


@dataclass(frozen=True, slots=True)
class Places:
    """The directories that a daemon looks in: the agent directory, and one for all sessions if it was given."""

    agent_dir: str
    session_dir: str | None = None

    @classmethod
    def of(
        cls, environment: Mapping[str, str], *, agent_dir: str | None = None, session_dir: str | None = None
    ) -> "Places":
        """The places by precedence: given, then `PI_CODING_AGENT_DIR` and `PI_CODING_AGENT_SESSION_DIR`, then pi's."""
        agent = agent_dir or environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent"
        session = session_dir or environment.get("PI_CODING_AGENT_SESSION_DIR")
        return cls(_absolute(agent), _absolute(session) if session else None)

    def directory(self, cwd: str, session_dir: str | None = None) -> str:
        """Where the sessions of a working directory are."""
        return session_dir or self.session_dir or os.path.join(self.agent_dir, "sessions", encoded(cwd))

    def directories(self, cwd: str | None = None) -> Iterator[str]:
        """Where a session may be: with `cwd` only its own directory."""
        if cwd is not None or self.session_dir is not None:
            yield self.directory(cwd or "/")
            return
        root = Path(self.agent_dir, "sessions")
        if root.is_dir():
            yield from sorted(entry.path for entry in os.scandir(root) if entry.is_dir())


def encoded(cwd: str) -> str:
    """The name of a working directory's folder: `/home/me/x` is `--home-me-x--`."""
    return f"--{_SEPARATORS.sub('-', cwd.lstrip('/'))}--"


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
