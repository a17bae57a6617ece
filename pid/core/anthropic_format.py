"""A context as a request to the Messages API: `system`, `messages` and `tools` that it takes as they are.

Whatever the messages are, the roles alternate and begin with the user's, each tool call is answered at the head
of the next message, and each block is one that the API accepts. What had to be changed for that is told with its
entry; nothing changes in silence, and the messages themselves never do. What no rearranging cures is left to
compaction: more tokens than the window, 32 MB of text, 100,000 messages.

The rules are those of the API reference of `POST /v1/messages`, of its guides on tool use, thinking, vision and
prompt caching, and of the API's own refusals. The texts in a payload are `msgspec.Raw`: encode it with msgspec.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from pid.core.agent_message import MAX_DEPTH, AgentMessage, as_dict, is_deeper, json_text, read, stored
from pid.core.anthropic_ids import fit_tool_name
from pid.core.anthropic_images import limit_images
from pid.core.anthropic_notes import Notes
from pid.core.anthropic_turns import Turns
from pid.core.anthropic_types import ApiBlock, CacheMark, Json, Markable, Text
from pid.core.system_replay import added_tools, replay
from pid.protocol import ContextWarning, ModelRef

CACHE_MARK: Final = CacheMark()
MAX_CACHE_MARKS: Final = 4


class Payload(NamedTuple):
    """`payload`: `{system?, messages, tools?}`; `entry_ids`: for each message its entries, [] if made up."""

    payload: Json
    entry_ids: list[list[str]]
    warnings: list[ContextWarning]


class PayloadBuilder:
    """A payload in the making: messages are added one by one, in slices if need be, then it is finished once."""

    def __init__(self, model: ModelRef | None = None) -> None:
        """`model` will read the payload: signed thinking of any other is left out, and all without a model."""
        self._notes = Notes(model)
        self._turns = Turns(self._notes)
        self._system: list[tuple[str | None, Json]] = []

    def add(self, message: AgentMessage, entry_ids: Sequence[str]) -> None:
        """The next agent message, and the entries that it comes from."""
        self._notes.entry_id = entry_ids[-1] if entry_ids else None
        known = read(message, self._notes.tell)
        if known.role == "system":
            self._system.append((self._notes.entry_id, as_dict(message)))
        else:
            self._turns.add(message, known, entry_ids)

    def finish(self, *, cache_breakpoints: int = 0, trailing_assistant: Literal["keep", "drop"] = "keep") -> Payload:
        """The payload, with at most `cache_breakpoints` (up to 4) `cache_control` marks.

        Dropped is what the assistant said after the user's last word, unanswered calls among it.
        """
        notes, turns = self._notes, self._turns
        turns.end(drop_assistant=trailing_assistant == "drop")
        notes.entry_id = None
        if not turns.messages:
            notes.tell("emptyContext")
        limit_images(turns.messages, notes)
        payload = _system_part(self._system, notes) | {"messages": turns.messages}
        _mark_cache(payload, min(cache_breakpoints, MAX_CACHE_MARKS))
        return Payload(payload, turns.entry_ids, notes.mends)


def _system_part(messages: list[tuple[str | None, Json]], notes: Notes) -> Json:
    state = replay(message for _, message in messages)
    entries = {id(tool): entry_id for entry_id, message in messages for tool in added_tools(message)}
    part: Json = {}
    if state.text:
        part["system"] = state.text
    if state.tools:
        part["tools"] = []
    for tool in state.tools:
        notes.entry_id = entries[id(tool)]
        part["tools"].append(_tool(tool, notes))
    notes.entry_id = None
    clean: Json = msgspec.json.decode(stored(part, notes.tell))
    return clean


def _tool(tool: Json, notes: Notes) -> Json:
    name = fit_tool_name(tool["name"])
    if name != tool["name"]:
        notes.tell("toolName", f"The tool name {tool['name']!r} does not fit the API, and is sent as {name}.")
    schema: Any = tool.get("parameters")
    if not isinstance(schema, dict) or schema.get("type") != "object" or is_deeper(schema, MAX_DEPTH):
        notes.tell("toolSchema", f"The parameters of the tool {name} are no JSON schema of an object.")
        usable = isinstance(schema, dict) and not is_deeper(schema, MAX_DEPTH)
        schema = {**(schema if usable else {}), "type": "object"}
    sent = {"name": name, "input_schema": schema}
    if isinstance(tool.get("description"), str):
        sent["description"] = tool["description"]
    return sent


def _mark_cache(payload: Json, count: int) -> None:
    """Marks the ends of what the next call will send again, the most useful first.

    The end of the user's last message is what a call writes to the cache, and the end of the one before it what
    the last call wrote: of the two, only one moves from call to call, however many blocks a turn has. System
    prompt and tools have marks of their own, since they outlive a conversation.
    """
    last = [message.content[-1] for message in payload["messages"][-4:] if message.role == "user"]
    ends: list[ApiBlock] = last[-1:]
    if count and isinstance(payload.get("system"), str):
        payload["system"] = [Text(text=json_text(payload["system"]))]
        ends += payload["system"]
    ends += last[-2:-1]
    for block in ends[:count]:
        if isinstance(block, Markable):
            block.cache_control = CACHE_MARK
    if payload.get("tools") and len(ends) < count:
        payload["tools"][-1]["cache_control"] = CACHE_MARK
