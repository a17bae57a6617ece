"""Calls over a child's pipes: each gets its one answer, or learns that there will be none.

Calls go out in the order in which they were begun, and wait while the daemon does not read. A call that is cancelled
says so to the daemon and waits for the answer, so that what comes after it finds the daemon done with it. What the
daemon begins itself is handed on.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeVar

import anyio
import msgspec

from pid.client import envelope
from pid.client.child import Child
from pid.client.failures import DaemonGone, error_of
from pid.core.framing import MAX_BODY, BadHeader, Body, Event
from pid.errors import MessageTooLarge
from pid.protocol import CancelParams

R = TypeVar("R")
Answer = asyncio.Future[envelope.Incoming | None]  # None: there will be none
_CANCEL_GRACE: Final = 10.0  # seconds that a cancelled call waits for its answer
_log = logging.getLogger(__name__)


class Connection:
    """JSON-RPC with one daemon. `begun` gets its notifications and requests, `gone` is called once, at the end."""

    def __init__(self, begun: Callable[[envelope.Incoming], None], gone: Callable[[], None]) -> None:
        self.child = Child(self._receive, self._end)
        self.closed = False
        self.max_bytes = MAX_BODY
        self._begun = begun
        self._gone = gone
        self._ids = count(1)
        self._order = asyncio.Lock()  # fair: who begins first writes first, also behind a pause
        self._waiting: dict[int, Answer] = {}
        self._fault: str | None = None

    async def call(self, method: str, params: object, result: type[R]) -> R:
        """Raises `PidError`s, `DaemonGone`, msgspec's ValidationError for an answer of another type, and
        RecursionError for one that is nested deeper than Python's stack has room for."""
        call_id = next(self._ids)
        body = envelope.request(call_id, method, params)
        if len(body) > self.max_bytes:
            raise MessageTooLarge(f"{method}: {len(body):,} bytes, but the daemon takes {self.max_bytes:,} at most")
        async with self._order:
            await self.child.writable()
            if self.closed or self.child.ended.is_set():
                raise self.death(method)
            answer = self._waiting[call_id] = asyncio.get_running_loop().create_future()
            self.child.write(body)
        del body
        try:
            incoming = await self._wait(call_id, answer)
        finally:
            del self._waiting[call_id]
        if incoming is None:
            raise self.death(method)
        if incoming.error is not None:
            raise error_of(incoming.error)
        return msgspec.json.decode(incoming.result, type=result)

    def tell(self, method: str, params: object) -> None:
        """A notification; it waits for nothing."""
        self.child.write(envelope.notification(method, params))

    def death(self, method: str) -> DaemonGone:
        """Why there is no answer to `method`."""
        why = self._fault or ("the client is closed" if self.closed else self.child.fate)
        log = self.child.log.decode(errors="replace").rstrip()
        return DaemonGone(f"no answer to {method}: {why}" + (f". It said:\n{log}" if log else ""))

    async def _wait(self, call_id: int, answer: Answer) -> envelope.Incoming | None:
        try:
            await asyncio.wait((answer,))
        except asyncio.CancelledError:
            if not answer.done():
                self.tell("$/cancelRequest", CancelParams(id=call_id))
                with anyio.move_on_after(_CANCEL_GRACE, shield=True):
                    await asyncio.wait((answer,))
            raise
        return answer.result()

    def _receive(self, event: Event) -> None:
        if isinstance(event, BadHeader):
            _log.warning("the daemon's output holds something that is no message: %s", event.reason)
        elif isinstance(event, Body):
            try:
                incoming = envelope.decode(event.data)
            except (msgspec.DecodeError, RecursionError) as error:
                self._give_up(f"it sent what is no message: {error}")
            else:
                self._take(incoming)
        elif not self.closed:
            self._give_up(f"a message cannot be taken: {event}")

    def _take(self, incoming: envelope.Incoming) -> None:
        if incoming.method is not None:
            self._begun(incoming)
            return
        if incoming.id is None and incoming.error is not None:
            self._give_up(f"it could not read a message: {incoming.error.message}")
            return
        answer: Any = self._waiting.get(incoming.id)  # type: ignore[arg-type]  # other ids are not found
        if answer is not None and not answer.done():
            answer.set_result(incoming)

    def _give_up(self, fault: str) -> None:
        # An answer is lost and nobody can say whose: better all calls fail than that one waits for ever.
        self._fault = self._fault or f"the connection broke: {fault}"
        self.child.kill()

    def _end(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)
        self._gone()
