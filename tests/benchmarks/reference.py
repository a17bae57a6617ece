"""What pi takes for the same work in the same run: its library, in a Node process of its own for each run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tests.benchmarks.figures import Figures
from tests.benchmarks.wire import Memory
from tests.npm import Npm
from tests.pi import Pi

PATIENCE = 120.0
CONTEXTS = 3  # pi's code gets faster as it warms up; the minimum shows it warm


@dataclass(frozen=True)
class Reference:
    """pi as npm has it, with a home of its own; figures go into `figures`."""

    npm: Npm
    home: Path
    figures: Figures

    def reads(self, name: str, path: Path) -> None:
        """`open` is pi's call alone; `context` lasts until the last byte of its JSON is here."""
        pi = Pi(self.npm, self.home, timeout=PATIENCE)
        try:
            self._open(pi, name, path)
            for _ in range(CONTEXTS):
                self._context(pi, name)
        finally:
            pi.stop()

    def _open(self, pi: Pi, name: str, path: Path) -> None:
        pi.ask("list", cwd=None, sessionDir=str(self.home / "none"))
        assert pi.pid
        memory = Memory(pi.pid)
        self.figures.add("pi", "open", name, "ms", pi.ask("open", session=1, path=str(path)).ms)
        self.figures.add("pi", "open", name, "MB", memory.added())

    def _context(self, pi: Pi, name: str) -> None:
        assert pi.pid
        memory = Memory(pi.pid)
        started = perf_counter()
        pi.ask_unparsed("show", session=1, part="context")
        self.figures.add("pi", "context", name, "ms", (perf_counter() - started) * 1e3)
        self.figures.add("pi", "context", name, "MB", memory.added())
