"""What the file of a fork holds: the bytes of its source that stay, and the few lines that are written anew.

A whole fork is everything behind the header. A fork of a path leaves labels out, hangs on what stays whatever hung
on one, and writes the labels in effect again behind the path, under new ids; what names one of these names it by its
new id. Entries of old versions become version 3. Pure: it reads through what is handed in, and copies nothing itself.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

import orjson

from pid.core.lines import DERIVED, JOINED
from pid.core.migration import GUARD, migrated_entry
from pid.core.splice import joined, members, value_of
from pid.core.tree import MISSING, RELINKED, ROOT, Label, Tree
from pid.entries import FORMAT_VERSION, DamagedLine, Kind, clean, id_text, leaf_marker

Part = tuple[int, int] | bytes
"""A place in the source whose bytes stay (start, size), or bytes to write."""

Changes = dict[str, bytes]
"""Members to set, as JSON text."""

_OWN_HEADER: Final = ("type", "version", "id", "timestamp", "cwd", "parentSession")
_SCALAR: Final = rb'(?:"(?:[^"\\]++|\\.)*+"|null|-?\d++)'
_HEAD_PARENT = re.compile(
    rb'\{(?:\s*+"\w++"\s*+:\s*+' + _SCALAR + rb'\s*+,)*?\s*+"parentId"\s*+:\s*+(' + _SCALAR + rb")"
)
_TAIL_PARENT = re.compile(rb'"parentId"\s*+:\s*+(' + _SCALAR + rb")\s*+\}\s*+\Z")
_TAIL_BYTES: Final = 200
_BLANKS: Final = 64  # as many may stand between the header and its line break


class Stored(Protocol):
    """The bytes of the source."""

    def read(self, start: int, size: int) -> bytes:
        """The bytes at a place."""

    def line_end(self, start: int) -> int:
        """Where the line ends on which a place is."""


@dataclass(frozen=True, slots=True)
class Source:
    """A session as it is when a fork of it begins; what is appended to it later does not show.

    `path` are the rows to take, root first, or None for all; `leaf` is where the fork is to open, `file_leaf` where
    the source's file opens. `start` and `end` bound the bytes behind the header; `closed` says whether the last line
    has its line break; `seeming` has the places of damaged objects that must not become entries.
    """

    tree: Tree
    version: int
    path: Sequence[int] | None
    leaf: int
    file_leaf: int
    labels: Mapping[str, Label]
    start: int
    end: int
    closed: bool
    seeming: Sequence[int] = ()


class Stamp(NamedTuple):
    """Where new ids come from, and the time of the leaf marker."""

    new_id: Callable[[], str]
    timestamp: str


def fork_header(source: bytes, own: Mapping[str, object]) -> bytes:
    """The fork's header: its `own` members in pi's order (None: absent), then those that pid does not know."""
    kept = {key: text for key, text in members(clean(source)).items() if key not in _OWN_HEADER}
    return joined({key: orjson.dumps(own[key]) for key in _OWN_HEADER if own.get(key) is not None} | kept)


def fork_of(source: Source, stamp: Stamp) -> "WholeFork | PathFork":
    """What a fork is to hold: everything, or the path of its source."""
    return WholeFork(source, stamp) if source.path is None else PathFork(source, source.path, stamp)


# The whole session


class WholeFork:
    """Everything behind the header. `kept` are the rows that stay, `written` those whose lines are written anew."""

    def __init__(self, source: Source, stamp: Stamp) -> None:
        self.source = source
        self.kept: Sequence[int] = range(bisect_left(source.tree.starts, source.end))
        self.written: dict[int, bytes] = {}
        self.breaks = 0  # line breaks that are put behind the header, where it shared its line
        self._stamp = stamp

    def parts(self, stored: Stored) -> Iterator[Part]:
        """What stands behind the fork's header, in order, from the header's own line break on."""
        source, tree = self.source, self.source.tree
        if not stored.read(source.start, min(_BLANKS, source.end - source.start)).lstrip(b" \t\r").startswith(b"\n"):
            self.breaks = 1
            yield b"\n"
        at = source.start
        rewritten = ((tree.starts[row], row) for row in self._to_rewrite())
        for start, row in merge(rewritten, ((start, ROOT) for start in source.seeming)):
            yield at, start - at
            at = start
            if row == ROOT:
                yield GUARD
                continue
            self.written[row] = _renewed(source, row, stored.read(start, tree.sizes[row]))
            yield self.written[row]
            at += tree.sizes[row]
        yield at, source.end - at
        if not source.closed and source.end > source.start:
            yield b"\n"
        if source.leaf != source.file_leaf:
            yield _marker(source, source.leaf, self._stamp)

    def _to_rewrite(self) -> Iterator[int]:
        """Entries whose ids hang on the session's own id or on the order of the file, and old names of roles."""
        kinds, flags, old = self.source.tree.kinds, self.source.tree.flags, self.source.version < FORMAT_VERSION
        return (row for row in self.kept if flags[row] & DERIVED or (old and kinds[row] == Kind.CUSTOM_ROLE))


