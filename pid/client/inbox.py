"""What the daemon begins: notifications go to those who listen, its requests are answered.

Nothing that arrives can raise into the reading: what does not fit its type is logged and passed over.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from pid.client import envelope
from pid.client.failures import DaemonGone
from pid.errors import PidError
from pid.protocol import (
    NOTIFICATIONS,
    CancelParams,
    LogMessageParams,
    ProgressParams,
    SummarizeParams,
    SummarizeResult,
    Wire,
    WorkDoneProgress,
    decode_params,
)

Notice = TypeVar("Notice", bound=Wire)
Progress = Callable[[WorkDoneProgress], None]
Summarize = Callable[[SummarizeParams], Awaitable[SummarizeResult]]
"""Answers `pid/summarize`. It may raise `SummarizerFailed("…", reason="auth")`, and is cancelled when the daemon no
longer wants the summary."""

_LEVELS: Final = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO}
_log = logging.getLogger(__name__)
_daemon_log = logging.getLogger("pid.daemon")


class Listening(AsyncIterator[Notice], Generic[Notice]):
    """What comes while it is open, in order; made by `Client.listen`.

    Nothing is dropped: what is not taken out waits in memory. The iteration ends with the client, and raises
    `DaemonGone` if the daemon ended before.
    """

    def __init__(self, kinds: tuple[type[Notice], ...], among: "list[Listening[Any]]") -> None:
        self.kinds = kinds
        self._among = among
        self._queue: asyncio.Queue[Notice | DaemonGone | None] = asyncio.Queue()
        among.append(self)

    def put(self, notice: Notice | DaemonGone | None) -> None:
        """For the inbox: one more, or the end (None), or why it ends."""
        self._queue.put_nowait(notice)

    async def __anext__(self) -> Notice:
        notice = await self._queue.get()
        if notice is None or isinstance(notice, DaemonGone):
            self._queue.put_nowait(None)
            raise notice or StopAsyncIteration
        return notice

    def close(self) -> None:
        """Nothing more comes; what has come can still be taken out."""
        if self in self._among:
            self._among.remove(self)
            self.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Inbox:
    """Takes what the daemon begins; `send` writes the bytes of an answer."""

    def __init__(self, names: Iterable[str], summarize: Summarize | None, send: Callable[[bytes], None]) -> None:
        self.names = frozenset(names)
        self.progress: dict[str | int, Progress] = {}
        self._summarize = summarize
        self._send = send
        self._listening: list[Listening[Any]] = []
        self._serving: dict[envelope.Id, asyncio.Task[bytes]] = {}

    def listen(self, kinds: tuple[type[Notice], ...]) -> Listening[Notice]:
        coming = [row.params for name, row in NOTIFICATIONS.items() if name in self.names]
        for kind in kinds:
            if kind not in coming:
                raise ValueError(f"{kind.__name__} never comes: `notifications` of `spawn` does not name it")
        return Listening(kinds, self._listening)

    def take(self, incoming: envelope.Incoming) -> None:
        """One notification or request."""
        method = str(incoming.method)
        if incoming.id is not None:
            self._serve(incoming.id, method, incoming.params)
            return
        try:
            self._take_notification(method, incoming.params)
        except Exception:
            _log.exception("a notification (%s) could not be taken", method)

    def end(self, death: DaemonGone | None) -> None:
        """Nothing more comes, because of `death` if it was not agreed on."""
        for listening in self._listening:
            listening.put(death)
        for task in self._serving.values():
            task.cancel()

    def _take_notification(self, method: str, params: msgspec.Raw) -> None:
        if own := _OWN.get(method):
            kind, take = own
            take(self, msgspec.json.decode(params, type=kind))
        elif method in NOTIFICATIONS:
            notice = msgspec.json.decode(params, type=NOTIFICATIONS[method].params)
            for listening in self._listening:
                if type(notice) in listening.kinds:
                    listening.put(notice)

    def _report(self, params: ProgressParams) -> None:
        if report := self.progress.get(params.token):
            report(params.value)

    def _log_message(self, params: LogMessageParams) -> None:
        _daemon_log.log(_LEVELS.get(params.type, logging.DEBUG), "%s", params.message)

    def _cancel(self, params: CancelParams) -> None:
        if task := self._serving.get(params.id):
            task.cancel()

    def _serve(self, call_id: envelope.Id, method: str, params: msgspec.Raw) -> None:
        task = self._serving[call_id] = asyncio.create_task(self._answer(call_id, method, params))

        def send(task: asyncio.Task[bytes]) -> None:  # also where it is cancelled before it has begun
            del self._serving[call_id]
            cancelled = task.cancelled()
            self._send(envelope.failure(call_id, -32800, "cancelled") if cancelled else task.result())

        task.add_done_callback(send)

    async def _answer(self, call_id: envelope.Id, method: str, params: msgspec.Raw) -> bytes:
        if method != "pid/summarize" or self._summarize is None:
            return envelope.failure(call_id, -32601, f"this client does not answer {method}")
        try:
            wanted = decode_params(SummarizeParams, params)
            return envelope.result(call_id, await self._summarize(wanted))
        except PidError as error:
            return envelope.failure(call_id, error.code, error.message, error.data)
        except Exception as error:
            _log.exception("the callback for %s raised", method)
            return envelope.failure(call_id, -32603, f"the client's summarizer raised {type(error).__name__}")


_OWN: Final[dict[str, tuple[type[Any], Callable[[Inbox, Any], None]]]] = {
    "$/progress": (ProgressParams, Inbox._report),
    "$/cancelRequest": (CancelParams, Inbox._cancel),
    "window/logMessage": (LogMessageParams, Inbox._log_message),
}
