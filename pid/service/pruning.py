"""Old tool results made short in one context: they are weighed, in slices of the loop's time, and some are replaced.

Which results go is decided in `core.prune`; nothing here touches a file.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from pid.core.prune import USER_SIDE, Result, result_of, results_to_shorten, shortened
from pid.core.tree import Tree
from pid.entries import Kind
from pid.protocol import PruneToolResults
from pid.service.turns import next_turn

Found = list[tuple[int, Raw]]
"""The agent messages of a context, each with its row."""

_SLICE_BYTES: Final = 256 << 10  # to weigh as many takes some milliseconds


def found_slices(found: Found) -> Iterator[Found]:
    """The messages in parts that hold the loop for a few milliseconds each."""
    start = size = 0
    for place, (_, message) in enumerate(found):
        if place > start and size + len(memoryview(message)) > _SLICE_BYTES:
            yield found[start:place]
            start, size = place, 0
        size += len(memoryview(message))
    if start < len(found):
        yield found[start:]


async def pruned(tree: Tree, found: Found, limits: PruneToolResults) -> Found:
    """The messages with old tool results shortened."""
    results: dict[int, Result] = {}
    place = 0
    for part in found_slices(found):
        for row, message in part:
            if tree.kinds[row] == Kind.TOOL_RESULT:
                results[place] = result_of(message)
            place += 1
        await next_turn()
    turns = [place for place, (row, _) in enumerate(found) if tree.kinds[row] in USER_SIDE]
    chosen = frozenset(results_to_shorten(results, turns, limits))
    kept: Found = []
    for part in found_slices(found):
        for row, message in part:
            kept.append((row, shortened(message, tree.ids[row]) if len(kept) in chosen else message))
        await next_turn()
    return kept
