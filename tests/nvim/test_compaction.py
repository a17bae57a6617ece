"""Compaction and branch summaries from the editor: preview, run, progress, cancel, the user's own model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pid.protocol import METHODS
from tests.nvim.conftest import Start
from tests.nvim.editor import Editor

Written = Callable[[str], Path]

pytestmark = pytest.mark.skipif("session/compact" not in METHODS, reason="the daemon does not compact yet")

TALK = "u1=First_question a1(bash)*4000 t1*4000 a2*4000 u2=Second_question a3=Second_answer"
SETTINGS = "settings = { keepRecentTokens = 10, contextWindow = 100000, summarizer = '%s', fallback = false }"
MODEL = """
_G.asked, _G.stopped = {}, 0
require('pid').setup({ %s, summarize = function(request, done)
  table.insert(_G.asked, request)
  _G.done = done
  %s
  return function() _G.stopped = _G.stopped + 1 end
end })
"""


def with_model(body: str) -> str:
    """Options with a `summarize` that does this."""
    return MODEL % (SETTINGS % "client", body)


PLAIN = f"require('pid').setup({{ {SETTINGS % 'extractive'} }})"


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def previewed(editor: Editor, path: Path) -> Editor:
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.keys("c")
    editor.until(lambda: any("Summarised" in line for line in editor.lines()), "the preview")
    return editor


def test_preview_writes_nothing(start: Start, session_file: Written) -> None:
    path = session_file(TALK)
    before = path.read_bytes()
    editor = previewed(start(setup=PLAIN), path)
    text = "\n".join(editor.lines())
    assert "tokens in all" in text
    assert text.index("Summarised") < text.index("U First question") < text.index("Kept")
    assert text.index("Kept") < text.index("A Second answer")
    editor.keys("q")
    editor.until(lambda: "Summarised" not in editor.screen(), "the closed window")
    assert path.read_bytes() == before


def test_compact(start: Start, session_file: Written) -> None:
    """Confirmed in the preview; the summary opens, and what it stands for is dim in the tree."""
    path = session_file(TALK)
    editor = previewed(start(setup=PLAIN), path)
    editor.keys("<CR>")
    editor.shows("q closes")
    assert "tokens" in editor.tells("compacted:")
    assert stored(path)[-1]["type"] == "compaction"
    editor.keys("q")
    editor.until(lambda: any(line.startswith("◉ C ") for line in editor.lines()), "the compaction in the tree")


def test_own_model(start: Start, session_file: Written) -> None:
    path = session_file(TALK)
    editor = previewed(start(setup=with_model("vim.defer_fn(function() done(nil, 'MY SUMMARY') end, 20)")), path)
    editor.keys("i")
    editor.keys("the parser<CR>")
    editor.shows("MY SUMMARY")
    assert "MY SUMMARY" in stored(path)[-1]["summary"]
    assert "the parser" in json.dumps(editor.lua("return _G.asked"))


def test_own_model_at_once(start: Start, session_file: Written) -> None:
    """`done` may be called before `summarize` returns."""
    editor = previewed(
        start(setup=with_model("done(nil, { summary = 'AT ONCE', stopReason = 'stop' })")), session_file(TALK)
    )
    editor.keys("<CR>")
    editor.shows("AT ONCE")


@pytest.mark.parametrize("body", ["done('no such model')", "error('no such model')"])
def test_own_model_fails(start: Start, session_file: Written, body: str) -> None:
    path = session_file(TALK)
    before = path.read_bytes()
    editor = previewed(start(setup=with_model(body)), path)
    editor.keys("<CR>")
    editor.until(
        lambda: any(line.startswith("pid: ") and "compacting" not in line for line in editor.told()), "the error"
    )
    assert path.read_bytes() == before


def test_cancel(start: Start, session_file: Written) -> None:
    path = session_file(TALK)
    before = path.read_bytes()
    editor = previewed(start(setup=with_model("")), path)
    editor.keys("<CR>")
    editor.until(lambda: editor.lua("return #_G.asked") == 1, "the question to the model")
    assert editor.until(lambda: editor.lua("return require('pid').statusline()")).startswith("compact")
    editor.command("Pid cancel")
    editor.tells("cancelled, nothing was written")
    editor.until(lambda: editor.lua("return _G.stopped") == 1, "the stopped model")
    assert path.read_bytes() == before
    assert "compact" not in editor.lua("return require('pid').statusline()")


def test_progress(start: Start, session_file: Written) -> None:
    """It is Neovim's own LSP progress."""
    editor = start(setup=PLAIN)
    editor.lua(
        "_G.progress = {}; vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)"
        " table.insert(_G.progress, event.data.params.value.kind) end })"
    )
    previewed(editor, session_file(TALK)).keys("<CR>")
    editor.tells("compacted:")
    kinds = editor.lua("return _G.progress")
    assert (kinds[0], kinds[-1]) == ("begin", "end")


def test_nothing_to_compact(start: Start, session_file: Written) -> None:
    editor = start(setup=PLAIN)
    editor.command(f"Pid open {session_file('u1=One')}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.keys("c")
    editor.until(editor.told, "one line")
    assert editor.told()[0].startswith("pid: ")


def test_moved_with_a_summary(start: Start, session_file: Written) -> None:
    path = session_file("u1=Start a1=Ready u2=Try_this a2=It_failed*300")
    editor = start(setup=with_model("done(nil, 'WHAT WAS TRIED')"))
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.go_to("Ready")
    editor.keys("s<CR>")
    editor.until(lambda: any("◉ B" in line and "WHAT WAS TRIED" in line for line in editor.lines()), "the summary")
    summary = next(entry for entry in stored(path) if entry["type"] == "branch_summary")
    assert (summary["parentId"], summary["fromId"]) == ("a1", "a2")


def test_usage(start: Start, session_file: Written) -> None:
    editor = start(setup=PLAIN)
    editor.command(f"Pid open {session_file(TALK)}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.command("Pid usage")
    assert "of 100k" in editor.tells("%")
    assert "of 100k" in editor.lua("return require('pid').statusline()")


def test_compaction_by_itself(start: Start, session_file: Written) -> None:
    """One that the daemon starts is told at its end."""
    path = session_file(TALK)
    settings = "{ keepRecentTokens = 10, contextWindow = 17000, summarizer = 'extractive', autoCompact = true }"
    editor = start(setup=f"require('pid').setup({{ settings = {settings} }})")
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    editor.keys("aThe last straw<CR>")
    editor.tells("the session was compacted: ")
    assert "compaction" in [entry["type"] for entry in stored(path)]


def test_a_window_that_gets_full_is_told_once(start: Start, session_file: Written) -> None:
    settings = "{ keepRecentTokens = 10, contextWindow = 17000, summarizer = 'extractive' }"
    editor = start(setup=f"require('pid').setup({{ settings = {settings} }})")
    editor.command(f"Pid open {session_file(TALK)}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    for text in ("One more", "And one more"):
        editor.keys(f"a{text}<CR>")
        editor.until(lambda leaf=text: any(leaf in line for line in editor.lines()), "the message")
    editor.tells(":Pid compact makes room")
    assert len([line for line in editor.told() if "makes room" in line]) == 1
