"""The resident sessions: created, opened once for each real path, found by their handle, closed with the last opening.

Opening reads the file in slices of the loop's time; two openings of one file at once share the reading. The store
decides which file a session lives in; it writes no entry itself and knows no JSON-RPC.
"""

import asyncio
import errno
import hashlib
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

import orjson
from msgspec import UNSET

from pid.adapters.catalog import Places, find_by_id
from pid.adapters.files import tellable
from pid.adapters.journal import Journal
from pid.adapters.memory import MemoryJournal
from pid.adapters.naming import sole_name
from pid.core.appending import read_sent
from pid.core.overlay import Overlay, Stamp, plan_append
from pid.core.tree import ROOT, Tree
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import (
    EntryNotFound,
    ReadFailed,
    SessionChangedOnDisk,
    SessionExists,
    SessionNotFound,
    WriteFailed,
)
from pid.protocol import CreateParams, OpenParams, Placement, SessionState, SettingsUpdate
from pid.service.compactor import Compactor, Workshop
from pid.service.session import Session, Surroundings
from pid.service.turns import next_turn
from pid.service.watch import Watch
from pid.service.writing import WriteOrder, nobody

T = TypeVar("T")

_SUFFIX_LENGTH: Final = 6
_NOT_UTF8: Final = "its real path is not UTF-8, so no message can name it. Rename what is not."


