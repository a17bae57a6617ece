"""The entries in effect at a leaf: the one place that says which entries of a path give the context.

The context, the token estimate and the compaction plan all start from `entries_in_effect`, so they cannot disagree.
It writes nothing and depends on the path alone. Bodies are read through the reader handed in, and only those that
the answer hangs on: the winning compaction, the edits, and, from the leaf backwards until they are found, the
thinking level and the model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from pid.core.cut import SPEAKING_KINDS, cut_index
from pid.core.lines import PLAIN
from pid.core.messages import agent_messages, built_messages, edited, plain_message, stored_message
from pid.core.splice import Json, members, value_of
from pid.core.tokens import chars4
from pid.core.tree import MISSING, ROOT, Tree
from pid.entries import MESSAGE_KINDS, Kind, id_text, read_body
from pid.protocol import ContextWarning, ModelRef

Bodies = Callable[[Sequence[int]], list[bytes]]
"""Gives the clean stored bytes of rows; b"" for a damaged one."""

TAIL_TOKENS: Final = 20_000
"""What a compaction keeps that does not say what it keeps: the newest entries, at four characters a token."""
DEFAULT_THINKING: Final = "off"
_MOST_ROWS: Final = 256  # bodies held at a time
_NOT_KEPT: Final = frozenset({Kind.SYSTEM, Kind.COMPACTION})  # they speak, but not from the kept range

Edit = bytes | None
"""The JSON text of a target's new content; None leaves the target out."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class InEffect:
    """What gives the context at `leaf`.

    `rows` are the entries in effect in the order of the context: the winning compaction first, if there is one
    (`compaction`, else ROOT), then what it kept, then what follows it. `edits` maps target rows to what replaces
    their content. `warnings` say what is wrong with the path; which bodies are damaged shows when they are read.
    """

    leaf: int
    rows: Sequence[int]
    compaction: int
    edits: Mapping[int, Edit]
    thinking_level: str
    model: ModelRef | None
    warnings: tuple[ContextWarning, ...]


def entries_in_effect(tree: Tree, leaf: int, bodies: Bodies) -> InEffect:
    """The entries in effect at a row (ROOT: none), by the rules of the session format.

    Bad data gives warnings, never an error. Linear in the length of the path.
    """
    rows, kinds = tree.path_and_kinds(leaf)
    path = _Path(tree, rows, kinds, bodies)
    at = next((place for place, _ in path.read(_COMPACTIONS)), None)
    warnings, kept = _severed(tree, rows), 0
    if at is not None:
        kept, lost = _kept_from(path, at)
        rows = [rows[at], *_without_system(path, kept, at), *rows[at + 1 :]]
        warnings += lost
    edits, unusable = _edits(path, kept)
    return InEffect(
        leaf=leaf,
        rows=rows,
        compaction=ROOT if at is None else path.rows[at],
        edits=MappingProxyType(edits),
        thinking_level=_latest(path, _LEVELS, _level_of) or DEFAULT_THINKING,
        model=_latest(path, _MODELS, _model_of),
        warnings=(*warnings, *unusable),
    )


def messages_in_effect(
    tree: Tree, effect: InEffect, rows: Sequence[int], bodies: Sequence[bytes], warnings: list[ContextWarning]
) -> Iterator[tuple[int, Raw]]:
    """The agent messages of a slice of `effect.rows`, each with its row, given the bodies of these rows.

    What turns out to be damaged, or without a message, is left out and told in `warnings`.
    """
    kinds, flags, edits = tree.kinds, tree.flags, effect.edits
    for row, body in zip(rows, bodies, strict=True):
        kind = kinds[row]
        if not body:
            warnings.append(_warning("damagedEntry", tree, row, "The entry {} cannot be read and was left out."))
        elif kind in MESSAGE_KINDS:
            message = plain_message(body) if flags[row] & PLAIN else stored_message(kind, body)
            if message is None:
                warnings.append(_warning("missingMessage", tree, row, "The entry {} has no message, and gives none."))
            elif row not in edits:
                yield row, message
            elif (content := edits[row]) is not None:
                yield row, edited(kind, message, content)
        elif kind in SPEAKING_KINDS and (kind != Kind.COMPACTION or row == effect.compaction):
            content = edits.get(row, b"")
            for message in built_messages(tree, row, body) if content is not None else ():
                yield row, edited(kind, message, content) if content else message


def _warning(kind: str, tree: Tree, row: int, message: str) -> ContextWarning:
    entry_id = tree.ids[row]
    return ContextWarning(kind=kind, entry_id=entry_id, message=message.format(entry_id))


_SEVERED: Final = {
    "missingParent": "The history above the entry {} is lost: its parent is not in the file.",
    "cycle": "The history above the entry {} is lost: its parents form a circle, which was cut here.",
}


def _severed(tree: Tree, rows: list[int]) -> list[ContextWarning]:
    kind = tree.severed.get(rows[0]) if rows else None
    return [_warning(kind, tree, rows[0], _SEVERED[kind])] if kind else []


# A path, looked at from its newest entry


def marks_of(*kinds: Kind) -> bytes:
    """A table that turns these kinds into 1 and the others into 0."""
    return bytes(kind in kinds for kind in range(256))


def rows_of_kinds(tree: Tree, rows: Sequence[int], marks: bytes) -> list[int]:
    """Those of the rows whose kind is marked."""
    kinds = tree.kinds
    return [row for row in rows if marks[kinds[row]]]


