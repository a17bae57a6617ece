"""The message that an entry gives to the context, as agents see it and as a model does.

Where nothing changes, the message is the stored bytes of the entry's `message`, found in one pass and spliced; what
must change is changed in its place, byte for byte around it. Which entries speak at all, and which edits apply,
says `context`. Nothing here raises for bad data.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Raw

from pid.core.splice import Json, is_null, joined, members, value_of, with_member
from pid.core.tree import Tree
from pid.entries import MAX_DEPTH, MESSAGE_KINDS, NO_TIME, Kind, is_clean

LLM_ROLES: Final = frozenset({"user", "assistant", "toolResult", "system"})
"""The roles that the model sees as they are."""
COMPACTION_SENTENCE: Final = "To save room, the conversation up to this point was replaced by this summary of it:"
BRANCH_SENTENCE: Final = "Before this, another way was tried and left. This is a summary of what happened there:"


class _MessageEntry(msgspec.Struct):
    message: Raw = Raw(b"null")


_message_entry = msgspec.json.Decoder(_MessageEntry).decode
_encode = msgspec.json.Encoder().encode

_NO_CONTENT: Final[Mapping[int, bytes]] = {
    Kind.USER: b"[]",
    Kind.ASSISTANT: b"[]",
    Kind.TOOL_RESULT: b"[]",
    Kind.SYSTEM: b'""',
}
"""What stands for missing content, by kind. Other roles are left as they are."""

_BLOCKS_ONLY: Final = frozenset({Kind.ASSISTANT, Kind.TOOL_RESULT})
_EDITABLE: Final = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM_ROLE, Kind.CUSTOM_MESSAGE})

# Proves, for the key orders that pi writes, that content is there and not null.
_CONTENT: Final = (
    rb'\{"role": ?"(?:user|assistant|toolResult|system)", ?'
    rb'(?:"toolCallId": ?"[^"\\]*+", ?"toolName": ?"[^"\\]*+", ?)?"content": ?["\[]'
)
_has_content = re.compile(_CONTENT).match
_MESSAGE_KEY: Final = b'"message":'
_ID: Final = rb'"[!#-\[\]-~]+"'
_plain_head = re.compile(
    rb'\{"type":"message","id":' + _ID + rb',"parentId":(?:null|' + _ID + rb'),"timestamp":"[0-9T:.Z-]+",'
    rb'"message":(?=' + _CONTENT + rb")"
).match


# Format `agent`


def agent_messages(tree: Tree, row: int, body: bytes) -> list[Raw]:
    """The messages of an entry: one, or none, or for a compaction its `systemMessage` too.

    `body` is the entry's clean bytes. A `message` entry without a message gives none.
    """
    kind = tree.kinds[row]
    if kind not in MESSAGE_KINDS:
        return built_messages(tree, row, body)
    message = stored_message(kind, body)
    return [] if message is None else [message]


def built_messages(tree: Tree, row: int, body: bytes) -> list[Raw]:
    """The messages of an entry that is no `message`."""
    build = _BUILDERS.get(tree.kinds[row])
    return build(tree, row, members(body)) if build else []


def proven_message(raw: bytes, start: int, end: int) -> bytes | None:
    """What `stored_message` gives for the line at this place, and the line is proven by that; None if it is not plain.

    Plain is a line whose head is as pi writes it, and the rest one object.
    """
    head = _plain_head(raw, start, end)
    if head is None or not raw.endswith(b"}}", start, end):
        return None
    message = raw[head.end() : end - 1]
    return message if is_clean(message, MAX_DEPTH - 1) else None


def plain_message(raw: bytes, start: int, end: int) -> bytes:
    """What `stored_message` gives for the line at this place, which is plain, without a look at more than its head."""
    return raw[raw.index(_MESSAGE_KEY, start) + len(_MESSAGE_KEY) : end - 1]


def stored_message(kind: int, body: bytes) -> Raw | None:
    """The message of a `message` entry of this kind; None if there is none."""
    try:
        message = _message_entry(body).message
    except RecursionError:  # deeper than the Python stack has room for
        message = Raw(members(body).get("message", b"null"))
    return message if _has_content(message) else _mended(kind, message)


def edited(kind: int, message: Raw, content: bytes) -> Raw:
    """The message with another content (JSON text), in its place; as it is if its kind has none to edit."""
    if kind not in _EDITABLE:
        return message
    if kind in _BLOCKS_ONLY and content.startswith(b'"'):
        content = b'[{"type":"text","text":' + content + b"}]"
    return Raw(with_member(message, "content", content))


def _mended(kind: int, message: Raw) -> Raw | None:
    if bytes(memoryview(message)[:1]) != b"{":
        return None
    if kind in _NO_CONTENT and is_null(members(message).get("content")):
        return Raw(with_member(message, "content", _NO_CONTENT[kind]))
    if kind == Kind.CUSTOM_ROLE and value_of(members(message).get("role")) == "hookMessage":
        return Raw(with_member(message, "role", b'"custom"'))
    return message


def _built(role: str, tree: Tree, row: int, fields: Mapping[str, Json], *keys: str) -> Raw:
    """A message of a role that no entry stores: these fields of the entry, where they are, and its time in ms."""
    parts: dict[str, Json] = {"role": _encode(role)}
    parts |= {key: fields[key] for key in keys if key in fields}
    return Raw(joined(parts | {"timestamp": _encode(_ms(tree, row, fields.get("timestamp")))}))


def _custom_message(tree: Tree, row: int, fields: dict[str, Json]) -> list[Raw]:
    if is_null(fields.get("content")):
        fields["content"] = b"[]"
    return [_built("custom", tree, row, fields, "customType", "content", "display", "details")]


def _branch_summary(tree: Tree, row: int, fields: dict[str, Json]) -> list[Raw]:
    if not value_of(fields.get("summary")):
        return []
    from_row = tree.rows.get(str(value_of(fields.get("fromId"))))
    if from_row is not None and tree.is_hidden(from_row):
        fields["fromId"] = _encode(tree.id_of(tree.visible(from_row)) or "root")
    return [_built("branchSummary", tree, row, fields, "summary", "fromId")]


def _compaction(tree: Tree, row: int, fields: dict[str, Json]) -> list[Raw]:
    for key, default in (("summary", b'""'), ("tokensBefore", b"0")):
        if is_null(fields.get(key)):
            fields[key] = default
    system = _mended(Kind.SYSTEM, Raw(fields.get("systemMessage", b"null")))
    summary = _built("compactionSummary", tree, row, fields, "summary", "tokensBefore")
    return [summary] if system is None else [system, summary]


_BUILDERS: Final[Mapping[int, Callable[[Tree, int, dict[str, Json]], list[Raw]]]] = {
    Kind.CUSTOM_MESSAGE: _custom_message,
    Kind.BRANCH_SUMMARY: _branch_summary,
    Kind.COMPACTION: _compaction,
}


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def _ms(tree: Tree, row: int, timestamp: Json | None) -> int | None:
    known = tree.times[row]
    return known if known != NO_TIME else ms_of(value_of(timestamp) if timestamp is not None else "")


def ms_of(timestamp: object) -> int | None:
    """An entry's timestamp, however it was written, in milliseconds since 1970; None if it tells no time.

    Numbers are milliseconds, null is 0 (both as in JavaScript); a time without a zone is UTC.
    """
    if timestamp is None:
        return 0
    if isinstance(timestamp, int | float):
        return int(timestamp) if abs(timestamp) < 1 << 53 else None
    try:
        moment = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


# Format `llm`


def llm_message(kind: int, message: Raw) -> Raw | None:
    """An agent message (of an entry of this kind) as the model sees it; None if it does not."""
    if kind in _NO_CONTENT:
        return message
    found = to_llm({key: value_of(text) for key, text in members(message).items()})
    return None if found is None else Raw(_encode(found))


def to_llm(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """An agent message as `user`, `assistant`, `toolResult` or `system` message; None if no model sees it.

    Bash executions, custom messages and summaries become user messages; a bash execution with
    `excludeFromContext` and unknown roles are left out. Values may be `Raw` where they are objects or arrays.
    """
    role = _string(message, "role")
    if role in LLM_ROLES:
        return dict(message)
    build = _CONTENTS.get(role)
    content = build(message) if build else None
    if content is None:
        return None
    time = {"timestamp": message["timestamp"]} if "timestamp" in message else {}
    return {"role": "user", "content": content, **time}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _bash_content(message: Mapping[str, Any]) -> Any:
    return None if message.get("excludeFromContext") is True else _text(_bash_text(message))


def _custom_content(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    if isinstance(content, str):
        return _text(content)
    return content if isinstance(content, list | Raw) else []


def _summary_content(sentence: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda message: _text(f"{sentence}\n\n<summary>\n{_string(message, 'summary')}\n</summary>")


_CONTENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "bashExecution": _bash_content,
    "custom": _custom_content,
    "branchSummary": _summary_content(BRANCH_SENTENCE),
    "compactionSummary": _summary_content(COMPACTION_SENTENCE),
}
"""What a message of a role says to the model, as the content of a user message; None for nothing."""


def _string(message: Mapping[str, Any], key: str) -> str:
    value = message.get(key)
    return value if isinstance(value, str) else ""


_BACKTICKS: Final = re.compile("`{3,}")


def _bash_text(message: Mapping[str, Any]) -> str:
    command, output = _string(message, "command"), _string(message, "output")
    parts = [f"I ran this command: {_fenced(command)}"]
    parts.append(f"Its output: {_fenced(output)}" if output else "It printed nothing.")
    if message.get("cancelled") is True:
        parts.append("I stopped it before it was done.")
    elif (code := message.get("exitCode")) and isinstance(code, int):
        parts.append(f"It failed with exit code {code}.")
    if message.get("truncated") is True:
        whole = _string(message, "fullOutputPath")
        parts.append(f"The output is cut; all of it is in {whole}." if whole else "The output is cut.")
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    """The text between fences that do not occur in it."""
    fence = max(["```", *(f"{run}`" for run in _BACKTICKS.findall(text))], key=len)
    return f"\n\n{fence}\n{text}\n{fence}"
