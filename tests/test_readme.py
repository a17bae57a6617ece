"""The README's examples are run as they stand there, against a real daemon."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, example, printed, sessions
from tests.npm import Npm
from tests.nvim.find import binary


def test_the_first_commands(place: Path) -> None:
    sample = ROOT / "pid/data/sample-session.jsonl"
    before = sample.read_bytes()
    lines = re.findall(r"^pid (\w+ .*)$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {line.split()[0] for line in lines} == {"tree", "context", "compact", "doctor"}
    for line in lines:
        assert printed(sys.executable, "-m", "pid", *line.split(), cwd=ROOT)
    assert sample.read_bytes() == before
    assert sessions(place) == []


def test_python(place: Path) -> None:
    assert "Hello" in printed(sys.executable, "-c", example("README.md", "python"), cwd=place)
    assert len(sessions(place)) == 1


def test_node(place: Path, npm: Npm) -> None:
    (place / "node_modules").symlink_to(npm.modules)
    (place / "example.mjs").write_text(example("README.md", "js"))
    assert "nodes: []" in printed(npm.node, "example.mjs", cwd=place)
    assert len(sessions(place)) == 1


@pytest.mark.skipif(binary() is None, reason="no nvim")
def test_neovim(place: Path) -> None:
    (place / "example.lua").write_text(example("README.md", "lua"))
    wait = "lua vim.wait(10000, function() return vim.fn.execute('messages'):find('nodes') end)"
    editor = [str(binary()), "--headless", "-u", "NONE", "-i", "NONE", "-n"]
    assert "nodes" in printed(*editor, "-c", "luafile example.lua", "-c", wait, "-c", "qa!", cwd=place)
    assert len(sessions(place)) == 1