class Resident:
    """An open session with its write order, its compactions, and the watch over its context.

    Its file stays open while somebody holds it.
    """

    def __init__(self, session: Session, workshop: Workshop) -> None:
        self.session = session
        self.order = WriteOrder(session)
        self.compactor = Compactor(session, self.order, workshop)
        self.watch = Watch(self.compactor)
        self.order.grown = self.watch.grown
        self._holders = 0
        self._moved = asyncio.Event()

    def state(self) -> SessionState:
        """The session as it is now."""
        running = self.compactor.running
        return self.session.state(running.told() if running else None)

    def hold(self) -> Callable[[], None]:
        """Keeps the file from being closed until what is returned is called."""
        self._holders += 1
        return self._release

    def _release(self) -> None:
        self._holders -= 1
        self._moved.set()

    async def close(self) -> None:
        """Cancels what is being summarised; gives the file back once all who hold it are done, and all is written."""
        self.watch.stop()
        await self.compactor.stop()
        while self._holders:
            self._moved.clear()
            await self._moved.wait()
        await self.order.finished()
        self.session.journal.close()
        self.order.grown = self.compactor.ended = nobody  # with no circle left, memory is given back at once


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
        journals = [(resident.session.journal, resident.session.session_id) for resident in self.residents()]
        return {journal.identity: handle for journal, handle in journals if isinstance(journal, Journal)}

    def residents(self) -> list[Resident]:
        """The open sessions that are not lost."""
        return [resident for resident in self._sessions.values() if not resident.session.lost]

    def orders(self) -> list[WriteOrder]:
        """The write orders of the sessions whose files are there."""
        return [resident.order for resident in self.residents()]

    async def create(self, params: CreateParams) -> Resident:
        """A new session, open: its file with the header at once, or one in memory.

        Raises `SessionExists`, `SessionBusy`, `WriteFailed`. A cancellation is too late: the file is there.
        """
        return await _to_the_end(self._create(params))

    async def _create(self, params: CreateParams) -> Resident:
        session_id = params.id or self.around.new_session_id()
        timestamp = iso_of(self.around.now())
        lines = _header(session_id, timestamp, params)
        if params.name:
            lines += b"\n" + _naming(params.name, (self.around.new_entry_id, timestamp))
        tree = Tree()
        journal: Journal | MemoryJournal
        if params.in_memory:
            self.check_free(session_id)
            journal = MemoryJournal(lines, tree.rows)
        else:
            directory = self.places.directory(params.cwd, params.session_dir)
            _refuse_unsayable(directory)
            make = partial(_make_file, (directory, session_id, timestamp), lines, tree)
            journal = await asyncio.get_running_loop().run_in_executor(self.around.threads, make)
        return self.keep(await self.load(journal, tree), params.settings)

    def check_free(self, session_id: str) -> None:
        """Raises `SessionExists` if the id of a session in memory is a handle already."""
        if session_id in self._sessions:
            raise SessionExists(f"A session {session_id} is open already.", sessionId=session_id)

    async def open(self, params: OpenParams) -> Resident:
        """The session of a file as it is now, read if it is not resident yet. Writes nothing.

        Cancelled in time, it counts nothing. Raises `SessionNotFound`, `NotASession`, `ReadFailed`; `EntryNotFound`
        for an unknown `leafId`.
        """
        path = self._locate(params)
        while True:
            resident = self.at(path)
            if resident is not None:
                if await self._join(resident, path, params):
                    return resident
            elif task := self._opening.get(path):
                await asyncio.wait([task])  # should it fail, that is the other's: this one tries itself
            else:
                return await self._begin(path, params)

    async def _begin(self, path: str, params: OpenParams) -> Resident:
        task = self._opening[path] = asyncio.create_task(self._open_file(path, params))
        task.add_done_callback(lambda _: self._opening.pop(path, None))
        try:
            return await task
        except asyncio.CancelledError:
            if task.done() and not task.cancelled():
                return task.result()  # the cancellation came too late
            raise
        finally:
            del task  # an error's traceback has this frame, which must not lead back to the error

    async def _join(self, resident: Resident, path: str, params: OpenParams) -> bool:
        """Counts an opening of a resident session, if that is still the one of `path` once its file was read on.

        The leaf stays where it is: others work at it.
        """
        resident.session.opens += 1
        joined = False
        try:
            await resident.order.settled()
            if self.at(path) is resident:
                if isinstance(params.leaf_id, str):
                    resident.session.tree.find(params.leaf_id)
                if params.settings is not None:
                    resident.session.give(params.settings)
                    resident.watch.configured()
                joined = True
        except SessionChangedOnDisk:
            pass
        finally:
            if not joined:
                self._take_back(resident)
        return joined

    async def close(self, session_id: str, *, force: bool = False) -> None:
        """Takes back one opening; with the last one, or `force`, the session leaves memory."""
        resident = self._sessions.get(session_id)
        if resident is None:
            self.get(session_id)
            return
        if task := self._take_back(resident, force=force):
            await _to_the_end(asyncio.wait([task]))

    def _take_back(self, resident: Resident, *, force: bool = False) -> asyncio.Task[None] | None:
        """Takes back one opening; the closing of the file, if it was the last one."""
        session = resident.session
        session.opens -= 1
        if session.opens > 0 and not force and not session.lost:
            return None
        if self._sessions.get(session.session_id) is resident:
            del self._sessions[session.session_id]
        return self._let_go(resident)

    def _let_go(self, resident: Resident) -> asyncio.Task[None]:
        task = asyncio.create_task(resident.close())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task

    async def close_all(self) -> None:
        """Finishes what is being written and read, and gives everything back; summaries are cancelled, all at once."""
        residents = list(self._sessions.values())
        for resident in residents:
            resident.compactor.give_up()
        for resident in residents:
            self._take_back(resident, force=True)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _locate(self, params: OpenParams) -> str:
        found = params.path or find_by_id(params.id or "", self.places.directories(params.cwd))
        if found is None:
            raise SessionNotFound(f"There is no session with the id {params.id}.", reason="noFile")
        path = os.path.realpath(found)
        if (shown := tellable(path)) != path:
            raise ReadFailed(f"{shown} cannot be opened: {_NOT_UTF8}", errno=errno.EILSEQ, path=shown)
        return path

    def at(self, path: str) -> Resident | None:
        """The resident session of the file at `path`: under this name, or another one of the same file."""
        try:
            found = os.stat(path)
        except OSError:
            found = None
        for resident in self._sessions.values():
            journal = resident.session.journal
            if resident.session.lost or not isinstance(journal, Journal):
                continue
            if journal.path == path or (found is not None and journal.is_file(found)):
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
            await next_turn()
        session = Session(journal, tree, self.around)
        session.begin(tree.settle())
        return session

    def keep(self, session: Session, given: SettingsUpdate | None) -> Resident:
        """Makes a session resident, with a handle and its settings: those given at opening, then the layers below."""
        found = self.places.files.of(session.cwd) if self.places.files else ()
        session.set_settings(given, *self.layers, *(settings.update for settings in found))
        session.settings_problems = tuple(problem for settings in found for problem in settings.problems)
        digest = hashlib.sha256(os.fsencode(session.journal.path or session.epoch)).hexdigest()
        while (other := self._sessions.get(session.session_id)) and not other.session.lost:
            session.session_id += f"~{digest[:_SUFFIX_LENGTH]}"
        if other is not None:
            self._let_go(other)
        resident = self._sessions[session.session_id] = Resident(session, self.workshop)
        return resident


def _naming(name: str, stamp: Stamp) -> bytes:
    """The entry that names a new session, as a line."""
    overlay = Overlay(Tree(), ROOT, lambda _: b"")
    entry = read_sent(orjson.dumps({"type": "session_info", "name": name}), "name")
    plan_append(overlay, Placement(session_id=""), [entry], stamp)
    return overlay.lines[0]


def _make_file(name: tuple[str, str, str], lines: bytes, tree: Tree) -> Journal:
    with sole_name(*name) as path:
        return Journal.create(path, lines, tree.rows)


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What cannot be given up any more: a cancellation is ignored, and its result comes."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    return task.result()


def _refuse_unsayable(directory: str) -> None:
    path = os.path.realpath(directory)
    if (shown := tellable(path)) != path:
        message = f"Nothing was written to {shown}: {_NOT_UTF8}"
        raise WriteFailed(message, errno=errno.EILSEQ, outcome="notWritten", retryable=False)


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
