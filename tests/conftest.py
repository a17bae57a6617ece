"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import npm as npm_module
from tests.npm import Npm
from tests.pi import Pi


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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")


@pytest.fixture
def refresh(request: pytest.FixtureRequest) -> bool:
    """Whether the expected files are to be written anew."""
    return bool(request.config.getoption("--refresh"))
