"""Fixtures of the tests of the wire."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.rpc.peer import Local, connected
from tests.rpc.tiny import Tiny


@pytest.fixture
async def server() -> AsyncIterator[Tiny]:
    tiny = Tiny()
    yield tiny
    tiny.unstuck.set()


@pytest.fixture
async def fresh(server: Tiny) -> AsyncIterator[Local]:
    """A client that has said nothing yet."""
    async with contextlib.AsyncExitStack() as stack:
        yield await stack.enter_async_context(connected(server))


@pytest.fixture
async def peer(fresh: Local) -> Local:
    """A client after `initialize`."""
    await fresh.initialize()
    return fresh
