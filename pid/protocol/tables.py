"""The tables of the wire: every request, notification and error, once.

A row with `works=False` is not served yet: it is in no public table, no document and no `initialize` answer.
Deleting that word switches it on.
"""

from typing import Literal, NamedTuple

import pid.errors as errors
from pid.protocol.base import Wire
from pid.protocol.compaction import (
    CancelCompactionParams,
    CancelCompactionResult,
    CompactionNotice,
    CompactionPlan,
    CompactionResult,
    CompactParams,
    PreviewParams,
    SummarizeParams,
    SummarizeResult,
)
from pid.protocol.context import ContextParams, ContextResult, ContextUsage, UsageNotice, UsageParams
from pid.protocol.lifecycle import (
    CancelParams,
    ExitParams,
    InitializedParams,
    InitializeParams,
    InitializeResult,
    LogMessageParams,
    ProgressParams,
    SetTraceParams,
    ShutdownParams,
)
from pid.protocol.prompt import PromptParams, PromptResult
from pid.protocol.sessions import (
    CloseParams,
    ConfigureParams,
    ContinueParams,
    ContinueResult,
    CreateParams,
    DidCloseNotice,
    ForkParams,
    ListChangedNotice,
    ListParams,
    ListResult,
    OpenParams,
    ProblemsNotice,
    SessionState,
    Settings,
    StateParams,
)
from pid.protocol.tree import (
    AppendBatchParams,
    AppendBatchResult,
    AppendParams,
    AppendResult,
    BranchParams,
    DidChangeNotice,
    EntriesParams,
    EntriesResult,
    SetLeafParams,
    SetLeafResult,
    TreeParams,
    TreeResult,
)

Direction = Literal["toServer", "toClient", "both"]


class Method(NamedTuple):
    """A request. What it does is the docstring of its params; a `result` of None is null on the wire."""

    name: str
    params: type[Wire]
    result: type[Wire] | None
    works: bool = True
    direction: Direction = "toServer"


class Notification(NamedTuple):
    """A notification. When it comes is the docstring of its params."""

    name: str
    params: type[Wire]
    works: bool = True
    direction: Direction = "toClient"


class ErrorRow(NamedTuple):
    """An application error: its class in `pid.errors`, and when it comes."""

    error: type[errors.PidError]
    when: str


_METHODS = (
    Method("session/create", CreateParams, SessionState),
    Method("session/open", OpenParams, SessionState),
    Method("session/continueRecent", ContinueParams, ContinueResult),
    Method("session/fork", ForkParams, SessionState),
    Method("session/close", CloseParams, None),
    Method("session/list", ListParams, ListResult),
    Method("session/getState", StateParams, SessionState),
    Method("session/append", AppendParams, AppendResult),
    Method("session/appendBatch", AppendBatchParams, AppendBatchResult),
    Method("session/setLeaf", SetLeafParams, SetLeafResult),
    Method("session/getTree", TreeParams, TreeResult),
    Method("session/getBranch", BranchParams, EntriesResult),
    Method("session/getEntries", EntriesParams, EntriesResult),
    Method("session/buildContext", ContextParams, ContextResult),
    Method("session/getContextUsage", UsageParams, ContextUsage),
    Method("session/previewCompaction", PreviewParams, CompactionPlan),
    Method("session/compact", CompactParams, CompactionResult),
    Method("session/cancelCompaction", CancelCompactionParams, CancelCompactionResult),
    Method("session/configure", ConfigureParams, Settings),
    Method("prompt/build", PromptParams, PromptResult),
    Method("pid/summarize", SummarizeParams, SummarizeResult, direction="toClient"),
)

_NOTIFICATIONS = (
    Notification("session/didChange", DidChangeNotice),
    Notification("session/contextUsage", UsageNotice),
    Notification("session/compaction", CompactionNotice),
    Notification("session/problems", ProblemsNotice),
    Notification("session/didClose", DidCloseNotice),
    Notification("session/listChanged", ListChangedNotice),
)

