"""Where a kept tail of a path may begin: the one rule for compaction plans and for a compaction that lost its own.

It looks at kinds alone: no body, no tokens, no tree.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from pid.entries import MESSAGE_KINDS, Kind

SPEAKING_KINDS: Final = MESSAGE_KINDS | {Kind.CUSTOM_MESSAGE, Kind.BRANCH_SUMMARY, Kind.COMPACTION}
"""Entries that can give a message to the context."""

_CUT_KINDS: Final = frozenset(
    {
        Kind.USER,
        Kind.ASSISTANT,
        Kind.BASH,
        Kind.CUSTOM_ROLE,
        Kind.CUSTOM_MESSAGE,
        Kind.BRANCH_SUMMARY,
    }
)


def valid_cuts(kinds: Sequence[int]) -> list[int]:
    """The places, ascending, at which a cut parts no tool call from its results.

    Never a tool result, and nothing between a call and a result of it.
    """
    cuts: list[int] = []
    answers_follow = False
    for index in range(len(kinds) - 1, -1, -1):
        kind = kinds[index]
        if kind in (Kind.TOOL_RESULT, Kind.ASSISTANT):
            answers_follow = kind == Kind.TOOL_RESULT
        if kind in _CUT_KINDS and not answers_follow:
            cuts.append(index)
    cuts.reverse()
    return cuts


def cut_index(kinds: Sequence[int], reached: int) -> int:
    """Where to cut the entries of these kinds so that about those from `reached` on are kept.

    The first valid place at or after `reached`, or the last one before it if only tool results follow; then back
    over entries without messages. 0 (all is kept) if there is no valid place.
    """
    cuts = valid_cuts(kinds)
    cut = nearest_cut(cuts, reached) if cuts else 0
    return before_silence(cut, 0, lambda index: kinds[index] not in SPEAKING_KINDS)


def nearest_cut(cuts: Sequence[int], reached: int) -> int:
    """Of places that ascend, the first at or after `reached`, else the last. There must be one."""
    at = bisect_left(cuts, reached)
    return cuts[min(at, len(cuts) - 1)]


def before_silence(cut: int, begin: int, is_silent: Callable[[int], bool]) -> int:
    """The cut, moved back over the entries right before it that say nothing."""
    while cut > begin and is_silent(cut - 1):
        cut -= 1
    return cut
