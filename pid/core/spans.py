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
    first = base = end = 0
    for index, (start, size) in enumerate(spans):
        if index and not (0 <= start - end <= _GAP_BYTES and start + size - base <= READ_BYTES):
            yield first, index
            first = index
        if first == index:
            base = start
        end = start + size
    if spans:
        yield first, len(spans)
