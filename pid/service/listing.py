"""`session/list` and `session/continueRecent`: which sessions there are, the one with the last message first.

Reading happens in one thread at a time, however many ask. A page names its place by the session it ended with, so
sessions that come or go between two pages shift nothing.
"""

import asyncio
import base64
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from pid.adapters.catalog import Places
from pid.adapters.listing import Found, Lister, Tell
from pid.core.skim import LAST_MS, Skimmed
from pid.entries import iso_of
from pid.errors import InvalidCursor
from pid.protocol import MAX_PAGE_BYTES, ContinueParams, CreateParams, ListParams, ListResult, OpenParams, SessionInfo
from pid.service.pages import call_of
from pid.service.store import Resident, Store
from pid.service.threads import stoppable

_NS_PER_MS: Final = 1_000_000
_encode = msgspec.json.Encoder().encode

Key = tuple[int, str]
"""What sorts a listing: the time of the last message (ms since 1970), then the path."""


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: the call that it belongs to, and the key of its last session."""

    call: str
    key: Key


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One directory to look in, and whose sessions to take: those of `cwds`, or all (None).

    `own`: it is pi's own directory for them, so a header that names no working directory counts too.
    """

    directory: str
    cwds: frozenset[str] | None = None
    own: bool = False

    def takes(self, session: Skimmed) -> bool:
        """Whether a session in the directory is wanted: its header decides, for directories' names collide."""
        if self.cwds is None:
            return True
        return os.path.normpath(session.cwd) in self.cwds if session.cwd else self.own


class Listings:
    """Lists for one client; `folders` are the directories whose sessions are meant when it names none."""

    def __init__(self, store: Store, lister: Lister, folders: Sequence[str]) -> None:
        self._store = store
        self._lister = lister
        self._folders = folders
        self._reading = asyncio.Lock()
        self._continuing = asyncio.Lock()

    async def page(self, params: ListParams, tell: Tell) -> ListResult:
        """A page of a listing; `tell` is called in a thread. Raises `InvalidCursor`."""
        after = None if params.cursor is None else _key_in(params)
        handles = self._store.handles()

        def work(going_on: Callable[[], None]) -> ListResult:
            def told(done: int, total: int) -> None:
                going_on()
                tell(done, total)

            found = self._found(params, told)
            return _page(sorted(found, key=key_of, reverse=True), params, after, handles)

        async with self._reading:
            return await stoppable(self._store.around.threads, work)

    async def continue_recent(self, params: ContinueParams) -> tuple[Resident, bool]:
        """The session of a directory that was written last, opened; or a new one, and True.

        Raises as `Store.open` and `Store.create`.
        """
        async with self._continuing:
            path = await self._most_recent(params.cwd, params.session_dir)
            if path is not None:
                return await self._store.open(OpenParams(path=path, settings=params.settings)), False
            fresh = CreateParams(cwd=params.cwd, session_dir=params.session_dir, settings=params.settings)
            return await self._store.create(fresh), True

    async def _most_recent(self, cwd: str, session_dir: str | None) -> str | None:
        def work(going_on: Callable[[], None]) -> str | None:
            [wanted] = _in(self._store.places, [cwd], session_dir)
            return self._lister.newest(wanted.directory, wanted.takes)

        async with self._reading:
            return await stoppable(self._store.around.threads, work)

    def _found(self, params: ListParams, tell: Tell) -> Iterator[Found]:
        """The sessions that a listing shows, in no order, each file once."""
        query = (params.query or "").casefold()
        seen: set[tuple[int, int]] = set()
        for wanted in self._wanted(params):
            for found in self._lister.sessions(wanted.directory, tell):
                if found.identity not in seen and wanted.takes(found.session) and _shows(found.session, params, query):
                    seen.add(found.identity)
                    yield found

    def _wanted(self, params: ListParams) -> Iterable[_Wanted]:
        places = self._store.places
        if not params.all:
            named = params.cwds if params.cwds is not None else [params.cwd] if params.cwd else self._folders
            return _in(places, named, params.session_dir)
        return map(_Wanted, [params.session_dir] if params.session_dir else places.directories())


def _in(places: Places, cwds: Iterable[str], session_dir: str | None) -> Iterator[_Wanted]:
    """Where the sessions of some working directories are, each place once."""
    by_directory: dict[str, set[str]] = {}
    for cwd in map(os.path.normpath, cwds):
        by_directory.setdefault(places.directory(cwd, session_dir), set()).add(cwd)
    for directory, its_cwds in by_directory.items():
        own = all(directory == places.own_directory(cwd) for cwd in its_cwds)
        yield _Wanted(directory, frozenset(its_cwds), own)


def _shows(session: Skimmed, params: ListParams, query: str) -> bool:
    if session.message_count == 0 and not params.include_empty:
        return False
    return not query or query in (session.name or "").casefold() or query in session.first_message.casefold()


def key_of(found: Found) -> Key:
    """The sorting key of a session: without a message it is as new as its header, or else as its file."""
    session = found.session
    return session.newest_ms or session.created_ms or min(found.mtime_ns // _NS_PER_MS, LAST_MS), found.path


def _page(
    sessions: list[Found], params: ListParams, after: Key | None, handles: Mapping[tuple[int, int], str]
) -> ListResult:
    rest = [found for found in sessions if after is None or key_of(found) < after]
    shown: list[SessionInfo] = []
    room = MAX_PAGE_BYTES
    for found in rest[: params.limit]:
        info = _info(found, handles.get(found.identity))
        room -= len(_encode(info)) + 1
        if room < 0 and shown:
            break
        shown.append(info)
    last = rest[len(shown) - 1] if len(shown) < len(rest) else None
    return ListResult(sessions=shown, next_cursor=last and _cursor(params, key_of(last)), total=len(sessions))


def _info(found: Found, handle: str | None) -> SessionInfo:
    session = found.session
    return SessionInfo(
        path=found.path,
        id=session.id,
        session_id=handle,
        cwd=session.cwd,
        name=session.name,
        parent_session=session.parent_session,
        created_at=None if session.created_ms is None else iso_of(session.created_ms),
        modified_at=iso_of(key_of(found)[0]),
        message_count=session.message_count,
        first_message=session.first_message,
        size_bytes=found.size,
    )


# Cursors


def _call(params: ListParams) -> str:
    return call_of(msgspec.structs.replace(params, work_done_token=None))


def _cursor(params: ListParams, key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(_Place(_call(params), key))).decode()


def _key_in(params: ListParams) -> Key:
    try:
        place = msgspec.msgpack.decode(base64.urlsafe_b64decode((params.cursor or "").encode()), type=_Place)
    except ValueError:
        raise InvalidCursor("This is no cursor of this daemon; begin without a cursor.") from None
    if place.call != _call(params):
        raise InvalidCursor("This cursor belongs to another call, or to other params; begin without a cursor.")
    return place.key
