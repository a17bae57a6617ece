"""The index of a fork, carried over from that of its source: what was read once need not be read again.

Only where the source is sound and the lines of the fork stand where this reckons: `carried` gives the rows that a
scan of the fork's file would give, in slices, and what is behind them is left to be scanned. Pure.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from pid.core.batch import Batch
from pid.core.fork import PathFork, Stored, WholeFork
from pid.core.lines import JOINED
from pid.core.prefixes import TOLD
from pid.core.tree import HIDDEN, RELINKED, ROOT
from pid.entries import FORMAT_VERSION, clean, read_body

SLICE_ROWS: Final = 1024
"""Rows of one batch: a few milliseconds of the loop's time."""


class Places(NamedTuple):
    """Where the kept entries stand in the fork: starts and sizes; where they end, and on which line.

    `shift` is how much further on all stand than in the source, if it is the same for all: `starts` are those of the
    source then.
    """

    starts: Sequence[int]
    sizes: Sequence[int]
    end: int
    line: int
    shift: int | None = None


def places_of(fork: WholeFork | PathFork, header_size: int, lines: int) -> Places | None:
    """The places behind a header of that size, once the parts were made; None if they are unknown.

    They are known of a path, and of everything if no line was written anew, nor a line break put behind the header.
    The source must have no problems, and its header on the first of its `lines`.
    """
    tree = fork.source.tree
    if fork.source.version < FORMAT_VERSION:
        return None
    if isinstance(fork, WholeFork):
        shift = header_size - fork.source.start
        end = fork.source.end + shift + (not fork.source.closed)
        return None if fork.written or fork.breaks else Places(tree.starts, tree.sizes, end, lines, shift)
    sizes = [len(fork.written[row]) if row in fork.written else tree.sizes[row] for row in fork.kept]
    ends = list(accumulate((size + 1 for size in sizes), initial=header_size + 1))
    return Places(ends[:-1], sizes, ends[-1], 1 + len(sizes))


def carried(fork: WholeFork | PathFork, places: Places, stored: Stored) -> Iterator[Batch]:
    """The rows of the kept entries, as a scan of the fork would give them; of a whole fork without their lines."""
    tree, kept = fork.source.tree, fork.kept
    whole = isinstance(fork, WholeFork)
    parents = tree.parents if whole else [ROOT, *kept[:-1]]
    stays = ~HIDDEN if whole else ~(HIDDEN | RELINKED | JOINED)
    for first in range(0, len(kept), SLICE_ROWS):
        rows = kept[first : first + SLICE_ROWS]
        stop = first + len(rows)
        batch = Batch(
            ids=[tree.ids[row] for row in rows],
            parent_ids=[tree.id_of(parent) for parent in parents[first:stop]],
            kinds=bytearray([tree.kinds[row] for row in rows]),
            times=array("q", [tree.times[row] for row in rows]),
            starts=array("Q", [start + (places.shift or 0) for start in places.starts[first:stop]]),
            sizes=array("I", places.sizes[first:stop]),
            flags=bytearray([tree.flags[row] & stays for row in rows]),
            lines=array("I", [0] * len(rows) if whole else range(first + 2, stop + 2)),
        )
        for index, row in enumerate(rows):
            if tree.kinds[row] in TOLD:
                raw = fork.written.get(row) or stored.read(tree.starts[row], tree.sizes[row])
                batch.bodies[index] = read_body(clean(raw))
        yield batch
