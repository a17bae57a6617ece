"""The wire types of the life cycle: what `pid` reads of, and adds to, LSP's own messages."""

from typing import Literal

from msgspec import UNSET, UnsetType

from pid.protocol.base import (
    MAX_MESSAGE_BYTES,
    MAX_PAGE_BYTES,
    PROTOCOL_VERSION,
    AbsolutePath,
    Count,
    Positive,
    RawValue,
    Token,
    Wire,
)
from pid.protocol.sessions import SettingsUpdate


class SummarizeAbility(Wire):
    """What the client's own model can take."""

    max_input_tokens: Positive | None = None  #: The longest prompt.
    max_output_tokens: Positive | None = None  #: The longest answer.


class PidClientCapability(Wire):
    """What the client wants: `capabilities.experimental.pid` of `initialize`."""

    protocol_version: int = PROTOCOL_VERSION  #: The highest version that the client speaks.
    notifications: tuple[str, ...] = ()  #: The notifications to send. Others never come.
    summarize: bool | SummarizeAbility | None = None  #: Whether the client answers `pid/summarize`.


class ClientExperimental(Wire):
    """The `experimental` part of LSP's client capabilities."""

    pid: PidClientCapability = PidClientCapability()  #: What the client wants of `pid`.


class ClientCapabilities(Wire):
    """LSP's client capabilities, as far as they matter here."""

    experimental: ClientExperimental = ClientExperimental()  #: Where `pid` looks.


class InitializationOptions(Wire):
    """What the client sets up for all sessions."""

    session_dir: AbsolutePath | None = None  #: Where session files are, instead of pi's directories.
    agent_dir: AbsolutePath | None = None  #: The agent directory, instead of `~/.pi/agent`.
    settings: SettingsUpdate | None = None  #: Settings for all sessions of this client.
    #: Read settings, context files and skills of projects only below these. Absent: of all.
    trusted_roots: list[AbsolutePath] | None = None


class WorkspaceFolder(Wire):
    """A folder that the editor has open."""

    uri: str  #: Its `file:` URI.
    name: str | None = None  #: Its name for people.


class InitializeParams(Wire):
    """LSP's `initialize`, as far as `pid` reads it. It is the first request."""

    process_id: int | None = None  #: The process that the daemon ends with.
    #: Whose sessions are listed by default. Absent: those of `rootUri`, or else of the daemon's own directory.
    workspace_folders: list[WorkspaceFolder] | None = None
    root_uri: str | None = None  #: LSP's older form of one workspace folder.
    capabilities: ClientCapabilities = ClientCapabilities()  #: What the client can do.
    initialization_options: InitializationOptions | None = None  #: What the client sets up.
    trace: str | None = None  #: As in `$/setTrace`.


class Limits(Wire, omit_defaults=False):
    """The daemon's limits."""

    max_message_bytes: int = MAX_MESSAGE_BYTES  #: A larger message is refused, in and out.
    max_page_bytes: int = MAX_PAGE_BYTES  #: A page ends before it grows past this.


class PidServerCapability(Wire, omit_defaults=False):
    """What the daemon offers: `capabilities.experimental.pid` of the answer to `initialize`."""

    protocol_version: int = PROTOCOL_VERSION  #: The lower one of the client's and the daemon's.
    methods: list[str]  #: The requests that it answers, beside LSP's own.
    notifications: list[str]  #: The notifications that a client may name.
    summarizers: list[str]  #: The summarizers that are there now.
    limits: Limits  #: The daemon's limits.


class ServerExperimental(Wire):
    """The `experimental` part of LSP's server capabilities."""

    pid: PidServerCapability  #: What the daemon offers.


class ServerCapabilities(Wire):
    """LSP's server capabilities, as far as they matter here."""

    experimental: ServerExperimental  #: Where to look.


class ServerInfo(Wire):
    """Who answers."""

    name: str  #: `pid`.
    version: str  #: The daemon's version.


class InitializeResult(Wire):
    """The answer to `initialize`."""

    capabilities: ServerCapabilities  #: What the daemon can do.
    server_info: ServerInfo  #: Who it is.


class InitializedParams(Wire):
    """LSP's `initialized`: the client is ready."""


class ShutdownParams(Wire):
    """LSP's `shutdown`: finishes what was received. After it, only `exit` is welcome."""


class ExitParams(Wire):
    """LSP's `exit`: ends the process, with code 0 after `shutdown`, else 1."""


class CancelParams(Wire):
    """LSP's `$/cancelRequest`: the request is no longer wanted. It is answered all the same."""

    id: Token  #: The request's id.


class WorkDoneProgress(Wire):
    """How far a long request is."""

    kind: Literal["begin", "report", "end"]  #: `begin` comes once, then reports, then one `end`.
    title: str | None = None  #: With `begin`: what runs.
    message: str | None = None  #: What it is doing.
    percentage: int | None = None  #: How far it is, if that is known.
    cancellable: bool | None = None  #: Whether `$/cancelRequest` stops it.


class ProgressParams(Wire):
    """LSP's `$/progress`, for a `workDoneToken` that the client sent."""

    token: Token  #: The client's token.
    value: WorkDoneProgress  #: How far it is.


class SetTraceParams(Wire):
    """LSP's `$/setTrace`."""

    value: Literal["off", "messages", "verbose"]  #: How much to log.


class LogMessageParams(Wire):
    """LSP's `window/logMessage`: something for the client's log."""

    type: int  #: 1 error, 2 warning, 3 information, 4 log.
    message: str  #: In words for people.


class ErrorData(Wire):
    """The `data` of an error. What is there beside `kind` and `retryable` depends on the kind."""

    kind: str  #: What happened, for programs.
    retryable: bool  #: Whether the same request may succeed later.
    path: str | None = None  #: The field that is wrong: `entry.message.role`; where a file is at fault, the file.
    reason: str | None = None  #: Why, for programs.
    entry_id: str | None = None  #: The entry that is concerned.
    current_leaf_id: str | UnsetType | None = UNSET  #: The leaf as it is.
    compaction_id: str | None = None  #: The compaction that is running.
    errno: int | None = None  #: The system's number of the fault.
    outcome: Literal["notWritten", "unknown"] | None = None  #: What became of a write.
    attempts: Count | None = None  #: Requests that were sent to a summarizer.


class ResponseError(Wire):
    """JSON-RPC's error."""

    code: int  #: See "Errors".
    message: str  #: What happened, where, and what to do.
    data: ErrorData | None = None  #: The same for programs. JSON-RPC's own codes may go without.


class Envelope(Wire):
    """A JSON-RPC message of either side."""

    jsonrpc: Literal["2.0"]  #: Always `2.0`.
    id: Token | UnsetType | None = UNSET  #: The request's id; absent in a notification.
    method: str | None = None  #: In a request or notification: what is asked or told.
    params: RawValue | UnsetType = UNSET  #: What the method takes.
    result: RawValue | UnsetType = UNSET  #: In a response: the answer.
    error: ResponseError | None = None  #: In a response: what went wrong.
