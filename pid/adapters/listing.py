"""Lists the sessions of a directory: every regular `*.jsonl` file with a session header, and nothing else.

Synchronous, for a worker thread. A file is read in slices, at most once for each of its states: what did not change
is known from the index, and of what grew only the new part is read. What cannot be read, is no session or vanishes
meanwhile is left out; nothing fails a listing, waits for a FIFO's other end or opens a device.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from pid.adapters.journal import Journal
from pid.adapters.listing_index import Known, ListingIndex
from pid.adapters.looks import is_settled, look_of
from pid.core.skim import Skim, Skimmed
from pid.errors import PidError

ENDING: Final = ".jsonl"

_FIRST: Final = 4

Tell = Callable[[int, int], None]
"""Is told how many files of how many are done, again for each slice of a large one; may raise to stop."""


class Found(NamedTuple):
    """A session file: its path, its identity (device, inode), its size in bytes, its last change (ns since 1970),
    and what was read of it.
    """

    path: str
    identity: tuple[int, int]
    size: int
    mtime_ns: int
    session: Skimmed


class Lister:
    """Lists directories; `now_ns` is the clock, ns since 1970."""

    def __init__(self, index: ListingIndex, now_ns: Callable[[], int]) -> None:
        self._index = index
        self._now_ns = now_ns

    def sessions(self, directory: str, tell: Tell) -> list[Found]:
        """The sessions of a directory, in no order."""
        index = self._index.load(directory)
        files = list(_files(directory))
        fresh: dict[str, Known] = {}
        read = index.unwritten
        for done, (name, status) in enumerate(files):
            before = index.files.get(name)
            if before is not None and _holds(before, status):
                fresh[name] = before
            elif now := self._look(_path(directory, name), status, before, partial(tell, done, len(files))):
                fresh[name] = now
                read += now.look[2] - (before.end if before and before.end <= now.end else 0)
        if read > index.size:
            self._index.save(directory, fresh)
        else:  # reading the same again, in another process, costs less than writing
            self._index.keep(directory, fresh, read)
        return [_found(directory, name, known) for name, known in fresh.items() if known.found is not None]

    def newest(self, directory: str, wanted: Callable[[Skimmed], bool]) -> str | None:
        """The path of the wanted session that was written last; reads no more files than it takes to find it."""
        files = sorted(_files(directory), key=lambda file: (file[1].st_mtime_ns, file[0]), reverse=True)
        for place, (name, status) in enumerate(files):
            # Mostly it is among the first, and then reading them costs less than reading the index.
            before = self._index.load(directory).files.get(name) if place >= _FIRST else None
            session = before.found if before and _holds(before, status) else _header_of(_path(directory, name))
            if session is not None and wanted(session):
                return _path(directory, name)
        return None

    def _look(
        self,
        path: str,
        status: os.stat_result,
        before: Known | None,
        going_on: Callable[[], None],
    ) -> Known | None:
        """What a file holds now; None if it cannot be read."""
        read = partial(_read, path, status, self._now_ns(), going_on)
        try:
            return (read(before) if _may_have_grown(before, status) else None) or read(None)
        except PidError:
            return None


def _holds(known: Known, status: os.stat_result) -> bool:
    """Whether what was read of a file is what it holds."""
    return known.look == look_of(status) and is_settled(known.look, known.read_ns)


def _files(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files that may be sessions, with how they look; as many as can be seen."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING) and (status := _status(entry)) and _tellable(entry.name):
                yield entry.name, status


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    """How a regular file looks; None for anything else."""
    try:
        status = entry.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _tellable(name: str) -> bool:
    """Whether a message can carry the name: it is UTF-8."""
    return name.isascii() or os.fsencode(name).decode(errors="replace") == name


def _may_have_grown(before: Known | None, status: os.stat_result) -> bool:
    if before is None or before.found is None or not 0 < before.end <= status.st_size:
        return False
    look = look_of(status)
    return look == before.look or (look[:2] == before.look[:2] and look[2] > before.look[2])


def _read(
    path: str,
    status: os.stat_result,
    now_ns: int,
    going_on: Callable[[], None],
    before: Known | None,
) -> Known | None:
    """Reads a file, or what stands in it behind what was read `before`; None if that is not there any more."""
    skim = Skim(before.found if before else None)
    journal = Journal.glance(path, skim, before.end if before else 0)
    try:
        if before is not None and journal.fingerprint() != before.mark:
            return None
        for _ in journal.advance():
            going_on()
        end = journal.end if journal.ends_whole else 0
        return Known(skim.found, look_of(status), now_ns, end, journal.fingerprint())
    except PidError:
        if skim.foreign or skim.header is None:
            return Known(None, look_of(status), now_ns, 0, b"")
        raise
    finally:
        journal.close()


def _header_of(path: str) -> Skimmed | None:
    skim = Skim()
    try:
        journal = Journal.glance(path, skim)
        try:
            next(journal.advance(), None)
        finally:
            journal.close()
    except PidError:
        return None
    return skim.found if skim.header is not None else None


def _path(directory: str, name: str) -> str:
    return f"{directory}{name}" if directory.endswith("/") else f"{directory}/{name}"


def _found(directory: str, name: str, known: Known) -> Found:
    device, inode, size, mtime_ns, _ = known.look
    assert known.found is not None
    return Found(_path(directory, name), (device, inode), size, mtime_ns, known.found)
