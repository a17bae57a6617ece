"""The client: a daemon from its start to its end, and what a program says to it and hears from it meanwhile."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Self, TypeVar

import anyio

from pid.client.calls import PromptCalls, SessionCalls
from pid.client.child import Log
from pid.client.connection import Connection
from pid.client.failures import DaemonGone
from pid.client.inbox import Inbox, Listening, Notice, Progress, Summarize
from pid.errors import PidError
from pid.protocol import (
    ClientCapabilities,
    ClientExperimental,
    InitializationOptions,
    InitializeParams,
    InitializeResult,
    PidClientCapability,
    SummarizeAbility,
)

R = TypeVar("R")


class Client:
    """A daemon that was started for it; made by `Client.spawn`. Not for use from other threads."""

    initialized: InitializeResult
    """What the daemon said of itself."""

    def __init__(self, notifications: Iterable[str], summarize: Summarize | None, grace: float) -> None:
        self.session = SessionCalls(self)
        self.prompt = PromptCalls(self)
        self._connection = Connection(lambda incoming: self._inbox.take(incoming), self._end)
        self._inbox = Inbox(notifications, summarize, self._connection.child.write)
        self._grace = grace
        self._tokens = count(1)

    @classmethod
    @asynccontextmanager
    async def spawn(
        cls,
        command: Sequence[str] | None = None,
        *,
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        log: Log = "inherit",
        notifications: Iterable[str] = (),
        options: InitializationOptions | None = None,
        summarize: Summarize | None = None,
        summarize_ability: SummarizeAbility | None = None,
        grace: float = 5.0,
    ) -> AsyncIterator[Self]:
        """Starts a daemon, and ends it with the block: `shutdown`, `exit`, and after `grace` seconds a kill.

        `command` (default: the daemon of this package, under this Python), `cwd` and `env` are as in `subprocess`.
        `log` says what becomes of the daemon's stderr: "inherit", "discard", or "capture", whose end is then
        `client.log` and part of each `DaemonGone`. `notifications` names those that may come. Raises `DaemonGone`
        if there is no daemon to talk to.
        """
        if command is None:
            command, env = own_daemon(env)
        client = cls(notifications, summarize, grace)
        await client._connection.child.start(command, cwd=cwd, env=env, log=log)
        wanted = PidClientCapability(
            notifications=tuple(sorted(client._inbox.names)),
            summarize=(summarize_ability or True) if summarize else None,
        )
        try:
            await client._initialize(wanted, options)
            yield client
        finally:
            await client.stop()

    @property
    def process_id(self) -> int:
        """The daemon's process."""
        return self._connection.child.process_id

    @property
    def log(self) -> str:
        """The end of the daemon's stderr, if it is captured."""
        return self._connection.child.log.decode(errors="replace")

    async def call(self, method: str, params: object, result: type[R]) -> R:
        """One request; what the protocol has is nicer to call as `client.session.…`.

        `params` is a wire type, a dict or None; the answer is decoded as `result`. Raises `PidError`s, and
        `DaemonGone` if there is no answer. A cancelled call tells the daemon and waits for its answer before it
        raises `CancelledError`; whether a write still happened, the same write with the same `entry.id` tells.
        """
        return await self._connection.call(method, params, result)

    def listen(self, *kinds: type[Notice]) -> Listening[Notice]:
        """The notifications of these types, from now on: `with client.listen(DidChangeNotice) as changes:`."""
        return self._inbox.listen(kinds)

    @contextmanager
    def progress(self, report: Progress) -> Iterator[str]:
        """A `work_done_token` for one call: each `$/progress` that bears it is given to `report`."""
        token = f"progress-{next(self._tokens)}"
        self._inbox.progress[token] = report
        try:
            yield token
        finally:
            del self._inbox.progress[token]

    async def stop(self) -> None:
        """Ends the daemon politely, or after the grace by force, as the end of the `spawn` block does."""
        child = self._connection.child
        deadline = asyncio.get_running_loop().call_later(self._grace, child.kill)
        try:
            with anyio.CancelScope(shield=True), suppress(PidError, DaemonGone):
                await self.call("shutdown", None, NoneType)
                self._connection.closed = True
                self._connection.tell("exit", None)
                child.close_input()
                await child.ended.wait()
        finally:
            deadline.cancel()
            await self.kill()

    async def kill(self) -> None:
        """Ends the daemon at once, as a crash would, and waits until it is gone."""
        self._connection.closed = True
        self._connection.child.kill()
        with anyio.CancelScope(shield=True):
            await self._connection.child.ended.wait()

    async def _initialize(self, wanted: PidClientCapability, options: InitializationOptions | None) -> None:
        params = InitializeParams(
            process_id=os.getpid(),
            capabilities=ClientCapabilities(experimental=ClientExperimental(pid=wanted)),
            initialization_options=options,
        )
        self.initialized = await self.call("initialize", params, InitializeResult)
        limits = self.initialized.capabilities.experimental.pid.limits
        self._connection.max_bytes = limits.max_message_bytes
        self._connection.tell("initialized", {})

    def _end(self) -> None:
        agreed = self._connection.closed
        self._inbox.end(None if agreed else self._connection.death("what was listened for"))


def own_daemon(env: Mapping[str, str] | None) -> tuple[list[str], Mapping[str, str] | None]:
    """The command of the daemon that this client came with, and the environment for it.

    `-P`: what lies in the working directory is never imported in its place.
    """
    home = Path(__file__).resolve().parents[2]
    if home.name not in ("site-packages", "dist-packages"):
        given = os.environ if env is None else env
        env = {**given, "PYTHONPATH": os.pathsep.join([str(home), *filter(None, [given.get("PYTHONPATH")])])}
    return [sys.executable, "-P", "-m", "pid", "--stdio"], env
