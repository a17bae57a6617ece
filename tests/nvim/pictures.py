"""Takes the pictures of the plugin's README: a real Neovim in tmux, its screen with colours, drawn as an image.

    python -m tests.nvim.pictures DIRECTORY [NAME…]

needs tmux and rsvg-convert. Nothing here is a test; a picture is judged by looking at it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from tests.nvim.editor import PLUGIN, ROOT, environment
from tests.nvim.find import binary

Json = dict[str, Any]

COLUMNS, LINES = 132, 34
CELL_WIDTH, CELL_HEIGHT, FONT = 9.03, 17, 15
BACKGROUND, FOREGROUND = "#14161b", "#e0e2ea"
FONTS = "DejaVu Sans Mono, monospace"


class Step(NamedTuple):
    """Keys, and a text that the screen has when they have done their work."""

    keys: str
    shows: str


SESSION = "rounding.jsonl"
OPEN = Step(f":tab Pid open {SESSION}\r", "entries")
SETTINGS = "{ contextWindow = 200000, keepRecentTokens = 8000 }"
GROWN = 20
SHOTS = {
    "tree": (OPEN, Step("tgg", "tally"), Step("/Next: to\r", "Next: to"), Step("\r", "◉ U Next"), Step(":\x1b", "◉")),
    "context": (OPEN, Step(":tab Pid context\r", "messages")),
    "preview": (OPEN, Step(":tab Pid compact\r", "Compaction"), Step(":\x1b", "Compaction")),
    "document": (
        Step(f":edit {SESSION}\r", "rounding"),
        Step(":lua require('pid').open({ path = vim.fn.expand('%:p') })\r", "Move the leaf here"),
        Step(":lua vim.diagnostic.config({ virtual_text = true })\r", ""),
        Step(':4s/"parentId": "......../"parentId": "0badcafe/\r', "names the entry"),
        Step(":lua vim.o.qftf = \"{list -> map(getloclist(list.winid), 'v:val.text')}\"\r", ""),
        Step(":lua vim.lsp.buf.document_symbol()\r", "[Event]"),
        Step("\x17L:vertical resize 59 | set nowrap\r", "user"),
        Step("\x17h:3\rzt3j", "Move the leaf here"),
        Step(":lua vim.lsp.buf.hover()\r", "depth"),
        Step(":\x1b", "depth"),
    ),
    "entry": (OPEN, Step("kkkK", "q closes")),
}


def grown(session: str) -> str:
    """The sample session as if its tools had said more, so that a compaction has something to do."""
    return "".join(json.dumps(_grown(json.loads(line))) + "\n" for line in session.splitlines())


def _grown(entry: Json) -> Json:
    message = entry.get("message", {})
    if message.get("role") == "toolResult":
        text = message["content"][0]["text"]
        message["content"].append({"type": "text", "text": "\n".join([text] * GROWN)})
    if usage := message.get("usage"):
        message["usage"] = {key: value * GROWN if isinstance(value, int) else value for key, value in usage.items()}
    return entry


class Terminal:
    """A tmux server of its own with one Neovim."""

    def __init__(self, home: Path) -> None:
        self.socket = f"pid-pictures-{os.getpid()}"
        self.env = {**os.environ, **environment(home), "COLORTERM": "truecolor"}
        (home / SESSION).write_text(grown((ROOT / "pid" / "data" / "sample-session.jsonl").read_text()))
        nvim = [str(binary()), "--clean", "-i", "NONE", "-n", "--cmd", f"set runtimepath^={PLUGIN} termguicolors"]
        nvim += ["-c", f"lua require('pid').setup({{ settings = {SETTINGS} }})"]
        settings = ["-c", "set laststatus=0 noruler noshowcmd shortmess+=I showtabline=0 nohlsearch"]
        self.tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(COLUMNS),
            "-y",
            str(LINES),
            "-c",
            str(home),
            *nvim,
            *settings,
        )
        self.tmux("set", "-g", "status", "off")
        self.tmux("set", "-ga", "terminal-overrides", ",*:Tc")

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.socket, *arguments]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=True).stdout

    def screen(self, *more: str) -> str:
        return self.tmux("capture-pane", "-p", *more)

    def take(self, steps: tuple[Step, ...]) -> str:
        """The screen with its colours, as soon as it is still."""
        self.still()
        for step in steps:
            self.tmux("send-keys", "-l", step.keys)
            deadline = time.monotonic() + 30
            while step.shows not in self.screen():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{step.shows!r} never showed:\n{self.screen()}")
                time.sleep(0.1)
            self.still()
        return self.screen("-e", "-N")

    def still(self) -> None:
        before, calm = "", 0
        while calm < 8:
            time.sleep(0.15)
            now = self.screen()
            calm = calm + 1 if now == before else 0
            before = now

    def stop(self) -> None:
        self.tmux("kill-server")


def _colour(colour: Color | None, default: str) -> str:
    return colour.get_truecolor().hex if colour and not colour.is_default else default


def _run(column: int, row: int, segment: Segment) -> str:
    style = segment.style or Style()
    ink, paper = _colour(style.color, FOREGROUND), _colour(style.bgcolor, BACKGROUND)
    if style.reverse:
        ink, paper = paper, ink
    x, y, width = column * CELL_WIDTH, row * CELL_HEIGHT, segment.cell_length * CELL_WIDTH
    box = (
        ""
        if paper == BACKGROUND
        else f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{CELL_HEIGHT}" fill="{paper}"/>'
    )
    weight = ' font-weight="bold"' if style.bold else ""
    slant = ' font-style="italic"' if style.italic else ""
    where = f'x="{x:.2f}" y="{y + 13.5}" textLength="{width:.2f}" lengthAdjust="spacing"'
    return f'{box}<text {where} fill="{ink}"{weight}{slant} xml:space="preserve">{escape(segment.text)}</text>'


def svg(screen: str) -> str:
    """A screen with escape sequences as an image; each run of one style is as wide as its cells."""
    parts = []
    lines = screen.rstrip("\n").split("\n")
    decoder = AnsiDecoder()  # one for all: tmux says a colour once, also for the lines that follow
    for row, line in enumerate(lines):
        column = 0
        for segment in decoder.decode_line(line).render(Console(width=10_000)):
            if segment.text.strip("\n"):
                parts.append(_run(column, row, segment))
                column += segment.cell_length
    width, height = COLUMNS * CELL_WIDTH, len(lines) * CELL_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -10 {width + 24:.0f} {height + 20}" '
        f'font-family="{FONTS}" font-size="{FONT}">'
        f'<rect x="-12" y="-10" width="{width + 24:.0f}" height="{height + 20}" rx="8" fill="{BACKGROUND}"/>'
        f"{''.join(parts)}</svg>"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the plugin's README.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", default=list(SHOTS))
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        with tempfile.TemporaryDirectory() as home:
            terminal = Terminal(Path(home))
            try:
                image = svg(terminal.take(SHOTS[name]))
            finally:
                terminal.stop()
        target = options.directory / f"{name}.png"
        subprocess.run(["rsvg-convert", "--zoom", "1.5", "-o", target], input=image.encode(), check=True)


if __name__ == "__main__":
    main()
