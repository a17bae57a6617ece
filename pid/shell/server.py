"""The daemon: each request to its service, a few lines a handler.

Params come in as wire types, results go out as wire types; what a request means is decided in the layers below.
"""

import asyncio
import datetime
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from msgspec import structs

from pid import __version__
from pid.adapters.anthropic import AnthropicSummarizer
from pid.adapters.catalog import Places
from pid.adapters.counting import CountingProcess
from pid.adapters.editor import EditorSummarizer
from pid.adapters.listing import Lister
from pid.core.appending import Sent, read_sent
from pid.core.overlay import Overlay, Planned, Stamp, plan_append, plan_move
from pid.core.tree import ROOT
from pid.protocol import (
    METHODS,
    NOTIFICATIONS,
    PROTOCOL_VERSION,
    AppendBatchParams,
    AppendBatchResult,
    AppendParams,
    AppendResult,
    BranchParams,
    ContextParams,
    ContextResult,
    EntriesParams,
    EntriesResult,
    InitializationOptions,
    InitializeParams,
    Limits,
    PidServerCapability,
    Placement,
    PromptParams,
    PromptResult,
    SessionState,
    SetLeafParams,
    SetLeafResult,
    StateParams,
    TreeParams,
    TreeResult,
    Wire,
)
from pid.service import answers, answers_tree
from pid.service.aside import MOST_THREADS
from pid.service.compactor import Workshop
from pid.service.follow import follow
from pid.service.listing import Listings
from pid.service.notices import tell_change
from pid.service.prompting import build_prompt
from pid.service.raw_messages import RawMessage
from pid.service.session import Surroundings
from pid.service.store import Resident, Store
from pid.service.summarizing import EXTRACTIVE, Summarizer
from pid.service.writing import Plan, Written
from pid.shell.compactions import Compactions
from pid.shell.folders import workspace_folders
from pid.shell.open_documents import OpenDocuments
from pid.shell.rpc import RpcServer, after_response, register
from pid.shell.whole_sessions import OPENING, WholeSessions


class ClientOutlet:
    """The way to the client, for the notifications that it named."""

    def __init__(self) -> None:
        self.server: RpcServer | None = None
        self.named: frozenset[str] = frozenset()

    def wants(self, method: str) -> bool:
        """Whether the client named this notification."""
        return method in self.named

    def send(self, method: str, params: Wire) -> None:
        """Sends it, if it was named."""
        if self.server is not None and method in self.named:
            self.server.notify(method, params)


