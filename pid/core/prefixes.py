"""Finds entries by how their lines begin: all lines of a slice at once, in columns. Opening a session is little else.

A regular expression goes over the heads of the lines. What it finds there (in old files that pi migrated, at the end
of the line) proves an entry's place in the tree; bodies are not looked at. A line that does not show its place so is
left to be parsed. Pure.
"""

import re
from array import array
from collections.abc import Sequence
from typing import Final

from pid.core.batch import Batch
from pid.core.stamps import times_of
from pid.entries import LEAF_MARKER, ROLES, TYPES, Kind

TOLD: Final = frozenset({Kind.LABEL, Kind.SESSION_INFO, Kind.COMPACTION, Kind.CONTEXT_EDIT, Kind.LEAF_MARKER})
"""Kinds whose bodies the tree itself needs: they are few, so they are parsed as they are met."""
UNKNOWN: Final = 255
"""The kind of a line that must be parsed. Nothing but its place in the file is known."""

_HEAD_BYTES: Final = 256  # of a message, also where its ids are as long as they may be
_TAIL_BYTES: Final = 200
_MARKER: Final = LEAF_MARKER.encode()
_BRACE, _RETURN = b"}\r"
_ANY_STAMP: Final = "1970-01-01T00:00:00.000"

# In these a space stands where JSON may have one.
_ID = r'"([!#-\[\]-~]{1,64})"'
_LINKS = rf'"id": {_ID}, "parentId": (?:{_ID}|null)'
_FIELDS = (
    r'\{"type": "(?:message|(\w{1,64}))", %s'
    r'"timestamp": "(\d{4}-\d\d-\d\dT\d\d:[0-5]\d:[0-5]\d\.\d\d\d)Z"(?:, "message": \{"role": "(\w{1,32})"|)'
)


def _one_a_line(fields: str) -> re.Pattern[str]:
    return re.compile(rf"\n(?:{fields}|)", re.ASCII)


_AS_WRITTEN: Final = _one_a_line((_FIELDS % f"{_LINKS}, ").replace(" ", ""))
_AS_MIGRATED_OR_SPACED: Final = _one_a_line((_FIELDS % f"(?:{_LINKS}, |)").replace(" ", " ?"))
_migrated_tail = re.compile(rf", {_LINKS}\}}\Z".replace(" ", " ?").encode()).search
_GROUPS: Final = 5  # in `_FIELDS`

_Column = list[str | None]


class _Kinds(dict[tuple[str | None, str | None], int]):
    """The kind by type (None for a message) and role."""

    def __missing__(self, named: tuple[str | None, str | None]) -> int:
        name, _ = named
        return Kind.MESSAGE if name is None else self.get((name, None), Kind.OTHER)


_KINDS: Final = _Kinds()
_KINDS.update({(name, None): UNKNOWN if kind in TOLD else kind.value for name, kind in TYPES.items()})
_KINDS.update({(None, role): kind.value for role, kind in ROLES.items()})
_KINDS.update({("session", None): UNKNOWN, (None, None): UNKNOWN})  # no match, or a role that does not stand first


def rows_of(view: bytes | bytearray, at: int, stop: int, offset: int, line: int) -> Batch:
    """A row for each line of `view[at:stop]`: whole lines, the first of which is number `line`.

    `offset` is where the view begins in the file. What does not show its place is of the kind `UNKNOWN`.
    """
    ends = _line_ends(view, at, stop)
    starts = [at, *[end + 1 for end in ends[:-1]]]
    columns = _fields(_AS_WRITTEN, view, starts, ends)
    if None in columns[1]:
        _look_again(columns, view, starts, ends)
    names, ids, parent_ids, stamps, roles = columns
    kinds = bytearray(map(_KINDS.__getitem__, zip(names, roles, strict=True)))
    _look_at_ends(view, ends, kinds)
    if None in ids:
        _read_tails(view, starts, ends, kinds, ids, parent_ids)
    if Kind.CUSTOM in kinds:
        _mark_leaf_markers(view, starts, ends, kinds)
    return Batch(
        ids=ids,  # type: ignore[arg-type]  # only those of unknown lines are none
        parent_ids=parent_ids,
        kinds=kinds,
        times=times_of([stamp or _ANY_STAMP for stamp in stamps]),
        starts=array("Q", [offset + start for start in starts]),
        sizes=array("I", [end - start for start, end in zip(starts, ends, strict=True)]),
        flags=bytearray(len(ids)),
        lines=array("I", range(line, line + len(ids))),
    )


def _line_ends(view: bytes | bytearray, at: int, stop: int) -> list[int]:
    ends: list[int] = []
    find, add = view.find, ends.append
    while at < stop:
        end = find(b"\n", at)
        add(end)
        at = end + 1
    return ends


def _fields(
    pattern: re.Pattern[str], view: bytes | bytearray, starts: Sequence[int], ends: Sequence[int]
) -> list[_Column]:
    """The groups of a pattern in the heads of lines: a column for each, with None where a line has none."""
    with memoryview(view) as seen:
        heads = [
            seen[start : start + _HEAD_BYTES if start + _HEAD_BYTES < end else end]
            for start, end in zip(starts, ends, strict=True)
        ]
        text = str(b"\n".join((b"", *heads)), "latin-1")
    found = pattern.split(text)  # it matches at each line break: by turns the groups of a head and the rest of it
    return [found[group :: _GROUPS + 1] for group in range(1, _GROUPS + 1)]


def _look_again(columns: list[_Column], view: bytes | bytearray, starts: list[int], ends: list[int]) -> None:
    """Fills in the lines that are not as pi writes them."""
    others = [index for index, entry_id in enumerate(columns[1]) if entry_id is None]
    found = _fields(
        _AS_MIGRATED_OR_SPACED, view, [starts[index] for index in others], [ends[index] for index in others]
    )
    for column, more in zip(columns, found, strict=True):
        for index, value in zip(others, more, strict=True):
            column[index] = value


def _look_at_ends(view: bytes | bytearray, ends: list[int], kinds: bytearray) -> None:
    """Marks lines that do not end as an object does; a carriage return behind it is no part of an entry."""
    lasts = bytes([view[end - 1] for end in ends])
    if lasts.count(_BRACE) == len(lasts):
        return
    for index, last in enumerate(lasts):
        if last == _BRACE or kinds[index] == UNKNOWN:  # an empty line is unknown: what was looked at is not its own
            continue
        if last == _RETURN and view[ends[index] - 2] == _BRACE:
            ends[index] -= 1
        else:
            kinds[index] = UNKNOWN


def _read_tails(
    view: bytes | bytearray,
    starts: list[int],
    ends: list[int],
    kinds: bytearray,
    ids: _Column,
    parent_ids: _Column,
) -> None:
    """The links of lines as pi migrates them, which stand at the end; a line without any is marked."""
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if ids[index] is not None or kinds[index] == UNKNOWN:
            continue
        if tail := _migrated_tail(view, max(start, end - _TAIL_BYTES), end):
            entry_id, parent_id = tail.groups()
            ids[index], parent_ids[index] = entry_id.decode(), None if parent_id is None else parent_id.decode()
        else:
            kinds[index] = UNKNOWN


def _mark_leaf_markers(view: bytes | bytearray, starts: list[int], ends: list[int], kinds: bytearray) -> None:
    index = -1
    while (index := kinds.find(Kind.CUSTOM, index + 1)) >= 0:
        if view.find(_MARKER, starts[index], ends[index]) >= 0:
            kinds[index] = UNKNOWN
