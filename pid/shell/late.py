"""LSP's own features, which pygls serves, loaded when a client asks for the first of them.

lsprotocol's types take longer to import than all the rest of the daemon, and clients that only keep sessions need
none of them. So `Late` stands in for the bridge to pygls: it knows the methods by name, loads the bridge in a thread
at the first message, and hands on what came meanwhile, in order.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pid.shell.envelope import Id, Message

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)


class Features(NamedTuple):
    """Which methods of LSP pygls serves, by name: asking for a name must not load it."""

    requests: frozenset[str]
    notifications: frozenset[str]
    capabilities: Mapping[str, Any]
    """What `initialize` says of them."""
    bring: Callable[[], "Callable[[LanguageServer], None]"]
    """Imports what registers their handlers, and gives it. Called in a thread."""


def _nothing_to_bring() -> "Callable[[LanguageServer], None]":
    raise LookupError("there are no features")


NO_FEATURES: Final = Features(frozenset(), frozenset(), {}, _nothing_to_bring)


class Foreign(Protocol):
    """Who serves these methods."""

    def ask(self, message: Message, id: Id) -> None:
        """Handle a request, whose call is open. What it raises becomes the answer."""

    def tell(self, message: Message) -> None:
        """Handle a notification."""

    def answered(self, message: Message, id: Id) -> bool:
        """Take a response; whether it is one to a request of its own."""

    def cancel(self, id: Id) -> None:
        """Cancel the handler of an open call, if it still runs."""


class Late:
    """The `Foreign` side before and after it is loaded. `failed` answers a request that could not be handed on."""

    def __init__(
        self,
        features: Features,
        load: Callable[[], Callable[[], Foreign]],
        failed: Callable[[Id, BaseException], None],
    ) -> None:
        self._features = features
        self._load = load
        self._failed = failed
        self._waiting: list[tuple[Message, Id | None]] = []
        self._loading: asyncio.Task[None] | None = None
        self._loaded: Foreign | None = None

    def takes(self, method: str, *, as_request: bool) -> bool:
        """Whether such a message is one of its own."""
        return method in (self._features.requests if as_request else self._features.notifications)

    def ask(self, message: Message, id: Id) -> None:
        if self._loaded is not None:
            self._loaded.ask(message, id)
        else:
            self._wait(message, id)

    def tell(self, message: Message) -> None:
        if self._loaded is not None:
            self._loaded.tell(message)
        else:
            self._wait(message, None)

    def answered(self, message: Message, id: Id) -> bool:
        return self._loaded is not None and self._loaded.answered(message, id)

    def cancel(self, id: Id) -> None:
        if self._loaded is not None:
            self._loaded.cancel(id)
        elif (found := next((one for one in self._waiting if one[1] == id), None)) is not None:
            self._waiting.remove(found)
            self._failed(id, asyncio.CancelledError())

    def _wait(self, message: Message, id: Id | None) -> None:
        self._waiting.append((message, id))
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._begin())

    async def _begin(self) -> None:
        try:
            make = await asyncio.to_thread(self._load)
            self._loaded = make()
        except Exception as error:
            self._refuse(error)
            return
        for message, id in self._waiting:
            self._hand_on(self._loaded, message, id)
        self._waiting.clear()

    def _hand_on(self, loaded: Foreign, message: Message, id: Id | None) -> None:
        try:
            if id is None:
                loaded.tell(message)
            else:
                loaded.ask(message, id)
        except Exception as error:
            if id is None:
                logger.exception("a notification could not be handled")
            else:
                self._failed(id, error)

    def _refuse(self, error: Exception) -> None:
        """Answers what waits; the next message tries again."""
        logger.error("LSP's features cannot be loaded", exc_info=error)
        waiting, self._waiting, self._loading = self._waiting, [], None
        for _, id in waiting:
            if id is not None:
                self._failed(id, error)
