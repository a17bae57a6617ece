"""The wire types of whole sessions: their state, their settings, and how they are created, opened, listed."""

from typing import Literal

from msgspec import UNSET, UnsetType

from pid.protocol.base import (
    AbsolutePath,
    CloseReason,
    CompactionReason,
    CompactionState,
    Count,
    OwnSessionId,
    Positive,
    ProblemKind,
    SessionParams,
    SummarizerName,
    Token,
    Wire,
    at_most_one,
    exactly_one,
)

TokenEstimator = Literal["calibrated", "chars4"]
Durability = Literal["synced", "written"]


class ModelRef(Wire):
    """A model of a provider, in pi's names."""

    provider: str  #: Such as `anthropic`.
    model_id: str  #: Such as `claude-sonnet-4-5`.


class Problem(Wire):
    """Something in a session file that is not as it should be. Its bytes are left alone."""

    line: Positive  #: Where it is, counted from 1.
    kind: ProblemKind  #: What it is.
    message: str  #: The same in words for people.
    entry_id: str | None = None  #: The entry that is concerned, if it can be told.


class Settings(Wire, omit_defaults=False):
    """The settings in effect. The defaults of all settings stand here and nowhere else."""

    #: Tokens that the model takes. Null: unknown, and no compaction is ever due.
    context_window: int | None = None
    reserve_tokens: int = 16384  #: Compaction is due when less than this is left of the window.
    keep_recent_tokens: int = 20000  #: A compaction keeps about this much of the newest messages.
    auto_compact: bool = False  #: Whether a due compaction starts by itself.
    summarizer: SummarizerName = "auto"  #: What writes the summaries.
    fallback: bool = True  #: Whether another summarizer takes over when the chosen one fails.
    model: ModelRef | None = None  #: The summarizer's model. Null: its own default.
    overhead_tokens: int | None = None  #: System prompt and tools. Null: learned from reported usage.
    token_estimator: TokenEstimator = "calibrated"  #: `chars4` is pi's rule, for exact comparison.
    durability: Durability = "synced"  #: `written` skips the sync: it survives the process, not the machine.


class SettingsUpdate(Wire):
    """Settings to change. An absent one stays; null takes it back to what the next lower source says."""

    context_window: Positive | UnsetType | None = UNSET  #: See `Settings`.
    reserve_tokens: Count | UnsetType | None = UNSET  #: See `Settings`.
    keep_recent_tokens: Count | UnsetType | None = UNSET  #: See `Settings`.
    auto_compact: bool | UnsetType | None = UNSET  #: See `Settings`.
    summarizer: SummarizerName | UnsetType | None = UNSET  #: See `Settings`.
    fallback: bool | UnsetType | None = UNSET  #: See `Settings`.
    model: ModelRef | UnsetType | None = UNSET  #: See `Settings`.
    overhead_tokens: Count | UnsetType | None = UNSET  #: See `Settings`.
    token_estimator: TokenEstimator | UnsetType | None = UNSET  #: See `Settings`.
    durability: Durability | UnsetType | None = UNSET  #: See `Settings`.


class SettingsProblem(Wire):
    """A settings file, or a value in one, that could not be taken. It counts as absent."""

    path: str  #: The file.
    key: str | None = None  #: The value's key, such as `compaction.reserveTokens`. Absent: the whole file.
    message: str  #: What is wrong, in words for people.


class RunningCompaction(Wire):
    """A compaction that has begun and not ended."""

    compaction_id: str  #: Names it in `session/compaction` and `session/cancelCompaction`.
    state: CompactionState  #: `queued`, `started` or `progress`.
    reason: CompactionReason  #: Why it runs.


class SessionState(Wire):
    """An open session as it is now."""

    #: The handle for all requests: the header's id, with a suffix if two open files bear the same.
    session_id: str
    path: str | None  #: The file. Null for a session in memory.
    cwd: str  #: The working directory that the session belongs to.
    name: str | None  #: The name in effect.
    parent_session: str | None  #: The file that this one was forked from.
    version: int  #: The version of the format, as found in the file; 1 if the header has none.
    leaf_id: str | None  #: Where the next append attaches. Null: before the first entry.
    #: The leaf that the file itself names; another than `leafId` when another writer branched.
    file_leaf_id: str | None
    revision: Count  #: Counts the changes of this session within its `epoch`, without gaps.
    epoch: str  #: A random string for each time that the session is loaded.
    entry_count: Count  #: Entries in the tree.
    created_at: str | None  #: The header's time, if it has one.
    modified_at: str | None  #: The time of the newest message, or else of the newest entry or the header.
    settings: Settings  #: The settings in effect.
    compaction: RunningCompaction | None  #: The compaction that is running now.
    problems: list[Problem]  #: What is wrong in the file; empty for a sound one.
    settings_problems: tuple[SettingsProblem, ...] = ()  #: What is wrong in the settings files, if anything is.


