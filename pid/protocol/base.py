"""What every wire type is made of: the base struct, constrained values, open enumerations and limits.

A comment `#:` behind a field, or in the lines above it, is the field's text in the reference, in the schema
and in the editors' types.
"""

from typing import Annotated, Any, ClassVar, Final, cast, dataclass_transform

from msgspec import UNSET, Meta, Raw, Struct, StructMeta, field

from pid.errors import InvalidParams

PROTOCOL_VERSION = 1

MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""A larger message is refused (1020), in and out, unless the daemon was started with another limit."""

MAX_PAGE_BYTES = 16 * 1024 * 1024
"""A page ends before it grows past this. 16 MiB hold about 10,000 ordinary entries, take a JavaScript client
some 150 ms to read (10 MB: 116 ms), and keep small what a stalled client pins in the daemon."""

MAX_CHANGED_NODES = 1000
"""`session/didChange` carries at most this many nodes, then `truncated`."""

PREVIEW_CODE_POINTS = 120
"""The length of a node's `preview`, in code points."""


class WireMeta(StructMeta):
    """Makes every wire type keyword-only, a setting that msgspec does not hand down."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **config})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Wire(Struct, metaclass=WireMeta, frozen=True, rename="camel", omit_defaults=True):
    """The base of every wire type: frozen, keyword-only, camelCase on the wire, unknown fields ignored.

    A field with the default None may be absent or null, which is the same; `UNSET` tells the two apart; a
    field without a default is always there.
    """

    LATER: ClassVar[frozenset[str]] = frozenset()
    """Fields that do not work yet, by their Python names: left out of the reference, refused when sent."""


class SessionParams(Wire):
    """What each request about one open session carries."""

    session_id: str  #: The handle that `session/create` or `session/open` gave.


def wire_name(python_name: str) -> str:
    """`first_kept_entry_id` as it is called on the wire: `firstKeptEntryId`."""
    head, *rest = python_name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def at_most_one(params: Wire, first: str, second: str) -> None:
    """Refuses params (InvalidParams) that carry both of two fields, given by their Python names."""
    if getattr(params, first) is not None and getattr(params, second) is not None:
        one, other = wire_name(first), wire_name(second)
        raise InvalidParams(f"{other}: give `{one}` or `{other}`, not both", path=other)


def exactly_one(params: Wire, first: str, second: str) -> None:
    """Refuses params (InvalidParams) that carry both of two fields, or neither."""
    at_most_one(params, first, second)
    if getattr(params, first) is None and getattr(params, second) is None:
        one, other = wire_name(first), wire_name(second)
        raise InvalidParams(f"{one}: `{one}` or `{other}` is required", path=one)


# Python's `$` also matches before a line break at the end, which `(?!\n)` takes back; ECMAScript's does not.
_ABSOLUTE = "^/[^\\u0000]*$"
_SESSION_ID = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$(?!\n)"
_ENTRY_ID = r"^[A-Za-z0-9_-]{1,64}$(?!\n)"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$(?!\n)"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)"

PATTERNS = {
    _ABSOLUTE: "an absolute path",
    _SESSION_ID: "letters, digits, `.`, `_` and `-`, with a letter or digit at both ends",
    _ENTRY_ID: "1 to 64 letters, digits, `_` and `-`",
    _TIMESTAMP: "a time such as `2026-01-31T12:00:00.000Z`",
    _DATE: "a date such as `2026-01-31`",
}
"""What the patterns ask for, in words for error messages and the reference."""

AbsolutePath = Annotated[str, Meta(pattern=_ABSOLUTE)]
OwnSessionId = Annotated[str, Meta(pattern=_SESSION_ID)]
OwnEntryId = Annotated[str, Meta(pattern=_ENTRY_ID)]
Timestamp = Annotated[str, Meta(pattern=_TIMESTAMP)]
Date = Annotated[str, Meta(pattern=_DATE)]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Token = str | int
"""LSP's: names a request, or its progress."""

# Stored bytes, spliced into a reply as they are. The schema shows what they hold.
RawEntry = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Entry"})]
RawEntryOrNull = Annotated[Raw, Meta(extra_json_schema={"anyOf": [{"$ref": "#/$defs/Entry"}, {"type": "null"}]})]
RawMessage = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Message"})]
RawContent = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Content"})]
SentEntry = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/NewEntry"})]
RawValue = Annotated[Raw, Meta(description="Any JSON value.")]


