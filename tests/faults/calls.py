"""Stands between the files and the system: every call that changes something on disk is told, and may go wrong.

`Calls` takes the place of the module `os` in the adapters that write session files, and in the one that keeps what
listings read. A test gives it a function that sees each call before it is made: it may raise, end the process, do
less, or note it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from pid.adapters import directories, fork_file, journal, listing_index, naming, replacing

CHANGING = (
    "write",
    "copy_file_range",
    "ftruncate",
    "fsync",
    "fdatasync",
    "mkdir",
    "makedirs",
    "rename",
    "replace",
    "link",
    "unlink",
    "fchmod",
    "fchown",
)
WRITERS = (journal, directories, replacing, fork_file, naming, listing_index)

Before = Callable[..., Any]
"""Called with a call's name (`create` for an `open` that makes the file), the real function and its arguments; what it
returns, if it is not None, is the call's result."""


class Calls:
    """`os`, but for what changes a disk."""

    def __init__(self, before: Before) -> None:
        self._before = before

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._watched(name, real) if name in CHANGING or name == "open" else real

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            kind = "create" if name == "open" and args[1] & os.O_CREAT else name
            done = self._before(kind, real, *args)
            return real(*args, **named) if done is None else done

        return call


def stand_between(patch: pytest.MonkeyPatch, before: Before) -> None:
    """Puts `before` in front of the system for as long as `patch` lasts."""
    calls = Calls(before)
    for module in WRITERS:
        patch.setattr(module, "os", calls)
    patch.setattr(journal, "_sync", lambda fd: calls.fdatasync(fd))
