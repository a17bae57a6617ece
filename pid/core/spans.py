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
    first = begin = behind = 0
    for index, (start, size) in enumerate(spans):
        if index == first:
            begin = start
        elif not (0 <= start - behind <= _GAP_BYTES and start + size - begin <= READ_BYTES):
            yield first, index
            first, begin = index, start
        behind = start + size
    if spans:
        yield first, len(spans)
