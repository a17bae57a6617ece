"""The name of a new session's file: one for each session id in a directory, whoever makes it.

Daemons that make a session at once lock the directory for as long as it takes to look and to make the file; where it
cannot be locked, only the look is left. This module makes directories and nothing else.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pid.adapters.catalog import file_name, find_by_id
from pid.adapters.directories import make_directory
from pid.adapters.failures import write_failed
from pid.errors import SessionBusy, SessionExists

DEADLINE: Final = 5.0
"""Seconds to wait for others who make a session in the same directory."""
_PAUSE: Final = 0.005


def free_path(directory: str, session_id: str, timestamp: str) -> str:
    """Where the file of a new session goes. Raises `SessionExists` if the directory has one with this id."""
    if found := find_by_id(session_id, iter((directory,))):
        raise SessionExists(f"There is a session {session_id} already: {found}.", path=found)
    return os.path.join(directory, file_name(session_id, timestamp))


@contextmanager
def sole_name(directory: str, session_id: str, timestamp: str) -> Iterator[str]:
    """Inside, the file may be made at the path that this gives, and nobody else makes one with its id.

    For a thread: it waits for others. Missing directories are made. Raises `SessionExists`, `SessionBusy`,
    `WriteFailed`.
    """
    try:
        make_directory(directory)
    except OSError as error:
        raise write_failed(directory, error) from None
    fd = _opened(directory)
    try:
        _lock(fd, directory)
        yield free_path(directory, session_id, timestamp)
    finally:
        if fd >= 0:
            os.close(fd)


def _opened(directory: str) -> int:
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # what is wrong with it shows when the file is made
        return -1


def _lock(fd: int, directory: str) -> None:
    until = time.monotonic() + DEADLINE
    while fd >= 0:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                message = f"Another process has held the lock of {directory} for {DEADLINE:.0f} s. Try again."
                raise SessionBusy(message) from None
            time.sleep(_PAUSE)
        except OSError:
            return  # there are no locks on directories here
        else:
            return
