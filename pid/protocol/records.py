"""What a session file holds, for people and programs that read entries: pi's format, version 3.

The daemon never decodes into these types: stored bytes pass as they are, and real files hold what no type
allows (null content, unknown roles). They are in the schema and in the editors' types so that clients need
not guess. The unions are open: other types, roles and blocks occur, and other fields in each.
"""

from typing import Annotated, Any

from msgspec import Meta

from pid.protocol.base import RawContent, RawMessage, StopReason, ThinkingLevel, Wire

Blocks = Annotated[list[Any], Meta(extra_json_schema={"items": {"$ref": "#/$defs/ContentBlock"}})]
Milliseconds = int


class TextBlock(Wire, tag_field="type", tag="text"):
    """Text."""

    text: str  #: The text.


class ImageBlock(Wire, tag_field="type", tag="image"):
    """An image."""

    data: str  #: Its bytes in base64.
    mime_type: str  #: Such as `image/png`.


class ThinkingBlock(Wire, tag_field="type", tag="thinking"):
    """What the model thought."""

    thinking: str  #: The text.
    thinking_signature: str | None = None  #: The provider's signature.
    redacted: bool | None = None  #: True if the text is hidden.


class ToolCallBlock(Wire, tag_field="type", tag="toolCall"):
    """A call of a tool."""

    id: str  #: The call, as `toolCallId` of its result.
    name: str  #: The tool.
    arguments: Any  #: What it is called with; an object, in sound files.


class Cost(Wire):
    """Money, in US dollars."""

    input: float  #: For `input`.
    output: float  #: For `output`.
    cache_read: float  #: For `cacheRead`.
    cache_write: float  #: For `cacheWrite`.
    total: float  #: The sum.


class Usage(Wire):
    """What a call of a model cost, in tokens."""

    input: int  #: Read, and not from a cache.
    output: int  #: Written.
    cache_read: int  #: Read from the cache.
    cache_write: int  #: Written to the cache.
    total_tokens: int  #: The sum.
    cost: Cost | None = None  #: The same in money.


class FileDetails(Wire):
    """Files that the summarised messages touched."""

    read_files: list[str]  #: Those that were only read.
    modified_files: list[str]  #: Those that were changed.


class UserMessage(Wire, tag_field="role", tag="user"):
    """What the user said."""

    content: RawContent  #: A text, or text and image blocks.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class AssistantMessage(Wire, tag_field="role", tag="assistant"):
    """What the model said."""

    content: Blocks  #: Text, thinking and tool calls.
    api: str | None = None  #: The kind of API.
    provider: str | None = None  #: The provider.
    model: str | None = None  #: The model.
    usage: Usage | None = None  #: What the call cost.
    stop_reason: StopReason | None = None  #: Why it stopped.
    error_message: str | None = None  #: What went wrong.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class ToolResultMessage(Wire, tag_field="role", tag="toolResult"):
    """What a tool answered."""

    tool_call_id: str  #: The call.
    tool_name: str  #: The tool.
    content: Blocks  #: Text and images.
    details: Any = None  #: What the tool adds for programs.
    is_error: bool  #: Whether it failed.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class BashMessage(Wire, tag_field="role", tag="bashExecution"):
    """A command that the user ran."""

    command: str  #: The command.
    output: str  #: What it printed.
    exit_code: int | None = None  #: Its exit code.
    cancelled: bool  #: Whether it was stopped.
    truncated: bool  #: Whether `output` is cut.
    full_output_path: str | None = None  #: Where all of it is.
    exclude_from_context: bool | None = None  #: True if the model does not see it.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class CustomRoleMessage(Wire, tag_field="role", tag="custom"):
    """A message of an extension; the model sees it as the user's."""

    custom_type: str  #: Whose it is.
    content: RawContent  #: A text, or blocks.
    display: bool  #: Whether people see it.
    details: Any = None  #: For programs.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class SystemMessage(Wire, tag_field="role", tag="system"):
    """A change of the system prompt and of the tools; the changes replay in order."""

    content: str  #: The text.
    sections: dict[str, str | None] | None = None  #: Sections to set, by name; null removes one.
    tools_added: list[Any] | None = None  #: Tools from here on.
    tools_removed: list[str] | None = None  #: Tools no longer there.
    timestamp: Milliseconds | None = None  #: Milliseconds since 1970.


class BranchSummaryMessage(Wire, tag_field="role", tag="branchSummary"):
    """In a context only: the summary of a branch that was left."""

    summary: str  #: The summary.
    from_id: str  #: The leaf that was left.
    timestamp: Milliseconds  #: Milliseconds since 1970.


