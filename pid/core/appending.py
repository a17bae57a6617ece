"""What an append must be, and the line that it becomes.

Pure: the tree is looked at, never changed. The entry is the client's own bytes; they are read once, checked against
the rules of `session/append` (1008), and stored as they came.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from pid.entries import LEAF_MARKER, DamagedLine, EntryHead, clean, compose, members
from pid.errors import InvalidEntry
from pid.protocol import NewEntry, decode_value

_RESERVED_CUSTOM: Final = LEAF_MARKER.split(".")[0] + "."
_NAMING_TYPES: Final = frozenset({"label", "context_edit"})
_OWN_KEYS: Final = frozenset({"type", "id", "timestamp"})
_NAME = re.compile(rb'[ \t\r\n,]*("(?:[^"\\]++|\\.)*+")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)


_ABSENT: Final = msgspec.Raw(b"")


_Fields = dict[str, msgspec.Raw]
"""The members of an entry, whatever they hold."""


class _Role(msgspec.Struct):
    role: str = ""


_read_fields = msgspec.json.Decoder(_Fields).decode
_read_role = msgspec.json.Decoder(_Role).decode


@dataclass(frozen=True, slots=True)
class Sent:
    """An entry that was sent and may be stored: its bytes, and what the tree has to be asked about.

    `target` is the entry that a label or an edit names; `first_kept` what a compaction names (None: it keeps none).
    """

    raw: bytes
    type: str
    id: str | None
    timestamp: str | None
    target: str | None
    first_kept: str | None
    present: int

    def line(self, entry_id: str, parent_id: str | None, timestamp: str) -> bytes:
        """The entry as a line of the file, without its line break."""
        raw = self.raw
        if self.type == "compaction" and self.first_kept is None:
            raw = _with_member(raw, "firstKeptEntryId", entry_id)
        return compose(raw, EntryHead(self.type, entry_id, parent_id, timestamp), self.present)


def read_sent(raw: bytes, path: str) -> Sent:
    """Checks one entry of an append; `path` is its place in the params (`entry`, `entries[2]`).

    Raises `InvalidParams` where a field has no sound form and `InvalidEntry` where the rules refuse the entry.
    """
    head = decode_value(NewEntry, raw, path)
    try:
        text = clean(raw)
        fields = _read_fields(text)
    except (DamagedLine, RecursionError) as error:
        raise _refused(path, str(error) or "nested too deeply") from None
    _check(head.type, fields, path)
    _check_repeats(text, fields, path)
    present = len(fields.keys() & _OWN_KEYS)
    return Sent(
        raw=raw,
        type=head.type,
        id=head.id,
        timestamp=head.timestamp,
        target=_text(fields, "targetId") if head.type in _NAMING_TYPES else None,
        first_kept=_text(fields, "firstKeptEntryId") if head.type == "compaction" else None,
        present=present,
    )


def _check(entry_type: str, fields: _Fields, path: str) -> None:
    if entry_type == "session":
        raise _refused(f"{path}.type", "`session` is the header's type; a session has one header")
    if "parentId" in fields:
        raise _refused(f"{path}.parentId", "give `parentId` beside the entry, not in it")
    if entry_type == "custom" and (_text(fields, "customType") or "").startswith(_RESERVED_CUSTOM):
        raise _refused(f"{path}.customType", f"names beginning with `{_RESERVED_CUSTOM}` belong to the daemon")
    if entry_type == "message" and not _role(fields.get("message", _ABSENT)):
        raise _refused(f"{path}.message.role", 'a message needs a role, such as "user"')
    if entry_type in _NAMING_TYPES and _text(fields, "targetId") is None:
        raise _refused(f"{path}.targetId", f"a {entry_type} needs the id of the entry that it is about")


def _check_repeats(text: bytes, fields: _Fields, path: str) -> None:
    """Refuses an entry with two members of one name: of which one a reader sees is not certain."""
    if not _are_all(text, fields):
        names = [key for key, _, _ in members(text.decode())]
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            raise _refused(f"{path}.{twice[:100]}", "it is given twice")


def _are_all(text: bytes, fields: _Fields) -> bool:
    """Whether the members of an object are these and no others. Values are stepped over, not read again."""
    at, count = text.index(b"{") + 1, 0
    while match := _NAME.match(text, at):
        value = fields.get(_key(match[1]))
        if value is None:
            return False
        at, count = match.end() + len(value), count + 1
    return count == len(fields) and text[at:].strip() == b"}"


def _key(text: bytes) -> str:
    key: str = json.loads(text) if b"\\" in text else text[1:-1].decode()
    return key


def _role(message: msgspec.Raw) -> str:
    try:
        return _read_role(message).role
    except (msgspec.DecodeError, RecursionError):
        return ""


def _text(fields: _Fields, name: str) -> str | None:
    text = bytes(fields.get(name, _ABSENT)).strip()
    return json.loads(text) or None if text.startswith(b'"') else None


def _refused(path: str, why: str) -> InvalidEntry:
    return InvalidEntry(f"{path}: {why}.", path=path)


def _with_member(raw: bytes, key: str, value: str) -> bytes:
    kept = [f"{name}:{text}" for known, name, text in members(raw.decode()) if known != key]
    return ("{" + ",".join([*kept, f'"{key}":{json.dumps(value)}']) + "}").encode()


def same_entry(sent: Sent, stored: bytes) -> bool:
    """Whether every field that was sent stands in the stored entry with the same JSON value."""
    ours, theirs = _values(sent.raw), _values(stored)
    if sent.type == "compaction" and sent.first_kept is None:
        ours["firstKeptEntryId"] = theirs.get("id")
    return all(key in theirs and theirs[key] == value for key, value in ours.items())


def _values(raw: bytes) -> dict[str, Any]:
    # Numbers by their value (1 is 1.0, to the last digit) and apart from true and false, which Python takes for 1, 0.
    found: dict[str, Any] = json.loads(raw, parse_int=_number, parse_float=_number)
    return found


def _number(text: str) -> tuple[Decimal | str]:
    try:
        return (Decimal(text),)
    except InvalidOperation:  # an exponent of more than 18 digits: no value, so the same only as it is written
        return (text,)
