"""A client of the daemon that costs as little as it can: bytes out, bytes in, nothing parsed without need.

It is for figures, not for use: it trusts the daemon's framing and asks for no notifications.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from io import BufferedReader
from time import perf_counter
from typing import Any, NamedTuple, cast

from tests.benchmarks.counting import FrameCounter
from tests.benchmarks.processes import processor_seconds

SERVE = (sys.executable, "-m", "pid", "--stdio")
HEAD = 64  # the daemon writes JSON-RPC's own members first
METHOD, ERROR = b'"method":', b'"error":'
NUMBER = re.compile(rb'"id":([0-9]+)')
CHUNK = 1 << 18

Params = dict[str, Any]


class Refused(Exception):
    """The daemon answered with an error."""


class TooLarge(Refused):
    """The answer would have passed the daemon's limit for one message."""

    code = 1020


class Pipelined(NamedTuple):
    """Of one request among many: seconds until all were answered, and the daemon's own processor time."""

    seconds: float
    processor: float | None


class Daemon:
    """A daemon in a process of its own, ready once `initialize` was answered. Use it in a `with`."""

    def __init__(self, command: Sequence[str] = SERVE, capabilities: Params | None = None) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin
        self._out = self._process.stdin
        self._in = cast(BufferedReader, self._process.stdout)
        self._numbers = itertools.count(1)
        self.request("initialize", {"processId": None, "capabilities": capabilities or {}, "rootUri": None})
        self._send(framed({"jsonrpc": "2.0", "method": "initialized", "params": {}}))

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, method: str, params: Params) -> bytes:
        """The whole response message, unparsed. Raises `Refused`."""
        self._send(self.frame(method, params))
        return self.reply()

    def result(self, method: str, params: Params) -> Any:
        return json.loads(self.request(method, params))["result"]

    def seconds(self, method: str, params: Params) -> float:
        """How long the response takes to come, without the making of the request."""
        request = self.frame(method, params)
        started = perf_counter()
        self._send(request)
        self.reply()
        return perf_counter() - started

    def pipelined(self, method: str, params: Params, count: int) -> Pipelined:
        """Sends the request so often without waiting. Responses are counted, not read. Raises `Refused`."""
        requests = b"".join(self.frame(method, params) for _ in range(count))
        sender = threading.Thread(target=self._send, args=(requests,))
        before, started = processor_seconds(self.pid), perf_counter()
        sender.start()
        self._count_replies(count)
        seconds, after = perf_counter() - started, processor_seconds(self.pid)
        sender.join()
        spent = None if before is None or after is None else after - before
        return Pipelined(seconds / count, spent and spent / count)

    def ask(self, method: str, params: Params) -> int:
        """Sends a request and does not wait: the number that its reply will have."""
        number = next(self._numbers)
        self._send(framed({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def reply(self) -> bytes:
        """The next message that is no notification. Raises `Refused`."""
        while METHOD in (body := self._read())[:HEAD]:
            pass
        if ERROR in body[:HEAD]:
            error = json.loads(body)["error"]
            raise (TooLarge if error["code"] == TooLarge.code else Refused)(str(error))
        return body

    def frame(self, method: str, params: Params) -> bytes:
        return framed({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Ends the daemon in good order, or by force where something failed."""
        if kind is None:
            self.request("shutdown", {})
            self._send(framed({"jsonrpc": "2.0", "method": "exit"}))
        else:
            self._process.kill()
        self._process.wait()
        self._out.close()
        self._in.close()

    def _send(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()

    def _count_replies(self, count: int) -> None:
        counter = FrameCounter()
        while counter.whole < count:
            chunk = self._in.read1(CHUNK)
            if not chunk:
                raise EOFError(f"the daemon ended with exit code {self._process.wait()}")
            if ERROR in chunk:
                raise Refused(chunk[chunk.index(ERROR) :][:200].decode(errors="replace"))
            counter.receive(chunk)

    def _read(self) -> bytes:
        length = -1
        while line := self._in.readline():
            if line == b"\r\n":
                return self._in.read(length)
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        raise EOFError(f"the daemon ended with exit code {self._process.wait()}")


def number_of(reply: bytes) -> int:
    """The number of the request that it answers."""
    found = NUMBER.search(reply, 0, HEAD)
    assert found
    return int(found[1])


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