NOT_SENT: Final = cast(Raw, UNSET)
"""The default of raw params. It is not encoded, and null is the same."""


def is_sent(raw: Raw) -> bool:
    """Whether raw params are there."""
    return raw is not NOT_SENT and (len(memoryview(raw)) != 4 or bytes(raw) != b"null")


# Open enumerations: the values known today and what they mean. Others may come, and are no error.
PROBLEM_KINDS = {
    "malformedLine": "A line is not JSON. Its bytes stay where they are.",
    "tornLine": "The last line was cut off while it was being written.",
    "lineTooLong": "A line is longer than an entry may be; it keeps its place, without a body.",
    "tooDeep": "A line is nested deeper than 1,000 levels.",
    "notAnObject": "A line is JSON, but no object.",
    "invalidUtf8": "A line holds bytes that are not UTF-8; they go out as U+FFFD.",
    "byteOrderMark": "A byte order mark stands before an entry.",
    "nulBytes": "NUL bytes stand where a line should be.",
    "missingId": "An entry has no `id`; it was given one that is the same at every opening.",
    "duplicateHeader": "A second session header; it is no entry.",
    "duplicateId": "An `id` stands more than once; the last line has it.",
    "missingParent": "An entry's parent is not in the file; the entry became a root.",
    "cycle": "Parents form a circle; it was cut where it closes.",
    "danglingTarget": "A label or an edit names an entry that is not in the file.",
    "missingFirstKept": "A compaction's `firstKeptEntryId` is not in the file.",
    "noLocks": "The file system has no locks: other daemons are noticed by the file's size alone.",
}
PAYLOAD_MENDS = {
    "emptyText": "A text block without text was left out.",
    "emptyMessage": "Nothing of a message was left, so it was left out.",
    "emptyContext": "There is no message to send; add the user's.",
    "unknownRole": "A message of an unknown role was left out.",
    "malformedContent": "Content of an unexpected shape was repaired or left out.",
    "unsupportedBlock": "A block that the API has no form for was replaced by a note.",
    "loneSurrogate": "Half of a surrogate pair was replaced by U+FFFD.",
    "firstMessage": "The first message is not the user's; one was put before it.",
    "failedAttempt": "A failed or aborted reply that was tried again was left out.",
    "trailingAssistant": "The last message is the assistant's: models without prefill refuse it.",
    "trailingDropped": "The last message, the assistant's, was left out.",
    "trailingBlanks": "Blanks at the end of a trailing assistant message were left out.",
    "missingToolResult": "A tool call has no result; an error result was put in.",
    "orphanToolResult": "A tool result answers no call of the message before it; it became text.",
    "duplicateToolResult": "A tool call has another result; it became text.",
    "errorResultImage": "Images of a failed tool call were moved behind its result.",
    "emptyErrorResult": "A failed tool call says nothing; words were put in.",
    "toolCallId": "The id of a tool call does not fit the API or was used before; another one is sent.",
    "toolName": "A tool's name does not fit the API; another one is sent.",
    "toolArguments": "The arguments of a tool call are no object; they were wrapped or left out.",
    "toolSchema": "The parameters of a tool are no JSON schema of an object; they were completed.",
    "thinkingDropped": "Thinking that the API would refuse was left out.",
    "imageType": "An image is not of the type that it says; its own is sent.",
    "imageDropped": "An image that the API would refuse, or one too many, was replaced by a note.",
}
"""What is mended so that the Messages API takes a payload."""