class Daemon:
    """The handlers, and the store that they share. `store` is made at `initialize`, with what the client set up."""

    def __init__(self, around: Surroundings, outlet: ClientOutlet, max_message: int, lister: Lister) -> None:
        self.around = around
        self.lister = lister
        self.outlet = outlet
        self.max_message = max_message
        self.home = os.path.expanduser("~")
        self.counting = CountingProcess()
        self.planners = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="pid-planning")
        self.store = Store(Places.of(os.environ), around, self.workshop())
        self.listings = Listings(self.store, lister, ())
        self.following: asyncio.Task[None] | None = None
        self.documents = OpenDocuments(lambda: self.store, self.set_leaf)
        self.server = RpcServer(
            "pid",
            __version__,
            on_initialize=self.initialize,
            on_shutdown=self.shutdown,
            features=self.documents.features,
            max_message=max_message,
        )
        self.documents.serve(self.server)
        outlet.server = self.server
        self.compactions = Compactions(self.server, lambda: self.store)
        whole = WholeSessions(self.server, lambda: self.store, lambda: self.listings)
        for method, handler in (self.handlers() | whole.handlers() | self.compactions.handlers()).items():
            told = self.documents.moving(handler) if method in OPENING else handler
            register(self.server, method, METHODS[method].params, told)

    def handlers(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """The handler of each method."""
        return {
            "session/getState": self.get_state,
            "session/append": self.append,
            "session/appendBatch": self.append_batch,
            "session/setLeaf": self.set_leaf,
            "session/getTree": self.get_tree,
            "session/getBranch": self.get_branch,
            "session/getEntries": self.get_entries,
            "session/buildContext": self.build_context,
            "prompt/build": self.build_prompt,
        }

    def initialize(self, params: InitializeParams) -> PidServerCapability:
        """What the client may set up, and what it is offered."""
        client = params.capabilities.experimental.pid
        options = params.initialization_options or InitializationOptions()
        self.outlet.named = frozenset(client.notifications) & NOTIFICATIONS.keys()
        places = Places.of(
            os.environ,
            agent_dir=options.agent_dir,
            session_dir=options.session_dir,
            trusted_roots=options.trusted_roots,
        )
        summarizers = (EditorSummarizer(self.compactions.ask, client.summarize), AnthropicSummarizer(os.environ))
        self.store = Store(places, self.around, self.workshop(*summarizers), (options.settings,))
        self.listings = Listings(self.store, self.lister, workspace_folders(params))
        self.following = asyncio.create_task(follow(self.store.orders))
        return PidServerCapability(
            protocol_version=min(client.protocol_version, PROTOCOL_VERSION),
            methods=sorted(name for name, method in METHODS.items() if method.direction == "toServer"),
            notifications=sorted(NOTIFICATIONS),
            summarizers=[*(one.name for one in summarizers if one.is_available), EXTRACTIVE],
            limits=Limits(max_message_bytes=self.max_message),
        )

    def workshop(self, *summarizers: Summarizer) -> Workshop:
        """What compactions share, with these summarizers."""
        return Workshop(summarizers, self.counting.count, self.planners)

    async def shutdown(self) -> None:
        """Ends what does not end by itself; writes that were received are finished."""
        if self.following is not None:
            self.following.cancel()
        self.documents.stop()
        await self.store.close_all()
        self.planners.shutdown(wait=False, cancel_futures=True)

    async def get_state(self, params: StateParams) -> SessionState:
        return (await self._settled(params.session_id)).state()

    async def append(self, params: AppendParams) -> AppendResult:
        if params.format is not None:
            return await self._append_message(params)
        entries = [read_sent(bytes(params.entry), "entry")]
        written, fields = await self._append(params, partial(_plan_append, params, entries))
        return AppendResult(entry_id=written.planned.entry_ids[0], **fields)

    async def _append_message(self, params: AppendParams) -> AppendResult:
        message = RawMessage(params)
        written, fields = await self._append(params, message.plan)
        ids = list(written.planned.entry_ids)
        return AppendResult(entry_id=ids[-1], entry_ids=ids, warnings=message.warnings or None, **fields)

    async def append_batch(self, params: AppendBatchParams) -> AppendBatchResult:
        entries = [read_sent(bytes(raw), f"entries[{index}]") for index, raw in enumerate(params.entries)]
        written, fields = await self._append(params, partial(_plan_append, params, entries))
        return AppendBatchResult(entry_ids=list(written.planned.entry_ids), **fields)

    async def set_leaf(self, params: SetLeafParams) -> SetLeafResult:
        resident = self.store.get(params.session_id)
        session = resident.session
        if params.summarize:
            written = await self.compactions.move(resident, params)
            after_response(partial(tell_change, session, written.change))
        else:
            written = await self._write(resident, partial(_plan_move, params), "setLeaf")
        resident.watch.moved(written.planned)
        return SetLeafResult(
            leaf_id=written.planned.leaf_id,
            previous_leaf_id=written.planned.previous_leaf_id,
            revision=written.revision,
            epoch=session.epoch,
            branch_summary_entry_id=written.planned.entry_ids[0] if params.summarize else None,
        )

    async def get_tree(self, params: TreeParams) -> TreeResult:
        return await answers_tree.get_tree((await self._settled(params.session_id)).session, params)

    async def get_branch(self, params: BranchParams) -> EntriesResult:
        return await answers.get_branch((await self._settled(params.session_id)).session, params)

    async def get_entries(self, params: EntriesParams) -> EntriesResult:
        return await answers.get_entries((await self._settled(params.session_id)).session, params)

    async def build_context(self, params: ContextParams) -> ContextResult:
        resident = await self._settled(params.session_id)
        session, gauge = resident.session, resident.compactor.gauge
        found = await answers.build_context(session, params)
        if not params.include_usage:
            return found
        leaf = ROOT if found.leaf_id is None else session.tree.find(found.leaf_id)
        return structs.replace(found, context_usage=await gauge.usage(leaf))

    async def build_prompt(self, params: PromptParams) -> PromptResult:
        return await asyncio.get_running_loop().run_in_executor(self.around.threads, self._prompt, params)

    def _prompt(self, params: PromptParams) -> PromptResult:
        places, today = self.store.places, datetime.datetime.now().astimezone().date()
        trusted = places.trusts(params.cwd)
        return build_prompt(params, home=self.home, agent_dir=places.agent_dir, today=today, project=trusted)

    async def _settled(self, session_id: str) -> Resident:
        """The session once the writes that came before are done."""
        resident = self.store.get(session_id)
        after_response(resident.hold())
        await resident.order.settled()
        return resident

    async def _append(self, params: Placement, plan: Plan) -> tuple[Written, dict[str, Any]]:
        resident = self.store.get(params.session_id)
        written = await self._write(resident, plan, "append")
        planned = written.planned
        usage, running = await resident.watch.appended(planned, wanted=params.include_usage)
        return written, {
            "context_usage": usage,
            "compaction": running,
            "parent_id": planned.parent_id,
            "leaf_id": planned.leaf_id,
            "revision": written.revision,
            "epoch": resident.session.epoch,
            "duplicate": planned.duplicate or None,
        }

    async def _write(self, resident: Resident, plan: Plan, cause: str) -> Written:
        """Writes, and tells the change behind the answer."""
        after_response(resident.hold())
        written = await resident.order.write(plan, cause)
        after_response(partial(tell_change, resident.session, written.change))
        return written


def _plan_append(params: Placement, entries: list[Sent], overlay: Overlay, stamp: Stamp) -> Planned:
    return plan_append(overlay, params, entries, stamp)


def _plan_move(params: SetLeafParams, overlay: Overlay, stamp: Stamp) -> Planned:
    return plan_move(overlay, params.entry_id, params.expected_leaf_id, stamp)
