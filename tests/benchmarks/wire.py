"""A client of the daemon that costs as little as it can: bytes out, bytes in, nothing parsed without need.

It is for figures, not for use: it trusts the daemon's framing and asks for no notifications.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

SERVE = (sys.executable, "-m", "pid", "--stdio")
HEAD = 64  # the daemon writes JSON-RPC's own members first
METHOD, ERROR = b'"method":', b'"error":'

Params = dict[str, Any]


class Refused(Exception):
    """The daemon answered with an error."""


class TooLarge(Refused):
    """The answer would have passed the daemon's limit for one message."""

    code = 1020


class Daemon:
    """A daemon in a process of its own, ready once `initialize` was answered. Use it in a `with`."""

    def __init__(self, command: Sequence[str] = SERVE, capabilities: Params | None = None) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin
        assert self._process.stdout
        self._out, self._in = self._process.stdin, self._process.stdout
        self._numbers = itertools.count(1)
        self.request("initialize", {"processId": None, "capabilities": capabilities or {}, "rootUri": None})
        self._send(framed({"jsonrpc": "2.0", "method": "initialized", "params": {}}))

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, method: str, params: Params) -> bytes:
        """The whole response message, unparsed. Raises `Refused`."""
        self._send(self.frame(method, params))
        return self._response()

    def result(self, method: str, params: Params) -> Any:
        return json.loads(self.request(method, params))["result"]

    def seconds(self, method: str, params: Params) -> float:
        """How long the response takes to come, without the making of the request."""
        request = self.frame(method, params)
        started = perf_counter()
        self._send(request)
        self._response()
        return perf_counter() - started

    def seconds_pipelined(self, method: str, params: Sequence[Params]) -> float:
        """All requests are sent without waiting; how long until all are answered."""
        requests = b"".join(self.frame(method, each) for each in params)
        sender = threading.Thread(target=self._send, args=(requests,))
        started = perf_counter()
        sender.start()
        for _ in params:
            self._response()
        sender.join()
        return perf_counter() - started

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

    def _response(self) -> bytes:
        """The next message that is no notification: requests are answered in order here."""
        while METHOD in (body := self._read())[:HEAD]:
            pass
        if ERROR in body[:HEAD]:
            error = json.loads(body)["error"]
            raise (TooLarge if error["code"] == TooLarge.code else Refused)(str(error))
        return body

    def _read(self) -> bytes:
        length = -1
        while line := self._in.readline():
            if line == b"\r\n":
                return self._in.read(length)
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        raise EOFError(f"the daemon ended with exit code {self._process.wait()}")


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Memory:
    """Resident memory of a process as Linux counts it, in MB; `added` is None elsewhere."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._before = self.resident() if self._forget_peak() else None

    def resident(self) -> float | None:
        return self._status("VmRSS")

    def added(self) -> float | None:
        """The peak since this object was made, above what was resident then."""
        peak = self._status("VmHWM")
        return None if peak is None or self._before is None else peak - self._before

    def _forget_peak(self) -> bool:
        try:
            (self._folder / "clear_refs").write_text("5")  # proc(5): resets VmHWM to the present VmRSS
        except OSError:
            return False
        return True

    def _status(self, name: str) -> float | None:
        try:
            lines = (self._folder / "status").read_text().splitlines()
        except FileNotFoundError:
            return None
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(name + ":"))