_BASE_METHODS = (
    Method("initialize", InitializeParams, InitializeResult),
    Method("shutdown", ShutdownParams, None),
)

_BASE_NOTIFICATIONS = (
    Notification("initialized", InitializedParams, direction="toServer"),
    Notification("exit", ExitParams, direction="toServer"),
    Notification("$/cancelRequest", CancelParams, direction="both"),
    Notification("$/progress", ProgressParams),
    Notification("$/setTrace", SetTraceParams, direction="toServer"),
    Notification("window/logMessage", LogMessageParams),
)

PLANNED = tuple(row for row in (*_METHODS, *_NOTIFICATIONS) if not row.works)
"""Rows that are not served yet. Only tests look at them."""

METHODS = {row.name: row for row in _METHODS if row.works}
"""The requests of `pid` itself, by name."""

NOTIFICATIONS = {row.name: row for row in _NOTIFICATIONS if row.works}
"""The notifications that a client may name in `initialize`, by name."""

BASE_METHODS = {row.name: row for row in _BASE_METHODS}
"""LSP's own requests that `pid` serves, by name."""

BASE_NOTIFICATIONS = {row.name: row for row in _BASE_NOTIFICATIONS}
"""LSP's own notifications that `pid` sends or understands, by name."""

_ERRORS = (
    ErrorRow(errors.SessionNotFound, "`data.reason`: `notOpen` (the handle), `noFile` (the path or id)."),
    ErrorRow(errors.EntryNotFound, "An id that is not in the session (`data.entryId`)."),
    ErrorRow(errors.LeafConflict, "A guard failed (`data.currentLeafId`). Nothing was written."),
    ErrorRow(errors.DuplicateEntryId, "The `id` stands already with another content or parent (`data.entryId`)."),
    ErrorRow(errors.NotASession, "The file has no session header. It is left untouched."),
    ErrorRow(errors.SessionChangedOnDisk, "The file is not what was read before (`data.reason`)."),
    ErrorRow(errors.WriteFailed, "Disk full, read-only, I/O error (`data.errno`, `data.outcome`)."),
    ErrorRow(errors.InvalidEntry, "An entry that may not be appended (`data.path`)."),
    ErrorRow(errors.SessionBusy, "Another process held the file's lock past the deadline."),
    ErrorRow(errors.NothingToCompact, "No message would be summarised."),
    ErrorRow(errors.CompactionInProgress, "The session is being compacted (`data.compactionId`)."),
    ErrorRow(errors.CompactionSuperseded, "The branch or the plan is another one now. Nothing was written."),
    ErrorRow(errors.SummarizerUnavailable, "No key, no client with `summarize`, or an unknown name."),
    ErrorRow(errors.SummarizerFailed, "No summary (`data.attempts`, `data.reason`); `data.retryable` if it may pass."),
    ErrorRow(errors.SessionExists, "The file or id to create is there."),
    ErrorRow(errors.ReadFailed, "I/O error or permission (`data.errno`)."),
    ErrorRow(errors.MessageTooLarge, "Past `limits.maxMessageBytes`, in or out."),
    ErrorRow(errors.InvalidCursor, "Of another call, of an old `epoch`, or a `since` of the future."),
)

ERRORS = {row.error.kind: row for row in _ERRORS}
"""The application errors by kind. Their `data` always has `kind` and `retryable`."""

RPC_ERRORS = {
    -32700: ("parseError", "The body is not JSON."),
    -32600: ("invalidRequest", "The body is no JSON-RPC message, or comes after `shutdown`."),
    -32601: ("methodNotFound", "No such request."),
    -32602: ("invalidParams", "The params do not fit; `data.path` names the field."),
    -32603: ("internalError", "A fault of the daemon; its log says more. No traceback is sent."),
    -32002: ("serverNotInitialized", "A request before `initialize`."),
    -32800: ("requestCancelled", "The request was cancelled. Nothing was written."),
}
"""JSON-RPC's and LSP's own codes: their names, and when they come."""
