"""What a scan hands to a tree: entries in columns, as the tree keeps them, so that no object is made for each."""

from array import array
from dataclasses import dataclass, field
from typing import Any

from pid.protocol import Problem


def _times() -> "array[int]":
    return array("q")


def _places() -> "array[int]":
    return array("Q")


def _numbers() -> "array[int]":
    return array("I")


@dataclass(slots=True)
class Batch:
    """Entries in file order, and what was wrong between them.

    Each column has one thing of every entry: its place in the tree (`parent_ids` has None for a root), what it is
    (`times` in ms, `flags` those of `core.lines`), and its place in the file (bytes; lines from 1). `bodies` has the
    parsed entry, by index, of the kinds that the tree reads itself.
    """

    ids: list[str] = field(default_factory=list)
    parent_ids: list[str | None] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
    times: "array[int]" = field(default_factory=_times)
    starts: "array[int]" = field(default_factory=_places)
    sizes: "array[int]" = field(default_factory=_numbers)
    flags: bytearray = field(default_factory=bytearray)
    lines: "array[int]" = field(default_factory=_numbers)
    bodies: dict[int, dict[str, Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(
        self, entry_id: str, parent_id: str | None, kind: int, time: int, start: int, size: int, flags: int, line: int
    ) -> None:
        """Adds an entry."""
        self.ids.append(entry_id)
        self.parent_ids.append(parent_id)
        self.kinds.append(kind)
        self.times.append(time)
        self.starts.append(start)
        self.sizes.append(size)
        self.flags.append(flags)
        self.lines.append(line)

    def take(self, other: "Batch", run: range) -> None:
        """Adds a run of another batch's entries, without their bodies."""
        if not run:
            return
        part = slice(run.start, run.stop)
        self.ids += other.ids[part]
        self.parent_ids += other.parent_ids[part]
        self.kinds += other.kinds[part]
        self.times += other.times[part]
        self.starts += other.starts[part]
        self.sizes += other.sizes[part]
        self.flags += other.flags[part]
        self.lines += other.lines[part]

    def followed_by(self, other: "Batch") -> "Batch":
        """This batch, with all of another behind it."""
        before = len(self.ids)
        self.take(other, range(len(other.ids)))
        self.bodies |= {before + index: body for index, body in other.bodies.items()}
        self.problems += other.problems
        return self
