"""A directory of many sessions, listed cold, again, and after one changed; the most recent one; and forks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

from tests.benchmarks.daemon import opened
from tests.benchmarks.figures import Figures
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.weighing import repeated, weighed
from tests.benchmarks.wire import Daemon

ENTRIES = 39
"""Entries of each session: 95 KB."""
PROJECT = "/projects/bench"
"""The working directory of each session."""
DIFFERENT = 40
DOUBTFUL_SECONDS = 2.5
"""What changed a moment ago is read again: not what is to be measured."""

LISTINGS = ("list, cold", "list, again", "list, new process", "list, one changed")
"""With nothing kept; in the same process; in another that finds what the first kept; with one session grown."""


def plant(folder: Path, sessions: int) -> Path:
    """A directory with so many sessions of a few tens of entries, alike but for their ids."""
    folder.mkdir()
    texts = [write(Recipe(ENTRIES, seed=seed), folder / "seed").read_bytes() for seed in range(DIFFERENT)]
    (folder / "seed").unlink()
    for number in range(sessions):
        text = texts[number % DIFFERENT].replace(b'"id":"bench-', b'"id":"%d-' % number, 1)
        (folder / f"2026-01-05T09-00-00-000Z_{number}.jsonl").write_bytes(text)
    sleep(DOUBTFUL_SECONDS)
    return folder


def touch(folder: Path) -> None:
    """Appends an entry to the session that was written first."""
    path = min(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    line = b'{"type":"custom","id":"touched%d","parentId":null,"timestamp":"2026-01-06T09:00:00.000Z"}\n'
    with path.open("ab") as file:
        file.write(line % path.stat().st_size)


@dataclass(frozen=True)
class Many:
    """The daemon under `command`; figures go into `figures`."""

    command: Sequence[str]
    figures: Figures

    def directory(self, name: str, folder: Path) -> None:
        self.listings(name, folder)
        self.continues(name, folder)

    def listings(self, name: str, folder: Path) -> None:
        """`LISTINGS`; what is kept of a directory begins empty."""
        params = {"sessionDir": str(folder), "all": True}
        cold, again, new, changed = LISTINGS
        with _empty_cache():
            with Daemon(self.command) as daemon:
                self._list(daemon, cold, name, params)
                self._list(daemon, again, name, params)
            with Daemon(self.command) as daemon:
                self._list(daemon, new, name, params)
                touch(folder)
                self._list(daemon, changed, name, params)

    def continues(self, name: str, folder: Path) -> None:
        """The session whose file was written last, found and opened."""
        params = {"cwd": PROJECT, "sessionDir": str(folder)}
        with Daemon(self.command) as daemon:
            for _ in repeated():
                with weighed(self.figures, "pid", daemon.pid, "continue recent", name):
                    state = daemon.result("session/continueRecent", params)
                assert not state["created"]
                daemon.request("session/close", {"sessionId": state["sessionId"]})

    def forks(self, name: str, path: Path, folder: Path) -> None:
        """Of a file that nobody has open, as pi does it; then of the open session, whole and the path to its leaf."""
        params = {"sessionDir": str(folder)}
        with Daemon(self.command) as daemon:
            self._fork("fork of a file", name, daemon, {"path": str(path), **params})
            session_id, leaf = opened(daemon, path)
            self._fork("fork", name, daemon, {"sessionId": session_id, **params})
            self._fork("fork of a path", name, daemon, {"sessionId": session_id, "entryId": leaf, **params})

    def _list(self, daemon: Daemon, work: str, name: str, params: dict[str, Any]) -> None:
        with weighed(self.figures, "pid", daemon.pid, work, name):
            daemon.request("session/list", params)

    def _fork(self, work: str, name: str, daemon: Daemon, params: dict[str, str]) -> None:
        with weighed(self.figures, "pid", daemon.pid, work, name):
            state = daemon.result("session/fork", params)
        daemon.request("session/close", {"sessionId": state["sessionId"]})
        Path(state["path"]).unlink()


@contextmanager
def _empty_cache() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PID_CACHE_DIR"] = cache
        try:
            yield
        finally:
            del os.environ["PID_CACHE_DIR"]
