"""The one order in which a session is written.

Writes are planned in arrival order on an overlay, go to the file in one call under its lock, and share one sync: an
append is answered only when its line is durable (or, with `durability: "written"`, in the file). A write can be
withdrawn until it begins; after that its real result comes. A failed write leaves memory as the file is.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final

from pid.adapters.journal import Found, Journal
from pid.core.overlay import Overlay, Planned, Stamp
from pid.core.tree import ROOT
from pid.entries import FORMAT_VERSION, iso_of
from pid.errors import PidError, SessionBusy, SessionChangedOnDisk
from pid.protocol import Problem
from pid.service.changes import Changed, moved, renamed
from pid.service.notices import tell_change
from pid.service.rewriting import reopen, rewrite
from pid.service.session import SLICE_ROWS, Session
from pid.service.turns import begin, next_turn

LOCK_DEADLINE: Final = 5.0
"""Seconds to wait for another process's lock."""
_LONGEST_PAUSE: Final = 0.05
_GROUP_BYTES: Final = 8 << 20
_GROUP_WRITES: Final = 128  # planned, indexed and answered at a stretch: a few milliseconds of the loop
_THREAD_BYTES: Final = 1 << 20  # a larger write is made in a thread: it would hold the loop

_NO_LOCKS: Final = "the file system has no locks: others that write here are noticed by the file's size alone"

