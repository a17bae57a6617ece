"""What the entries in effect say, read newest first and only as far as somebody looks.

The plan, the usage and the corrections walk back from the newest entry; they share one `Speech`, so that a body is
read and parsed once. It keeps what it read, knows no rule, and is thrown away with its snapshot.
"""

from collections.abc import Callable, Container, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from pid.core.context import Bodies, InEffect, messages_in_effect
from pid.core.tokens import Calibration, Message, Size, TextsCounter, TokenCounter, chars4, size_of, sizes_of, total
from pid.core.tree import ROOT, Tree
from pid.entries import read_body

Read = Callable[[Sequence[int]], list[list[dict[str, Any]]]]
"""The messages, edits applied, that entries in effect give, by row: mostly one, none, or two for a compaction."""

SLICE: Final = 64
"""Rows that are read in one call."""
_MOST_UNCOUNTED: Final = 1_000
_UNUSUAL: Final = (b'"usage"', b'"image"')
"""What an entry's bytes hold if they are to be parsed: its tokens do not go by its length."""


class Entry(NamedTuple):
    """One entry in effect and its messages."""

    row: int
    kind: int
    messages: list[dict[str, Any]]

    @property
    def message(self) -> Message | None:
        """The last message: of a compaction its summary. None for an entry that says nothing."""
        return self.messages[-1] if self.messages else None

    @property
    def role(self) -> str | None:
        """The role of `message`."""
        return self.messages[-1].get("role") if self.messages else None


class Speech:
    """Entries by their place among `rows` (the entries in effect, in the order of the context).

    `kinds` are a tree's, by row. `after` is the place of the first entry behind the winning compaction.
    `sizes` keeps sizes by row for as long as its owner likes; rows in `edited` say something else here than
    elsewhere, so theirs are not kept. `bodies` and `lengths` serve a look at entries without parsing them.
    """

    def __init__(
        self,
        rows: Sequence[int],
        kinds: Sequence[int],
        read: Read,
        bodies: Bodies,
        lengths: Sequence[int],
        *,
        after: int = 0,
        count: TextsCounter | None = None,
        sizes: MutableMapping[int, Size] | None = None,
        edited: Container[int] = (),
    ) -> None:
        self.rows = rows
        self.after = after
        self.kinds = kinds
        self._read = read
        self._bodies = bodies
        self._lengths = lengths
        self._count = count
        self._sizes = {} if sizes is None else sizes
        self._sizes_here: dict[int, Size] = {}
        self._edited = edited
        self._entries: dict[int, Entry] = {}
        self._uncounted: dict[int, Entry] = {}  # read lately: measured together with the first that is asked for

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Entry:
        entry = self._entries.get(place)
        if entry is None:
            self._load(max(0, place + 1 - SLICE), place + 1)
            entry = self._entries[place]
        return entry

    def ahead(self, start: int, stop: int) -> list[Entry]:
        """The entries from `start` to `stop`, oldest first."""
        for first in range(start, stop, SLICE):
            if any(place not in self._entries for place in range(first, min(first + SLICE, stop))):
                self._load(first, min(first + SLICE, stop))
        return [self._entries[place] for place in range(start, stop)]

    def stream(self, start: int, stop: int) -> Iterator[list[Entry]]:
        """The same in slices, of which nothing is kept that was not read before."""
        for first in range(start, stop, SLICE):
            yield self._once(range(first, min(first + SLICE, stop)))

    def back(self, start: int, stop: int) -> Iterator[Entry]:
        """The same one by one, newest first."""
        for end in range(stop, start, -SLICE):
            yield from reversed(self._once(range(max(start, end - SLICE), end)))

    def skim(self, start: int, stop: int, kinds: Container[int]) -> Iterator[tuple[int, Entry | None]]:
        """The rows newest first, with their entries. An entry of these kinds is not parsed, and None, if a look at
        its bytes shows that it reports no usage and holds no image.
        """
        for end in range(stop, start, -SLICE):
            rows = self.rows[max(start, end - SLICE) : end]
            taken = zip(rows, self._bodies(rows), strict=True)
            parsed = [row for row, body in taken if not (self.kinds[row] in kinds and self._is_plain(row, body))]
            said = dict(zip(parsed, self._read(parsed), strict=True)) if parsed else {}
            yield from (
                (row, Entry(row, self.kinds[row], said[row]) if row in said else None) for row in reversed(rows)
            )

    def length(self, row: int) -> int:
        """The bytes of an entry."""
        return self._lengths[row]

    def _is_plain(self, row: int, body: bytes) -> bool:
        return row not in self._edited and not any(mark in body for mark in _UNUSUAL)

    def _once(self, places: range) -> list[Entry]:
        if all(place in self._entries for place in places):
            return [self._entries[place] for place in places]
        return self._entries_at(places)

    def _entries_at(self, places: range) -> list[Entry]:
        rows = self.rows[places.start : places.stop]
        found = [Entry(row, self.kinds[row], said) for row, said in zip(rows, self._read(rows), strict=True)]
        if len(self._uncounted) > _MOST_UNCOUNTED:
            self._uncounted.clear()
        self._uncounted.update((entry.row, entry) for entry in found if entry.row not in self._sizes)
        return found

    def _load(self, start: int, stop: int) -> None:
        places = range(start, stop)
        for place, entry in zip(places, self._entries_at(places), strict=True):
            self._entries.setdefault(place, entry)

    def size(self, entry: Entry) -> Size:
        """The size of an entry's messages."""
        sizes = self._sizes_here if entry.row in self._edited else self._sizes
        if entry.row not in sizes:
            self._measure([*self._uncounted.values(), entry])
            self._uncounted.clear()
        return sizes[entry.row]

    def _measure(self, entries: Sequence[Entry]) -> None:
        messages = [message for entry in entries for message in entry.messages]
        found = iter(sizes_of(messages, self._count) if self._count else map(size_of, messages))
        for entry in entries:
            sizes = self._sizes_here if entry.row in self._edited else self._sizes
            sizes[entry.row] = total(islice(found, len(entry.messages)))


