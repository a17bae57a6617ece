"""Old files as version 3: what a line of a version-1 or version-2 file becomes when the file is first appended to.

In version 1 an entry gets the id and the parent that it has in memory already, in version 2 only where the file has
no id; what was called otherwise gets its name of today. Every other byte stays as it is. Pure: bytes in, bytes out.
"""

import json
from collections.abc import Callable
from typing import Final

from pid.core.lines import DAMAGED
from pid.core.tree import Tree
from pid.entries import FORMAT_VERSION, Kind, id_text, members, read_body

_ENCODING = "latin-1"  # a character a byte: JSON's structure is ASCII, and whatever else stands there stays


GUARD: Final = b"#"
"""Put before a damaged object that is nothing in version 1, so that it is nothing in version 3 either."""


def migrated_header(raw: bytes) -> bytes:
    """The header's bytes with the version of today."""
    parts = [f"{name}:{value}" for key, name, value in _members(raw) if key != "version"]
    return _object([*parts[:1], f'"version":{FORMAT_VERSION}', *parts[1:]])


def migrated_entry(tree: Tree, row: int, version: int, raw: bytes) -> bytes:
    """An entry's bytes, given those stored; a damaged one stays as it is."""
    if tree.flags[row] & DAMAGED:
        return raw
    if tree.kinds[row] == Kind.COMPACTION and b'"firstKeptEntryIndex"' in raw:
        raw = _with_first_kept(tree, row, raw)
    elif tree.kinds[row] == Kind.CUSTOM_ROLE and b"hookMessage" in raw:
        raw = _changed(raw, "message", lambda text: _changed(text, "role", lambda _: b'"custom"'))
    body = read_body(raw)
    if version > 1 and id_text(body.get("id")) is not None:
        return raw
    return _with_links(raw, body, tree.ids[row], tree.id_of(tree.parents[row]))


def _with_links(raw: bytes, body: dict[str, object], entry_id: str, parent_id: str | None) -> bytes:
    """The entry with its id and its parent at the end, where pi puts them in the files that it migrates."""
    if body.keys() & {"id", "parentId"}:
        raw = _object([f"{name}:{value}" for key, name, value in _members(raw) if key not in ("id", "parentId")])
    rest = raw.rstrip()[:-1].rstrip()
    comma = "" if rest.endswith(b"{") else ","
    return rest + f'{comma}"id":{json.dumps(entry_id)},"parentId":{json.dumps(parent_id)}}}'.encode()


def _with_first_kept(tree: Tree, row: int, raw: bytes) -> bytes:
    kept = tree.first_kept(row)
    if kept < 0:
        return raw
    parts = [f"{name}:{value}" for key, name, value in _members(raw) if key not in _KEPT]
    return _object([*parts, f'"firstKeptEntryId":{json.dumps(tree.ids[kept])}'])


_KEPT = ("firstKeptEntryIndex", "firstKeptEntryId")


def _changed(raw: bytes, wanted: str, change: Callable[[bytes], bytes]) -> bytes:
    """An object with the value of one member made anew."""
    parts = (
        (name, change(value.encode(_ENCODING)).decode(_ENCODING) if key == wanted else value)
        for key, name, value in _members(raw)
    )
    return _object([f"{name}:{value}" for name, value in parts])


def _members(raw: bytes) -> list[tuple[str, str, str]]:
    return list(members(raw.decode(_ENCODING)))


def _object(parts: list[str]) -> bytes:
    return ("{" + ",".join(parts) + "}").encode(_ENCODING)
