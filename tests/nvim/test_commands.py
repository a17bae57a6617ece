"""`:Pid` and its subcommands, as they are typed; what goes wrong is one clear line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nvim.conftest import Start
from tests.nvim.editor import PLUGIN, Editor

Written = Callable[[str], Path]


def sessions(home: Path) -> list[Path]:
    return list((home / "agent" / "sessions").rglob("*.jsonl"))


def complete(editor: Editor, line: str) -> list[str]:
    return list(editor.nvim.funcs.getcompletion(line, "cmdline"))


def test_new(editor: Editor, tmp_path: Path) -> None:
    editor.command("Pid new Bernoulli numbers")
    assert "Bernoulli numbers" in editor.shows("Bernoulli numbers")
    [path] = sessions(tmp_path)
    assert json.loads(path.read_text().splitlines()[0])["cwd"] == str(tmp_path / "project")
    editor.keys("aHello<CR>")
    editor.until(lambda: "◉ U Hello" in editor.lines(), "the message")


def test_completion(editor: Editor, session_file: Written) -> None:
    names = ["new", "open", "continue", "list", "tree", "append", "label", "fork", "compact", "context", "usage"]
    assert set(names) | {"prompt", "close", "log"} <= set(complete(editor, "Pid "))
    assert complete(editor, "Pid con") == ["context", "continue"]
    path = session_file("u1")
    assert complete(editor, f"Pid open {str(path)[:-3]}") == [str(path)]
    assert "anthropic" in complete(editor, "Pid context ")


def test_choosing_a_subcommand(editor: Editor) -> None:
    editor.lua(
        "vim.ui.select = function(items, opts, choose)"
        " _G.offered = vim.tbl_map(opts.format_item, items); choose('log') end"
    )
    editor.command("Pid")
    editor.shows("The daemon's own log")
    assert any("make a session" in line for line in editor.lua("return _G.offered"))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("Pid frobnicate", "pid: no subcommand `frobnicate`; there are append,"),
        ("Pid tree", "pid: no session is open: use :Pid open, :Pid continue or :Pid new"),
        ("Pid open /nowhere/at/all.jsonl", "/nowhere/at/all.jsonl"),
    ],
)
def test_one_clear_line(editor: Editor, command: str, line: str) -> None:
    editor.command(command)
    told = editor.tells(line)
    assert told.startswith("pid: ")
    assert "\n" not in told
    assert "traceback" not in told


def test_not_a_session(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text("[]\n")
    editor.command(f"Pid open {path}")
    editor.tells("session")
    assert path.read_text() == "[]\n"


def test_no_daemon(start: Start) -> None:
    editor = start(setup="require('pid').setup({ cmd = { 'no-such-pid' } })")
    editor.command("Pid new")
    assert "there is no command `no-such-pid`: install it (:help pid-install)" in editor.tells("no-such-pid")
    editor.command("Pid new")
    editor.until(lambda: len(editor.told()) == 2, "a second message")


def test_another_program_as_the_daemon(start: Start) -> None:
    """It ends at once; after a few attempts that is said once, and nothing waits for ever."""
    editor = start(setup="require('pid').setup({ cmd = { 'true' } })")
    editor.command("Pid new")
    editor.tells("pid: the daemon ended (exit code 0): see :Pid log and :checkhealth pid")


def test_unknown_options(editor: Editor) -> None:
    code = "return tostring(select(2, pcall(require('pid').setup, ...)))"
    assert editor.lua(code, {"comand": ["pid"]}) == "pid: there is no option `comand`; see :help pid-options"
    assert editor.lua(code, {"cmd": "pid"}) == "pid: option `cmd` must be a table; see :help pid-options"
    assert "tree.colour" in editor.lua(code, {"tree": {"colour": 1}})


def test_context(editor: Editor, session_file: Written) -> None:
    """What the model sees, with a closed line for each message but the last."""
    editor.command(f"Pid open {session_file('u1=Question a1(bash)=Looking t1=found a2=Answer | u1 > a3=Aside')}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.go_to("Answer")
    editor.keys("C")
    screen = editor.shows("4 messages")
    assert "▸ user        Question  1 line  u1" in screen
    assert "Aside" not in "\n".join(editor.lines())
    assert "Answer" in screen
    assert not editor.nvim.current.buffer.options["modifiable"]
    editor.keys("zR")
    editor.shows("call bash")
    editor.command("Pid context agent")
    editor.until(lambda: "Aside" in "\n".join(editor.lines()), "the context at the leaf")


def test_close(editor: Editor, session_file: Written) -> None:
    editor.command(f"Pid open {session_file('u1')}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.command("Pid close")
    editor.until(lambda: "/tree" not in editor.screen(), "the closed window")
    editor.command("Pid tree")
    editor.tells("no session is open")


def test_lost_file(editor: Editor, session_file: Written) -> None:
    path = session_file("u1")
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    path.unlink()
    editor.tells("open it again with :Pid open")


def test_damaged_file(editor: Editor, session_file: Written) -> None:
    path = session_file("u1 !a1 u2")
    editor.command(f"Pid open {path}")
    editor.tells("in the file, see :Pid log")
    editor.command("Pid log")
    editor.shows("line 3")


def test_split_modifiers(editor: Editor, session_file: Written) -> None:
    editor.command(f"tab Pid open {session_file('u1')}")
    editor.until(lambda: len(editor.nvim.tabpages) == 2, "the tab")


def test_loading_twice_is_harmless(editor: Editor, session_file: Written) -> None:
    editor.command(f"Pid open {session_file('u1=One')}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.command(f"source {PLUGIN}/plugin/pid.lua")
    editor.lua("require('pid').setup({})")
    editor.keys("aTwo<CR>")
    editor.until(lambda: "◉ U Two" in editor.lines(), "the message")


def test_loading_is_lazy(editor: Editor) -> None:
    assert (
        editor.lua(
            "return vim.tbl_filter(function(n) return vim.startswith(n, 'pid') end, vim.tbl_keys(package.loaded))"
        )
        == []
    )


def test_health(editor: Editor) -> None:
    editor.lua("vim.env.ANTHROPIC_API_KEY = 'sk-secret'")
    editor.command("checkhealth pid")
    text = "\n".join(editor.lines())
    assert "command `pid`: " in text
    assert "protocol version 1" in text
    assert "sessions are kept in" in text
    assert "a key for the Anthropic API is in the environment" in text
    assert "sk-secret" not in text
    assert "ERROR" not in text


def test_health_without_a_daemon(start: Start) -> None:
    editor = start(setup="require('pid').setup({ cmd = { 'no-such-pid' } })")
    editor.command("checkhealth pid")
    assert "there is no command `no-such-pid`" in "\n".join(editor.lines())


def test_help_is_complete(editor: Editor, tmp_path: Path) -> None:
    """Each subcommand, option, function and key stands in `:help pid`."""
    text = (PLUGIN / "doc" / "pid.txt").read_text()
    missing = [name for name in editor.lua("return require('pid.commands').names()") if f"*:Pid-{name}*" not in text]
    functions = editor.lua("return vim.tbl_keys(require('pid'))")
    missing += [name for name in functions if f"*pid.{name}()*" not in text]
    options = editor.lua("return vim.tbl_keys(require('pid.config').types)")
    missing += [name for name in options if f"*pid-option-{name}*" not in text]
    keys = editor.lua("return vim.tbl_map(function(k) return k[1] end, require('pid.tree_keys').keys)")
    missing += [key for key in keys if f"\n{key} " not in text]
    assert missing == []
    shutil.copytree(PLUGIN / "doc", tmp_path / "copy" / "doc")
    editor.command(f"set runtimepath^={tmp_path}/copy | helptags {tmp_path}/copy/doc | help pid-option-summarize")
    assert "*pid-option-summarize*" in editor.line()
