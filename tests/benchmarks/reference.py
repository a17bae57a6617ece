"""What pi's library takes for the same work in the same run, in a Node process of its own for each kind of work.

Times are those of pi's own calls, without the pipes between; only `context` lasts until the last byte of its JSON is
here, as the daemon's does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.daemon import MESSAGE, restored
from tests.benchmarks.figures import Figures
from tests.benchmarks.floors import APPENDS
from tests.benchmarks.many import LISTINGS, PROJECT, touch
from tests.benchmarks.processes import Memory
from tests.benchmarks.weighing import repeated, weighed
from tests.npm import Npm
from tests.pi import Pi

PATIENCE = 120.0
SETTINGS = {"keepRecentTokens": 20_000, "reserveTokens": 16_384}


@dataclass(frozen=True)
class Reference:
    """pi as npm has it, with a home of its own; figures go into `figures`."""

    npm: Npm
    home: Path
    figures: Figures

    def session(self, name: str, path: Path, forks: Path) -> None:
        self.reads(name, path)
        self.plans(name, path)
        self.forks(name, path, forks)

    def directory(self, name: str, folder: Path) -> None:
        self.listings(name, folder)
        self.continues(name, folder)

    def reads(self, name: str, path: Path) -> None:
        """Opening, then reading, planning and appending. The file is as before afterwards."""
        with restored(path), self._process() as pi:
            self._ask(pi, "open", name, "open", session=1, path=str(path))
            assert pi.pid
            for work in ("context", *("context, again" for _ in repeated())):
                with weighed(self.figures, "pi", pi.pid, work, name):
                    pi.ask_unparsed("show", session=1, part="context")
            for _ in repeated():
                self._plan(pi, "plan a compaction, again", name)
            for _ in range(APPENDS):
                ms = pi.ask("call", session=1, method="appendMessage", args=[MESSAGE]).ms
                self.figures.add("pi", "append, written", name, "us", ms * 1e3)

    def plans(self, name: str, path: Path) -> None:
        """The first plan of a process, whose code is cold."""
        with self._process() as pi:
            pi.ask("open", session=1, path=str(path))
            self._plan(pi, "plan a compaction", name)

    def forks(self, name: str, path: Path, folder: Path) -> None:
        with self._process() as pi:
            params = {"path": str(path), "cwd": PROJECT, "sessionDir": str(folder)}
            for work in ("fork of a file", "fork"):
                fork = self._ask(pi, work, name, "fork", session=work, **params)
                Path(fork["path"]).unlink()

    def listings(self, name: str, folder: Path) -> None:
        """pi keeps nothing of a listing: each of the daemon's cases is the same work to it."""
        for work in LISTINGS:
            with self._process() as pi:
                if work == "list, one changed":
                    touch(folder)
                self._ask(pi, work, name, "list", cwd=None, sessionDir=str(folder))

    def continues(self, name: str, folder: Path) -> None:
        with self._process() as pi:
            for _ in repeated():
                self._ask(pi, "continue recent", name, "continueRecent", session=1, cwd=PROJECT, sessionDir=str(folder))

    @contextmanager
    def _process(self) -> Iterator[Pi]:
        """A process that has loaded all modules that it will need."""
        pi = Pi(self.npm, self.home, timeout=PATIENCE)
        pi.ask("load")
        try:
            yield pi
        finally:
            pi.stop()

    def _plan(self, pi: Pi, work: str, name: str) -> None:
        assert self._ask(pi, work, name, "prepare", session=1, settings=SETTINGS), "pi has nothing to compact"

    def _ask(self, pi: Pi, work: str, name: str, op: str, **params: Any) -> Any:
        assert pi.pid
        memory = Memory(pi.pid)
        answer = pi.ask(op, **params)
        self.figures.add("pi", work, name, "ms", answer.ms)
        self.figures.add("pi", work, name, "MB", memory.added())
        return answer.result
