"""What can go wrong, in one tree. Every error that a client may see is one of these.

    PidError
    ├── SessionNotFound        1001  data.reason: notOpen (the id), noFile (the path or id)
    ├── EntryNotFound          1002  data.entryId
    ├── LeafConflict           1003  data.currentLeafId
    ├── DuplicateEntryId       1004  data.entryId
    ├── NotASession            1005  the file is left untouched
    ├── SessionChangedOnDisk   1006  data.reason: replaced, rewritten, truncated, deleted
    ├── WriteFailed            1007  data.errno, data.outcome: notWritten, unknown
    ├── InvalidEntry           1008  data.path
    ├── SessionBusy            1009  another process held the file's lock past the deadline
    ├── NothingToCompact       1010
    ├── CompactionInProgress   1011  data.compactionId
    ├── CompactionSuperseded   1012
    ├── SummarizerUnavailable  1013
    ├── SummarizerFailed       1014  data.attempts, data.reason
    ├── SessionExists          1016
    ├── ReadFailed             1017  data.errno
    ├── MessageTooLarge        1020
    ├── InvalidCursor          1021
    ├── InvalidParams        -32602  data.path
    └── RequestCancelled     -32800  nothing was written

An error's message says what happened, where, and what to do; its `data` says the same to programs. No error
carries message content, a key or a traceback.
"""

from typing import Any, ClassVar


class PidError(Exception):
    """An answer that is an error: `code`, `kind`, whether the same call may succeed later, and `data`."""

    code: ClassVar[int] = -32603
    kind: ClassVar[str] = "internalError"
    retryable: bool = False

    def __init__(self, message: str, /, *, retryable: bool | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = data
        if retryable is not None:
            self.retryable = retryable

    @property
    def data(self) -> dict[str, Any]:
        """The `data` of the JSON-RPC error: `kind` and `retryable` always, then what the kind adds."""
        return {"kind": self.kind, "retryable": self.retryable, **self.details}


class SessionNotFound(PidError):
    code = 1001
    kind = "sessionNotFound"


class EntryNotFound(PidError):
    code = 1002
    kind = "entryNotFound"


class LeafConflict(PidError):
    code = 1003
    kind = "leafConflict"


class DuplicateEntryId(PidError):
    code = 1004
    kind = "duplicateEntryId"


class NotASession(PidError):
    code = 1005
    kind = "notASession"


class SessionChangedOnDisk(PidError):
    code = 1006
    kind = "sessionChangedOnDisk"


class WriteFailed(PidError):
    code = 1007
    kind = "writeFailed"
    retryable = True


class InvalidEntry(PidError):
    code = 1008
    kind = "invalidEntry"


class SessionBusy(PidError):
    code = 1009
    kind = "sessionBusy"
    retryable = True


class NothingToCompact(PidError):
    code = 1010
    kind = "nothingToCompact"


class CompactionInProgress(PidError):
    code = 1011
    kind = "compactionInProgress"
    retryable = True


class CompactionSuperseded(PidError):
    code = 1012
    kind = "compactionSuperseded"
    retryable = True


class SummarizerUnavailable(PidError):
    code = 1013
    kind = "summarizerUnavailable"


class SummarizerFailed(PidError):
    code = 1014
    kind = "summarizerFailed"


class SessionExists(PidError):
    code = 1016
    kind = "sessionExists"


class ReadFailed(PidError):
    code = 1017
    kind = "readFailed"


class MessageTooLarge(PidError):
    code = 1020
    kind = "messageTooLarge"


class InvalidCursor(PidError):
    code = 1021
    kind = "invalidCursor"


class InvalidParams(PidError):
    """Params that do not fit the method: JSON-RPC's own -32602, with `data.path` (`entry.message.role`)."""

    code = -32602
    kind = "invalidParams"


class RequestCancelled(PidError):
    """LSP's own -32800, for work that another request or the end of the session cancelled."""

    code = -32800
    kind = "requestCancelled"
    retryable = True
