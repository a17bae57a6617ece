"""What the daemon takes for its work, seen from a client at the other end of the pipes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.benchmarks.figures import Figures
from tests.benchmarks.wire import Daemon, Memory, Params, TooLarge

ROUND_TRIPS = 1000
PIPELINED = 20_000
APPENDS = 200
PIPELINED_APPENDS = 2000
SMALL_REPEATS = 30
MESSAGE = {
    "role": "user",
    "content": [{"type": "text", "text": "what next? " * 20}],
    "timestamp": 1767603600000,
}

Read = Callable[[Daemon, str], object]  # of the session with this id


def pages(method: str, **params: Any) -> Read:
    """All pages of an answer, as many requests as the daemon wants."""

    def read(daemon: Daemon, session_id: str) -> None:
        cursor: dict[str, str] = {}
        while True:
            body = daemon.request(method, {"sessionId": session_id, **params, **cursor})
            _, found, rest = body.rpartition(b'"nextCursor":"')
            if not found:
                return
            cursor = {"cursor": rest[: rest.index(b'"')].decode()}

    return read


def once(method: str, **params: Any) -> Read:
    return lambda daemon, session_id: daemon.request(method, {"sessionId": session_id, **params})


HEAVY: dict[str, Read] = {
    "tree, previews": pages("session/getTree"),
    "tree, bare": pages("session/getTree", content="none"),
    "branch, whole": pages("session/getBranch"),
    "context": once("session/buildContext"),
    "payload": once("session/buildContext", format="anthropic", cacheBreakpoints=4),
    "payload, pruned": once("session/buildContext", format="anthropic", pruneToolResults={}),
}
SMALL: dict[str, Callable[[str], tuple[str, Params]]] = {  # from the leaf
    "state": lambda _: ("session/getState", {}),
    "branch, last 20": lambda _: ("session/getBranch", {"direction": "leafFirst", "limit": 20}),
    "entry": lambda leaf: ("session/getEntries", {"ids": [leaf]}),
}


@dataclass(frozen=True)
class Bench:
    """The daemon under `command`; figures go into `figures`."""

    command: Sequence[str]
    figures: Figures

    def start(self) -> None:
        """From the start of the process to the reply to `initialize`."""
        started = perf_counter()
        with Daemon(self.command) as daemon:
            self._add("start", "", "ms", (perf_counter() - started) * 1e3)
            self._add("memory after start", "", "MB", Memory(daemon.pid).resident())

    def wire(self, path: Path) -> None:
        """Small requests, one after the other and pipelined."""
        with Daemon(self.command) as daemon:
            session_id, _ = opened(daemon, path)
            params = {"sessionId": session_id}
            for _ in range(ROUND_TRIPS):
                self._add("small request", "", "us", daemon.seconds("session/getState", params) * 1e6)
            seconds = daemon.seconds_pipelined("session/getState", [params] * PIPELINED)
            self._add("small request, pipelined", "", "us", seconds * 1e6 / PIPELINED)

    def reads(self, name: str, path: Path) -> None:
        """Opening, then everything that reads; MB are what each adds at its peak."""
        with Daemon(self.command) as daemon:
            with self._weighed(daemon, "open", name):
                session_id, leaf = opened(daemon, path)
            for work, read in HEAVY.items():
                with suppress(TooLarge), self._weighed(daemon, work, name):
                    read(daemon, session_id)
            for work, request in SMALL.items():
                method, params = request(leaf)
                params |= {"sessionId": session_id}
                for _ in range(SMALL_REPEATS):
                    self._add(work, name, "us", daemon.seconds(method, params) * 1e6)

    def appends(self, name: str, path: Path, durability: str) -> None:
        """One after the other, then pipelined. The file is as before afterwards."""
        work = f"append, {durability}"
        with restored(path), Daemon(self.command) as daemon:
            session_id, _ = opened(daemon, path, settings={"durability": durability})
            params = {"sessionId": session_id, "entry": {"type": "message", "message": MESSAGE}}
            for _ in range(APPENDS):
                self._add(work, name, "us", daemon.seconds("session/append", params) * 1e6)
            seconds = daemon.seconds_pipelined("session/append", [params] * PIPELINED_APPENDS)
            self._add(f"{work}, pipelined", name, "us", seconds * 1e6 / PIPELINED_APPENDS)

    @contextmanager
    def _weighed(self, daemon: Daemon, work: str, name: str) -> Iterator[None]:
        memory = Memory(daemon.pid)
        started = perf_counter()
        yield
        self._add(work, name, "ms", (perf_counter() - started) * 1e3)
        self._add(work, name, "MB", memory.added())

    def _add(self, work: str, name: str, unit: str, value: float | None) -> None:
        self.figures.add("pid", work, name, unit, value)


def opened(daemon: Daemon, path: Path, **params: Any) -> tuple[str, str]:
    """The session's id, and its leaf's."""
    state = daemon.result("session/open", {"path": str(path), **params})
    return state["sessionId"], state["leafId"]


@contextmanager
def restored(path: Path) -> Iterator[None]:
    """Cuts off what was appended."""
    size = path.stat().st_size
    try:
        yield
    finally:
        os.truncate(path, size)
