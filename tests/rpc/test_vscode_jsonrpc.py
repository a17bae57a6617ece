"""vscode-jsonrpc, the library of VS Code's language clients, drives the daemon unchanged."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.npm import HERE, Npm

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def seen(npm: Npm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the client of tests/node/client.mjs saw in one session."""
    home = str(tmp_path_factory.mktemp("home"))
    env = os.environ | {"HOME": home, "PI_CODING_AGENT_DIR": home, "PYTHONPATH": str(ROOT)}
    command = [npm.node, HERE / "client.mjs", npm.modules, sys.executable, "-m", "pid", "--stdio"]
    answer = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_the_handshake(seen: dict[str, Any]) -> None:
    assert seen["serverInfo"]["name"] == "pid"
    assert seen["capability"]["protocolVersion"] == 1
    assert "session/append" in seen["capability"]["methods"]


def test_an_answer_of_ten_megabytes(seen: dict[str, Any]) -> None:
    assert seen["largeIsWhole"]


def test_errors_with_their_data(seen: dict[str, Any]) -> None:
    assert seen["error"]["error"]["code"] == 1001
    assert seen["error"]["error"]["data"]["kind"] == "sessionNotFound"
    assert seen["unknown"]["error"]["code"] == -32601


def test_a_cancelled_append_is_either_written_or_not(seen: dict[str, Any]) -> None:
    """-32800 means that nothing was written; any other answer stands in the tree, in order."""
    written = [outcome for outcome in seen["outcomes"] if outcome != -32800]
    assert set(seen["outcomes"][::2]) == {f"e{i}" for i in range(0, len(seen["outcomes"]), 2)}
    assert seen["stored"] == ["large", *written]
    assert seen["changes"] == len(seen["stored"])


def test_a_clean_end(seen: dict[str, Any]) -> None:
    assert seen["shutdown"] == {"result": None}
    assert (seen["exitCode"], seen["signal"]) == (0, None)
    assert seen["problems"] == []
