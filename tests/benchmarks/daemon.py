"""What the daemon takes for its work, seen from a client at the other end of the pipes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.benchmarks.delays import Request, delays
from tests.benchmarks.figures import Figures
from tests.benchmarks.floors import APPENDS, BARE
from tests.benchmarks.processes import Memory
from tests.benchmarks.weighing import repeated, weighed
from tests.benchmarks.wire import Daemon, Params, TooLarge

ROUND_TRIPS = 1000
PIPELINED = 20_000
PIPELINED_APPENDS = 2000
DURABILITIES = ("synced", "written")
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
    "tree, no previews": pages("session/getTree", content="none"),
    "branch, whole": pages("session/getBranch"),
    "context, again": once("session/buildContext"),
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

    def small_requests(self, path: Path) -> None:
        """Small requests, one after the other and pipelined; then those of a bare loop that gives the same answer."""
        with Daemon(self.command) as daemon:
            session_id, _ = opened(daemon, path)
            params = {"sessionId": session_id}
            self._small_requests("pid", daemon, params)
            result = json.dumps(daemon.result("session/getState", params), separators=(",", ":"))
        with Daemon([*BARE, result]) as bare:
            self._small_requests("bare", bare, params)

    def session(self, name: str, path: Path, other: Path) -> None:
        """Everything that is done with one session; `other` is looked at meanwhile."""
        self.reads(name, path)
        self.plans(name, path)
        for durability in DURABILITIES:
            self.appends(name, path, durability)
        self.delays(name, path, other)

    def reads(self, name: str, path: Path) -> None:
        """Opening, then everything that reads, and a first context in a daemon of its own; MB are added at the peak."""
        with Daemon(self.command) as daemon:
            session_id, _ = opened(daemon, path)
            with suppress(TooLarge), self._weighed(daemon, "context", name):
                once("session/buildContext")(daemon, session_id)
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

    def plans(self, name: str, path: Path) -> None:
        """What a compaction would do, right after opening, and again."""
        with Daemon(self.command) as daemon:
            session_id, _ = opened(daemon, path)
            params = {"sessionId": session_id}
            with self._weighed(daemon, "plan a compaction", name):
                daemon.request("session/previewCompaction", params)
            for _ in repeated():
                with self._weighed(daemon, "plan a compaction, again", name):
                    daemon.request("session/previewCompaction", params)

    def appends(self, name: str, path: Path, durability: str) -> None:
        """One after the other, then pipelined, then moves of the leaf. The file is as before afterwards."""
        work = f"append, {durability}"
        with restored(path), Daemon(self.command) as daemon:
            session_id, leaf = opened(daemon, path, settings={"durability": durability})
            params = {"sessionId": session_id, "entry": {"type": "message", "message": MESSAGE}}
            for _ in range(APPENDS):
                self._add(work, name, "us", daemon.seconds("session/append", params) * 1e6)
            self._pipelined("pid", f"{work}, pipelined", name, daemon, ("session/append", params), PIPELINED_APPENDS)
            for _ in range(SMALL_REPEATS):
                seconds = daemon.seconds("session/setLeaf", {"sessionId": session_id, "entryId": leaf})
                self._add(f"branch, {durability}", name, "us", seconds * 1e6)
                daemon.request("session/append", params)

    def delays(self, name: str, path: Path, other: Path) -> None:
        """What a small request waits while this session opens, and while its context is made and sent."""
        with Daemon(self.command) as daemon:
            elsewhere = "session/getState", {"sessionId": opened(daemon, other)[0]}
            opening = delays(daemon, ("session/open", {"path": str(path)}), elsewhere)
            self._add("small request while a session opens", name, "ms", *(each * 1e3 for each in opening))
            context = "session/buildContext", {"sessionId": opened(daemon, path)[0]}
            for where, small in (("another", elsewhere), ("its own", ("session/getState", context[1]))):
                for _ in repeated():
                    waited = delays(daemon, context, small)
                    work = f"small request to {where} session while a context is sent"
                    self._add(work, name, "ms", *(each * 1e3 for each in waited))

    def _small_requests(self, program: str, daemon: Daemon, params: Params) -> None:
        for _ in range(ROUND_TRIPS):
            self.figures.add(program, "small request", "", "us", daemon.seconds("session/getState", params) * 1e6)
        self._pipelined(program, "small request, pipelined", "", daemon, ("session/getState", params), PIPELINED)

    def _pipelined(self, program: str, work: str, name: str, daemon: Daemon, request: Request, count: int) -> None:
        seconds, processor = daemon.pipelined(*request, count)
        self.figures.add(program, work, name, "us", seconds * 1e6)
        self.figures.add(program, work, name, "us of processor", processor and processor * 1e6)

    def _weighed(self, daemon: Daemon, work: str, name: str) -> AbstractContextManager[None]:
        return weighed(self.figures, "pid", daemon.pid, work, name)

    def _add(self, work: str, name: str, unit: str, *values: float | None) -> None:
        self.figures.add("pid", work, name, unit, *values)


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
