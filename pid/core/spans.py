"""The places of stored bytes, and how they are read together. Pure: nothing here reads."""

from collections.abc import Iterator, Sequence
from typing import Final

Span = tuple[int, int]
"""The place of stored bytes: start and size."""

READ_BYTES: Final = 4 << 20
"""The most that one read takes, unless a single place is larger."""
_GAP_BYTES: Final = 8192


def runs(spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Splits places into runs `[first, last)` that one read serves: ascending, close together, not too large."""
    first = 0
    for index in range(1, len(spans) + 1):
        if index < len(spans):
            gap = spans[index][0] - sum(spans[index - 1])
            end = sum(spans[index])
            if 0 <= gap <= _GAP_BYTES and end - spans[first][0] <= READ_BYTES:
                continue
        yield first, index
        first = index
