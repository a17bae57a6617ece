"""Floors: what the daemon's works would take from Python if nothing were made of the bytes.

They are measured in the same run as the daemon, and stand beside it as the program `bare`; those of small requests
are in `daemon`. A floor moves all bytes of a file, so works that need not read them all have none.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tests.benchmarks.figures import Figures
from tests.benchmarks.weighing import repeated
from tests.benchmarks.wire import Daemon

BARE = (sys.executable, "-m", "tests.benchmarks.bare")
APPENDS = 200
LINE = b'{"type":"message","message":{"role":"user","content":"%b"}}\n' % (b"what next? " * 20)
_SLICE = 1 << 20


@dataclass(frozen=True)
class Floors:
    """Figures go into `figures`, under the names of the daemon's works."""

    figures: Figures

    def start(self) -> None:
        """A server that imports what any server on this ground does, to its first answer."""
        started = perf_counter()
        with Daemon(BARE):
            self.figures.add("bare", "start", "", "ms", (perf_counter() - started) * 1e3)

    def session(self, name: str, path: Path, folder: Path) -> None:
        """The bytes of a session read, read and sent, copied; a line written, and synced."""
        for work in ("open", "tree, previews", "plan a compaction"):
            self._timed(work, name, lambda: _read(path))
        if name.startswith("linear"):  # all of it is its context
            with Daemon([*BARE, "--file", str(path)]) as bare:
                for work in ("context", "context, again"):
                    self._timed(work, name, lambda: bare.request("session/buildContext", {}))
        self._timed("fork of a file", name, lambda: _copy(path, folder))
        self.appends(name, path)

    def appends(self, name: str, path: Path) -> None:
        """A request there and back, with a line written and synced between; the sync alone. The file is as before."""
        size = path.stat().st_size
        with Daemon(BARE) as bare, path.open("ab", buffering=0) as file:
            for _ in range(APPENDS):
                trip = bare.seconds("session/append", {})
                written = _seconds(lambda: file.write(LINE))
                synced = _seconds(lambda: getattr(os, "fdatasync", os.fsync)(file.fileno()))
                self.figures.add("bare", "append, written", name, "us", (trip + written) * 1e6)
                self.figures.add("bare", "append, synced", name, "us", (trip + written + synced) * 1e6)
                self.figures.add("bare", "sync", name, "us", synced * 1e6)
        os.truncate(path, size)

    def directory(self, name: str, folder: Path) -> None:
        """All files read once; then asked only whether they have changed."""
        self._timed("list, cold", name, lambda: [path.read_bytes() for path in folder.glob("*.jsonl")])
        for work in ("list, again", "list, new process", "list, one changed", "continue recent"):
            self._timed(work, name, lambda: [entry.stat() for entry in os.scandir(folder)])

    def _timed(self, work: str, name: str, call: Callable[[], object]) -> None:
        for _ in repeated():
            self.figures.add("bare", work, name, "ms", _seconds(call) * 1e3)


def _seconds(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return perf_counter() - started


def _read(path: Path) -> int:
    """How many lines a file has."""
    buffer, lines = bytearray(_SLICE), 0
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            lines += buffer.count(b"\n", 0, count)
    return lines


def _copy(path: Path, folder: Path) -> None:
    """A durable copy, which is taken back."""
    folder.mkdir(exist_ok=True)
    copy = Path(shutil.copyfile(path, folder / "copy"))
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    copy.unlink()
