"""A directory of many sessions, listed cold, again, and after one changed; and forks of a long session."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter, sleep

from tests.benchmarks.daemon import opened
from tests.benchmarks.figures import Figures
from tests.benchmarks.reference import PATIENCE
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.wire import Daemon
from tests.npm import Npm
from tests.pi import Pi

ENTRIES = 39
"""Entries of each session: 95 KB."""
DIFFERENT = 40
DOUBTFUL_SECONDS = 2.5
"""What changed a moment ago is read again: not what is to be measured."""


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


def touch(folder: Path, numbers: count[int]) -> None:
    """Appends an entry to one of the sessions."""
    path = folder / f"2026-01-05T09-00-00-000Z_{next(numbers)}.jsonl"
    line = b'{"type":"custom","id":"touched%d","parentId":null,"timestamp":"2026-01-06T09:00:00.000Z"}\n'
    with path.open("ab") as file:
        file.write(line % path.stat().st_size)


@dataclass(frozen=True)
class Many:
    """The daemon under `command`, and pi where npm has it; figures go into `figures`."""

    command: Sequence[str]
    figures: Figures
    npm: Npm | None

    def listings(self, folder: Path, sessions: int) -> None:
        """Each in a process of its own, so that nobody is warm."""
        name, params = f"{sessions} sessions", {"sessionDir": str(folder), "all": True}
        numbers = count()
        with tempfile.TemporaryDirectory() as cache:
            os.environ["PID_CACHE_DIR"] = cache
            for work in ("list, cold", "list, new process"):
                with Daemon(self.command) as daemon:
                    self.figures.add("pid", work, name, "ms", daemon.seconds("session/list", params) * 1e3)
                    self.figures.add("pid", "list, again", name, "ms", daemon.seconds("session/list", params) * 1e3)
                    touch(folder, numbers)
                    seconds = daemon.seconds("session/list", params)
                    self.figures.add("pid", "list, one changed", name, "ms", seconds * 1e3)
            del os.environ["PID_CACHE_DIR"]
        if self.npm:
            pi = Pi(self.npm, folder.parent, timeout=PATIENCE)
            for work in ("list, cold", "list, again"):
                self.figures.add("pi", work, name, "ms", pi.ask("list", cwd=None, sessionDir=str(folder)).ms)
            pi.stop()

    def forks(self, name: str, path: Path, folder: Path) -> None:
        """Of a file that nobody has open, as pi does it; then of the open session, whole and the path to its leaf."""
        params = {"sessionDir": str(folder)}
        with Daemon(self.command) as daemon:
            self._fork("fork of a file", name, daemon, {"path": str(path), **params})
            session_id, leaf = opened(daemon, path)
            self._fork("fork", name, daemon, {"sessionId": session_id, **params})
            self._fork("fork of a path", name, daemon, {"sessionId": session_id, "entryId": leaf, **params})
        if self.npm:
            pi = Pi(self.npm, folder.parent, timeout=PATIENCE)
            pi.ask("list", cwd=None, sessionDir=str(folder.parent / "none"))
            fork = pi.ask("fork", session=1, path=str(path), cwd="/projects/bench", sessionDir=str(folder)).ms
            for work in ("fork of a file", "fork"):
                self.figures.add("pi", work, name, "ms", fork)
            pi.stop()
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def _fork(self, work: str, name: str, daemon: Daemon, params: dict[str, str]) -> None:
        started = perf_counter()
        state = daemon.result("session/fork", params)
        self.figures.add("pid", work, name, "ms", (perf_counter() - started) * 1e3)
        daemon.request("session/close", {"sessionId": state["sessionId"]})
        Path(state["path"]).unlink()
