"""Measures the features on documents, on a session of 40 MB.

    python -m tests.benchmarks.documents [--entries 16000] [--runs 3]

First over the wire, as an editor waits: times of the clock. Then inside one process, without a client: processor time
of the work, and of the longest hold, in which the event loop does not get its turn. The latter hardly depend on what
else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec

import pid.__main__ as main_module
from pid.core.framing import Body
from pid.shell.envelope import Message, read_event
from pid.shell.open_documents import OpenDocuments
from pid.shell.rpc import RpcServer
from tests.benchmarks.figures import Figures
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.wire import Daemon, Params, framed

NESTED = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
NOWHERE = {"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}}
URI = "file:///session.jsonl"
DOCUMENT = {"textDocument": {"uri": URI}}
MS, CPU = "ms", "ms of processor"


# Over the wire


class Editor(Daemon):
    """A daemon of whose messages one is waited for."""

    def until(self, sent: bytes, is_it: Callable[[bytes], bool]) -> float:
        """Sends; the seconds until a message comes that is the one."""
        started = perf_counter()
        self._send(sent)
        while not is_it(self._read()):
            pass
        return perf_counter() - started

    def asked(self, method: str, params: Params, before: bytes = b"") -> float:
        request = self.frame(method, params)
        number = number_of(request.partition(b"\r\n\r\n")[2])
        return self.until(before + request, lambda body: number_of(body) == number)


def number_of(body: bytes) -> int:
    """The id of a message, without reading all of it."""
    found = re.search(rb'"id": ?(\d+)', body[:100])
    return int(found[1]) if found else -1


def told(version: int) -> Callable[[bytes], bool]:
    """Whether a message has the problems of a version."""
    return lambda body: b"publishDiagnostics" in body[:100] and json.loads(body)["params"].get("version") == version


def opening(text: str) -> Params:
    return {"textDocument": {"uri": URI, "languageId": "jsonl", "version": 1, "text": text}}


def editing(version: int, line: int, text: str) -> Params:
    place = {"line": line, "character": 0}
    change = {"range": {"start": place, "end": place}, "text": text}
    return {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]}


def notified(method: str, params: Params) -> bytes:
    return framed({"jsonrpc": "2.0", "method": f"textDocument/{method}", "params": params})


def over_the_wire(text: str, name: str, figures: Figures) -> None:
    """One editor: opens, asks, appends, asks again, edits."""

    def add(work: str, *seconds: float) -> None:
        figures.add("pid", work, name, MS, *(1e3 * each for each in seconds))

    lines = text.count("\n")
    middle = {**DOCUMENT, "position": {"line": lines // 2, "character": 40}}
    last = text.splitlines()[-1]
    with Editor(capabilities=NESTED) as editor:
        editor.asked("textDocument/hover", NOWHERE)  # loads what serves these features
        opened = notified("didOpen", opening(text))
        add("open and outline", editor.asked("textDocument/documentSymbol", DOCUMENT, before=opened))
        add("outline again", editor.asked("textDocument/documentSymbol", DOCUMENT))
        add("hover, first", editor.asked("textDocument/hover", middle))
        add("hover", *(editor.asked("textDocument/hover", middle) for _ in range(20)))
        add("definition", *(editor.asked("textDocument/definition", middle) for _ in range(20)))
        add("references", *(editor.asked("textDocument/references", {**middle, "context": {}}) for _ in range(5)))
        add("search", editor.asked("workspace/symbol", {"query": "parser"}))
        for version in range(2, 7):
            grown = notified("didChange", editing(version, lines + version - 2, f"{last[:-1]},\n"))
            add("append, then problems (of it 150 ms of quiet)", editor.until(grown, told(version)))
        edited = notified("didChange", editing(7, 10, " "))
        add("edit at the beginning, then problems", editor.until(edited, told(7)))


# Inside


class Alone(RpcServer):
    """A server without a client."""

    def notify(self, method: str, params: Any = None) -> None:
        msgspec.json.encode(params)


async def inside(text: str, name: str, figures: Figures) -> None:
    """The work on documents beside a loop that wants its turn every millisecond."""
    server = Alone("pid", "1", on_initialize=lambda params: {})
    documents = OpenDocuments(lambda: None, lambda params: None)  # type: ignore[arg-type, return-value]
    documents.serve(server)
    body = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opening(text)}).encode()
    grown = editing(2, text.count("\n"), f"{text.splitlines()[-1][:-1]},\n")
    holds: list[float] = []
    beating = asyncio.create_task(beat(holds))
    await asyncio.sleep(0.05)

    async def measure(work: str, act: Callable[[], Any]) -> None:
        holds.clear()
        started = process_time()
        await act()
        await asyncio.sleep(0.002)
        figures.add("pid", work, name, CPU, 1e3 * (process_time() - started))
        figures.add("pid", f"{work}: longest hold", name, CPU, 1e3 * max(holds))

    async def open_and_outline() -> None:
        started = process_time()
        message = read_event(Body(body))
        figures.add("pid", "the message of 40 MB, on the loop", name, CPU, 1e3 * (process_time() - started))
        holds.clear()
        assert isinstance(message, Message)
        server.listeners["textDocument/didOpen"](message.params)
        await documents.symbols(URI, nested=True)

    async def append() -> None:
        server.listeners["textDocument/didChange"](msgspec.Raw(msgspec.json.encode(grown)))
        await documents.symbols(URI, nested=True)

    await measure("open and outline", open_and_outline)
    await measure("outline again", lambda: documents.symbols(URI, nested=True))
    await measure("append and outline", append)
    beating.cancel()
    documents.stop()


async def beat(holds: list[float]) -> None:
    """Takes a turn every millisecond, and notes what the process worked in between."""
    last = process_time()
    while True:
        await asyncio.sleep(0.001)
        now = process_time()
        holds.append(now - last)
        last = now


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.documents", description=__doc__)
    parser.add_argument("--entries", type=int, default=16_000, help="16,000 are about 40 MB")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="pid-bench-") as folder:
        recipe = Recipe(options.entries, "branchy")
        text = write(recipe, Path(folder) / "session.jsonl").read_text()
    for _ in range(options.runs):
        over_the_wire(text, recipe.name, figures)
    sys.setswitchinterval(main_module._TURN)  # as the daemon does
    gc.freeze()
    gc.set_threshold(*main_module._COLLECTIONS)
    for _ in range(options.runs):
        asyncio.run(inside(text, recipe.name, figures))
    print(figures.table())


if __name__ == "__main__":
    main()
