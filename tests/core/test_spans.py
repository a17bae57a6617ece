"""Places that are read together: in order, close, and not too much at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.spans import READ_BYTES, Span, runs

NEAR = 8192
BIG = READ_BYTES // 2


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(5, 7)], [(0, 1)]),
        ([(0, 10), (10, 10), (21, 5)], [(0, 3)]),
        ([(0, 10), (10 + NEAR, 10)], [(0, 2)]),
        ([(0, 10), (11 + NEAR, 10)], [(0, 1), (1, 2)]),
        ([(100, 10), (50, 10), (60, 10)], [(0, 1), (1, 3)]),
        ([(0, 10), (5, 10)], [(0, 1), (1, 2)]),
        ([(0, BIG), (BIG, BIG), (2 * BIG, 1), (2 * BIG + 1, 1)], [(0, 2), (2, 4)]),
        ([(0, 3 * BIG), (3 * BIG, 1)], [(0, 1), (1, 2)]),
    ],
)
def test_what_is_read_together(spans: list[Span], expected: list[tuple[int, int]]) -> None:
    assert list(runs(spans)) == expected


@given(st.lists(st.tuples(st.integers(-20_000, 20_000), st.sampled_from([0, 1, 900, BIG, READ_BYTES])), max_size=20))
def test_every_place_is_in_one_run_that_cannot_grow(steps: list[tuple[int, int]]) -> None:
    spans, at = [], 0
    for step, size in steps:
        spans.append((max(0, at + step), size))
        at = sum(spans[-1])
    found = list(runs(spans))
    assert [index for first, last in found for index in range(first, last)] == list(range(len(spans)))
    for first, last in found:
        assert all(_fits(spans, first, index) for index in range(first + 1, last))
        assert last == len(spans) or not _fits(spans, first, last)


def _fits(spans: list[Span], first: int, index: int) -> bool:
    """Whether a place goes with those before it from `first` on."""
    gap = spans[index][0] - sum(spans[index - 1])
    return 0 <= gap <= NEAR and sum(spans[index]) - spans[first][0] <= READ_BYTES