class CompactionSummaryMessage(Wire, tag_field="role", tag="compactionSummary"):
    """In a context only: the summary of what was compacted."""

    summary: str  #: The summary.
    tokens_before: int  #: The context before.
    timestamp: Milliseconds  #: Milliseconds since 1970.


class StoredEntry(Wire):
    """What every entry has."""

    id: str | None = None  #: The entry; absent in migrated files.
    parent_id: str | None  #: As stored; use the ids that replies carry beside the entries.
    timestamp: str  #: ISO 8601.


class MessageEntry(StoredEntry, tag_field="type", tag="message"):
    """A message."""

    message: RawMessage  #: The message.


class ThinkingLevelEntry(StoredEntry, tag_field="type", tag="thinking_level_change"):
    """The thinking level from here on."""

    thinking_level: ThinkingLevel  #: The level.


class ModelChangeEntry(StoredEntry, tag_field="type", tag="model_change"):
    """The model from here on."""

    provider: str  #: The provider.
    model_id: str  #: The model.


class CompactionEntry(StoredEntry, tag_field="type", tag="compaction"):
    """A summary that stands for what came before `firstKeptEntryId`."""

    summary: str  #: The summary.
    first_kept_entry_id: str | None = None  #: The cut point; its own id: nothing is kept.
    tokens_before: int  #: The context before.
    details: FileDetails | None = None  #: Files that the summarised messages touched.
    from_hook: bool | None = None  #: Whether an extension wrote it.
    usage: Usage | None = None  #: What the summary cost.
    system_message: SystemMessage | None = None  #: The system prompt in effect.


class BranchSummaryEntry(StoredEntry, tag_field="type", tag="branch_summary"):
    """A summary of a branch that was left."""

    from_id: str  #: The leaf that was left; `root` if there was none.
    summary: str  #: The summary.
    details: FileDetails | None = None  #: Files that the branch touched.
    from_hook: bool | None = None  #: Whether an extension wrote it.
    usage: Usage | None = None  #: What the summary cost.


class CustomEntry(StoredEntry, tag_field="type", tag="custom"):
    """Data of an extension; not in the context."""

    custom_type: str  #: Whose it is. Names that begin with `pid.` are the daemon's own.
    data: Any = None  #: Any value.


class CustomMessageEntry(StoredEntry, tag_field="type", tag="custom_message"):
    """A message of an extension."""

    custom_type: str  #: Whose it is.
    content: RawContent  #: A text, or blocks.
    display: bool  #: Whether people see it.
    details: Any = None  #: For programs.


class LabelEntry(StoredEntry, tag_field="type", tag="label"):
    """A bookmark on an entry; the last one wins."""

    target_id: str  #: The entry.
    label: str | None = None  #: The text; absent or empty clears it.


class SessionInfoEntry(StoredEntry, tag_field="type", tag="session_info"):
    """The session's name; the last one wins."""

    name: str | None = None  #: The name; absent or empty clears it.


class Replacement(Wire):
    """What stands in the place of a content."""

    content: RawContent  #: The new content.


class ContextEditEntry(StoredEntry, tag_field="type", tag="context_edit"):
    """Changes what the context shows of an entry; the last one wins."""

    target_id: str  #: The entry.
    replacement: Replacement | None  #: Null leaves the entry out.


class UsageEntry(StoredEntry, tag_field="type", tag="usage"):
    """Tokens that were spent beside the conversation."""

    kind: str  #: On what.
    provider: str  #: The provider.
    model: str  #: The model.
    usage: Usage  #: How much.
    note: str | None = None  #: In words for people.


class OtherEntry(StoredEntry):
    """An entry of a type that is not known here."""

    type: str  #: Its type.


class OtherMessage(Wire):
    """A message of a role that is not known here."""

    role: str  #: Its role.


class OtherBlock(Wire):
    """A block of a type that is not known here."""

    type: str  #: Its type.


UNIONS: dict[str, tuple[type[Wire], ...]] = {
    "Entry": (
        MessageEntry,
        ThinkingLevelEntry,
        ModelChangeEntry,
        CompactionEntry,
        BranchSummaryEntry,
        CustomEntry,
        CustomMessageEntry,
        LabelEntry,
        SessionInfoEntry,
        ContextEditEntry,
        UsageEntry,
        OtherEntry,
    ),
    "Message": (
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
        BashMessage,
        CustomRoleMessage,
        SystemMessage,
        BranchSummaryMessage,
        CompactionSummaryMessage,
        OtherMessage,
    ),
    "ContentBlock": (TextBlock, ImageBlock, ThinkingBlock, ToolCallBlock, OtherBlock),
}
"""The open unions, by the name that the schema gives them. The last member of each is what is not known."""
