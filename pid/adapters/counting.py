"""Counting tokens in a process of its own, for threads that plan.

tiktoken loads for a third of a second and holds the interpreter's lock meanwhile, which would stop the event loop from
any thread. The process starts with the first count (also of no texts, for which nobody waits), and ends when its input
ends or nothing came for five minutes. It is this module, run as a program: a line of JSON in (the texts), a line out
(their tokens, or null). Nothing here raises: what cannot be counted is None, and told once in the log.
"""

import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import msgspec

from pid.adapters.tokenizer import count_texts

logger = logging.getLogger(__name__)

_IDLE_SECONDS: Final = 300.0
_HOME: Final = Path(__file__).resolve().parents[2]


class CountingProcess:
    """The process of a daemon. `count` blocks, and is safe to call from any thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._broken = False

    def count(self, texts: Sequence[str]) -> list[int] | None:
        """The o200k tokens of each text; None where there is no tokenizer. No texts: it gets ready meanwhile."""
        if self._broken:
            return None
        if not texts:
            self._begin()
            return []
        with self._lock:
            for _ in range(2):  # the process may have ended by itself since the last count
                try:
                    return self._ask(msgspec.json.encode([_encodable(text) for text in texts]))
                except (OSError, EOFError, msgspec.DecodeError) as error:
                    self._end()
                    reason = error
            self._broken = True
            logger.warning("token estimates go without a tokenizer: %s", type(reason).__name__)
            return None

    def close(self) -> None:
        """Ends the process by ending its input."""
        with self._lock:
            self._end()

    def _begin(self) -> None:
        if self._lock.acquire(blocking=False):  # else somebody counts, or begins
            try:
                self._process = self._process or _start()
            except OSError:
                pass  # the first count tells
            finally:
                self._lock.release()

    def _ask(self, line: bytes) -> list[int] | None:
        if self._process is None:
            self._process = _start()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # both are pipes
        assert stdout is not None
        stdin.write(line + b"\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise EOFError
        return msgspec.json.decode(answer, type=list[int] | None)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                _close(pipe)
            process.wait()


def _start() -> "subprocess.Popen[bytes]":
    # `-P`: what lies in the working directory is never imported in its place.
    path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pid.adapters.counting"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C in a terminal is the daemon's
    )


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        pass  # it ended with bytes unread: nobody wants them


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The process: a line for a line, until the input ends or is idle. The daemon waits for each answer."""
    count_texts(())  # loads
    while select.select([requests], [], [], _IDLE_SECONDS)[0] and (line := requests.readline()):
        answers.write(msgspec.json.encode(count_texts(msgspec.json.decode(line, type=list[str]))) + b"\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
