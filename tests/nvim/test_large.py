"""A session of 10,000 entries: it opens, follows, and draws. The figures are told, never asserted."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from tests.benchmarks.sessions import Recipe, write
from tests.nvim.editor import Editor

ENTRIES = 10_000

TIMED = """
_G.drawn = {}
local tree = require('pid.tree')
local draw = tree.draw
tree.draw = function(...)
  local before = os.clock()
  draw(...)
  vim.cmd.redraw()
  table.insert(_G.drawn, (os.clock() - before) * 1e3)
end
"""


@pytest.mark.parametrize("kind", ["linear", "branchy"])
def test_ten_thousand_entries(editor: Editor, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(Recipe(ENTRIES, kind), tmp_path / "large.jsonl")
    editor.command("checkhealth pid")  # the daemon runs already, as it does in an editor at work
    editor.lua(TIMED)
    before = time.perf_counter()
    editor.command(f"Pid open {path}")
    editor.until(lambda: editor.lua("return #_G.drawn") == 1, "the tree")
    opened = time.perf_counter() - before
    assert len(editor.lines()) == ENTRIES + 1
    assert "◉ " in editor.line()
    for text in ("first", "second", "third", "fourth", "fifth"):
        editor.lua("require('pid').append(...)", text)
        editor.until(lambda leaf=f"◉ U {text}": any(line.endswith(leaf) for line in editor.lines()), "the message")
    editor.keys("gg<CR>")
    editor.until(lambda: editor.lines()[0].startswith("◉"), "the moved leaf")
    redrawn = statistics.median(editor.lua("return _G.drawn"))
    with capsys.disabled():
        print(
            f"\n{ENTRIES} entries, {kind}: opened in {opened:.2f} s, drawn again in {redrawn:.0f} ms of processor time"
        )
