"""Measures the features on documents: a session of 40 MB in an editor that says what Neovim and VS Code say.

    python -m tests.benchmarks.documents [--entries 16000] [--runs 3]

Beside how long things take it tells how long the daemon keeps another client's request waiting meanwhile: the longest
answer to one of many small requests that go in while the document is read.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from tests.benchmarks.figures import Figures
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.wire import Daemon, framed

NESTED = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
NOWHERE = {"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}}
PING_EVERY = 0.004
MS = "ms"


class Editor(Daemon):
    """A daemon whose answers come in any order, and whose problems are waited for."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send(framed({"jsonrpc": "2.0", "method": method, "params": params}))

    def answered(self, request: bytes, is_it: Callable[[dict[str, Any]], bool]) -> tuple[float, dict[str, Any]]:
        """Sends; how long until a message comes that is the one, and the message."""
        started = perf_counter()
        self._send(request)
        return self.waited(started, is_it)

    def waited(self, started: float, is_it: Callable[[dict[str, Any]], bool]) -> tuple[float, dict[str, Any]]:
        while True:
            body = self._read()
            took = perf_counter() - started
            if is_it(message := json.loads(body)):
                return took, message

    def asked(self, method: str, params: dict[str, Any]) -> float:
        request = self.frame(method, params)
        number = number_of(request.partition(b"\r\n\r\n")[2])
        return self.answered(request, lambda message: message.get("id") == number)[0]


def measure(path: Path, figures: Figures) -> None:
    """One editor: opens the file, asks, appends, asks again."""
    text, name = path.read_text(), path.stem
    uri = path.as_uri()
    document = {"textDocument": {"uri": uri}}
    middle = {**document, "position": {"line": text.count("\n") // 2, "character": 40}}
    with Editor(capabilities=NESTED) as editor:
        editor.asked("textDocument/hover", NOWHERE)  # loads what serves these features

        def add(work: str, *seconds: float) -> None:
            figures.add("pid", work, name, MS, *(1e3 * each for each in seconds))

        opening = framed({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened(uri, text)})
        outline = editor.frame("textDocument/documentSymbol", document)
        add("open and outline", editor.answered(opening + outline, is_outline)[0])
        add("outline", editor.asked("textDocument/documentSymbol", document))
        add("folds", editor.asked("textDocument/foldingRange", document))
        add("hover, first", editor.asked("textDocument/hover", middle))
        add("hover", *(editor.asked("textDocument/hover", middle) for _ in range(20)))
        add("definition", *(editor.asked("textDocument/definition", middle) for _ in range(20)))
        add("references", *(editor.asked("textDocument/references", {**middle, "context": {}}) for _ in range(5)))
        add("search", editor.asked("workspace/symbol", {"query": "parser"}))
        last = text.splitlines()[-1]
        for version in range(2, 7):
            place = {"line": text.count("\n") + version - 2, "character": 0}
            grown = [{"range": {"start": place, "end": place}, "text": f"{last[:-1]},\n"}]
            change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": grown}
            growing = framed({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": change})
            add("append, then problems", editor.answered(growing, told(version))[0])
            add("outline after an append", editor.asked("textDocument/documentSymbol", document))
        place = {"line": 10, "character": 0}
        edit = [{"range": {"start": place, "end": place}, "text": " "}]
        change = {"textDocument": {"uri": uri, "version": 7}, "contentChanges": edit}
        editing = framed({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": change})
        add("edit at the beginning, then problems", editor.answered(editing, told(7))[0])
    add_holds(path, text, figures)


def add_holds(path: Path, text: str, figures: Figures) -> None:
    """How long small requests wait while the document is opened and its outline is made."""
    uri = path.as_uri()
    with Editor(capabilities=NESTED) as editor:
        editor.asked("textDocument/hover", NOWHERE)
        session = editor.result("session/create", {"cwd": "/", "inMemory": True})["sessionId"]
        opening = framed({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened(uri, text)})
        outline = editor.frame("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        sent: dict[int, float] = {}
        done = threading.Event()

        def ping() -> None:
            editor._send(opening + outline)
            while not done.is_set():
                request = editor.frame("session/getState", {"sessionId": session})
                sent[number_of(request.partition(b"\r\n\r\n")[2])] = perf_counter()
                editor._send(request)
                sleep(PING_EVERY)

        pinging = threading.Thread(target=ping)
        pinging.start()
        waits = []
        while not done.is_set() or len(waits) < len(sent):
            body = editor._read()
            if (started := sent.get(number_of(body))) is not None:
                waits.append(perf_counter() - started)
            elif number_of(body) == number_of(outline.partition(b"\r\n\r\n")[2]):
                done.set()
                pinging.join()
        waits.sort()
        figures.add("pid", "another request meanwhile, longest", path.stem, MS, 1e3 * waits[-1])
        figures.add("pid", "another request meanwhile, 99 of 100", path.stem, MS, 1e3 * waits[len(waits) * 99 // 100])


def opened(uri: str, text: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "languageId": "jsonl", "version": 1, "text": text}}


def number_of(body: bytes) -> int:
    """The id of a message, without reading all of it: what the client does meanwhile would count as waiting."""
    found = re.search(rb'"id": ?(\d+)', body[:100])
    return int(found[1]) if found else -1


def is_outline(message: dict[str, Any]) -> bool:
    return isinstance(message.get("result"), list) and "selectionRange" in str(message["result"][:1])


def told(version: int) -> Callable[[dict[str, Any]], bool]:
    return lambda message: (
        message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == version
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.documents", description=__doc__)
    parser.add_argument("--entries", type=int, default=16_000, help="16,000 are about 40 MB")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="pid-bench-") as folder:
        recipe = Recipe(options.entries, "branchy")
        path = write(recipe, Path(folder) / f"{recipe.name}.jsonl")
        for _ in range(options.runs):
            measure(path, figures)
    print(figures.table())


if __name__ == "__main__":
    main()
