"""The documents that an editor has open, and what it asks about those that are session files.

A document is read as the editor has it, edited or not, and never written; only the lens "Move the leaf here" acts, on
the session that is open in the daemon, as `session/setLeaf` does. All work on documents is done in one thread of
their own, in the order in which it came, so nothing of it holds the loop. Texts come here past pygls, whose documents
split lines at U+2028 and whose way in would hold the loop for a large one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from pid.core.reading import Reading
from pid.errors import InvalidParams
from pid.protocol import SetLeafParams, SetLeafResult, decode_params
from pid.service.finding import find_landmarks
from pid.service.store import Resident, Store
from pid.shell import document_answers as answers
from pid.shell.document import Document
from pid.shell.folders import path_of
from pid.shell.late import Features
from pid.shell.lsp import (
    CAPABILITIES,
    REQUESTS,
    DidChangeParams,
    DocumentParams,
    Hover,
    Location,
    Position,
    PublishDiagnostics,
    SymbolInformation,
)
from pid.shell.opening import read_opening
from pid.shell.questions import AnswerError
from pid.shell.rpc import RpcServer, after_response, listen

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

T = TypeVar("T")

_QUIET: Final = 0.15
"""Seconds without an edit before problems are told."""
_KEPT: Final = 2.0
"""Seconds for which a closed document is kept: editors that load a file again close and open it."""
_MOST_FOUND: Final = 500
_PUBLISH: Final = "textDocument/publishDiagnostics"
_REFRESH: Final = "workspace/codeLens/refresh"

Move = Callable[[SetLeafParams], Awaitable[SetLeafResult]]


_NONE: Final = Raw(b"[]")


def _listed(items: Iterable[msgspec.Struct]) -> Raw:
    """A long list as JSON, an item at a time: tens of thousands of objects at once take the loop long to let go."""
    return Raw(b"[%b]" % b",".join(map(msgspec.json.encode, items)))


class OpenDocuments:
    """See the module. `store` gives the store as it is, `move` moves a leaf as the request does.

    `serve` comes first.
    """

    _server: RpcServer

    def __init__(self, store: Callable[[], Store], move: Move) -> None:
        self._store = store
        self._move = move
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pid-documents")
        self._open: dict[str, Document] = {}  # of the thread
        self._closed: dict[str, Document] = {}  # of the thread
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self.refreshes_lenses = False
        """Whether the editor asks for lenses again when it is told to."""

    @property
    def features(self) -> Features:
        """What pygls serves of this."""
        return Features(REQUESTS, frozenset(), CAPABILITIES, self._bring)

    def _bring(self) -> "Callable[[LanguageServer], None]":
        from pid.shell.documents import add

        return partial(add, documents=self)

    def serve(self, server: RpcServer) -> None:
        """Follows the documents of the server's client."""
        self._server = server
        for method, act in (("didOpen", self._opened), ("didChange", self._changed), ("didClose", self._was_closed)):
            listen(server, f"textDocument/{method}", partial(self._submit, act))

    def stop(self) -> None:
        """Ends what waits; what is being read is given up with the process."""
        for timer in self._timers.values():
            timer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    # What the editor tells

    def _submit(self, act: Callable[[Raw], str], params: Raw) -> None:
        """Has the thread act on a notification; then problems are due."""
        loop = asyncio.get_running_loop()

        def work() -> None:
            try:
                uri = act(params)
            except (InvalidParams, ValueError) as error:
                logger.warning("ignored: a notification about a document: %s", error)
            except Exception:
                logger.exception("a document could not be followed")
            else:
                loop.call_soon_threadsafe(self._later, uri)

        self._thread.submit(work)

    def _opened(self, raw: Raw) -> str:
        uri, version, text = read_opening(raw)
        document = self._open[uri] = self._open.get(uri) or self._closed.pop(uri, None) or Document(uri)
        document.open(text, version)
        return uri

    def _changed(self, raw: Raw) -> str:
        params = decode_params(DidChangeParams, raw)
        uri = params.text_document.uri
        if document := self._open.get(uri):
            document.change(params.content_changes, params.text_document.version or 0)
        return uri

    def _was_closed(self, raw: Raw) -> str:
        uri = decode_params(DocumentParams, raw).text_document.uri
        if document := self._open.pop(uri, None):
            self._closed[uri] = document
        return uri

    def _later(self, uri: str) -> None:
        """Tells the problems of a document once it is left alone for a moment; forgets it if it stays closed."""
        loop = asyncio.get_running_loop()
        if timer := self._timers.pop(uri, None):
            timer.cancel()
        delay = _QUIET if uri in self._open else _KEPT
        self._timers[uri] = loop.call_later(delay, self._due, uri)

    def _due(self, uri: str) -> None:
        del self._timers[uri]
        self._thread.submit(self._tell, uri)

    def _tell(self, uri: str) -> None:
        closed, document = self._closed.pop(uri, None), self._open.get(uri)
        try:
            if document is not None and (document.told or document.reading):
                self._publish(document)
            elif document is None and closed is not None and closed.told:
                self._server.notify(_PUBLISH, PublishDiagnostics(uri, []))
        except Exception:
            logger.exception("the problems of a document could not be told")

    def _publish(self, document: Document) -> None:
        reading = document.reading
        document.told = reading is not None
        found = answers.diagnostics(document, reading) if reading else []
        self._server.notify(_PUBLISH, PublishDiagnostics(document.uri, found, document.version))

    # What it asks

    async def _ask(self, uri: str, work: Callable[[Document, Reading], T], otherwise: T) -> T:
        """What `work` gives for a document as it is now; `otherwise` if it is not open, or no session."""

        def answer() -> T:
            document = self._open.get(uri)
            reading = document.reading if document else None
            return work(document, reading) if document and reading else otherwise

        return await asyncio.get_running_loop().run_in_executor(self._thread, answer)

    async def symbols(self, uri: str, *, nested: bool) -> Raw:
        """The outline; flat for an editor that knows no symbols within symbols."""

        def work(document: Document, reading: Reading) -> Raw:
            found = answers.symbols(reading)
            return _listed(found if nested else answers.flat_symbols(document, found))

        return await self._ask(uri, work, _NONE)

    async def folds(self, uri: str) -> Raw:
        """What can be folded."""
        return await self._ask(uri, lambda _, reading: _listed(answers.folds(reading)), _NONE)

    async def hover(self, uri: str, position: Position) -> Hover | None:
        """What is to be known at a place, by the leaf as it is now."""
        leaf_id = self._leaf_of(uri)
        return await self._ask(uri, lambda document, reading: answers.hover(document, reading, position, leaf_id), None)

    async def definition(self, uri: str, position: Position) -> Location | None:
        """Where the entry stands that is meant at a place."""
        return await self._ask(uri, lambda document, reading: answers.definition(document, reading, position), None)

    async def references(self, uri: str, position: Position, *, itself: bool) -> list[Location]:
        """Where the entries stand that name the one at a place."""

        def work(document: Document, reading: Reading) -> list[Location]:
            return answers.references(document, reading, position, itself=itself)

        return await self._ask(uri, work, [])

    async def search(self, query: str) -> list[SymbolInformation]:
        """In the documents, then in the sessions that are open in the daemon and shown in no document."""

        def work() -> list[SymbolInformation]:
            return list(islice(chain.from_iterable(self._searched(query)), _MOST_FOUND))

        found = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        shown = {path_of(uri) for uri in list(self._open)}
        for resident in self._store().residents():
            path, limit = resident.session.journal.path, _MOST_FOUND - len(found)
            if path is not None and path not in shown and limit > 0:
                more = await find_landmarks(self._thread, resident.session, query, limit)
                found += answers.found_symbols(path, resident.session.tree.name or resident.session.session_id, more)
        return found

    def _searched(self, query: str) -> Iterator[Iterator[SymbolInformation]]:
        for document in self._open.values():
            if reading := document.reading:
                yield answers.search(document, reading, query)

    # The session behind a document

    def _resident(self, uri: str) -> Resident | None:
        path = path_of(uri)
        return None if path is None else self._store().at(path)

    def _leaf_of(self, uri: str) -> str | UnsetType | None:
        """The present leaf of the session that is open here; UNSET if none is."""
        resident = self._resident(uri)
        return resident.session.leaf_id if resident else UNSET

    async def lenses(self, uri: str) -> Raw:
        """The lenses that move the leaf; none if the session is not open in the daemon."""
        resident = self._resident(uri)
        if resident is None:
            return _NONE
        session = resident.session
        rows, session_id, leaf_id = session.tree.rows, session.session_id, session.leaf_id

        def work(_: Document, reading: Reading) -> Raw:
            return _listed(answers.lenses(reading, session_id, leaf_id, rows))

        return await self._ask(uri, work, _NONE)

    async def move_leaf(self, arguments: tuple[Any, ...]) -> SetLeafResult:
        """Does what a lens says. Raises as `session/setLeaf` does."""
        if len(arguments) != 1:
            raise InvalidParams("arguments: one object with sessionId and entryId", path="arguments")
        done = await self._move(decode_params(SetLeafParams, msgspec.json.encode(arguments[0])))
        after_response(self.sessions_moved)
        return done

    def moving(self, handler: Callable[[Any], Awaitable[T]]) -> Callable[[Any], Awaitable[T]]:
        """A handler of a request that opens or closes sessions, after whose answer the lenses may be others."""

        async def answer(params: Any) -> T:
            result = await handler(params)
            after_response(self.sessions_moved)
            return result

        return answer

    def sessions_moved(self) -> None:
        """A session was opened or closed, or its leaf moved: the editor may ask for the lenses again."""
        if not (self._open and self.refreshes_lenses):
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        try:
            await self._server.request(_REFRESH, None, Any)
        except AnswerError as error:
            logger.info("the editor did not ask for lenses again: %s", error)
