"""Finding sessions and forking them, with the pickers that people have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pid.protocol import METHODS
from tests.nvim.editor import Editor

Written = Callable[[str], Path]

needs = {
    method: pytest.mark.skipif(method not in METHODS, reason=f"the daemon has no {method} yet")
    for method in ("session/list", "session/fork", "session/continueRecent", "prompt/build")
}

PICKER = """
local choice = ...
_G.offered = {}
vim.ui.select = function(items, opts, choose)
  _G.offered = vim.tbl_map(opts.format_item, items)
  choose(items[choice])
end
"""


def made(editor: Editor, name: str, text: str) -> None:
    """A session with one message, made from the editor and closed."""
    editor.command(f"Pid new {name}")
    editor.until(lambda: any(name in line for line in editor.lines()), "the new session")
    editor.keys(f"a{text}<CR>")
    editor.until(lambda: f"◉ U {text}" in editor.lines(), "the message")
    editor.command("Pid close")
    editor.until(lambda: "/tree" not in editor.screen(), "the closed window")


@needs["session/list"]
@pytest.mark.parametrize("command", ["Pid open", "Pid list", "Pid list all"])
def test_choosing_a_session(editor: Editor, command: str) -> None:
    made(editor, "Alpha", "Hello from alpha")
    made(editor, "Beta", "Hello from beta")
    editor.lua(PICKER, 2)
    editor.command(command)
    editor.until(lambda: "◉ U Hello from alpha" in editor.lines(), "the older session")
    assert ["Beta" in line or "Alpha" in line for line in editor.lua("return _G.offered")] == [True, True]


@needs["session/list"]
def test_nothing_to_choose(editor: Editor) -> None:
    editor.command("Pid list")
    editor.tells("there is no session of this directory (:Pid list all has all)")


@needs["session/list"]
def test_giving_up_the_choice(editor: Editor) -> None:
    made(editor, "Alpha", "Hello")
    editor.lua(PICKER, 7)
    editor.command("Pid list")
    editor.until(lambda: editor.lua("return #_G.offered") == 1, "the choice")
    assert editor.told() == []


@needs["session/continueRecent"]
def test_continue(editor: Editor) -> None:
    made(editor, "Alpha", "Hello from alpha")
    made(editor, "Beta", "Hello from beta")
    editor.command("Pid continue")
    editor.until(lambda: "◉ U Hello from beta" in editor.lines(), "the newer session")


@needs["session/fork"]
@pytest.mark.parametrize("keys", ["f", ":Pid fork<CR>"])
def test_fork(editor: Editor, session_file: Written, keys: str) -> None:
    """The path to the entry under the cursor, in a new session and a new tab; the source stays as it is."""
    path = session_file("u1=One a1=Two u2=Three | a1 > u3=Aside")
    before = path.read_bytes()
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.go_to("Two")
    editor.keys(keys)
    editor.until(lambda: len(editor.nvim.tabpages) == 2 and "◉ A Two" in editor.lines(), "the fork")
    assert len(editor.lines()) == 3
    editor.keys("aOnly here<CR>")
    editor.until(lambda: "◉ U Only here" in editor.lines(), "the message")
    assert path.read_bytes() == before
    new = Path(editor.lua("return require('pid').session().path"))
    assert json.loads(new.read_text().splitlines()[0])["parentSession"] == str(path)


@needs["prompt/build"]
def test_prompt(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "project" / "AGENTS.md").write_text("Write short sentences.")
    editor.command("Pid prompt")
    editor.until(lambda: "Write short sentences." in editor.lines(), "the prompt")
    assert not editor.nvim.current.buffer.options["modifiable"]
