"""The daemon as a child process: frames in, frames out, its log, its end.

It always reads, so the daemon never waits for a client that is busy; it says when writing should wait. It ends no
process but the one it started.
"""

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Final, Literal, cast

from pid.client.failures import DaemonGone
from pid.core.framing import Event, Framer, header

Log = Literal["inherit", "capture", "discard"]
_STDERR: Final[dict[Log, int | None]] = {
    "inherit": None,
    "capture": subprocess.PIPE,
    "discard": subprocess.DEVNULL,
}

LOG_TAIL: Final = 64 * 1024
"""This many bytes of a captured log are kept, the last ones."""

_JOINED: Final = 64 * 1024  # a smaller body goes out in one piece with its header
_LINGER: Final = 1.0  # seconds in which an end of output and an end of the process follow each other


class Child(asyncio.SubprocessProtocol):
    """One daemon, from start to end. `receive` gets what its output holds, `gone` is called once, at the end."""

    def __init__(self, receive: Callable[[Event], None], gone: Callable[[], None]) -> None:
        self.ended = asyncio.Event()
        self.log = bytearray()
        self._framer = Framer()
        self._receive = receive
        self._gone = gone
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.SubprocessTransport

    async def start(
        self,
        command: Sequence[str],
        *,
        cwd: str | PathLike[str] | None,
        env: Mapping[str, str] | None,
        log: Log,
    ) -> None:
        """Starts it, in a session of its own: Ctrl-C is for the client, which then ends it politely.

        Raises `DaemonGone` if it cannot be started.
        """
        loop = asyncio.get_running_loop()
        stderr = _STDERR[log]
        try:
            await loop.subprocess_exec(lambda: self, *command, stderr=stderr, cwd=cwd, env=env, start_new_session=True)
        except OSError as error:
            raise DaemonGone(f"the daemon could not be started: {error}") from error

    @property
    def process_id(self) -> int:
        return self._transport.get_pid()

    @property
    def fate(self) -> str:
        """How it ended, in words."""
        code = self._transport.get_returncode()
        if code is None:
            return "the daemon has closed its output"
        return f"the daemon was ended by signal {-code}" if code < 0 else f"the daemon has ended with code {code}"

    async def writable(self) -> None:
        """Waits while the daemon does not take what was written before."""
        await self._writable.wait()

    def write(self, body: bytes) -> None:
        """Sends one message; nothing happens once the daemon is gone."""
        stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        if stdin.is_closing():
            return
        if len(body) < _JOINED:
            stdin.write(header(len(body)) + body)
        else:
            stdin.write(header(len(body)))
            stdin.write(body)

    def close_input(self) -> None:
        """Says that nothing more comes, once all is written."""
        stdin = self._transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()

    def kill(self) -> None:
        """Ends the process at once; nothing happens if it has ended."""
        if self._transport.get_returncode() is None:
            self._transport.kill()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._hand_over(self._framer.receive(data))
        else:
            self.log += data
            del self.log[:-LOG_TAIL]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._writable.set()
        if fd == 1:
            self._hand_over(self._framer.end())
            self._end_soon()

    def process_exited(self) -> None:
        self._end_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _hand_over(self, events: list[Event]) -> None:
        for event in events:
            self._receive(event)

    def _end_soon(self) -> None:
        # Without this, a process that holds the pipes of one that has ended would keep every call waiting.
        asyncio.get_running_loop().call_later(_LINGER, self._end)

    def _end(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            self._writable.set()
            self._transport.close()
            self._gone()
