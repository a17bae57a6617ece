"""The wire types of the context for a model, and of how much of its window is used."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from pid.protocol.base import Count, RawMessage, SessionParams, ThinkingLevel, WarningKind, Wire
from pid.protocol.sessions import ModelRef

Breakpoints = Annotated[int, Meta(ge=0, le=4)]


class ContextUsage(Wire):
    """How much of the model's window the context takes."""

    tokens: int | None  #: All tokens of the context. Null: nothing is known.
    context_window: int | None  #: The window, from the settings.
    source: Literal["provider", "estimate", "mixed"]  #: Where `tokens` comes from.
    usage_tokens: Count  #: The part that the provider reported.
    estimated_tokens: Count  #: The part that is estimated.
    error_bound: float  #: The likely relative error of the estimated part.
    should_compact: bool  #: Whether a compaction is due.
    leaf_id: str | None  #: The leaf that this is about.
    revision: Count  #: The revision that this is about.


class UsageParams(SessionParams):
    """Tells how much of the model's window the context takes."""

    leaf_id: str | UnsetType | None = UNSET  #: Absent: the leaf. Null: before the first entry.


class UsageNotice(ContextUsage):
    """The usage changed. Several changes in a row come as one."""

    session_id: str  #: The session.


class PruneToolResults(Wire):
    """Shortens old tool results in this context only."""

    protect_tokens: Count = 40000  #: The newest results, up to this much, stay whole.
    minimum_saving: Count = 20000  #: Do nothing for less than this.
    keep_turns: Count = 2  #: The last turns stay whole.


class ContextParams(SessionParams):
    """Builds the messages that the model sees at a leaf. Nothing is written."""

    #: Absent: the leaf. Null: before the first entry, an empty context.
    leaf_id: str | UnsetType | None = UNSET
    #: `agent`: pi's agent messages, with all roles; `llm`: only those of a model; `anthropic`: a `payload`.
    format: Literal["agent", "llm", "anthropic"] = "agent"
    context_model: ModelRef | None = None  #: The model that the context is for. Default: the session's.
    cache_breakpoints: Breakpoints | None = None  #: How many `cache_control` marks to set.
    prune_tool_results: PruneToolResults | None = None  #: Shorten old tool results.
    trailing_assistant: Literal["keep", "drop"] = "keep"  #: Whether an assistant message may be the last one.
    include_usage: bool = False  #: Answer with `contextUsage`.


class ContextWarning(Wire):
    """Something in the context that is not as it should be."""

    kind: WarningKind  #: What it is.
    entry_id: str | None = None  #: The entry that is concerned.
    message: str  #: The same in words for people.


class AnthropicPayload(Wire):
    """What `messages.create` takes as it is, beside `model` and `max_tokens`."""

    system: Any = UNSET  #: The system prompt: a text or blocks.
    messages: list[Any]  #: The messages.
    tools: list[Any] | None = None  #: The tools that the session names.


class ContextResult(Wire):
    """The context."""

    messages: list[RawMessage] | None = None  #: The messages, oldest first.
    payload: AnthropicPayload | None = None  #: With `format: "anthropic"`, instead of `messages`.
    entry_ids: list[list[str]]  #: For each message the entries it came from; `[]` if it came from none.
    thinking_level: ThinkingLevel  #: The level in effect.
    model: ModelRef | None  #: The model in effect. Null: the session names none.
    leaf_id: str | None  #: The leaf of this context.
    revision: Count  #: The revision that this shows.
    epoch: str  #: The epoch of that revision.
    warnings: list[ContextWarning]  #: What is wrong on the path, or was mended.
    context_usage: ContextUsage | None = None  #: With `includeUsage`.
