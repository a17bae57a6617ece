"""The wire types of one session's tree: appending, moving the leaf, reading."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pid.errors import InvalidParams
from pid.protocol.base import (
    NOT_SENT,
    ChangeCause,
    Count,
    OwnEntryId,
    Positive,
    RawEntry,
    RawEntryOrNull,
    RawValue,
    SentEntry,
    SessionParams,
    SummarizerName,
    Timestamp,
    Token,
    Wire,
    at_most_one,
    is_sent,
)
from pid.protocol.context import ContextUsage, ContextWarning
from pid.protocol.sessions import ModelRef, RunningCompaction


class NewEntry(Wire):
    """An entry to append: its `type` and the fields of that type. All of it is stored as it was sent."""

    type: str  #: One of pi's types, or any other.
    id: OwnEntryId | None = None  #: The entry's own id, for a safe retry. Default: a new one.
    timestamp: Timestamp | None = None  #: Default: now.


class Placement(SessionParams):
    """Where an append goes, and what must hold for it."""

    #: The parent. Absent: the leaf as it is then. Null: a new root.
    parent_id: str | UnsetType | None = UNSET
    new_root: bool = False  #: Must be true for a null `parentId` on a session that has entries.
    expected_leaf_id: str | UnsetType | None = UNSET  #: Fail with 1003 unless this is the leaf exactly.
    expected_ancestor_id: str | None = None  #: Fail with 1003 unless this entry is on the leaf's path.
    include_usage: bool = False  #: Answer with `contextUsage`.


class AppendParams(Placement):
    """Appends one entry, or a raw message of the Messages API as the entries that it becomes, and moves the leaf."""

    entry: SentEntry = NOT_SENT  #: The entry; not beside `message`.
    format: Literal["anthropic"] | None = None  #: With `message`: what it is.
    #: A raw API message: the assistant's reply, or a user message with its results.
    message: RawValue = NOT_SENT
    model: ModelRef | None = None  #: Who wrote the assistant's reply. Default: Anthropic's model that it names.

    def __post_init__(self) -> None:
        if is_sent(self.entry) == is_sent(self.message):
            raise InvalidParams("entry: give `entry`, or `message` with its `format`", path="entry")
        if is_sent(self.message) and self.format is None:
            raise InvalidParams("format: say what the `message` is: `anthropic`", path="format")


class AppendBatchParams(Placement):
    """Appends a chain of entries, each under the one before, in one write: all or none."""

    entries: Annotated[list[SentEntry], Meta(min_length=1)]  #: The entries, first one first.


class Appended(Wire):
    """Where an append left the session."""

    parent_id: str | None  #: The parent of the (first) entry.
    leaf_id: str | None  #: The leaf now.
    revision: Count  #: The revision that the append made; for a duplicate, the present one.
    epoch: str  #: The epoch that the revision belongs to.
    duplicate: bool | None = None  #: True if the same was there already and nothing was written.
    compaction: RunningCompaction | None = None  #: The compaction that this append set off.
    context_usage: ContextUsage | None = None  #: With `includeUsage`.


class AppendResult(Appended):
    """The entry is in the file."""

    entry_id: str  #: The entry's id; of several, the last one's.
    entry_ids: list[str] | None = None  #: With `format`: the ids of all entries that the message became.
    warnings: list[ContextWarning] | None = None  #: With `format`: what of the message is not sent again.


class AppendBatchResult(Appended):
    """The entries are in the file."""

    entry_ids: list[str]  #: The entries' ids, in the order sent.


class SummarizeOptions(Wire):
    """How to summarise the branch that is left."""

    instructions: str | None = None  #: What the summary should look after.
    summarizer: SummarizerName | None = None  #: Default: the session's.
    model: ModelRef | None = None  #: Default: the session's.


class SetLeafParams(SessionParams):
    """Moves the leaf: the next append attaches there."""

    entry_id: str | None  #: The new leaf. Null: before the first entry.
    expected_leaf_id: str | UnsetType | None = UNSET  #: Fail with 1003 unless this is the leaf exactly.
    #: Summarise the branch that is left, under the new leaf.
    summarize: bool | SummarizeOptions | None = None
    work_done_token: Token | None = None  #: For `$/progress`.


class SetLeafResult(Wire):
    """The leaf has moved."""

    leaf_id: str | None  #: The leaf now.
    previous_leaf_id: str | None  #: The leaf before.
    revision: Count  #: The revision that the move made.
    epoch: str  #: The epoch that the revision belongs to.
    branch_summary_entry_id: str | None = None  #: The summary of the branch that was left.


class TreeParams(SessionParams):
    """Reads the tree as a flat list of nodes."""

    content: Literal["none", "preview", "full"] = "preview"  #: How much of each entry comes along.
    types: list[str] | None = None  #: Only entries of these types.
    since: Count | None = None  #: Only nodes that were added or changed after this revision. Needs `epoch`.
    epoch: str | None = None  #: The epoch of `since`; another one is 1021.
    limit: Positive | None = None  #: At most this many nodes in a page.
    cursor: str | None = None  #: The `nextCursor` of the page before.

    def __post_init__(self) -> None:
        if self.since is not None and self.epoch is None:
            raise InvalidParams("epoch: `since` needs the `epoch` that it belongs to", path="epoch")


class TreeNode(Wire):
    """An entry in the tree. Which of the optional fields it has depends on its type."""

    id: str  #: The entry's id.
    parent_id: str | None  #: The parent. Null for a root.
    type: str  #: The entry's type; `unknown` where a damaged line does not tell it.
    timestamp: str | None  #: The entry's time as stored, if it has one.
    role: str | None = None  #: The message's role.
    label: str | None = None  #: The label in effect on this entry.
    preview: str | None = None  #: The beginning of its text: one line, at most 120 code points.
    target_id: str | None = None  #: What a label or an edit is about.
    first_kept_entry_id: str | None = None  #: Where what a compaction kept begins.
    from_id: str | None = None  #: The leaf that a branch summary is about.
    custom_type: str | None = None  #: The `customType` of custom entries and messages.
    tool_name: str | None = None  #: The tool of a result.
    is_error: bool | None = None  #: Whether a tool result is an error.
    stop_reason: str | None = None  #: Why the assistant stopped.
    damaged: bool | None = None  #: True if the line keeps its place but cannot be read.
    #: With `types`: the nearest ancestor that is not left out.
    visible_parent_id: str | UnsetType | None = UNSET
    entry: RawEntry | UnsetType = UNSET  #: With `content: "full"`: the entry as stored.


class TreeResult(Wire):
    """A page of the tree. A parent stands before its children, else the order is that of the file."""

    nodes: list[TreeNode]  #: The nodes. Siblings are shown by `timestamp`, those of one time in this order.
    roots: list[str]  #: The ids of all roots, in the order of the file.
    leaf_id: str | None  #: The leaf.
    #: With `types`: the leaf or its nearest ancestor not left out.
    visible_leaf_id: str | UnsetType | None = UNSET
    revision: Count  #: The revision that all pages show.
    epoch: str  #: The epoch of that revision.
    next_cursor: str | None = None  #: For the next page; absent on the last one.


class BranchParams(SessionParams):
    """Reads the entries of a path."""

    entry_id: str | None = None  #: The entry that the path leads to. Default: the leaf.
    direction: Literal["rootFirst", "leafFirst"] = "rootFirst"  #: Which end comes first.
    #: `imageData` leaves the data of images out. What the daemon does not know is ignored.
    omit: tuple[str, ...] = ()
    limit: Positive | None = None  #: At most this many entries in a page.
    cursor: str | None = None  #: The `nextCursor` of the page before.


class EntriesParams(SessionParams):
    """Reads entries by their ids, or in the order of the file; all of them by default."""

    ids: list[str] | None = None  #: These entries, in this order.
    after: str | None = None  #: What stands behind this entry in the file.
    omit: tuple[str, ...] = ()  #: As in `session/getBranch`.
    limit: Positive | None = None  #: At most this many entries in a page.
    cursor: str | None = None  #: The `nextCursor` of the page before.

    def __post_init__(self) -> None:
        at_most_one(self, "ids", "after")


class EntriesResult(Wire):
    """A page of entries. The three lists belong together, place by place."""

    entries: list[RawEntryOrNull]  #: The entries as stored; null for one whose line cannot be read.
    entry_ids: list[str]  #: Their ids. Stored bytes of migrated files have none, or others.
    parent_ids: list[str | None]  #: Their parents in the tree.
    leaf_id: str | None  #: The leaf.
    revision: Count  #: The revision that all pages show.
    epoch: str  #: The epoch of that revision.
    next_cursor: str | None = None  #: For the next page; absent on the last one.


class DidChangeNotice(Wire):
    """The session changed. Drop it unless `revision` is newer than what you have; after a gap, read again."""

    session_id: str  #: The session.
    epoch: str  #: The epoch that the revision belongs to.
    revision: Count  #: The revision after the change.
    leaf_id: str | None  #: The leaf now.
    previous_leaf_id: str | UnsetType | None = UNSET  #: The leaf before, if it moved.
    name: str | None = None  #: The new name, if it changed; empty if it was cleared.
    added: list[TreeNode]  #: New nodes, a parent before its children.
    changed: list[TreeNode]  #: Nodes of which something changed, such as the label.
    #: True if there are more than 1,000, or they cannot be read: ask `session/getTree` with `since`.
    truncated: bool | None = None
    cause: ChangeCause  #: What made the change.
