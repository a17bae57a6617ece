"""pytest-lsp's client, as an editor of its choice, with the real daemon.

Its own fixtures want pytest-asyncio; these are anyio's, as everywhere here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed: pip install '.[test]'")

from lsprotocol import types  # noqa: E402
from pytest_lsp import make_test_lsp_client  # noqa: E402

from tests.lsp.editor import Editor  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    """An editor with its daemon; both end with the test. A parameter names what it can do: `plain` is nothing."""
    name = getattr(request, "param", "neovim")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-m", "pid", "--stdio"]
    client = make_test_lsp_client()
    editor = Editor(client, tmp_path)
    await client.start_io(*command, env=env)
    plain = types.ClientCapabilities()
    await editor.initialize(plain if name == "plain" else pytest_lsp.client_capabilities(name))
    yield editor
    await client.shutdown_session()
    await client.stop()
