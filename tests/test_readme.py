"""The README's examples are run as they stand there, against a real daemon."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.npm import Npm
from tests.nvim.find import binary

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(find_spec("pid.__main__") is None, reason="there is no daemon yet")


def example(language: str) -> str:
    """The only block of that language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a home of its own, and a `pid` command that is this source."""
    command = tmp_path / "bin" / "pid"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pid "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    return tmp_path


def printed(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def sessions(place: Path) -> list[Path]:
    return list((place / "agent" / "sessions").rglob("*.jsonl"))


def test_python(place: Path) -> None:
    assert "Hello" in printed(sys.executable, "-c", example("python"), cwd=place)
    assert len(sessions(place)) == 1


def test_node(place: Path, npm: Npm) -> None:
    (place / "node_modules").symlink_to(npm.modules)
    (place / "example.mjs").write_text(example("js"))
    assert "nodes: []" in printed(npm.node, "example.mjs", cwd=place)
    assert len(sessions(place)) == 1


@pytest.mark.skipif(binary() is None, reason="no nvim")
def test_neovim(place: Path) -> None:
    (place / "example.lua").write_text(example("lua"))
    wait = "lua vim.wait(10000, function() return vim.fn.execute('messages'):find('nodes') end)"
    editor = [str(binary()), "--headless", "-u", "NONE", "-i", "NONE", "-n"]
    assert "nodes" in printed(*editor, "-c", "luafile example.lua", "-c", wait, "-c", "qa!", cwd=place)
    assert len(sessions(place)) == 1