def speech_of(
    tree: Tree,
    effect: InEffect,
    bodies: Bodies,
    *,
    count: TextsCounter | None = None,
    sizes: MutableMapping[int, Size] | None = None,
) -> Speech:
    """What the entries in effect say, through a body reader."""

    def read(rows: Sequence[int]) -> list[list[dict[str, Any]]]:
        found: dict[int, list[dict[str, Any]]] = {row: [] for row in rows}
        for row, message in messages_in_effect(tree, effect, rows, bodies(rows), []):
            found[row].append(read_body(bytes(message)))
        return list(found.values())

    after = _first_after(tree, effect)
    stored = bodies, tree.sizes
    return Speech(effect.rows, tree.kinds, read, *stored, after=after, count=count, sizes=sizes, edited=effect.edits)


def speech_of_path(tree: Tree, effect: InEffect, bodies: Bodies, *, count: TextsCounter | None = None) -> Speech:
    """What all entries of the path say, those too that are no longer in effect, and without edits."""
    whole = replace(effect, rows=tree.path(effect.leaf), compaction=ROOT, edits={})
    return speech_of(tree, whole, bodies, count=count)


def _first_after(tree: Tree, effect: InEffect) -> int:
    """The place of the first entry behind the winning compaction; 0 where there is none."""
    if effect.compaction == ROOT:
        return 0
    row, place = effect.leaf, len(effect.rows)
    while row != effect.compaction:
        row, place = tree.parents[row], place - 1
    return place


@dataclass(frozen=True, slots=True)
class Estimator:
    """One of the two rules for all tokens of a plan: by a calibration, or pi's where there is none."""

    calibration: Calibration | None = None
    count: TokenCounter | None = None

    @property
    def error(self) -> float:
        """The likely relative error of an estimate."""
        return self.calibration.error if self.calibration else CHARS4_ERROR

    def message(self, message: Message) -> int:
        """The tokens of a message."""
        return self.calibration.tokens(size_of(message, self.count)) if self.calibration else chars4(message)

    def text(self, text: str) -> int:
        """The tokens of a user message of one text."""
        return self.message({"role": "user", "content": text})

    def entry(self, speech: Speech, entry: Entry) -> int:
        """The tokens of an entry in effect."""
        if self.calibration:
            return self.calibration.tokens(speech.size(entry))
        return sum(map(chars4, entry.messages))

    def guessed(self, speech: Speech, entry: Entry) -> int:
        """Those of them that come from texts that nobody counted."""
        return round(self.calibration.slope * speech.size(entry).guessed) if self.calibration else 0


CHARS4_ERROR: Final = 0.7
"""Nine of ten gaps of two real sessions lay within it (66 and 76 %)."""
