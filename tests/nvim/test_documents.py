"""Session files as buffers: outline, problems, hover, jumps and lenses, in Neovim's own windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop import FOLDER
from tests.nvim.conftest import Start
from tests.nvim.editor import Editor

Written = Callable[[str], Path]

TREE = "u1=Fix_it a1(read)=Look t1=found a2=Done l1(u1)=start | a1 > u2=Again a3"
ATTACHED = "return #vim.lsp.get_clients({ bufnr = 0, name = 'pid' }) == 1"
PROBLEMS = "return vim.tbl_map(function(one) return { one.lnum, one.code } end, vim.diagnostic.get(0))"


def opened(editor: Editor, path: Path) -> Editor:
    editor.command(f"edit {path}")
    editor.until(lambda: editor.lua(ATTACHED), "the daemon at the buffer")
    return editor


def stored(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_outline(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file(TREE))
    editor.lua("vim.lsp.buf.document_symbol()")
    screen = editor.shows("[start] Fix it")
    assert "assistant: Look" in screen
    assert "result of tool: found" in screen
    assert "Again" in screen


def test_problems(editor: Editor, session_file: Written) -> None:
    path = session_file("u1 a1(read) u2 | gone > u3")
    path.write_bytes(path.read_bytes() + b"words\n")
    opened(editor, path)
    told = [[4, "missingParent"], [5, "malformedLine"], [2, "missingToolResult"]]
    editor.until(lambda: sorted(editor.lua(PROBLEMS)) == sorted(told), "the problems")
    editor.command("$delete")
    editor.until(lambda: len(editor.lua(PROBLEMS)) == 2, "one problem less, in an unsaved buffer")
    assert path.read_bytes().endswith(b"words\n")


def test_hover_and_jumps(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file(TREE))
    editor.command("4")
    editor.lua("vim.lsp.buf.hover()")
    screen = editor.shows("depth 3")
    assert "on another branch" in screen
    assert "found" in screen
    editor.keys('<Esc>7Gf:;;wf"')
    editor.lua("vim.lsp.buf.definition()")
    editor.until(lambda: editor.nvim.current.window.cursor[0] == 3, "the parent")
    editor.lua("vim.lsp.buf.references(nil, { loclist = true })")
    editor.until(lambda: len(editor.nvim.funcs.getloclist(0)) == 3, "what names it, and itself")


def test_lenses_move_the_leaf(editor: Editor, session_file: Written) -> None:
    path = session_file(TREE)
    opened(editor, path)
    assert "Move the leaf here" not in editor.screen()
    editor.lua("require('pid').open(...)", {"path": str(path)})
    editor.shows("Move the leaf here (user)")
    editor.command("3")
    editor.lua("vim.lsp.codelens.run()")
    editor.until(lambda: stored(path)[-1].get("customType") == "pid.leaf", "the marker in the file")
    assert stored(path)[-1]["parentId"] == "a1"
    editor.until(lambda: len(editor.lines()) == len(stored(path)), "the file as it is now")
    assert not editor.lua("return vim.bo.modified")


def test_growth_shows(editor: Editor, session_file: Written) -> None:
    """What the daemon appends to the file of a buffer is loaded, and its outline follows; an edited buffer stays."""
    path = session_file("u1=One")
    opened(editor, path)
    editor.lua("require('pid').open(...)", {"path": str(path)})
    editor.until(lambda: editor.lua("return require('pid').session() ~= nil"), "the session")
    editor.lua("require('pid').append('Two')")
    editor.until(lambda: len(editor.lines()) == 3, "the new line")
    editor.lua("vim.lsp.buf.document_symbol()")
    editor.shows("Two")
    editor.command("wincmd p | call append('$', 'mine')")
    editor.lua("require('pid').append('Three')")
    editor.until(lambda: len(stored(path)) == 4, "the third message")
    assert editor.lines()[-1] == "mine"


def test_a_daemon_that_died_is_attached_again(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file(TREE))
    before = editor.daemon_pid()
    editor.kill_daemon()
    editor.until(lambda: editor.daemon_pid() not in (0, before) and editor.lua(ATTACHED), "another daemon")
    editor.command("2")
    editor.lua("vim.lsp.buf.hover()")
    editor.shows("depth 1")


@pytest.mark.parametrize("first", ['{"type":"message"}', "words", ""])
def test_other_files_load_nothing(editor: Editor, tmp_path: Path, first: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(f"{first}\n" * 3)
    editor.command(f"edit {path}")
    assert editor.lua("return vim.bo.filetype") == "jsonl"
    assert not editor.lua("return package.loaded['pid.documents'] ~= nil")


def test_it_can_be_switched_off(start: Start, session_file: Written) -> None:
    editor = start(setup="require('pid').setup({ documents = false })")
    editor.command(f"edit {session_file(TREE)}")
    assert editor.lua("return vim.bo.filetype") == "jsonl"
    assert editor.lua("return #vim.lsp.get_clients()") == 0


REAL = FOLDER / "real-session-v1.jsonl"


@pytest.mark.skipif(not REAL.is_file(), reason="there is no real session here (PID_SHARED)")
def test_the_real_session(editor: Editor, tmp_path: Path) -> None:
    """Of 1,019 entries in version 1: outline, problems, hover and lens."""
    path = tmp_path / "real.jsonl"
    path.write_bytes(REAL.read_bytes())
    opened(editor, path)
    editor.until(lambda: len(editor.lua(PROBLEMS)) == 18, "the problems")
    editor.lua("vim.lsp.buf.document_symbol()")
    editor.until(lambda: len(editor.nvim.funcs.getloclist(0)) == 1019, "the outline")
    editor.command("lclose | 9")
    editor.lua("vim.lsp.buf.hover()")
    assert "In the present context" in editor.shows("depth 8")
    editor.lua("require('pid').open(...)", {"path": str(path)})
    editor.until(lambda: len(editor.lua("return vim.lsp.codelens.get(0)")) == 540, "the lenses")
    assert path.read_bytes() == REAL.read_bytes()
