"""Editors and session files for the tests of the Neovim plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trees import session_bytes

pynvim = pytest.importorskip("pynvim", reason="pynvim is not installed: pip install '.[test]'")

from tests.nvim.editor import Editor  # noqa: E402
from tests.nvim.find import binary  # noqa: E402

Start = Callable[..., Editor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts editors; all of them end with the test."""
    if binary() is None:
        pytest.skip("there is no nvim: pip install '.[test]', or set PID_NVIM")
    project = tmp_path / "project"
    project.mkdir()
    editors: list[Editor] = []

    def starting(**options: object) -> Editor:
        editors.append(Editor(tmp_path, project, **options))  # type: ignore[arg-type]
        return editors[-1]

    yield starting
    for editor in editors:
        editor.stop()


@pytest.fixture
def editor(start: Start) -> Editor:
    return start()


@pytest.fixture
def session_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the session of a tree written as text."""

    def written(text: str) -> Path:
        path = tmp_path / "session.jsonl"
        path.write_bytes(session_bytes(text))
        return path

    return written
