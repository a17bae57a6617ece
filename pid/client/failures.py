"""What a call of the client raises: the errors of `pid.errors` by their codes, and `DaemonGone`."""

from typing import Any, Final

from msgspec import Struct

from pid.errors import InvalidParams, PidError, RequestCancelled
from pid.protocol import ERRORS


class DaemonGone(ConnectionError):
    """The daemon has ended, or could not be started: the call has no answer, and nobody knows what it did.

    A write that is sent again, to a new daemon and with the same `entry.id`, happens once.
    """


class OtherError(PidError):
    """An error without a class of its own: JSON-RPC's codes, and those that a newer daemon may have."""

    def __init__(self, code: int, message: str, /, **data: Any) -> None:
        super().__init__(message, retryable=data.pop("retryable", None) is True)
        self.code = code  # type: ignore[misc]  # here the code is the instance's
        self.kind = str(data.pop("kind", PidError.kind))  # type: ignore[misc]
        self.details = data


class ErrorAnswer(Struct):
    """The `error` of a response, with all that its `data` holds."""

    code: int
    message: str = ""
    data: Any = None


_CLASSES: Final[dict[int, type[PidError]]] = {
    InvalidParams.code: InvalidParams,
    RequestCancelled.code: RequestCancelled,
    **{row.error.code: row.error for row in ERRORS.values()},
}


def error_of(answer: ErrorAnswer) -> PidError:
    """The exception for an error that the daemon answered."""
    data = dict(answer.data) if isinstance(answer.data, dict) else {}
    kind = _CLASSES.get(answer.code)
    if kind is None:
        return OtherError(answer.code, answer.message, **data)
    data.pop("kind", None)
    error = kind(answer.message, retryable=data.pop("retryable", None) is True)
    error.details = data
    return error
