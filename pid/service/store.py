"""The resident sessions: created, opened once for each real path, found by their handle, closed with the last opening.

Opening reads the file in slices of the loop's time; two openings of one file at once share the reading. The store
decides which file a session lives in; it writes no entry itself and knows no JSON-RPC.
"""

import asyncio
import hashlib
import os
from typing import Final

import msgspec
import orjson
from msgspec import UNSET

from pid.adapters.catalog import Places, file_name, find_by_id
from pid.adapters.journal import Journal
from pid.adapters.memory import MemoryJournal
from pid.core.appending import read_sent
from pid.core.overlay import plan_append
from pid.core.tree import ROOT, Tree
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import EntryNotFound, SessionExists, SessionNotFound
from pid.protocol import CreateParams, OpenParams, Placement, SessionState, SettingsUpdate
from pid.service.compactor import Compactor, Workshop
from pid.service.session import Session, Surroundings
from pid.service.watch import Watch
from pid.service.writing import WriteOrder

_SUFFIX_LENGTH: Final = 6


class Resident:
    """An open session with its write order, its compactions, and the watch over its context."""

    def __init__(self, session: Session, workshop: Workshop) -> None:
        self.session = session
        self.order = WriteOrder(session)
        self.compactor = Compactor(session, self.order, workshop)
        self.watch = Watch(self.compactor)
        self.order.grown = self.watch.grown

    def state(self) -> SessionState:
        """The session as it is now."""
        running = self.compactor.running
        return msgspec.structs.replace(self.session.state(), compaction=running.told() if running else None)


