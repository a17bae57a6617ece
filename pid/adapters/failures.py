"""What a failing file is to a client: each refusal of the system as one of the errors of `pid.errors`.

It looks at no file. No error here quotes what a file holds.
"""

import os

from pid.errors import ReadFailed, SessionChangedOnDisk, WriteFailed


def said(error: OSError) -> str:
    """The system's own words for an error."""
    return os.strerror(error.errno) if error.errno else str(error)


def changed_on_disk(path: str, reason: str) -> SessionChangedOnDisk:
    """The error for a file that another program replaced, rewrote, truncated or deleted."""
    message = f"{path} was {reason} by another program. Nothing more is written to it; open it again."
    return SessionChangedOnDisk(message, reason=reason, path=path)


def read_failed(path: str, error: OSError) -> ReadFailed:
    """The error for a read that the system refused."""
    return ReadFailed(f"{path} could not be read: {said(error)}.", errno=error.errno, path=path)


def write_failed(path: str, error: OSError | int | None, *, gone: bool = True) -> WriteFailed:
    """The error for a write that the system refused (`error` may be its number); `gone`: nothing of it remains."""
    known = error if isinstance(error, OSError) else OSError(error, "the system refused it")
    outcome, what = ("notWritten", "Nothing was written") if gone else ("unknown", "A part only was written")
    return WriteFailed(f"{what} to {path}: {said(known)}.", errno=known.errno, outcome=outcome)


def sync_failed(path: str, error: OSError) -> WriteFailed:
    """The error for a sync that the system refused: what was written before may last or not."""
    message = f"{path} could not be synced ({said(error)}): whether the last lines last is unknown."
    return WriteFailed(message, errno=error.errno, outcome="unknown")