def _renewed(source: Source, row: int, raw: bytes) -> bytes:
    try:
        clean(raw)
    except DamagedLine:
        return raw
    return migrated_entry(source.tree, row, source.version, raw)


# One path


class PathFork:
    """The entries of a path, then the labels in effect on them, then the leaf marker where that is needed.

    `kept` are the rows that stay, `written` those whose lines are written anew, `again` the labels in effect and
    their targets, `renamed` the ids of these labels, old to new.
    """

    def __init__(self, source: Source, path: Sequence[int], stamp: Stamp) -> None:
        self.source = source
        self.written: dict[int, bytes] = {}
        self.tree = source.tree
        self.path = path
        kinds = self.tree.kinds
        self.kept: Sequence[int] = [row for row in path if kinds[row] != Kind.LABEL]
        self.again = _labels_in_effect(source, self.kept)
        self.renamed = self._new_ids(stamp)
        self._stamp = stamp

    @cached_property
    def _place(self) -> dict[int, int]:
        return {row: place for place, row in enumerate(self.path)}

    def _new_ids(self, stamp: Stamp) -> dict[str, str]:
        renamed: dict[str, str] = {}
        taken: set[str] = set()
        for label, _ in self.again:
            new_id = _fresh(self.tree, stamp, taken)
            taken.add(new_id)
            renamed[self.tree.ids[label.row]] = new_id
        return renamed

    def parts(self, stored: Stored) -> Iterator[Part]:
        """What stands behind the fork's header, in order, from the header's own line break on."""
        yield b"\n"
        yield from self._entries(stored)
        yield from self._labels_again(stored)
        if self.again:
            yield _marker(self.source, self.kept[-1], self._stamp)

    def _entries(self, stored: Stored) -> Iterator[Part]:
        """The entries of the path: runs of lines as they stand, and those that had to change."""
        tree, flags = self.tree, self.tree.flags
        first = last = 0
        for previous, row in pairwise([ROOT, *self.kept]):
            start = tree.starts[row]
            end = start + tree.sizes[row] if tree.sizes[row] else stored.line_end(start)
            if self._may_change(previous, row) and (line := self._changed(previous, row, stored)) is not None:
                self.written[row] = line
                yield from _run(first, last)
                yield line + b"\n"
                first = last = 0
            elif first and start == last + 1 and not flags[row] & JOINED:
                last = end
            else:
                yield from _run(first, last)
                first, last = start, end
        yield from _run(first, last)

    def _labels_again(self, stored: Stored) -> Iterator[bytes]:
        """The labels in effect, each under the one before it."""
        tree = self.tree
        parent = tree.id_of(self.kept[-1]) if self.kept else None
        for label, target in self.again:
            old, target_id = tree.ids[label.row], tree.ids[target]
            raw = clean(stored.read(tree.starts[label.row], tree.sizes[label.row]))
            own = {"id": self.renamed[old], "parentId": parent, "targetId": self.renamed.get(target_id, target_id)}
            yield joined(members(raw) | {key: orjson.dumps(value) for key, value in own.items()}) + b"\n"
            parent = self.renamed[old]

    def _may_change(self, previous: int, row: int) -> bool:
        tree = self.tree
        if tree.parents[row] != previous or tree.flags[row] & (RELINKED | DERIVED):
            return True
        return tree.kinds[row] in _LOOKED_AT or self.source.version < FORMAT_VERSION

    def _changed(self, previous: int, row: int, stored: Stored) -> bytes | None:
        """The entry's line, if it is not to be the one that stands in the source."""
        tree, kind = self.tree, Kind(self.tree.kinds[row])
        changes = self._parent(previous, row)
        if kind is Kind.COMPACTION:
            changes |= self._first_kept(row)
        renew = tree.flags[row] & DERIVED or self.source.version < FORMAT_VERSION
        if not changes and not renew and kind not in _NAMING:
            return None
        raw = stored.read(tree.starts[row], tree.sizes[row])
        if kind in _NAMING:
            changes |= self._named(raw, _NAMING[kind])
        if renew:
            raw = _renewed(self.source, row, raw)
        return _with_changes(raw, changes) if changes or renew else None

    def _parent(self, previous: int, row: int) -> Changes:
        tree = self.tree
        if tree.parents[row] == previous and not tree.flags[row] & RELINKED:
            return {}
        lost = tree.missing_parent(self.path[0]) if previous == ROOT else None
        return {"parentId": orjson.dumps(lost or tree.id_of(previous))}

    def _first_kept(self, row: int) -> Changes:
        """What a compaction is to name if it names a left-out entry: the next one that stays; the last, itself."""
        tree, kept = self.tree, self.tree.first_kept(row)
        if kept == MISSING:
            return {}
        visible = tree.visible(kept)
        place = self._place.get(visible, -1 if visible == ROOT else None)
        if place is None or (kept == visible and tree.kinds[kept] != Kind.LABEL):
            return {}
        stays = (at for at in self.path[place + 1 :] if tree.kinds[at] != Kind.LABEL)
        return {"firstKeptEntryId": orjson.dumps(tree.ids[next(stays, row)])}

    def _named(self, raw: bytes, key: str) -> Changes:
        """The new name of an entry that another one names in `key`."""
        try:
            named = id_text(value_of(members(clean(raw)).get(key)))
        except DamagedLine:
            return {}
        if named is None:
            return {}
        renamed = self.renamed.get(named)
        if renamed is None and key == "fromId" and (row := self.tree.rows.get(named)) is not None:
            renamed = self.tree.id_of(self.tree.visible(row)) or "root"
        return {} if renamed in (None, named) else {key: orjson.dumps(renamed)}