_COMPACTIONS: Final = marks_of(Kind.COMPACTION)
_EDITS: Final = marks_of(Kind.CONTEXT_EDIT)
_LEVELS: Final = marks_of(Kind.THINKING_LEVEL_CHANGE)
_MODELS: Final = marks_of(Kind.MODEL_CHANGE, Kind.ASSISTANT)


@dataclass(frozen=True, slots=True)
class _Path:
    """The rows of a path and, as bytes, their kinds: a kind is found without a look at each row."""

    tree: Tree
    rows: list[int]
    kinds: bytes
    bodies: Bodies

    def places(self, marks: bytes) -> Iterator[int]:
        """The places of marked kinds, newest first."""
        marked, at = self.kinds.translate(marks), len(self.kinds)
        while (at := marked.rfind(1, 0, at)) >= 0:
            yield at

    def read(self, marks: bytes) -> Iterator[tuple[int, bytes]]:
        """These places with their bodies, without the damaged ones: few at first, then more at a time."""
        places, size = self.places(marks), 1
        while part := list(islice(places, size)):
            bodies = self.bodies([self.rows[place] for place in part])
            yield from ((place, body) for place, body in zip(part, bodies, strict=True) if body)
            size = min(2 * size, _MOST_ROWS)


# What the winning compaction kept


def _without_system(path: _Path, start: int, stop: int) -> Iterable[int]:
    rows = path.rows[start:stop]
    if path.kinds.find(Kind.SYSTEM, start, stop) < 0:
        return rows
    return (row for row in rows if path.tree.kinds[row] != Kind.SYSTEM)


def _kept_from(path: _Path, at: int) -> tuple[int, list[ContextWarning]]:
    """Where the kept entries begin on the path (at the compaction or behind it: none are kept)."""
    place = _place_of_first_kept(path.tree, path.rows, path.rows[at])
    if place is not None:
        return place, []
    message = (
        "What the compaction {} kept begins at no entry of its path; the newest entries before it, about "
        f"{TAIL_TOKENS:,} tokens, are shown instead."
    )
    return _newest_tail(path, at), [_warning("missingFirstKept", path.tree, path.rows[at], message)]


def _place_of_first_kept(tree: Tree, rows: list[int], compaction: int) -> int | None:
    kept = tree.first_kept(compaction)
    if kept == MISSING:
        return None
    if tree.is_hidden(kept):  # a leaf marker: what follows it is kept, not the entry that it hangs on
        before = tree.visible(kept)
        return 0 if before == ROOT else rows.index(before) + 1 if before in rows else None
    return rows.index(kept) if kept in rows else None


def _newest_tail(path: _Path, at: int) -> int:
    """Where the newest `TAIL_TOKENS` in front of a place begin: at a valid cut point."""
    tokens, reached = 0, at
    while reached > 0 and tokens < TAIL_TOKENS:
        reached -= 1
        tokens += _chars4(path, reached)
    return cut_index(path.kinds[:at], reached)


def _chars4(path: _Path, place: int) -> int:
    if path.kinds[place] not in SPEAKING_KINDS or path.kinds[place] in _NOT_KEPT:
        return 0
    row = path.rows[place]
    body = path.bodies((row,))[0]
    return sum(chars4(read_body(bytes(message))) for message in agent_messages(path.tree, row, body)) if body else 0


# Edits


def _edits(path: _Path, kept: int) -> tuple[dict[int, Edit], list[ContextWarning]]:
    """The last usable edit of each target among the entries from a place on; and what is said of the others.

    A target that is not in effect is mapped too, and changes nothing.
    """
    tree = path.tree
    edits: dict[int, Edit] = {}
    unusable: list[ContextWarning] = []
    for place, body in path.read(_EDITS):
        if place < kept:
            break
        fields = members(body)
        target = tree.rows.get(id_text(value_of(fields.get("targetId"))) or "")
        try:
            edit = _new_content(fields.get("replacement"))
        except ValueError:
            row = path.rows[place]
            unusable.append(_warning("invalidEdit", tree, row, "The edit {} has no usable replacement."))
        else:
            if target is not None:
                edits.setdefault(target, edit)
    return edits, unusable[::-1]


def _new_content(replacement: Json | None) -> Edit:
    """What a `replacement` puts in the place of the content. Raises ValueError if it says nothing usable."""
    match value_of(replacement):
        case None if replacement is not None:
            return None
        case Raw() as fields if bytes(fields).startswith(b"{"):
            content = bytes(members(fields).get("content", b""))
            if content[:1] in (b'"', b"["):
                return content
    raise ValueError("a replacement is null, or an object with a text or blocks as its content")


# The thinking level and the model: the last ones on the path


def _latest(path: _Path, marks: bytes, read: Callable[[bytes], Found | None]) -> Found | None:
    """What the last entry of these kinds says that says anything."""
    said = (read(body) for _, body in path.read(marks))
    return next((found for found in said if found is not None), None)


def _level_of(body: bytes) -> str | None:
    level = value_of(members(body).get("thinkingLevel"))
    return level if isinstance(level, str) else None


class _Named(msgspec.Struct):
    provider: Any = None
    model: Any = None


class _Model(msgspec.Struct, rename="camel"):
    provider: Any = None
    model_id: Any = None
    message: _Named | None = None


_read_model = msgspec.json.Decoder(_Model).decode


def _model_of(body: bytes) -> ModelRef | None:
    try:
        found = _read_model(body)
    except (msgspec.ValidationError, RecursionError):
        return None
    message = found.message
    provider, model_id = (message.provider, message.model) if message else (found.provider, found.model_id)
    named = isinstance(provider, str) and isinstance(model_id, str)
    return ModelRef(provider=provider, model_id=model_id) if named else None
