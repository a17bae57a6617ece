"""`pid demo`: the main job in one go, over JSON-RPC with real daemons, each step shown and checked.

It works on a copy of the sample session in a temporary directory, without a network or a key, and ends no process but
the daemon that it started itself.
"""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from pid.client import Client, Listening, Request, SessionCalls, pages, plain, raw
from pid.protocol import DidChangeNotice, EntriesResult, TreeNode, TreeResult
from pid.shell.drawing import Line, tree
from pid.shell.screen import Screen

P = ParamSpec("P")
R = TypeVar("R")

SAMPLE: Final = files("pid") / "data/sample-session.jsonl"
QUESTION: Final = "How would I see which rows end in half a cent?"
ANSWER: Final = "`tally rows 2025-02 --fraction 0.005` lists them: nine, all of them in dollars."
LABEL: Final = "half cents"
KEPT: Final = 300  # tokens of the newest messages that the compaction keeps: the sample is small
SHOWN: Final = 8


class Exchange(msgspec.Struct):
    """A request and what came back, in words."""

    method: str
    params: Any
    came: str = ""


class Check(msgspec.Struct):
    """Something that must be so."""

    text: str
    held: bool


class Step(msgspec.Struct):
    """A step of the demo, as `--json` prints it."""

    sentence: str
    exchanges: list[Exchange] = []
    checks: list[Check] = []


