"""`session/fork`: a session's file, or one path of it, as a new session, which is opened. The source is only read.

What is to be written is decided in `core.fork`; the bytes are copied in a thread, through a hold on the source of its
own, so appends to it go on. Cancelled or failed, nothing stays behind. A session in memory forks in memory, unless it
is said where its file goes.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from pid.adapters.fork_file import ForkFile
from pid.adapters.held import Held, HeldBytes
from pid.adapters.memory import MemoryJournal
from pid.core.fork import Part, Source, Stamp, fork_header, fork_of
from pid.core.tree import Tree
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import InvalidParams
from pid.protocol import ForkParams, OpenParams
from pid.service.session import Session
from pid.service.store import Resident, Store, free_path
from pid.service.threads import stoppable, unstoppable

GoingOn = Callable[[], None]


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
            path = await _as_file(store, session, source, held, params)
        finally:
            held.close()
    return await store.open(OpenParams(path=path, settings=params.settings))


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


async def _as_file(store: Store, session: Session, source: Source, held: Held | HeldBytes, params: ForkParams) -> str:
    """Makes the fork's file; its path."""
    stamp, own = _own(store, session, params)
    if not own["cwd"] and params.session_dir is None:
        raise InvalidParams("cwd: the source names no working directory; say where the fork belongs", path="cwd")
    path = free_path(store.places.directory(own["cwd"], params.session_dir), own["id"], stamp.timestamp)
    file = ForkFile.create(path)
    try:
        file.put(_header(session, held, own))
        await stoppable(
            store.around.threads,
            lambda going_on: _copy(file, fork_of(source, stamp).parts(held), held, going_on),
        )
        session.check()  # what was copied is the session that was asked for
        await unstoppable(store.around.threads, file.publish)
    finally:
        file.discard()
    return path


def _copy(file: ForkFile, parts: Iterator[Part], held: Held | HeldBytes, going_on: GoingOn) -> None:
    for part in parts:
        if isinstance(part, bytes):
            file.put(part)
        else:
            file.copy(held, *part, going_on)


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
