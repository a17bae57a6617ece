"""The requests as typed methods, and values to and from the raw JSON that some of them carry.

A row here is all there is to a request: its name on the wire, its params and its result. The keywords
that the method takes are those of the params type, to type checkers and editors too.
"""

from collections.abc import AsyncIterator, Callable, Coroutine
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

import msgspec

from pid.protocol import (
    AppendBatchParams,
    AppendBatchResult,
    AppendParams,
    AppendResult,
    BranchParams,
    CancelCompactionParams,
    CancelCompactionResult,
    CloseParams,
    CompactionPlan,
    CompactionResult,
    CompactParams,
    ConfigureParams,
    ContextParams,
    ContextResult,
    ContextUsage,
    ContinueParams,
    ContinueResult,
    CreateParams,
    EntriesParams,
    EntriesResult,
    ForkParams,
    ListParams,
    ListResult,
    OpenParams,
    PreviewParams,
    PromptParams,
    PromptResult,
    SessionState,
    SetLeafParams,
    SetLeafResult,
    Settings,
    StateParams,
    TreeParams,
    TreeResult,
    UsageParams,
    Wire,
)

if TYPE_CHECKING:
    from pid.client.client import Client

P = ParamSpec("P")
R = TypeVar("R")


class Request(Generic[P, R]):
    """A request of the protocol, as a method of a `Calls`."""

    def __init__(self, name: str, params: Callable[P, Wire], result: type[R]) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.__doc__ = params.__doc__

    @overload
    def __get__(self, calls: None, owner: type) -> Self: ...
    @overload
    def __get__(self, calls: "Calls", owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, calls: "Calls | None", owner: type) -> "Self | Callable[P, Coroutine[Any, Any, R]]":
        if calls is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
            return calls.client.call(self.name, self.params(*args, **kwargs), self.result)

        return call


class Calls:
    """The requests of one noun."""

    def __init__(self, client: "Client") -> None:
        self.client = client


class SessionCalls(Calls):
    """`session/…`"""

    create = Request("session/create", CreateParams, SessionState)
    open = Request("session/open", OpenParams, SessionState)
    continue_recent = Request("session/continueRecent", ContinueParams, ContinueResult)
    fork = Request("session/fork", ForkParams, SessionState)
    close = Request("session/close", CloseParams, NoneType)
    list = Request("session/list", ListParams, ListResult)
    get_state = Request("session/getState", StateParams, SessionState)
    append = Request("session/append", AppendParams, AppendResult)
    append_batch = Request("session/appendBatch", AppendBatchParams, AppendBatchResult)
    set_leaf = Request("session/setLeaf", SetLeafParams, SetLeafResult)
    get_tree = Request("session/getTree", TreeParams, TreeResult)
    get_branch = Request("session/getBranch", BranchParams, EntriesResult)
    get_entries = Request("session/getEntries", EntriesParams, EntriesResult)
    build_context = Request("session/buildContext", ContextParams, ContextResult)
    get_context_usage = Request("session/getContextUsage", UsageParams, ContextUsage)
    preview_compaction = Request("session/previewCompaction", PreviewParams, CompactionPlan)
    compact = Request("session/compact", CompactParams, CompactionResult)
    cancel_compaction = Request("session/cancelCompaction", CancelCompactionParams, CancelCompactionResult)
    configure = Request("session/configure", ConfigureParams, Settings)


class PromptCalls(Calls):
    """`prompt/…`"""

    build = Request("prompt/build", PromptParams, PromptResult)


class Paged(Protocol):
    """A result that comes in pages."""

    @property
    def next_cursor(self) -> str | None: ...


Page = TypeVar("Page", bound=Paged)


async def pages(call: Callable[P, Coroutine[Any, Any, Page]], *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Page]:
    """All pages of a request, one after the other: `async for page in pages(client.session.get_tree, …)`."""
    page = await call(*args, **kwargs)
    yield page
    while page.next_cursor is not None:
        kwargs["cursor"] = page.next_cursor
        page = await call(*args, **kwargs)
        yield page


def raw(value: Any) -> msgspec.Raw:
    """A value as the raw JSON that entries are sent as. Raises UnicodeEncodeError for a lone surrogate."""
    return msgspec.Raw(msgspec.json.encode(value))


def plain(part: msgspec.Raw | Wire | None) -> Any:
    """A part of an answer as a value of dicts and lists: raw JSON, or a wire type such as the `payload` of a context.

    A `Raw` itself shows bytes of the whole answer and keeps it alive.
    """
    return msgspec.json.decode(part) if isinstance(part, msgspec.Raw) else msgspec.to_builtins(part)