class Store:
    """See the module. `layers` are the settings below those given at opening, the highest first."""

    def __init__(
        self,
        places: Places,
        around: Surroundings,
        workshop: Workshop,
        layers: tuple[SettingsUpdate | None, ...] = (),
    ) -> None:
        self.places = places
        self.workshop = workshop
        self.around = around
        self.layers = layers
        self._sessions: dict[str, Resident] = {}
        self._opening: dict[str, asyncio.Task[Resident]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def get(self, session_id: str) -> Resident:
        """An open session by its handle. Raises `SessionNotFound` (`notOpen`), `SessionChangedOnDisk`."""
        resident = self._sessions.get(session_id)
        if resident is None:
            message = f"No session {session_id!r} is open here. Open it with session/open."
            raise SessionNotFound(message, reason="notOpen", sessionId=session_id)
        if resident.session.lost:
            raise resident.session.lost
        return resident

    def handles(self) -> dict[tuple[int, int], str]:
        """The handles of the open sessions by the device and inode of their files."""
        residents = [resident for resident in self._sessions.values() if not resident.session.lost]
        journals = [(resident.session.journal, resident.session.session_id) for resident in residents]
        return {journal.identity: handle for journal, handle in journals if isinstance(journal, Journal)}

    def orders(self) -> list[WriteOrder]:
        """The write orders of the sessions whose files are there."""
        return [resident.order for resident in self._sessions.values() if not resident.session.lost]

    async def create(self, params: CreateParams) -> Resident:
        """A new session, open: its file with the header at once, or one in memory.

        Raises `SessionExists`, `WriteFailed`.
        """
        session_id = params.id or self.around.new_session_id()
        timestamp = iso_of(self.around.now())
        header = _header(session_id, timestamp, params)
        tree = Tree()
        journal: Journal | MemoryJournal
        if params.in_memory:
            self.check_free(session_id)
            journal = MemoryJournal(header, tree.rows)
        else:
            directory = self.places.directory(params.cwd, params.session_dir)
            journal = Journal.create(free_path(directory, session_id, timestamp), header, tree.rows)
        resident = self.keep(await self.load(journal, tree), params.settings)
        if params.name:
            await self._name(resident, params.name)
        return resident

    def check_free(self, session_id: str) -> None:
        """Raises `SessionExists` if the id of a session in memory is a handle already."""
        if session_id in self._sessions:
            raise SessionExists(f"A session {session_id} is open already.", sessionId=session_id)

    async def open(self, params: OpenParams) -> Resident:
        """The session of a file, read if it is not resident yet. Writes nothing.

        Raises `SessionNotFound`, `NotASession`, `ReadFailed`; `EntryNotFound` for an unknown `leafId`.
        """
        path = self._locate(params)
        while True:
            resident = self.at(path)
            if resident is not None:
                resident.session.opens += 1
                return resident
            task = self._opening.get(path)
            if task is None:
                task = self._opening[path] = asyncio.create_task(self._open_file(path, params))
                task.add_done_callback(lambda _: self._opening.pop(path, None))
                return await asyncio.shield(task)
            await asyncio.wait([task])
            if task.cancelled() or task.exception():
                return await asyncio.shield(task)

    async def close(self, session_id: str, *, force: bool = False) -> None:
        """Takes back one opening; with the last one, or `force`, the session leaves memory."""
        resident = self._sessions.get(session_id)
        if resident is None:
            self.get(session_id)
            return
        resident.session.opens -= 1
        if resident.session.opens > 0 and not force and not resident.session.lost:
            return
        if self._sessions.get(session_id) is resident:
            del self._sessions[session_id]
        await self._let_go(resident)

    async def _let_go(self, resident: Resident) -> None:
        resident.watch.stop()
        await resident.compactor.stop()
        await resident.order.finished()
        resident.session.journal.close()

    async def close_all(self) -> None:
        """Finishes what is being written and gives everything back; summaries are cancelled, all at once."""
        for resident in self._sessions.values():
            resident.compactor.give_up()
        for session_id in list(self._sessions):
            await self.close(session_id, force=True)

    def _locate(self, params: OpenParams) -> str:
        if params.path is not None:
            return os.path.realpath(params.path)
        found = find_by_id(params.id or "", self.places.directories(params.cwd))
        if found is None:
            raise SessionNotFound(f"There is no session with the id {params.id}.", reason="noFile")
        return os.path.realpath(found)

    def at(self, path: str) -> Resident | None:
        """The open session whose file is at a real path."""
        for resident in self._sessions.values():
            if resident.session.journal.path == path and not resident.session.lost:
                return resident
        return None

    async def _open_file(self, path: str, params: OpenParams) -> Resident:
        session = await self.read(path)
        if params.leaf_id is not UNSET:
            try:
                session.leaf = ROOT if params.leaf_id is None else session.tree.find(params.leaf_id)
            except EntryNotFound:
                session.journal.close()
                raise
        return self.keep(session, params.settings)

    async def read(self, path: str) -> Session:
        """The session of a file, which does not become resident. Raises as `open`."""
        tree = Tree()
        journal = Journal.open(path, tree.rows)
        try:
            return await self.load(journal, tree)
        except BaseException:
            journal.close()
            raise

    async def load(self, journal: Journal | MemoryJournal, tree: Tree) -> Session:
        """The session of a journal, which is read into an empty tree."""
        for batch in journal.advance(opening=True):
            tree.extend(batch)
            await asyncio.sleep(0)
        session = Session(journal, tree, self.around)
        session.begin(tree.settle())
        return session

    def keep(self, session: Session, given: SettingsUpdate | None) -> Resident:
        """Makes a session resident, with a handle and its settings: those given at opening, then the layers below."""
        found = self.places.files.of(session.cwd) if self.places.files else ()
        session.set_settings(given, *self.layers, *(settings.update for settings in found))
        session.settings_problems = tuple(problem for settings in found for problem in settings.problems)
        other = self._sessions.get(session.session_id)
        if other is not None and other.session.lost:
            task = asyncio.create_task(self._let_go(other))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        elif other is not None:
            digest = hashlib.sha256(os.fsencode(session.journal.path or session.epoch)).hexdigest()
            session.session_id += f"~{digest[:_SUFFIX_LENGTH]}"
        resident = self._sessions[session.session_id] = Resident(session, self.workshop)
        return resident

    async def _name(self, resident: Resident, name: str) -> None:
        entry = read_sent(orjson.dumps({"type": "session_info", "name": name}), "name")
        where = Placement(session_id=resident.session.session_id)
        await resident.order.write(lambda overlay, stamp: plan_append(overlay, where, [entry], stamp), "append")


def free_path(directory: str, session_id: str, timestamp: str) -> str:
    """Where the file of a new session goes. Raises `SessionExists` if the directory has one with this id."""
    if found := find_by_id(session_id, iter((directory,))):
        raise SessionExists(f"There is a session {session_id} already: {found}.", path=found)
    return os.path.join(directory, file_name(session_id, timestamp))


def _header(session_id: str, timestamp: str, params: CreateParams) -> bytes:
    header = {
        "type": "session",
        "version": FORMAT_VERSION,
        "id": session_id,
        "timestamp": timestamp,
        "cwd": params.cwd,
    }
    if params.parent_session is not None:
        header["parentSession"] = params.parent_session
    return orjson.dumps(header)
