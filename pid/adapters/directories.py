"""Directories that keep what is put into them: made, and their names made durable."""

import contextlib
import errno
import os
from typing import Final

_NO_SYNC: Final = frozenset({errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP})


def make_directory(path: str) -> None:
    """Makes what is missing of a path, durably and for the user alone."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # made by another meanwhile; or no directory, as opening tells
            os.mkdir(folder, 0o700)
        sync_directory(os.path.dirname(folder))


def sync_directory(path: str) -> None:
    """Makes a new or renamed name in a directory durable, where that can be asked for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
