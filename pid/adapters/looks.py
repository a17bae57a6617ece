"""How a file looks from outside, and when that says that it still holds what was read of it.

Whatever is remembered of a file's content beyond one answer is remembered with its look.
"""

import os
from typing import Final

Look = tuple[int, int, int, int, int]
"""Device, inode, size, and when the content and the metadata changed (ns since 1970)."""

_DOUBTFUL_NS: Final = 2_000_000_000
"""A file read sooner than this after its last change is read again: some file systems count whole seconds."""


def look_of(found: os.stat_result) -> Look:
    """The look of a file."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def look_at(path: str) -> Look | None:
    """How the file at a path looks now; None if that cannot be seen."""
    try:
        return look_of(os.stat(path))
    except OSError:
        return None


def is_settled(look: Look, read_ns: int) -> bool:
    """Whether every change after it was read (at `read_ns`, ns since 1970) gives the file another look."""
    return max(look[3], look[4]) + _DOUBTFUL_NS < read_ns
