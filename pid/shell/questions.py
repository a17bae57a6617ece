"""Requests of the server to the client, and what becomes of them.

Each question gets one end: the client's answer, an `AnswerError`, or the cancelling of who asked, which the
client is told with `$/cancelRequest`. A late answer is dropped. Notifications go out from here too: `outgoing`.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from pid.shell import envelope
from pid.shell.envelope import Id, Message, Raw, ResponseError
from pid.shell.transport import Buffer

logger = logging.getLogger(__name__)

_NULL = Raw(b"null")


class AnswerError(Exception):
    """The client answered with an error, with what does not fit, or went away (`code` is None)."""

    def __init__(self, code: int | None, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Questions:
    """The questions that are open."""

    def __init__(self, transmit: Callable[[list[Buffer]], None]) -> None:
        self._transmit = transmit
        self._open: dict[Id, asyncio.Future[Raw]] = {}
        self._numbers = count(1)
        self._given_up = False

    async def ask(self, method: str, params: Any) -> Raw:
        """The client's result. Raises AnswerError."""
        if self._given_up:
            raise _gone()
        number = next(self._numbers)
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            self._transmit([outgoing(method, params, number)])
            return await answer
        except asyncio.CancelledError:
            self._transmit([outgoing("$/cancelRequest", {"id": number})])
            raise
        finally:
            del self._open[number]

    def answered(self, message: Message, id: Id) -> bool:
        """Take a response; whether it is one to a question of ours."""
        answer = self._open.get(id)
        if answer is None:
            return False
        if answer.done():
            logger.debug("a response came too late: %s", id)
        elif message.error is not envelope.ABSENT:
            answer.set_exception(_error(message.error))
        else:
            answer.set_result(_NULL if message.result is envelope.ABSENT else message.result)
        return True

    def give_up(self) -> None:
        """The client is not there any more: open and later questions fail."""
        self._given_up = True
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(_gone())


def outgoing(method: str, params: Any, id: int | None = None) -> bytes:
    """The body of a notification, or of a request with `id`. Raises what `envelope.encode` raises."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return envelope.encode(message)


def _gone() -> AnswerError:
    return AnswerError(None, "the client is not there any more")


def _error(raw: Raw) -> AnswerError:
    try:
        error = envelope.read_carried(raw, ResponseError)
    except (msgspec.DecodeError, RecursionError):
        return AnswerError(None, "the client answered with an error that does not fit JSON-RPC")
    return AnswerError(error.code, error.message, error.data)