Plan = Callable[[Overlay, Stamp], Planned]


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: as planned, at which revision, and the change to tell after its answer."""

    planned: Planned
    revision: int
    change: Changed | None


class _Done(asyncio.Future[Written]):
    """What a write did. Once it has begun, who waits for it cannot cancel it.

    Until then it may be withdrawn; who waited for it waits for what was asked for `before`.
    """

    begun = False
    before: "_Done | None" = None

    def cancel(self, msg: Any = None) -> bool:
        return not self.begun and super().cancel(msg)


@dataclass(eq=False, slots=True)
class _Write:
    plan: Plan
    cause: str
    done: _Done
    planned: Planned | None = None
    change: Changed | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class _Group:
    """The writes that go to the file together, what they are planned on, and what else of the tree they changed."""

    overlay: Overlay
    name: str | None
    writes: list[_Write] = field(default_factory=list)
    touched: frozenset[int] = frozenset()

    @property
    def last(self) -> _Write | None:
        """The last write that had something to write: what the group changed beside its rows is told with it."""
        return next((write for write in reversed(self.writes) if write.planned and write.planned.writes), None)

    def fail(self, error: BaseException) -> None:
        """Fails what was not refused already and had something to write."""
        for write in self.writes:
            if write.planned is None or write.planned.writes:
                write.error = write.error or error


def nobody() -> None:
    """Nobody is to be told."""


class WriteOrder:
    """The writes of one session; see the module. `grown` is called behind what others wrote."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._waiting: deque[_Write] = deque()
        self._going = False  # `_drain` runs, or will in the next round of the loop
        self._task: asyncio.Task[None] | None = None
        self._writing = False
        self._last: _Done | None = None
        self._reading: asyncio.Future[None] | None = None
        self.grown: Callable[[], None] = nobody

    async def settled(self) -> None:
        """Returns when the writes that have arrived by now are done, however they end, and the file is as it was read.

        Raises `SessionChangedOnDisk`, `ReadFailed`.
        """
        asked = self._last
        while asked is not None:
            if not asked.done():
                await asyncio.wait([asked])
            asked = asked.before if asked.cancelled() else None
        self.look()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        if self.session.lost:
            raise self.session.lost

    async def finished(self) -> None:
        """Returns when nothing is written or read on any more."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def write(self, plan: Plan, cause: str) -> Written:
        """Queues a write at once, before anything is awaited, and returns what it did.

        Raises what `plan` raises, `SessionBusy`, `WriteFailed`, `SessionChangedOnDisk`. Cancelled before it begins,
        nothing is written; afterwards the cancellation is ignored and the result returned.
        """
        write = _Write(plan, cause, _Done())
        self._waiting.append(write)
        self._last, write.done.before = write.done, self._last
        self._go()
        try:
            while True:
                try:
                    return await write.done
                except asyncio.CancelledError:
                    if not write.done.begun:
                        write.done.cancel()
                        raise
        finally:  # an error's traceback has this frame, which must not lead back to the error
            self._last = write.done.before if self._last is write.done else self._last
            del write

    def look(self) -> None:
        """Reads on if the file has changed and nothing is being written (a write reads on by itself).

        Raises `SessionChangedOnDisk`, `ReadFailed`.
        """
        if not self._writing and self._reading is None and self.session.glance() is not Found.SAME:
            self._reading = asyncio.get_running_loop().create_future()
            self._go()

    def _go(self) -> None:
        if not self._going:
            self._going = True
            self._task = begin(self._drain())

    async def _drain(self) -> None:
        """Does what waits. The first write goes at once; those that come in the same round of the loop go together."""
        try:
            while self._waiting or self._reading is not None:
                if self._reading is not None:
                    await self._read_on(self._reading)
                else:
                    self._writing = True
                    await self._write_group()
                    self._writing = False
                await asyncio.sleep(0)
        finally:
            self._going, self._writing, self._task = False, False, None

    async def _read_on(self, done: asyncio.Future[None]) -> None:
        try:
            with contextlib.suppress(PidError):
                await self._catch_up()
        finally:
            self._reading = None
            done.set_result(None)

    async def _catch_up(self) -> bool:
        """Reads what others wrote; whether it was in another file, which another daemon put in this one's place."""
        session = self.session
        found = session.check()
        if found is Found.REPLACED:
            leaf_id, name = session.leaf_id, session.tree.name
            try:
                rows = await reopen(session, str(session.journal.path))
            except SessionChangedOnDisk as error:
                session.lose(error)
                raise
            self._tell_foreign(rows, frozenset(), leaf_id, name)
        elif found is Found.GROWN:
            await self.absorb()
        return found is Found.REPLACED

    async def _write_group(self) -> None:
        """Plans what waits, writes and syncs it, and answers each write, whatever fails."""
        group: _Group | None = None
        try:
            await self._lock()
            try:
                while await self._catch_up():
                    await self._lock()  # the lock was the old file's
                group = self._gather()
                await self._put(group)
            finally:
                self.session.journal.unlock()
        except Exception as error:  # whatever it is: each write is answered, and the next group goes on
            if group is None:
                group = self._new_group()
                group.writes += iter(self._next, None)
            group.fail(error)
        self._count(group)
        await self._sync(group)
        self._answer(group)

    def _new_group(self) -> _Group:
        session = self.session
        return _Group(Overlay(session.tree, session.leaf, session.body), session.tree.name)

    async def _lock(self) -> None:
        session, clock = self.session, asyncio.get_running_loop().time
        journal, had_locks = session.journal, session.journal.locks
        deadline, pause = clock() + LOCK_DEADLINE, 0.001
        while not journal.try_lock():
            if clock() > deadline:
                message = f"Another process has held the lock of {journal.path} for {LOCK_DEADLINE:.0f} s. Try again."
                raise SessionBusy(message)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        if had_locks and not journal.locks:
            session.tell(Problem(line=1, kind="noLocks", message=_NO_LOCKS))

    def _gather(self) -> _Group:
        """Plans the writes that wait, in their order, each on what the one before it left."""
        group = self._new_group()
        stamp = (self.session.around.new_entry_id, iso_of(self.session.around.now()))
        size = 0
        while size < _GROUP_BYTES and len(group.writes) < _GROUP_WRITES and (write := self._next()):
            group.writes.append(write)
            first = len(group.overlay.lines)
            try:
                write.planned = write.plan(group.overlay, stamp)
            except PidError as error:  # its traceback has this frame, and would lead back to it
                write.error = error.with_traceback(None)
            except Exception as error:  # whatever it is: it is this write's answer, and the others go on
                write.error = error
            size += sum(map(len, group.overlay.lines[first:]))
        return group

    def _next(self) -> _Write | None:
        while self._waiting:
            write = self._waiting.popleft()
            if not write.done.cancelled():
                write.done.begun, write.done.before = True, None
                return write
        return None

    async def _put(self, group: _Group) -> None:
        lines = group.overlay.lines
        if not lines:
            return
        journal = self.session.journal
        if isinstance(journal, Journal) and journal.scanner.version < FORMAT_VERSION:
            await rewrite(self.session, journal, self._in_thread)
            journal = self.session.journal
        data = b"\n".join(lines)
        if len(data) > _THREAD_BYTES:
            await self._in_thread(lambda: journal.write(data))
        else:
            journal.write(data)
        group.touched = await self.absorb(group.overlay.planned_ids)

    async def _sync(self, group: _Group) -> None:
        """One sync for the group, also where all of it stood already: that may be the retry after a failed sync."""
        journal, settings = self.session.journal, self.session.settings
        asked = (write.planned for write in group.writes if write.planned and write.error is None)
        if settings.durability != "synced" or not any(planned.entry_ids or planned.writes for planned in asked):
            return
        try:
            await self._in_thread(journal.sync)
        except Exception as error:
            for write in group.writes:
                write.error = write.error or error

    async def _in_thread(self, call: Callable[[], object]) -> None:
        await asyncio.get_running_loop().run_in_executor(self.session.around.threads, call)

    async def absorb(self, own: Set[str] = frozenset()) -> frozenset[int]:
        """Reads on to the end of the file. What others wrote (all but the ids in `own`) is one change of its own.

        Returns the older rows that look different now. To be called under the lock, or while nothing is written.
        """
        session, tree = self.session, self.session.tree
        leaf_id, name = session.leaf_id, tree.name
        for batch in session.journal.advance():
            tree.extend(batch)
            if len(batch.ids) > SLICE_ROWS:
                await next_turn()
        change = tree.settle()
        session.tell(*change.problems)
        foreign = tuple(row for row in change.added if tree.ids[row] not in own)
        if foreign or (change.changed and not own):
            self._tell_foreign(foreign, frozenset() if own else change.changed, leaf_id, name)
        return change.changed

    def _tell_foreign(
        self, rows: Sequence[int], changed: Set[int], previous_leaf_id: str | None, name: str | None
    ) -> None:
        session, tree = self.session, self.session.tree
        session.follow(rows)
        shown = tuple(row for row in rows if not tree.is_hidden(row))
        touched = tuple(sorted(changed))
        if not rows and not touched:
            return
        revision = session.log.add(rows[-1] + 1 if rows else 0, touched)
        moves, names = moved(previous_leaf_id, session.leaf_id), renamed(name, tree.name)
        tell_change(session, Changed(revision, shown, touched, session.leaf_id, moves, names, "external"))
        self.grown()

    def _count(self, group: _Group) -> None:
        """Counts each write that stands in the file as one change, whatever failed: memory says what the file says.

        The leaf moves here, before the sync: whoever reads meanwhile finds it with the rows that are there.
        """
        last = group.last
        for write in group.writes:
            if write.planned and self._stands(write.planned):
                write.change = self._changed(write, write.planned, group if write is last else None)

    def _answer(self, group: _Group) -> None:
        for write in group.writes:
            if write.done.done():
                continue
            if write.error is not None:
                write.done.set_exception(write.error)
                tell_change(self.session, write.change)  # there is no result that it could follow
            elif write.planned is not None:
                revision = write.change.revision if write.change else self.session.revision
                write.done.set_result(Written(write.planned, revision, write.change))

    def _stands(self, planned: Planned) -> bool:
        return bool(planned.writes) and planned.writes[-1] in self.session.tree.rows

    def _changed(self, write: _Write, planned: Planned, group: _Group | None) -> Changed:
        """The change that a write made; the last one of a group takes what the group changed beside its rows."""
        session, tree = self.session, self.session.tree
        rows = tuple(tree.rows[entry_id] for entry_id in planned.writes)
        session.leaf = ROOT if planned.leaf_id is None else tree.rows[planned.leaf_id]
        touched = tuple(sorted(group.touched)) if group else ()
        return Changed(
            revision=session.log.add(rows[-1] + 1, touched),
            rows=() if planned.marker else rows,
            touched=touched,
            leaf_id=planned.leaf_id,
            previous_leaf_id=moved(planned.previous_leaf_id, planned.leaf_id),
            name=renamed(group.name, tree.name) if group else None,
            cause=write.cause,
        )
