"""The client's open requests and their answers: exactly one each.

A `Call` is open from its arrival until `reply`, `fail` or `refuse` has sent its answer; a second answer is
dropped. Results go out as `results` writes them, large ones in slices, so that no answer holds the loop. No
error carries a traceback, nor what an exception says of itself, except for `PidError` and `RpcError`.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable
from typing import Any, Final

from pid.errors import MessageTooLarge, PidError
from pid.service.turns import next_turn
from pid.shell import envelope
from pid.shell.envelope import Id
from pid.shell.results import Hole, filled, outline
from pid.shell.transport import Buffer

logger = logging.getLogger(__name__)

MAX_OPEN: Final = 256 * 1024 * 1024  # bytes of requests without an answer, before new ones wait
_SLICE: Final = 0.005  # seconds of encoding before other work gets the loop
_INTERNAL: Final = "internal error: the log of the daemon says more"


class RpcError(Exception):
    """A failure that has its own code in JSON-RPC or LSP."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Call:
    """A request that has no answer yet."""

    __slots__ = ("afterwards", "answered", "cancelled", "id", "size", "task")

    def __init__(self, id: Id, size: int) -> None:
        self.id = id
        self.size = size
        self.task: asyncio.Task[None] | None = None  # None: it began just now, or pygls runs it, or it has returned
        self.answered = False  # the handler has returned
        self.cancelled = False
        self.afterwards: list[Callable[[], None]] = []


CALL: contextvars.ContextVar[Call | None] = contextvars.ContextVar("call", default=None)
"""The request that the running handler answers."""


class Calls:
    """All open calls of one client. `transmit` sends the parts of a body, `roomy` is called when `full` ends."""

    def __init__(self, transmit: Callable[[list[Buffer]], None], roomy: Callable[[], None], max_message: int) -> None:
        self._transmit = transmit
        self._roomy = roomy
        self._max_message = max_message
        self._open: dict[Id, Call] = {}
        self._bytes = 0
        self._answered = asyncio.Event()
        self._slicing: set[asyncio.Task[None]] = set()

    @property
    def full(self) -> bool:
        return self._bytes > MAX_OPEN

    def get(self, id: Id) -> Call | None:
        return self._open.get(id)

    def open(self, id: Id, size: int) -> Call:
        """A new call; no other with this id may be open."""
        call = self._open[id] = Call(id, size)
        self._bytes += size
        return call

    def refuse(self, id: bytes, code: int, message: str) -> None:
        """Answer what does not become a call; `id` is JSON."""
        self._transmit([envelope.error_body(id, code, message)])

    def reply(self, call: Call, result: Any) -> None:
        """Answer with a Struct or plain values. From here on a cancel comes too late."""
        call.task, call.answered = None, True
        try:
            pieces, holes = outline(result)
            if not holes:
                self._send_result(call, list(pieces))
                return
        except Exception as error:
            self.fail(call, error)
            return
        task = asyncio.get_running_loop().create_task(self._reply_in_slices(call, pieces, holes))
        self._slicing.add(task)
        task.add_done_callback(self._slicing.discard)

    def fail(self, call: Call, error: BaseException) -> None:
        """Answer with the error that `error` is to a client."""
        call.task, call.answered = None, True
        id = envelope.encode(call.id)
        code, message, data = _explain(error, call)
        try:
            body = envelope.error_body(id, code, message, data)
        except Exception:
            logger.exception("an error does not serialise")
            body = envelope.error_body(id, envelope.INTERNAL_ERROR, _INTERNAL)
        self._settle(call, [body])

    async def quiet(self, deadline: float, but: Id | None = None) -> None:
        """Wait until no call is open, beside the one with the id `but`; at most until the loop's `deadline`."""
        loop = asyncio.get_running_loop()
        while len(self._open) > (but in self._open) and loop.time() < deadline:
            self._answered.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._answered.wait()
            except TimeoutError:
                return

    def others(self, but: Id | None) -> list[Call]:
        """The open calls, beside the one with the id `but`."""
        return [call for call in self._open.values() if call.id != but]

    async def _reply_in_slices(self, call: Call, pieces: list[bytes], holes: list[Hole]) -> None:
        loop = asyncio.get_running_loop()
        parts: list[Buffer] = []
        size = 0
        since = loop.time()
        try:
            for piece in filled(pieces, holes):
                parts.append(piece)
                size += len(piece)
                if size > self._max_message:
                    raise self._too_large(size)
                if loop.time() - since > _SLICE:
                    await next_turn()
                    since = loop.time()
            self._send_result(call, parts)
        except Exception as error:
            self.fail(call, error)

    def _send_result(self, call: Call, parts: list[Buffer]) -> None:
        size = sum(map(len, parts))
        if size > self._max_message:
            raise self._too_large(size)
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % envelope.encode(call.id)
        self._settle(call, [head, *parts, b"}"])

    def _too_large(self, size: int) -> MessageTooLarge:
        limit = self._max_message
        return MessageTooLarge(f"the answer has {size} bytes or more; the limit is {limit}", limit=limit)

    def _settle(self, call: Call, parts: list[Buffer]) -> None:
        """Send the answer to a call, and then what was to come after it."""
        if self._open.get(call.id) is not call:
            return
        del self._open[call.id]
        was_full = self.full
        self._bytes -= call.size
        self._transmit(parts)
        self._answered.set()
        if was_full and not self.full:
            self._roomy()
        for after in call.afterwards:
            try:
                after()
            except Exception:
                logger.exception("what was to follow an answer failed")


def _explain(error: BaseException, call: Call) -> tuple[int, str, dict[str, Any] | None]:
    """An exception as the code, message and data of a JSON-RPC error."""
    if isinstance(error, PidError | RpcError):
        return error.code, error.message, error.data
    if isinstance(error, asyncio.CancelledError) and call.cancelled:
        return envelope.CANCELLED, "the request was cancelled", None
    logger.error("a request failed", exc_info=error)
    return envelope.INTERNAL_ERROR, _INTERNAL, None