WARNING_KINDS = {
    "missingParent": "The path begins at an entry whose parent is not in the file.",
    "cycle": "The path begins where a circle of parents was cut.",
    "missingFirstKept": "What a compaction kept is missing or off the path; a tail of it is shown.",
    "damagedEntry": "An entry on the path cannot be read and was left out.",
    "missingMessage": "An entry on the path has no message, and gives none.",
    "invalidEdit": "An edit on the path has no usable replacement, and changes nothing.",
    **PAYLOAD_MENDS,
    "rawKept": "A part of a raw API message has no place in pi's form; it is kept under `_raw`, and not sent again.",
}
RESOURCE_PROBLEM_KINDS = {
    "missingDirectory": "The working directory is not there.",
    "unreadable": "The system refuses to read it.",
    "notAFile": "Something else than a regular file has the name; the next name is tried.",
    "brokenLink": "A link leads nowhere.",
    "linkCircle": "Links lead round in a circle.",
    "badName": "Its path is not UTF-8.",
    "tooLarge": "It is larger than 1 MiB.",
    "tooMuch": "All together would be too long.",
    "tooMany": "There are too many skills, or files to look for them in.",
    "tooDeep": "Directories stand too deep in one another.",
    "binary": "It holds NUL bytes.",
    "invalidUtf8": "It is not UTF-8.",
    "changedWhileRead": "It was written to or replaced each time it was read.",
    "invalidFrontMatter": "A skill's front matter is missing or cannot be read.",
    "invalidSkill": "A skill breaks a rule of the Agent Skills convention.",
    "skillCollision": "A skill found before it has its name.",
}
CHANGE_CAUSES = {
    "append": "A client of this daemon appended.",
    "setLeaf": "A client of this daemon moved the leaf.",
    "compaction": "A compaction was written.",
    "external": "Another program wrote to the file.",
}
CLOSE_REASONS = {
    "replaced": "Another file stands at the path.",
    "rewritten": "What was read before has been changed in place.",
    "truncated": "The file became shorter than what was read before.",
    "deleted": "The file is gone.",
}
THINKING_LEVELS = {
    "off": "No thinking.",
    "minimal": "The least that the model offers.",
    "low": "Little.",
    "medium": "Some.",
    "high": "Much.",
    "xhigh": "The most that the model offers.",
}
SUMMARIZERS = {
    "auto": "The first of `client`, `anthropic` and `extractive` that is there.",
    "client": "The editor's own model, by `pid/summarize`.",
    "anthropic": "The Messages API, with the key of the environment.",
    "extractive": "Without a model: deterministic and offline.",
}
COMPACTION_STATES = {
    "queued": "It waits for others to end.",
    "started": "It runs.",
    "progress": "It runs, and this is how far it came.",
    "completed": "Its entry is written. Nothing follows.",
    "failed": "Nothing was written. Nothing follows.",
    "cancelled": "Nothing was written. Nothing follows.",
}
COMPACTION_REASONS = {
    "manual": "A client asked for it.",
    "threshold": "The context grew past what the window leaves.",
    "overflow": "The provider refused the context as too long.",
}
STOP_REASONS = {
    "stop": "It had said all.",
    "length": "It reached the limit of its answer.",
    "toolUse": "It waits for the results of its calls.",
    "error": "The call failed.",
    "aborted": "The user stopped it.",
}

ENUMERATIONS = {
    "ProblemKind": PROBLEM_KINDS,
    "WarningKind": WARNING_KINDS,
    "ResourceProblemKind": RESOURCE_PROBLEM_KINDS,
    "ChangeCause": CHANGE_CAUSES,
    "CloseReason": CLOSE_REASONS,
    "ThinkingLevel": THINKING_LEVELS,
    "StopReason": STOP_REASONS,
    "SummarizerName": SUMMARIZERS,
    "CompactionState": COMPACTION_STATES,
    "CompactionReason": COMPACTION_REASONS,
}
"""The open enumerations, by the names of their types."""

ProblemKind = Annotated[str, Meta(examples=list(PROBLEM_KINDS))]
WarningKind = Annotated[str, Meta(examples=list(WARNING_KINDS))]
ResourceProblemKind = Annotated[str, Meta(examples=list(RESOURCE_PROBLEM_KINDS))]
ChangeCause = Annotated[str, Meta(examples=list(CHANGE_CAUSES))]
CloseReason = Annotated[str, Meta(examples=list(CLOSE_REASONS))]
ThinkingLevel = Annotated[str, Meta(examples=list(THINKING_LEVELS))]
StopReason = Annotated[str, Meta(examples=list(STOP_REASONS))]
SummarizerName = Annotated[str, Meta(examples=list(SUMMARIZERS))]
CompactionState = Annotated[str, Meta(examples=list(COMPACTION_STATES))]
CompactionReason = Annotated[str, Meta(examples=list(COMPACTION_REASONS))]
