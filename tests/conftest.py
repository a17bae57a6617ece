"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import npm as npm_module
from tests.npm import Npm
from tests.pi import Pi

NOBODY = 65534

# A machine that is busy is no fault: nothing in these tests is judged by the clock.
settings.register_profile("pid", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pid")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def npm() -> Npm:
    """Node and its packages; the test skips without them, and fails where `PID_REQUIRE_NODE=1`."""
    return npm_module.required()


@pytest.fixture(scope="session")
def pi(npm: Npm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pi]:
    """pi 1.6.0 with a home of its own. One process for the whole run: a test closes what it opens."""
    process = Pi(npm, tmp_path_factory.mktemp("pi-home"))
    yield process
    process.stop()


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory of one's own, without root's right to read everything."""
    own = os.geteuid()
    with tempfile.TemporaryDirectory() as directory:
        if own == 0:
            os.chown(directory, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(directory).resolve()
        finally:
            os.seteuid(own)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a home of its own, and a `pid` command that is this source."""
    command = tmp_path / "bin" / "pid"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pid "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    return tmp_path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")


@pytest.fixture
def refresh(request: pytest.FixtureRequest) -> bool:
    """Whether the expected files are to be written anew."""
    return bool(request.config.getoption("--refresh"))