_NAMING: Final[Mapping[Kind, str]] = {Kind.CONTEXT_EDIT: "targetId", Kind.BRANCH_SUMMARY: "fromId"}
"""What names another entry beside compactions and labels, and in which member."""
_LOOKED_AT: Final = frozenset({Kind.COMPACTION, *_NAMING})


def _run(first: int, last: int) -> Iterator[Part]:
    """Whole lines as they stand in the source, and the line break behind the last one."""
    if first:
        yield first, last - first
        yield b"\n"


def _marker(source: Source, leaf: int, stamp: Stamp) -> bytes:
    return leaf_marker(_fresh(source.tree, stamp), source.tree.id_of(leaf), stamp.timestamp) + b"\n"


def _labels_in_effect(source: Source, kept: Sequence[int]) -> list[tuple[Label, int]]:
    """The labels on rows that stay, and those on such labels, in file order, each with its target's row."""
    tree = source.tree
    by_target: dict[int, list[Label]] = {}
    for target_id, label in source.labels.items():
        target = tree.visible(tree.rows.get(target_id, MISSING))
        by_target.setdefault(target, []).append(label)
    stays = set(kept)
    reached = [target for target in by_target if target in stays]
    found: list[tuple[Label, int]] = []
    for target in reached:
        for label in by_target[target]:
            found.append((label, target))
            if label.row in by_target:
                reached.append(label.row)
    return sorted(found, key=lambda each: each[0].row)


def _with_changes(raw: bytes, changes: Changes) -> bytes:
    """The line with some members set; where it is the parent alone, every other byte stays."""
    if changes.keys() == {"parentId"}:
        match = _HEAD_PARENT.match(raw) or _TAIL_PARENT.search(raw, max(0, len(raw) - _TAIL_BYTES))
        if match:
            return raw[: match.start(1)] + changes["parentId"] + raw[match.end(1) :]
    try:
        return joined(members(clean(raw)) | changes) if changes else raw
    except DamagedLine:
        return raw


def _fresh(tree: Tree, stamp: Stamp, taken: set[str] | frozenset[str] = frozenset()) -> str:
    while (entry_id := stamp.new_id()) in tree.rows or entry_id in taken:
        pass
    return entry_id
