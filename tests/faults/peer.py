"""A daemon in a process of its own, and a client that goes on when it dies: requests out, answers kept as they come.

It trusts nothing but the framing. What was answered before a kill is still read, for that is what was acknowledged.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

SERVE = (sys.executable, "-m", "pid", "--stdio")
PATIENCE = 60.0  # seconds until a missing answer is a hang

Params = dict[str, Any]


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.code: int = error["code"]
        self.data: dict[str, Any] = error.get("data") or {}


class Gone(Exception):
    """The daemon ended before it answered."""


class Peer:
    """Use it in a `with`; it is killed at the end if it did not `end` before. `notices` are those that were named."""

    def __init__(
        self,
        home: Path,
        *,
        notifications: Sequence[str] = (),
        command: Sequence[str] = SERVE,
        stderr: int | IO[bytes] | None = None,
        before_exec: Callable[[], None] | None = None,
        processId: int | None = None,
    ) -> None:
        env = os.environ | {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "XDG_STATE_HOME": str(home)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, preexec_fn=before_exec
        )
        self.notices: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.strays: list[dict[str, Any]] = []  # answers to what `send` did not send
        self._numbers = itertools.count(1)
        self._news = threading.Condition()
        self._over = False
        self._reads = threading.Event()
        self._reads.set()
        self._reader = threading.Thread(target=self._read_all, daemon=True)
        self._reader.start()
        pid = {"protocolVersion": 1, "notifications": list(notifications)}
        capabilities = {"experimental": {"pid": pid}}
        self.call("initialize", {"processId": processId, "rootUri": None, "capabilities": capabilities})
        self.tell("initialized", {})

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def send(self, method: str, params: Params) -> int:
        """Sends a request without waiting; the number to ask its answer by. Raises `Gone`."""
        number = next(self._numbers)
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def tell(self, method: str, params: Params) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, number: int, timeout: float = PATIENCE) -> Any:
        """The result of a request. Raises `Refused`, `Gone`, `TimeoutError`."""
        with self._news:
            done = self._news.wait_for(lambda: number in self.answers or self._over, timeout)
            if number not in self.answers:
                raise Gone(f"request {number}") if done else TimeoutError(f"no answer to request {number}")
            answer = self.answers[number]
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def call(self, method: str, params: Params, timeout: float = PATIENCE) -> Any:
        return self.answer(self.send(method, params), timeout)

    def wait_for(self, ready: Callable[[], Any], timeout: float = PATIENCE) -> Any:
        """What `ready` gives once it is true; looked at whenever something came in."""
        with self._news:
            if not self._news.wait_for(ready, timeout):
                raise TimeoutError("it did not become true")
            return ready()

    def told(self, method: str) -> list[dict[str, Any]]:
        return [notice["params"] for notice in list(self.notices) if notice["method"] == method]

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Inside, at most one more message is read."""
        self._reads.clear()
        try:
            yield
        finally:
            self._reads.set()

    def kill(self) -> None:
        """SIGKILL; then all that it had answered is in `answers`."""
        self.process.kill()
        self._finish()

    def end(self) -> int:
        """Ends it in good order; its exit code."""
        self.call("shutdown", {})
        self.tell("exit", {})
        return self._finish()

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def _finish(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass
        return code

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        try:
            assert self.process.stdin
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Gone(str(error)) from None

    def _read_all(self) -> None:
        stdout = self.process.stdout
        assert stdout
        while self._reads.wait() and (message := _message(stdout)) is not None:
            with self._news:
                if not isinstance(message.get("id", 0), int):
                    self.strays.append(message)
                elif "id" in message and "method" not in message:
                    assert message["id"] not in self.answers, "answered twice"
                    self.answers[message["id"]] = message
                else:
                    self.notices.append(message)
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()


def _message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next whole message; None at the end, also where that cuts one off."""
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = stream.read(length) if line else b""
    return json.loads(body) if body and len(body) == length else None
