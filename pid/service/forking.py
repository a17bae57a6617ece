"""`session/fork`: a session's file, or one path of it, as a new session, which is opened. The source is only read.

What is to be written is decided in `core.fork`; the bytes are copied in a thread, through a hold on the source of its
own, so appends to it go on. Cancelled or failed, nothing stays behind. A session in memory forks in memory, unless it
is said where its file goes.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pid.adapters.fork_file import ForkFile
from pid.adapters.held import Held, HeldBytes
from pid.adapters.journal import Journal
from pid.adapters.memory import MemoryJournal
from pid.core.carry import carried, places_of
from pid.core.fork import PathFork, Source, Stamp, WholeFork, fork_header, fork_of
from pid.core.tree import Tree
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import InvalidParams
from pid.protocol import ForkParams
from pid.service.session import Session
from pid.service.store import Resident, Store, free_path
from pid.service.threads import stoppable, unstoppable


async def fork(store: Store, params: ForkParams) -> Resident:
    """The new session, open.

    Raises `EntryNotFound`, `SessionExists`, `WriteFailed`, `SessionChangedOnDisk` (of the source), and as
    `Store.open` for a source that is not open.
    """
    async with _source(store, params) as session:
        session.check()
        source = _snapshot(session, params.entry_id)
        held = session.journal.hold()
        try:
            if isinstance(held, HeldBytes) and params.session_dir is None:
                return await _in_memory(store, session, source, held, params)
            return await _as_file(store, session, source, held, params)
        finally:
            held.close()


@asynccontextmanager
async def _source(store: Store, params: ForkParams) -> AsyncIterator[Session]:
    """The session to fork, with the writes done that came before; read for this alone if it is not open."""
    resident, path = _find(store, params)
    if resident is not None:
        await resident.order.settled()
        yield resident.session
        return
    session = await store.read(path)
    try:
        yield session
    finally:
        session.journal.close()


def _find(store: Store, params: ForkParams) -> tuple[Resident | None, str]:
    if params.session_id is not None:
        return store.get(params.session_id), ""
    path = os.path.realpath(params.path or "")
    return store.at(path), path


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
    )


def _header(session: Session, held: Held | HeldBytes, own: dict[str, Any]) -> bytes:
    version = max(session.journal.scanner.version, FORMAT_VERSION)
    given = {"type": "session", "version": version, "parentSession": session.journal.path}
    return fork_header(held.read(*session.journal.scanner.header_span), given | own)


async def _as_file(
    store: Store, session: Session, source: Source, held: Held | HeldBytes, params: ForkParams
) -> Resident:
    stamp, own = _own(store, session, params)
    if not own["cwd"] and params.session_dir is None:
        raise InvalidParams("cwd: the source names no working directory; say where the fork belongs", path="cwd")
    header = _header(session, held, own)
    path = free_path(store.places.directory(own["cwd"], params.session_dir), own["id"], stamp.timestamp)
    file = ForkFile.create(path)
    try:
        file.put(header)
        fork = await stoppable(store.around.threads, lambda going_on: _copy(file, source, stamp, held, going_on))
        session.check()  # what was copied is the session that was asked for
        await unstoppable(store.around.threads, file.publish)
    finally:
        file.discard()
    return await _opened(store, session, fork, path, header, held, params)


def _copy(
    file: ForkFile, source: Source, stamp: Stamp, held: Held | HeldBytes, going_on: Callable[[], None]
) -> WholeFork | PathFork:
    fork = fork_of(source, stamp)
    for part in fork.parts(held):
        if isinstance(part, bytes):
            file.put(part)
        else:
            file.copy(held, *part, going_on)
    return fork


async def _opened(
    store: Store,
    session: Session,
    fork: WholeFork | PathFork,
    path: str,
    header: bytes,
    held: Held | HeldBytes,
    params: ForkParams,
) -> Resident:
    """Opens the fork: a sound session's index is carried over, any other fork is read."""
    tree = Tree()
    journal = Journal.open(path, tree.rows)
    try:
        sound = not session.problems and session.journal.scanner.header_span[0] == 0
        if sound and (places := places_of(fork, len(header))):
            for batch in carried(fork, places, held):
                tree.extend(batch)
                await asyncio.sleep(0)
            lines = session.journal.scanner.line + fork.breaks if isinstance(fork, WholeFork) else 1 + len(fork.kept)
            journal.begin_at(header + b"\n", places.end, lines)
        return store.keep(await store.load(journal, tree), params.settings)
    except BaseException:
        journal.close()
        raise


async def _in_memory(store: Store, session: Session, source: Source, held: HeldBytes, params: ForkParams) -> Resident:
    stamp, own = _own(store, session, params)
    store.check_free(own["id"])
    parts = fork_of(source, stamp).parts(held)
    behind = (part if isinstance(part, bytes) else held.read(*part) for part in parts)
    whole = b"".join((_header(session, held, own), *behind))
    tree = Tree()
    return store.keep(await store.load(MemoryJournal(whole.removesuffix(b"\n"), tree.rows), tree), params.settings)


def _own(store: Store, session: Session, params: ForkParams) -> tuple[Stamp, dict[str, Any]]:
    """The time and the ids of the fork, and what its header has of its own."""
    around = store.around
    stamp = Stamp(around.new_entry_id, iso_of(around.now()))
    session_id = params.id or around.new_session_id()
    return stamp, {"id": session_id, "timestamp": stamp.timestamp, "cwd": params.cwd or session.cwd}
