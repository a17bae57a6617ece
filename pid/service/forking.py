"""`session/fork`: a session's file, or one path of it, as a new session, which is opened. The source is only read.

What is to be written is decided in `core.fork`; the bytes are copied in a thread, through a hold on the source of its
own, so appends to it go on. Cancelled or failed, nothing stays behind. A session in memory forks in memory, unless it
is said where its file goes.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pid.adapters.fork_file import ForkFile
from pid.adapters.held import Held, HeldBytes
from pid.adapters.journal import Journal
from pid.adapters.memory import MemoryJournal
from pid.adapters.naming import free_path, sole_name
from pid.core.carry import Places, carried, places_of
from pid.core.fork import PathFork, Source, Stamp, WholeFork, fork_header, fork_of
from pid.core.tree import Tree
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import InvalidParams
from pid.protocol import ForkParams
from pid.service.session import Session
from pid.service.store import Resident, Store
from pid.service.threads import stoppable, unstoppable
from pid.service.turns import next_turn


async def fork(store: Store, params: ForkParams) -> Resident:
    """The new session, open.

    Raises `EntryNotFound`, `SessionExists`, `WriteFailed`, `SessionChangedOnDisk` (of the source), and as
    `Store.open` for a source that is not open.
    """
    async with _source(store, params) as (session, for_this_alone):
        session.check()
        held = session.journal.hold()
        try:
            forking = _Forking(store, params, session, held, for_this_alone)
            in_memory = isinstance(held, HeldBytes) and params.session_dir is None
            return await (forking.in_memory() if in_memory else forking.as_file())
        finally:
            held.close()


@asynccontextmanager
async def _source(store: Store, params: ForkParams) -> AsyncIterator[tuple[Session, bool]]:
    """The session to fork, with the writes done that came before; and whether it was read for this alone."""
    resident, path = _find(store, params)
    if resident is not None:
        release = resident.hold()
        try:
            await resident.order.settled()
            yield resident.session, False
        finally:
            release()
        return
    session = await store.read(path)
    try:
        yield session, True
    finally:
        session.journal.close()


def _find(store: Store, params: ForkParams) -> tuple[Resident | None, str]:
    if params.session_id is not None:
        return store.get(params.session_id), ""
    path = os.path.realpath(params.path or "")
    return store.at(path), path


class _Forking:
    """One fork while it is made. What the source is now is taken down at once; later appends do not show."""

    def __init__(
        self, store: Store, params: ForkParams, session: Session, held: Held | HeldBytes, for_this_alone: bool
    ) -> None:
        around = store.around
        self.store = store
        self.params = params
        self.session = session
        self.held = held
        self.for_this_alone = for_this_alone
        self.session_id = params.id or around.new_session_id()
        self.cwd = params.cwd or session.cwd
        self.stamp = Stamp(around.new_entry_id, iso_of(around.now()))
        self.source = _snapshot(session, params.entry_id)
        self.lines = session.journal.scanner.line
        self.sound = not session.problems and session.journal.scanner.header_span[0] == 0

    async def in_memory(self) -> Resident:
        """Makes the fork in memory, and opens it."""
        self.store.check_free(self.session_id)
        parts = fork_of(self.source, self.stamp).parts(self.held)
        behind = (part if isinstance(part, bytes) else self.held.read(*part) for part in parts)
        whole = b"".join((self._header(), *behind)).removesuffix(b"\n")
        tree = Tree()
        session = await self.store.load(MemoryJournal(whole, tree.rows), tree)
        return self.store.keep(session, self.params.settings)

    async def as_file(self) -> Resident:
        """Makes the fork's file, and opens it."""
        directory = self.params.session_dir
        if not self.cwd and directory is None:
            raise InvalidParams("cwd: the source names no working directory; say where the fork belongs", path="cwd")
        name = self.store.places.directory(self.cwd, directory), self.session_id, self.stamp.timestamp
        header, threads = self._header(), self.store.around.threads
        file = ForkFile.create(free_path(*name))
        try:
            file.put(header)
            made, places = await stoppable(threads, lambda going_on: self._copy(file, len(header), going_on))
            self.session.check()  # what was copied is the session that was asked for
            session = await self._read(made, places, file.hidden, header)
            try:
                await unstoppable(threads, lambda: _publish(file, *name))
            except BaseException:
                session.journal.close()
                raise
        finally:
            file.discard()
        session.journal.path = os.path.join(os.path.dirname(str(session.journal.path)), os.path.basename(file.path))
        return self.store.keep(session, self.params.settings)

    def _header(self) -> bytes:
        journal = self.session.journal
        own = {
            "type": "session",
            "version": max(journal.scanner.version, FORMAT_VERSION),
            "id": self.session_id,
            "timestamp": self.stamp.timestamp,
            "cwd": self.cwd,
            "parentSession": journal.path,
        }
        return fork_header(self.held.read(*journal.scanner.header_span), own)

    def _copy(
        self, file: ForkFile, header_size: int, going_on: Callable[[], None]
    ) -> tuple[WholeFork | PathFork, Places | None]:
        """Puts everything behind the header; what was put, and the places of the entries if they are known."""
        made = fork_of(self.source, self.stamp)
        for part in made.parts(self.held):
            if isinstance(part, bytes):
                file.put(part)
            else:
                file.copy(self.held, *part, going_on)
        file.finish()
        return made, places_of(made, header_size, self.lines) if self.sound else None

    async def _read(self, made: WholeFork | PathFork, places: Places | None, path: str, header: bytes) -> Session:
        """The fork's session: of a sound source the index is carried over, any other fork is read."""
        shift = places.shift if places and self.for_this_alone else None
        tree = Tree() if shift is None else self.source.tree
        journal = Journal.open(path, tree.rows)
        try:
            if shift is not None:
                tree.move_on(shift)
            elif places is not None:
                for batch in carried(made, places, self.held):
                    tree.extend(batch)
                    await next_turn()
            if places is not None:
                journal.begin_at(header + b"\n", places.end, places.line)
            return await self.store.load(journal, tree)
        except BaseException:
            journal.close()
            raise


def _publish(file: ForkFile, directory: str, session_id: str, timestamp: str) -> None:
    with sole_name(directory, session_id, timestamp):
        file.publish()


def _snapshot(session: Session, entry_id: str | None) -> Source:
    tree, journal = session.tree, session.journal
    return Source(
        tree=tree,
        version=journal.scanner.version,
        path=None if entry_id is None else tree.path(tree.find(entry_id)),
        leaf=session.leaf,
        file_leaf=tree.last,
        labels=dict(tree.labels),
        start=sum(journal.scanner.header_span),
        end=journal.end,
        closed=journal.ends_whole,
        seeming=tuple(journal.scanner.seeming),
    )
