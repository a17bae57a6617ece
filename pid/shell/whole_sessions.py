"""The requests about whole sessions: made, opened, continued, forked, closed, listed, configured."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from msgspec import structs

from pid.protocol import (
    CloseParams,
    ConfigureParams,
    ContinueParams,
    ContinueResult,
    CreateParams,
    ForkParams,
    ListParams,
    ListResult,
    OpenParams,
    SessionState,
    Settings,
)
from pid.service.forking import fork
from pid.service.listing import Listings
from pid.service.notices import tell_listing
from pid.service.store import Resident, Store
from pid.shell.progress import progress
from pid.shell.rpc import RpcServer, after_response

OPENING: Final = frozenset(f"session/{name}" for name in ("create", "open", "continueRecent", "fork", "close"))
"""The requests that open or close a session."""


class WholeSessions:
    """The handlers. `store` and `listings` give those of the connection as they are."""

    def __init__(self, server: RpcServer, store: Callable[[], Store], listings: Callable[[], Listings]) -> None:
        self._server = server
        self._store = store
        self._listings = listings

    def handlers(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """The handler of each method."""
        return {
            "session/create": self.create,
            "session/open": self.open,
            "session/continueRecent": self.continue_recent,
            "session/fork": self.fork,
            "session/close": self.close,
            "session/list": self.list_sessions,
            "session/configure": self.configure,
        }

    async def create(self, params: CreateParams) -> SessionState:
        return _made(await self._store().create(params))

    async def open(self, params: OpenParams) -> SessionState:
        return (await self._store().open(params)).state()

    async def continue_recent(self, params: ContinueParams) -> ContinueResult:
        resident, created = await self._listings().continue_recent(params)
        state = _made(resident) if created else resident.state()
        return ContinueResult(created=created, **structs.asdict(state))

    async def fork(self, params: ForkParams) -> SessionState:
        return _made(await fork(self._store(), params))

    async def close(self, params: CloseParams) -> None:
        await self._store().close(params.session_id, force=params.force)

    async def list_sessions(self, params: ListParams) -> ListResult:
        with progress(self._server, params.work_done_token, "Listing sessions") as tell:
            return await self._listings().page(params, tell)

    async def configure(self, params: ConfigureParams) -> Settings:
        resident = self._store().get(params.session_id)
        await resident.order.settled()
        settings = resident.session.configure(params.settings)
        resident.watch.configured()
        return settings


def _made(resident: Resident) -> SessionState:
    """The state of a session that was not there before, of which the client is told behind the answer."""
    after_response(partial(tell_listing, resident.session))
    return resident.state()