class CreateParams(Wire):
    """Makes a session, and its file with the header at once, and opens it."""

    cwd: AbsolutePath  #: The working directory that the session belongs to.
    session_dir: AbsolutePath | None = None  #: Where the file goes. Default: pi's directory for `cwd`.
    id: OwnSessionId | None = None  #: The session's own id. Default: a new UUIDv7.
    name: str | None = None  #: A first name, written as a `session_info` entry.
    parent_session: AbsolutePath | None = None  #: Noted in the header.
    in_memory: bool = False  #: Keep it in memory only: no file, nothing survives the daemon.
    settings: SettingsUpdate | None = None  #: Settings for this session.


class OpenParams(Wire):
    """Opens a session. One file has one handle; openings are counted; opening never writes."""

    path: AbsolutePath | None = None  #: The file.
    id: OwnSessionId | None = None  #: The header's id, looked for in the session directories.
    cwd: AbsolutePath | None = None  #: With `id`: look only among the sessions of this directory.
    #: The leaf to begin at, as a restarted client knew it. Writes nothing.
    leaf_id: str | UnsetType | None = UNSET
    settings: SettingsUpdate | None = None  #: Settings for this session.

    def __post_init__(self) -> None:
        exactly_one(self, "path", "id")


class ContinueParams(Wire):
    """Opens the one of a directory's sessions whose file was written last, or makes one."""

    cwd: AbsolutePath  #: The working directory.
    #: Where to look and to create. Default: pi's directory for `cwd`.
    session_dir: AbsolutePath | None = None
    settings: SettingsUpdate | None = None  #: Settings for this session.


class ContinueResult(SessionState):
    """The session, and whether it is new."""

    created: bool  #: Whether there was none and this one was made.


class ForkParams(Wire):
    """Copies a session, or one path of it, into a new one, and opens that. The source is only read."""

    session_id: str | None = None  #: The open session to fork.
    path: AbsolutePath | None = None  #: The file to fork.
    entry_id: str | None = None  #: Take only the path to this entry. Default: the whole tree.
    id: OwnSessionId | None = None  #: The new session's id. Default: a new UUIDv7.
    cwd: AbsolutePath | None = None  #: The new session's working directory. Default: that of the source.
    session_dir: AbsolutePath | None = None  #: Where the new file goes. Default: pi's directory for `cwd`.
    settings: SettingsUpdate | None = None  #: Settings for the new session.

    def __post_init__(self) -> None:
        exactly_one(self, "session_id", "path")


class CloseParams(SessionParams):
    """Takes back one opening. The session leaves memory with the last one."""

    force: bool = False  #: Take back all openings at once.


class StateParams(SessionParams):
    """Tells how the session is now."""


class ConfigureParams(SessionParams):
    """Changes settings of an open session; answers those in effect."""

    settings: SettingsUpdate  #: What to change.


class ListParams(Wire):
    """Lists the sessions of some directories, last message first."""

    cwd: AbsolutePath | None = None  #: Those of this directory. Default: those of the workspace folders.
    cwds: list[AbsolutePath] | None = None  #: Those of these directories.
    session_dir: AbsolutePath | None = None  #: Where to look. Default: pi's directories.
    all: bool = False  #: Those of every directory.
    query: str | None = None  #: Only those whose name or first message has this text, in any case of letters.
    include_empty: bool = False  #: Also those without a message.
    limit: Positive | None = None  #: At most this many in a page.
    cursor: str | None = None  #: The `nextCursor` of the page before.
    work_done_token: Token | None = None  #: For `$/progress`.

    def __post_init__(self) -> None:
        at_most_one(self, "cwd", "cwds")


class SessionInfo(Wire):
    """A session in a listing."""

    path: str  #: The file.
    id: str  #: The header's id.
    session_id: str | None = None  #: The handle, if the session is open here.
    cwd: str  #: The working directory that it belongs to.
    name: str | None  #: The name in effect.
    parent_session: str | None  #: The file that it was forked from.
    created_at: str | None  #: The header's time.
    modified_at: str  #: The time of the newest user or assistant message, or else the header's, or the file's.
    message_count: Count  #: Messages in the file.
    #: The text of the first user message that has one, or the first 4,095 code points of it and `…`. Empty: none has.
    first_message: str
    size_bytes: Count  #: The size of the file.


class ListResult(Wire):
    """A page of a listing."""

    sessions: list[SessionInfo]  #: Last message first.
    next_cursor: str | None = None  #: For the next page; absent on the last one.
    total: Count  #: Sessions in all pages.


class ProblemsNotice(Wire):
    """Problems that were found since the last notification, or since the answer to `session/open`."""

    session_id: str  #: The session.
    added: list[Problem]  #: The new ones.


class DidCloseNotice(Wire):
    """The file was lost: the handle answers 1006 until the session is opened again."""

    session_id: str  #: The session.
    reason: CloseReason  #: What happened to the file.


class ListChangedNotice(Wire):
    """A session of a directory was made, forked or renamed here, or renamed by another in a session open here."""

    cwd: str  #: The working directory.
