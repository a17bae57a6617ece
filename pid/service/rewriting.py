"""Another file under a session's name: our own rewrite of an old version, and one that another daemon made.

Either way the session goes on with the new file only if that holds every row of the present one; nothing a client
knows changes: ids, epoch and revision stay. The only module that has a session's file replaced.
"""

import errno
from collections.abc import Awaitable, Callable, Iterator
from heapq import merge
from itertools import chain
from typing import Final

from pid.adapters.failures import changed_on_disk
from pid.adapters.journal import Journal
from pid.adapters.replacing import DRAFT, keep, take_name
from pid.core.migration import GUARD, migrated_entry, migrated_header
from pid.core.spans import Span
from pid.core.tree import Tree
from pid.errors import PidError, SessionNotFound, WriteFailed
from pid.service.session import Session
from pid.service.turns import next_turn

InThread = Callable[[Callable[[], object]], Awaitable[None]]

_SLICE_BYTES: Final = 1 << 20
_HEADER, _BETWEEN, _SEEMING = -1, -2, -3

_Place = tuple[int, Span]
"""A row, or `_HEADER`, `_BETWEEN`, or `_SEEMING` (nothing, before a damaged object); and the bytes."""


async def rewrite(session: Session, journal: Journal, in_thread: InThread) -> None:
    """Makes an old file one of version 3, and the session go on with it, locked as the old one is.

    To be called under the lock, with everything read. Raises `WriteFailed`: then the old file is as it was.
    """
    tree = Tree()
    draft = Journal.draft(journal, DRAFT, tree.rows)
    try:
        for piece in _migrated(session.tree, journal):
            draft.put(piece)
            await next_turn()
        await _read(draft, tree)
        if not _continues(tree, session.tree):
            message = (
                f"{journal.path} cannot be made a file of version 3: a damaged line would be an entry there. "
                "`pid doctor` names the line; take it out, and open the file again."
            )
            raise WriteFailed(message, errno=errno.EINVAL, outcome="notWritten", retryable=False)
        await in_thread(lambda: keep(journal, draft))
        take_name(journal, draft)
    except BaseException:
        draft.discard()
        raise
    session.take_file(draft, tree)


async def reopen(session: Session, path: str) -> range:
    """Goes on with the file that bears the name now; the rows that it has more. The lock is not taken.

    Raises `SessionChangedOnDisk` if it does not hold every entry known.
    """
    tree = Tree()
    try:
        journal = Journal.open(path, tree.rows)
    except SessionNotFound:
        raise changed_on_disk(path, "deleted") from None
    except PidError:
        raise changed_on_disk(path, "replaced") from None
    try:
        await _read(journal, tree)
        if not _continues(tree, session.tree):
            raise changed_on_disk(path, "replaced")
    except PidError:
        journal.close()
        raise changed_on_disk(path, "replaced") from None
    except BaseException:
        journal.close()
        raise
    known = len(session.tree)
    session.take_file(journal, tree)
    return range(known, len(tree))


async def _read(journal: Journal, tree: Tree) -> None:
    for batch in journal.advance():
        tree.extend(batch)
        await next_turn()
    tree.settle()


def _continues(new: Tree, old: Tree) -> bool:
    """Whether the first rows of `new` are those of `old`."""
    count = len(old)
    return all(getattr(new, column)[:count] == getattr(old, column) for column in ("ids", "parents", "kinds", "times"))


def _migrated(tree: Tree, journal: Journal) -> Iterator[bytes]:
    """The bytes of the new file, in pieces: all that stands between the entries stays as it is."""
    version = journal.scanner.version
    for places in _slices(_places(tree, journal)):
        stored = journal.read([span for _, span in places])
        pairs = ((row, raw) for (row, _), raw in zip(places, stored, strict=True))
        yield b"".join(_OTHERS[row](raw) if row < 0 else migrated_entry(tree, row, version, raw) for row, raw in pairs)


_OTHERS: Final[dict[int, Callable[[bytes], bytes]]] = {
    _HEADER: migrated_header,
    _BETWEEN: lambda raw: raw,
    _SEEMING: lambda _: GUARD,
}


def _places(tree: Tree, journal: Journal) -> Iterator[_Place]:
    """Every byte of the file, in order: whose it is, and where."""
    entries = zip(range(len(tree)), zip(tree.starts, tree.sizes, strict=True), strict=True)
    seeming = ((_SEEMING, (start, 0)) for start in journal.scanner.seeming)
    known = merge(entries, seeming, key=lambda place: place[1])
    at = 0
    for row, (start, size) in chain([(_HEADER, journal.scanner.header_span)], known, [(_BETWEEN, (journal.size(), 0))]):
        while at < start:
            piece = min(_SLICE_BYTES, start - at)
            yield _BETWEEN, (at, piece)
            at += piece
        yield row, (start, size)
        at = start + size


def _slices(places: Iterator[_Place]) -> Iterator[list[_Place]]:
    """Places together, until they have about 1 MiB."""
    found: list[_Place] = []
    size = 0
    for place in places:
        found.append(place)
        size += place[1][1]
        if size >= _SLICE_BYTES:
            yield found
            found, size = [], 0
    yield found
