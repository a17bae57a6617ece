"""pi's own session library, typed, for tests that compare: what does pi 1.6.0 say about this file?

`Pi` keeps one Node process that runs `tests/node/pi.mjs`. pi writes when it opens (it migrates old files in
place and adds a missing last line break), so hand it copies. Sessions stay open until closed: the daemon may
write in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.lines import Ended, Lines
from tests.npm import HERE, Npm

Json = dict[str, Any]

STATE_PARTS = ("leafId", "sessionName", "entryCount", "branch", "tree", "labels")
CONTEXT_PARTS = ("context", "contextEntries", "llm")
PARTS = STATE_PARTS + CONTEXT_PARTS


class PiError(Exception):
    """pi raised; `name` is the JavaScript class of its error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class PiHung(Exception):
    """No answer in time. The process was killed, and every session that it had open is gone."""


@dataclass(frozen=True)
class Timed:
    """What pi answered, and the milliseconds that its own call took, without the pipes."""

    result: Any
    ms: float


class Pi:
    """pi in a process of its own, started at the first request and again after a hang."""

    def __init__(self, npm: Npm, home: Path, timeout: float = 10.0) -> None:
        self.timeout = timeout
        self._npm = npm
        self._env = os.environ | {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent")}
        self._process: Any = None
        self._lines: Lines | None = None
        self._handles = 0

    @property
    def pid(self) -> int | None:
        """The process, once there is one: for looking at its memory."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """Kills the process; the next request starts a new one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = self._lines = None

    def open(self, path: Path) -> PiSession:
        return self._opened("open", path=str(path))

    def create(self, cwd: Path, session_dir: Path) -> PiSession:
        """pi writes the file at the first user or assistant message, not before."""
        return self._opened("create", cwd=str(cwd), sessionDir=str(session_dir))

    def continue_recent(self, cwd: Path, session_dir: Path) -> PiSession:
        return self._opened("continueRecent", cwd=str(cwd), sessionDir=str(session_dir))

    def fork(self, path: Path, cwd: Path, session_dir: Path) -> PiSession:
        return self._opened("fork", path=str(path), cwd=str(cwd), sessionDir=str(session_dir))

    def list_sessions(self, session_dir: Path, cwd: Path | None = None) -> list[Json]:
        """pi's `SessionInfo`s, the last active first; of one project when `cwd` is given."""
        project = str(cwd) if cwd else None
        return cast(list[Json], self.ask("list", cwd=project, sessionDir=str(session_dir)).result)

    def ask(self, op: str, **params: Any) -> Timed:
        """One request to `pi.mjs`. Raises `PiError` and `PiHung`."""
        reply = json.loads(self.ask_unparsed(op, **params))
        if error := reply.get("error"):
            raise PiError(error["name"], error["message"])
        return Timed(reply["result"], reply["ms"])

    def ask_unparsed(self, op: str, **params: Any) -> bytes:
        """The reply's line as it came, for figures: parsing 24 MB here would count as pi's time."""
        if self._process is None:
            self._process = self._npm.spawn(HERE / "pi.mjs", str(self._npm.modules), env=self._env)
            self._lines = Lines(self._process.stdout)
        self._process.stdin.write(json.dumps({"op": op, **params}).encode() + b"\n")
        self._process.stdin.flush()
        return self._line(op)

    def _opened(self, op: str, **params: Any) -> PiSession:
        self._handles += 1
        result = self.ask(op, session=self._handles, **params).result
        return PiSession(self, self._handles, Path(result["path"]), result["sessionId"])

    def _line(self, op: str) -> bytes:
        assert self._lines
        try:
            return self._lines.next(self.timeout)
        except TimeoutError:
            self.stop()
            raise PiHung(f"pi gave no answer to {op} in {self.timeout} s") from None
        except Ended:
            self.stop()
            raise PiHung(f"pi ended at {op}; its reason stands on stderr") from None


@dataclass(frozen=True)
class PiSession:
    """A session that pi has open. What it knows is what it read when it opened, and what it wrote since."""

    pi: Pi
    handle: int
    path: Path
    session_id: str

    def show(self, part: str) -> Any:
        """One of `PARTS`, or `header`, or `entries`, in pi's field names."""
        return self.pi.ask("show", session=self.handle, part=part).result

    def view(self, parts: Iterable[str] = PARTS) -> Json:
        """All that the daemon should agree with, by part."""
        return {part: self.show(part) for part in parts}

    def call(self, method: str, *args: Any) -> Any:
        """Any method of pi's SessionManager: `appendMessage`, `branch`, `appendLabelChange`, …"""
        return self.pi.ask("call", session=self.handle, method=method, args=args).result

    def append(self, messages: Iterable[Json]) -> list[str]:
        """The new entry ids."""
        return [self.call("appendMessage", message) for message in messages]

    def branch(self, entry_id: str | None) -> None:
        """Moves the leaf, in memory only: pi forgets it when it closes before the next append."""
        if entry_id is None:
            self.call("resetLeaf")
        else:
            self.call("branch", entry_id)

    def plan(self, keep_recent_tokens: int, reserve_tokens: int = 16384) -> Json | None:
        """pi's preparation of a compaction with its own estimate; None where it has nothing to compact."""
        settings = {"keepRecentTokens": keep_recent_tokens, "reserveTokens": reserve_tokens}
        return cast(Json | None, self.pi.ask("plan", session=self.handle, settings=settings).result)

    def prepared_in(self, keep_recent_tokens: int, reserve_tokens: int = 16384) -> float:
        """The milliseconds of CPU that pi's preparation alone takes, the second time."""
        settings = {"keepRecentTokens": keep_recent_tokens, "reserveTokens": reserve_tokens}
        found = [self.pi.ask("planCpu", session=self.handle, settings=settings).result for _ in range(2)]
        return float(found[-1])

    def estimate(self) -> Json:
        """pi's token estimate of the context, and of each of its messages."""
        return cast(Json, self.pi.ask("estimate", session=self.handle).result)

    def close(self) -> None:
        self.pi.ask("close", session=self.handle)
