"""The wire types of compaction: the plan, the run, its notifications, and the client's own summarizer."""

from typing import Any, Literal

from pid.protocol.base import (
    CompactionReason,
    CompactionState,
    Count,
    Positive,
    SessionParams,
    SummarizerName,
    Token,
    Wire,
)
from pid.protocol.records import FileDetails, Usage
from pid.protocol.sessions import ModelRef


class Overflow(Wire):
    """What the provider said when it refused a context as too long."""

    prompt_tokens: Count | None = None  #: The size of the refused prompt.
    limit: Count | None = None  #: The model's limit.


class CompactParams(SessionParams):
    """Summarises the older part of the context, at the leaf."""

    instructions: str | None = None  #: What the summary should look after.
    keep_recent_tokens: Count | None = None  #: Default: the session's.
    reserve_tokens: Count | None = None  #: Default: the session's.
    summarizer: SummarizerName | None = None  #: Default: the session's.
    model: ModelRef | None = None  #: Default: the session's.
    reason: Literal["manual", "overflow"] = "manual"  #: Why.
    overflow: Overflow | None = None  #: With `reason: "overflow"`: what the provider said.
    expected_leaf_id: str | None = None  #: Fail with 1003 unless this is the leaf exactly.
    first_kept_entry_id: str | None = None  #: From a preview: fail with 1012 if the plan is another one now.
    work_done_token: Token | None = None  #: For `$/progress`.


class PreviewParams(CompactParams):
    """Tells what a compaction would do. It writes nothing and calls no model."""

    include_requests: bool = False  #: Show the requests that would be sent.


class SummaryRequest(Wire):
    """A request to a summarizer."""

    purpose: Literal["history", "turnPrefix", "branch"]  #: What is summarised.
    system: str  #: The instructions.
    prompt: str  #: The conversation as text, with the question.
    max_tokens: Positive  #: The longest answer.


class CompactionPlan(Wire):
    """What a compaction would do now."""

    first_kept_entry_id: str | None  #: The cut point. Null: nothing is kept.
    is_split_turn: bool  #: Whether the cut parts a turn, whose head is then summarised on its own.
    turn_start_entry_id: str | None = None  #: The message that begins the split turn.
    summarize_entry_ids: list[str]  #: Entries whose messages are summarised.
    turn_prefix_entry_ids: list[str]  #: The head of the split turn.
    keep_entry_ids: list[str]  #: Entries that stay in the context.
    previous_summary: str | None = None  #: The summary that would be updated.
    tokens_before: Count  #: The context now.
    tokens_after: Count  #: An estimate: with a summary of 4,000 tokens, or of half of what it replaces.
    details: FileDetails  #: Files that the summary would list.
    request_count: Count  #: Requests that a summarizer would get; an estimate without `includeRequests`.
    request_tokens: Count  #: Their size, an estimate.
    requests: list[SummaryRequest] | None = None  #: With `includeRequests`.


class CompactionResult(Wire):
    """The compaction is in the file."""

    compaction_id: str  #: Its name in `session/compaction`.
    entry_id: str  #: Its entry.
    leaf_id: str | None  #: The leaf now.
    revision: Count  #: The revision that it made.
    epoch: str  #: The epoch that the revision belongs to.
    summary: str  #: The summary.
    first_kept_entry_id: str | None  #: The cut point.
    tokens_before: Count  #: The context before.
    tokens_after: Count  #: The context now, an estimate.
    details: FileDetails  #: Files that the summary lists.
    summarizer: SummarizerName  #: What wrote the summary.
    usage: Usage | None = None  #: What the summary cost.
    attempts: Count  #: Requests that were sent, with all retries.


class CancelCompactionParams(SessionParams):
    """Stops a running compaction, also one that started by itself."""

    compaction_id: str | None = None  #: Only this one. Default: whichever runs.


class CancelCompactionResult(Wire):
    """Whether there was one to stop."""

    cancelled: bool  #: False if none was running, or it was past stopping.


class CompactionError(Wire):
    """Why a compaction failed, as the error of a request would say it."""

    code: int  #: One of the application errors.
    kind: str  #: Its kind.
    message: str  #: The same in words for people.
    retryable: bool  #: Whether the same may succeed later.


class CompactionNotice(Wire):
    """How a compaction goes. Which optional fields there are depends on `state`; exactly one end comes."""

    session_id: str  #: The session.
    compaction_id: str  #: The compaction.
    state: CompactionState  #: How far it is.
    reason: CompactionReason  #: Why it runs.
    phase: str | None = None  #: `progress`: what it is doing.
    attempt: int | None = None  #: `progress`: which attempt this is, from 1.
    max_attempts: int | None = None  #: `progress`: how many there may be.
    chunk: int | None = None  #: `progress`: which piece this is, from 1.
    chunks: int | None = None  #: `progress`: how many pieces there are.
    entry_id: str | None = None  #: `completed`: the entry.
    tokens_before: int | None = None  #: `completed`: the context before.
    tokens_after: int | None = None  #: `completed`: the context now, an estimate.
    summarizer: SummarizerName | None = None  #: `completed`: what wrote the summary.
    error: CompactionError | None = None  #: `failed`: why.


class SummarizeParams(SummaryRequest):
    """Asks the client's own model for a summary."""

    session_id: str  #: The session.
    compaction_id: str  #: The compaction that it is for.
    model: ModelRef | None = None  #: The model that the settings name.
    timeout_ms: Positive  #: How long the daemon waits.


class SummarizeResult(Wire):
    """The client's summary."""

    summary: str  #: The text.
    stop_reason: Literal["stop", "length", "refusal", "error"]  #: Why the model stopped.
    usage: Any = None  #: What it cost, in the form of `Usage`.
    model: ModelRef | None = None  #: The model that wrote it.
