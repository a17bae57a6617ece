"""Time and peak memory of one work of another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import Memory

ENOUGH = 3
PATIENCE = 4.0  # seconds


def repeated() -> Iterator[None]:
    """So often that a median says something; once at least, and no longer than anybody waits."""
    started = perf_counter()
    for _ in range(ENOUGH):
        yield
        if perf_counter() - started > PATIENCE:
            return


@contextmanager
def weighed(figures: Figures, program: str, pid: int, work: str, session: str) -> Iterator[None]:
    """What happens inside takes so many ms, and the process adds so many MB at its peak; nothing if it raises."""
    memory = Memory(pid)
    started = perf_counter()
    yield
    figures.add(program, work, session, "ms", (perf_counter() - started) * 1e3)
    figures.add(program, work, session, "MB", memory.added())