class Demo:
    """What the steps share: the screen, the daemon of the moment, and what was learned so far."""

    client: Client
    session_id: str
    entry_count: int
    first_leaf: str
    branch_point: TreeNode
    answer_id: str
    before: EntriesResult

    def __init__(self, stack: AsyncExitStack, show: Callable[[Iterable[Line]], None], path: Path) -> None:
        self.stack = stack
        self.show = show
        self.path = path
        self.original = SAMPLE.read_bytes()
        self.steps: list[Step] = []

    def step(self, sentence: str) -> None:
        """Begins a step."""
        self.steps.append(Step(sentence))
        self.show([[], [(f"{len(self.steps):2}  ", "bold cyan"), (sentence, "bold")]])

    async def ask(self, request: Request[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """A request, shown as it goes out."""
        params = request.params(*args, **kwargs)
        self.asks(request.name, params)
        return await self.client.call(request.name, params, request.result)

    def asks(self, method: str, params: object) -> None:
        """Shows a request; the session's id is left out, it is the same in all."""
        shown = msgspec.json.decode(msgspec.json.encode(params))
        shown.pop("sessionId", None)
        self.steps[-1].exchanges.append(Exchange(method, shown))
        self.show([[("    → ", "dim"), (f"{method} ", "cyan"), (msgspec.json.encode(shown).decode(), "dim")]])

    def came(self, text: str) -> None:
        """Says what came back."""
        self.steps[-1].exchanges[-1].came = text
        self.show([[("    ← ", "dim"), (text, "")]])

    def check(self, text: str, held: bool) -> None:
        """Shows whether it is so."""
        self.steps[-1].checks.append(Check(text, held))
        self.show([[("    ✓ ", "green"), (text, "green")] if held else [("    ✗ ", "bold red"), (text, "bold red")]])

    def draw(self, nodes: list[TreeNode], leaf_id: str | None) -> None:
        """A tree, in short."""
        self.show([[("      ", ""), *line] for line in tree(nodes, leaf_id, short=True)])


async def demonstrate(args: Namespace, screen: Screen) -> int:
    """`pid demo`: 0 if every check held, else 1. Raises `PidError` and `DaemonGone`."""
    began = time.perf_counter()

    def show(lines: Iterable[Line]) -> None:
        if not args.json:
            screen.lines(lines)
            screen.flush()

    with tempfile.TemporaryDirectory(prefix="pid-demo-") as folder:
        async with AsyncExitStack() as stack:
            demo = Demo(stack, show, Path(folder, "sample-session.jsonl"))
            for perform in STEPS:
                await perform(demo)
    if args.json:
        screen.json(demo.steps)
    held = [check.held for step in demo.steps for check in step.checks]
    show([[], _verdict(held, time.perf_counter() - began)])
    show([[("The copy in the temporary directory is gone again.", "dim")]])
    return 0 if held and all(held) else 1


def _verdict(held: list[bool], seconds: float) -> Line:
    if held and all(held):
        return [(f"All {len(held)} checks held, in {seconds:.1f} seconds.", "bold green")]
    told = f"{held.count(False)} of {len(held)} checks failed" if held else "nothing was checked"
    return [(f"{told}, in {seconds:.1f} seconds.", "bold red")]


async def start(demo: Demo) -> None:
    demo.step("A daemon starts as a subprocess, and says what it can do.")
    await _start(demo)


async def _start(demo: Demo) -> None:
    wanted = ["session/didChange"]
    capabilities = {"experimental": {"pid": {"notifications": wanted}}}
    demo.asks("initialize", {"processId": os.getpid(), "capabilities": capabilities})
    spawned = Client.spawn(log="capture", notifications=wanted)
    demo.client = await demo.stack.enter_async_context(spawned)
    told = demo.client.initialized
    ability = told.capabilities.experimental.pid
    version = f"{told.server_info.name} {told.server_info.version}, protocol {ability.protocol_version}"
    demo.came(f"{version}, {len(ability.methods)} methods; process {demo.client.process_id}")


async def open_copy(demo: Demo) -> None:
    demo.step("It opens a copy of a sample session: a day's work on a small program.")
    demo.path.write_bytes(demo.original)
    state = await demo.ask(SessionCalls.open, path=str(demo.path))
    demo.session_id = state.session_id
    demo.first_leaf = str(state.leaf_id)
    demo.entry_count = state.entry_count
    demo.came(f"“{state.name}”, {state.entry_count} entries, leaf {state.leaf_id}, {len(state.problems)} problems")
    demo.check("each line of the file is an entry", state.entry_count == demo.original.count(b"\n") - 1)
    demo.check("opening wrote nothing", demo.path.read_bytes() == demo.original)


async def show_tree(demo: Demo) -> None:
    demo.step("The session is a tree: what was tried and left stands beside the way on.")
    whole = await _tree(demo)
    demo.draw(whole.nodes, whole.leaf_id)
    demo.branch_point = next(node for node in whole.nodes if node.label)


async def _tree(demo: Demo) -> TreeResult:
    nodes: list[TreeNode] = []
    demo.asks("session/getTree", {})
    async for page in pages(demo.client.session.get_tree, session_id=demo.session_id):
        nodes += page.nodes
    demo.came(f"{len(nodes)} nodes, {len(page.roots)} root{'s' * (len(page.roots) != 1)}, leaf {page.leaf_id}")
    return msgspec.structs.replace(page, nodes=nodes)


async def branch(demo: Demo) -> None:
    demo.step(f"To branch is to move the leaf: back to where the label “{demo.branch_point.label}” is.")
    moved = await demo.ask(SessionCalls.set_leaf, session_id=demo.session_id, entry_id=demo.branch_point.id)
    demo.came(f"leaf {moved.leaf_id}, before {moved.previous_leaf_id}")
    demo.check("the leaf is there", moved.leaf_id == demo.branch_point.id)


async def append(demo: Demo) -> None:
    demo.step("A question and its answer are appended: on the disk before the reply.")
    said = [{"type": "text", "text": ANSWER}]
    model = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}
    zero = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    usage = {**zero, "totalTokens": 0, "cost": {**zero, "total": 0}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": said, **model, "usage": usage, "stopReason": "stop"},
    ]
    with demo.client.listen(DidChangeNotice) as changes:
        parent: str | None = demo.branch_point.id
        for message in messages:
            message["timestamp"] = time.time_ns() // 1_000_000
            entry = raw({"type": "message", "message": message})
            appended = await demo.ask(SessionCalls.append, session_id=demo.session_id, entry=entry)
            demo.came(f"{appended.entry_id} under {appended.parent_id}, revision {appended.revision}")
            change = await _change(changes, appended.revision)
            demo.show([[("    ← ", "dim"), ("session/didChange ", "cyan"), (f"leaf {change.leaf_id}", "")]])
            demo.check("it hangs where the leaf was", appended.parent_id == parent)
            demo.check("it is in the file", appended.entry_id.encode() in demo.path.read_bytes().splitlines()[-1])
            parent = demo.answer_id = appended.entry_id


async def _change(changes: Listening[DidChangeNotice], revision: int) -> DidChangeNotice:
    """The notification of this revision; those before it are of earlier steps."""
    change = await anext(changes)
    while change.revision < revision:
        change = await anext(changes)
    return change


async def label(demo: Demo) -> None:
    demo.step("The answer gets a label, to find it again.")
    entry = raw({"type": "label", "targetId": demo.answer_id, "label": LABEL})
    appended = await demo.ask(SessionCalls.append, session_id=demo.session_id, entry=entry)
    demo.came(f"{appended.entry_id}, revision {appended.revision}")
    whole = await _tree(demo)
    demo.draw([demo.branch_point, *whole.nodes[demo.entry_count :]], whole.leaf_id)
    labels = {node.id: node.label for node in whole.nodes}
    demo.check("the tree shows it", labels[demo.answer_id] == LABEL)


async def context_of_the_branch(demo: Demo) -> None:
    demo.step("What the model would see here: the path to this leaf, and nothing else.")
    context = await demo.ask(SessionCalls.build_context, session_id=demo.session_id, format="llm")
    messages = [plain(message) for message in context.messages or []]
    demo.came(f"{len(messages)} messages, {context.model and context.model.model_id}")
    demo.show(_told(messages[-3:]))
    demo.check("it ends with the new answer", messages[-1]["content"] == [{"type": "text", "text": ANSWER}])
    path = await demo.ask(SessionCalls.get_branch, session_id=demo.session_id)
    used = {entry_id for ids in context.entry_ids for entry_id in ids}
    demo.came(f"{len(path.entries)} entries")
    demo.check("all of it comes from the path to the leaf", used <= set(path.entry_ids))


async def context_of_the_main_line(demo: Demo) -> None:
    demo.step("The leaf goes back. There, an old compaction stands for the beginning.")
    moved = await demo.ask(SessionCalls.set_leaf, session_id=demo.session_id, entry_id=demo.first_leaf)
    demo.came(f"leaf {moved.leaf_id}, before {moved.previous_leaf_id}")
    context = await demo.ask(SessionCalls.build_context, session_id=demo.session_id, format="llm")
    messages = [plain(message) for message in context.messages or []]
    path = await demo.client.session.get_branch(session_id=demo.session_id)
    demo.came(f"{len(messages)} messages for a path of {len(path.entries)} entries")
    demo.show(_told(messages[:2]))
    kinds = {entry_id: plain(entry)["type"] for entry_id, entry in zip(path.entry_ids, path.entries, strict=True)}
    demo.check("it begins with the summary", [kinds[entry_id] for entry_id in context.entry_ids[0]] == ["compaction"])


def _told(messages: list[dict[str, Any]]) -> Iterator[Line]:
    for message in messages:
        content = message["content"]
        text = content if isinstance(content, str) else " ".join(block.get("text", "…") for block in content)
        yield [("      ", ""), (f"{message['role']:10} ", "bold"), (" ".join(text.split()), "")]


async def compact(demo: Demo) -> None:
    demo.step("A compaction makes room: without a model here, so no network and no key are needed.")
    before = await demo.ask(SessionCalls.get_context_usage, session_id=demo.session_id)
    demo.came(f"{before.tokens:,} tokens ({before.source})")
    result = await demo.ask(
        SessionCalls.compact, session_id=demo.session_id, summarizer="extractive", keep_recent_tokens=KEPT
    )
    demo.came(f"{result.entry_id}: {result.tokens_before:,} tokens before, {result.tokens_after:,} after")
    demo.show([("      ", ""), (line, "dim")] for line in result.summary.splitlines()[:SHOWN])
    demo.first_leaf = result.entry_id
    demo.check("the context is smaller", result.tokens_after < result.tokens_before)
    demo.check("nothing was taken out of the file", demo.path.read_bytes().startswith(demo.original))
    context = await demo.ask(SessionCalls.build_context, session_id=demo.session_id, format="llm")
    demo.came(f"{len(context.messages or [])} messages")
    demo.check("the context begins with the new summary", context.entry_ids[0] == [result.entry_id])


async def close(demo: Demo) -> None:
    demo.step("The session is closed, and its daemon is killed: no farewell.")
    entries = demo.client.session.get_entries
    demo.before = await entries(session_id=demo.session_id)
    await demo.ask(SessionCalls.close, session_id=demo.session_id)
    demo.came("null")
    process_id = demo.client.process_id
    await demo.client.kill()
    demo.show([[("    → ", "dim"), (f"kill -9 {process_id}", "cyan"), ("  (the demo's own child)", "dim")]])


async def reopen(demo: Demo) -> None:
    demo.step("A new daemon opens the file.")
    await _start(demo)
    state = await demo.ask(SessionCalls.open, path=str(demo.path))
    demo.session_id = state.session_id
    demo.came(f"“{state.name}”, {state.entry_count} entries, leaf {state.leaf_id}, {len(state.problems)} problems")
    demo.check("the leaf is where it was", state.leaf_id == demo.first_leaf)
    demo.check("nothing is damaged", not state.problems)


async def compare(demo: Demo) -> None:
    demo.step("Everything is there.")
    after = await demo.ask(SessionCalls.get_entries, session_id=demo.session_id)
    demo.came(f"{len(after.entries)} entries")
    same = after.entry_ids == demo.before.entry_ids and after.parent_ids == demo.before.parent_ids
    demo.check(f"all {len(after.entry_ids)} entries, each under its parent", same)
    stored = [bytes(entry) for entry in after.entries] == [bytes(entry) for entry in demo.before.entries]
    demo.check("byte for byte", stored)
    whole = await _tree(demo)
    demo.check("the label too", LABEL in {node.label for node in whole.nodes})
    kept = demo.path.read_bytes().startswith(demo.original)
    demo.check(f"the first {len(demo.original):,} bytes of the file are those of the sample", kept)


STEPS: Final[tuple[Callable[[Demo], Awaitable[None]], ...]] = (
    start,
    open_copy,
    show_tree,
    branch,
    append,
    label,
    context_of_the_branch,
    context_of_the_main_line,
    compact,
    close,
    reopen,
    compare,
)
