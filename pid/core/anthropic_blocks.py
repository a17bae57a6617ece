"""Blocks of agent messages as blocks of the Messages API: one at a time, each valid in itself.

What depends on other messages (pairs of calls and results, roles, limits on all images) is not decided here. Texts
stay the JSON text they were (`msgspec.Raw`).
"""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from pid.core.agent_message import NOTHING, Message, OtherBlock, StoredImage, StoredThinking, ToolCall, json_text
from pid.core.anthropic_ids import fit_tool_name
from pid.core.anthropic_images import image_block
from pid.core.anthropic_notes import Notes
from pid.core.anthropic_types import ApiBlock, RedactedThinking, Text, Thinking, ToolUse

Table = dict[type, Callable[[Any, Message, Notes], ApiBlock | None]]

_is_string: Final = re.compile(b'"').match
_is_object: Final = re.compile(rb"\{").match
# Blanks, and then a character that is none: one of ASCII, or any other whose first bytes in UTF-8 are not those of
# one of Unicode's blanks. What it does not match (a blank text, an escape of a character) is decoded and looked at.
_is_plainly_text: Final = re.compile(
    rb'"(?: |\\[ntr])*+(?:[!#-\[\]-\x7e]|\xc2[^\x85\xa0]|[\xc3-\xe0]|\xe1[^\x9a]|'
    rb"\xe2(?:[^\x80\x81]|\x80[\x8b-\xa7\xaa-\xae\xb0-\xbf])|\xe3[^\x80]|[\xe4-\xf4])"
).match
_LOOKED_AT: Final = 4096  # bytes; blanks are slow to match, and fast to decode


def is_blank(text: Raw) -> bool:
    """Whether a JSON text is no string, or one of blanks only."""
    if _is_plainly_text(text, 0, _LOOKED_AT):
        return False
    value = msgspec.json.decode(text, type=str) if _is_string(text) else ""
    return not value or value.isspace()


def our_words(text: str) -> Text:
    """A block that says what no message did."""
    return Text(text=json_text(text))


def api_blocks(message: Message, table: Table, notes: Notes) -> list[ApiBlock]:
    """The content of a message as blocks of the API; what is left out or replaced is told.

    Nearly all blocks are texts, and go as they came.
    """
    made: list[ApiBlock] = []
    content = message.content
    for block in content if type(content) is list else message.blocks:
        if type(block) is Text and _is_plainly_text(block.text, 0, _LOOKED_AT):
            block.cache_control = None
            made.append(block)
        elif (sent := table.get(type(block), _unsupported)(block, message, notes)) is not None:
            made.append(sent)
    return made


def _text(block: Text, message: Message, notes: Notes) -> ApiBlock | None:
    if is_blank(block.text):
        notes.tell("emptyText")
        return None
    return Text(text=block.text)


def _image(block: StoredImage, message: Message, notes: Notes) -> ApiBlock:
    return image_block(block, notes)


def _thinking(block: StoredThinking, message: Message, notes: Notes) -> ApiBlock | None:
    if not block.thinking_signature:
        notes.tell("thinkingDropped", "Thinking without a signature was left out.")
        return None
    reader = notes.model
    if reader is None or (reader.provider, reader.model_id) != (message.provider, message.model):
        notes.tell("thinkingDropped", "Thinking of another model was left out.")
        return None
    if block.redacted:
        return RedactedThinking(block.thinking_signature)
    thinking = block.thinking if _is_string(block.thinking) else json_text("")
    return Thinking(thinking, block.thinking_signature)


def _tool_call(block: ToolCall, message: Message, notes: Notes) -> ApiBlock:
    name, call_id = fit_tool_name(block.name), notes.call_ids.give(block.id, notes.entry_id)
    if name != block.name:
        notes.tell("toolName", f"The tool name {block.name!r} does not fit the API; {name} is sent.")
    if call_id != block.id:
        notes.tell("toolCallId")
    arguments = block.arguments
    return ToolUse(id=call_id, name=name, input=arguments if _is_object(arguments) else _input(arguments, notes))


def _input(arguments: Raw, notes: Notes) -> Raw:
    """An object for arguments that are none: what a text says, or the value under a name."""
    notes.tell("toolArguments")
    if arguments == NOTHING:
        return Raw(b"{}")
    inner = _object_in(msgspec.json.decode(arguments, type=str)) if _is_string(arguments) else None
    return inner or Raw(b'{"value":%b}' % bytes(arguments))


def _object_in(text: str) -> Raw | None:
    """What the text says, where it is the JSON of an object."""
    try:
        found = msgspec.json.decode(text)
        return Raw(msgspec.json.encode(found)) if isinstance(found, dict) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _unsupported(block: Any, message: Message, notes: Notes) -> ApiBlock:
    kind = block.kind if type(block) is OtherBlock else type(block).__struct_config__.tag
    note = f"A block of the type {kind or '(none)'} was left out."
    notes.tell("unsupportedBlock", note)
    return our_words(f"[{note}]")


USER_BLOCKS: Final[Table] = {Text: _text, StoredImage: _image}
ASSISTANT_BLOCKS: Final[Table] = {Text: _text, StoredThinking: _thinking, ToolCall: _tool_call}
