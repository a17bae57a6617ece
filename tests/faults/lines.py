"""What a session file says, read with nothing but `json`: the witness against the daemon, so it uses no code of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MARKER = "pid.leaf"

Entry = dict[str, Any]


def entries(path: Path, *, torn: int = 0) -> list[Entry]:
    """The entries behind the header, in file order; a last line that is cut off is left out.

    Up to `torn` other lines may be broken (a kill came in the middle of a write, and the next append went behind it).
    """
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    found = []
    for line in filter(None, whole.split(b"\n")):  # a blank line is none: a writer without a lock stood between
        try:
            found.append(json.loads(line))
        except ValueError:
            torn -= 1
            assert torn >= 0, f"a broken line: {line[:200]!r}"
    assert found[0]["type"] == "session"
    return found[1:]


def is_marker(entry: Entry) -> bool:
    return entry["type"] == "custom" and entry.get("customType") == MARKER


def visible_parent(entry: Entry, by_id: dict[str, Entry]) -> str | None:
    """The parent as the daemon names it: a leaf marker means what it hangs on."""
    parent = entry["parentId"]
    while parent is not None and is_marker(by_id[parent]):
        parent = by_id[parent]["parentId"]
    return parent


def links(path: Path, *, torn: int = 0) -> list[tuple[str, str | None]]:
    """`(id, parentId)` of every entry that an answer shows, in file order."""
    found = entries(path, torn=torn)
    by_id = {entry["id"]: entry for entry in found}
    assert len(by_id) == len(found), "an id stands twice"
    return [(entry["id"], visible_parent(entry, by_id)) for entry in found if not is_marker(entry)]


def leaf(path: Path, *, torn: int = 0) -> str | None:
    """Where both programs open: the last line, or what it hangs on if it is a leaf marker."""
    last = entries(path, torn=torn)[-1]
    return last["parentId"] if is_marker(last) else last["id"]


def message(text: str, **fields: Any) -> Entry:
    """A user message to append."""
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "user", "content": content, "timestamp": 1767603600000}} | fields
