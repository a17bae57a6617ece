"""Old files as version 3: what a line of a version-1 or version-2 file becomes when the file is first appended to.

An entry gets the id and the parent that it has in memory already; what the old versions called otherwise gets its
name of today; every other byte stays as it is. Pure: a line in, a line out.
"""

import json
from collections.abc import Callable

from pid.core.tree import Tree
from pid.entries import FORMAT_VERSION, EntryHead, Kind, compose, members, read_body


def migrated_header(raw: bytes) -> bytes:
    """The header line with the version of today."""
    kept = [f"{name}:{value}" for key, name, value in members(raw.decode(errors="replace")) if key != "version"]
    kept.insert(1, f'"version":{FORMAT_VERSION}')
    return ("{" + ",".join(kept) + "}").encode()


def migrated_entry(tree: Tree, row: int, raw: bytes) -> bytes:
    """The line of an entry, given its stored bytes (valid JSON)."""
    if tree.kinds[row] == Kind.COMPACTION:
        raw = _with_first_kept(tree, row, raw)
    elif tree.kinds[row] == Kind.CUSTOM_ROLE and b"hookMessage" in raw:
        raw = _with_custom_role(raw)
    body = read_body(raw)
    parent_id = tree.id_of(tree.parents[row])
    if (body.get("id"), body.get("parentId")) == (tree.ids[row], parent_id):
        return raw.replace(b"\n", b" ")
    present = sum(key in body for key in ("type", "id", "parentId", "timestamp"))
    timestamp = body.get("timestamp")
    head = EntryHead(str(body.get("type")), tree.ids[row], parent_id, timestamp if isinstance(timestamp, str) else None)
    return compose(raw, head, present)


def _with_first_kept(tree: Tree, row: int, raw: bytes) -> bytes:
    kept = tree.first_kept(row)
    if kept < 0 or b'"firstKeptEntryIndex"' not in raw:
        return raw
    return _changed(raw, "firstKeptEntryIndex", lambda _: f'"firstKeptEntryId":{json.dumps(tree.ids[kept])}')


def _with_custom_role(raw: bytes) -> bytes:
    return _changed(raw, "message", lambda text: '"message":' + _role_changed(text))


def _role_changed(text: str) -> str:
    return _changed(text.encode(), "role", lambda _: '"role":"custom"').decode()


def _changed(raw: bytes, wanted: str, change: Callable[[str], str]) -> bytes:
    """An object with one member made anew from its value's text."""
    found = members(raw.decode())
    parts = (change(value) if key == wanted else f"{name}:{value}" for key, name, value in found)
    return ("{" + ",".join(parts) + "}").encode()
