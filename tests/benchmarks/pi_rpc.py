"""pi's RPC mode beside the daemon, for the works that it has: a process that answers JSON lines over its pipes.

It runs offline, without a key, with a home of its own. It may write to a session that it opens, so it gets a copy.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any, TypeVar

from tests.benchmarks.figures import Figures
from tests.benchmarks.many import PROJECT
from tests.benchmarks.processes import Memory, processor_seconds
from tests.benchmarks.weighing import weighed
from tests.lines import Ended, Lines
from tests.npm import Npm

T = TypeVar("T")

PATIENCE = 60.0
ROUND_TRIPS = 1000
PIPELINED = 5000
CLI = Path("@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js")
FLAGS = ("--mode", "rpc", "--no-session", "--offline", "--no-approve")
KEPT = ("PATH", "LANG", "TMPDIR")  # of the environment: no provider's key is among them
READS = {"context": "get_messages", "branch, whole": "get_entries", "tree, previews": "get_tree"}
"""Works and pi's commands for them. Its tree is nested and has the entries whole."""


class Failed(Exception):
    """pi refused, ended or gave no answer in time."""


class PiRpc:
    """pi in a process of its own, ready once it answered. Use it in a `with`. Raises `Failed`."""

    def __init__(self, npm: Npm, home: Path) -> None:
        home.mkdir(exist_ok=True)
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "PI_OFFLINE": "1"}
        self._process = subprocess.Popen(
            [str(npm.node), str(npm.modules / CLI), *FLAGS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it warns that there is no model
            cwd=home,
            env=environment,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._out, self._lines = self._process.stdin, Lines(self._process.stdout)
        self.pid = self._process.pid
        self.request("get_state")

    def request(self, command: str, **params: Any) -> bytes:
        """The line of the response, unparsed; events in between are passed over."""
        self._send(json.dumps({"type": command, **params}).encode() + b"\n")
        while b'"type":"response"' not in (line := self._waited(self._lines.next, PATIENCE))[:100]:
            pass
        if b'"success":false' in line[:200]:
            raise Failed(json.loads(line)["error"])
        return line

    def seconds_pipelined(self, command: str, count: int) -> float:
        """For one of so many requests that are sent without waiting. Lines are counted, not read."""
        sender = Thread(target=self._send, args=(b'{"type":"%b"}\n' % command.encode() * count,))
        started = perf_counter()
        sender.start()
        self._waited(self._lines.skip, count, PATIENCE)
        seconds = perf_counter() - started
        sender.join()
        return seconds / count

    def _send(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # it ended: the read that follows tells
            self._out.write(data)
            self._out.flush()

    def _waited(self, read: Callable[..., T], *params: Any) -> T:
        """What is late would be taken for the answer to the next request: the process is not used again."""
        try:
            return read(*params)
        except (TimeoutError, Ended) as error:
            self._process.kill()
            raise Failed("no answer in time" if isinstance(error, TimeoutError) else "it ended") from None

    def __enter__(self) -> PiRpc:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._out.close()
        self._lines.stream.close()


@dataclass(frozen=True)
class RpcReference:
    """Figures of pi's RPC mode go into `figures`; what it cannot do is noted there and stops nothing."""

    npm: Npm
    home: Path
    figures: Figures

    def start(self) -> None:
        """From the start of the process to its first reply; then small requests, one by one and pipelined."""
        with self._noted("start", ""):
            started = perf_counter()
            with PiRpc(self.npm, self.home) as pi:
                self._add("start", "ms", (perf_counter() - started) * 1e3)
                self._add("memory after start", "MB", Memory(pi.pid).resident())
                self._small_requests(pi)

    def session(self, name: str, path: Path) -> None:
        """Opening it, and what reads it."""
        with self._noted("open", name), PiRpc(self.npm, self.home) as pi, _copied(path, self.home) as copy:
            self._work(pi, "open", name, "switch_session", sessionPath=str(copy))
            for work, command in READS.items():
                with self._noted(work, name):
                    self._work(pi, work, name, command)

    def _small_requests(self, pi: PiRpc) -> None:
        for _ in range(ROUND_TRIPS):
            asked = perf_counter()
            pi.request("get_state")
            self._add("small request", "us", (perf_counter() - asked) * 1e6)
        before = processor_seconds(pi.pid)
        self._add("small request, pipelined", "us", pi.seconds_pipelined("get_state", PIPELINED) * 1e6)
        after = processor_seconds(pi.pid)
        if before is not None and after is not None:
            self._add("small request, pipelined", "us of processor", (after - before) * 1e6 / PIPELINED)

    def _work(self, pi: PiRpc, work: str, name: str, command: str, **params: str) -> None:
        with weighed(self.figures, "pi rpc", pi.pid, work, name):
            pi.request(command, **params)

    @contextmanager
    def _noted(self, work: str, name: str) -> Iterator[None]:
        try:
            yield
        except Failed as failure:
            self.figures.failed("pi rpc", work, name, "ms", str(failure))

    def _add(self, work: str, unit: str, value: float | None) -> None:
        self.figures.add("pi rpc", work, "", unit, value)


@contextmanager
def _copied(path: Path, home: Path) -> Iterator[Path]:
    """A copy whose working directory exists, or pi would not open it."""
    copy = home / path.name
    text = path.read_bytes()
    copy.write_bytes(text.replace(PROJECT.encode(), str(home).encode(), 1))
    try:
        yield copy
    finally:
        copy.unlink()
