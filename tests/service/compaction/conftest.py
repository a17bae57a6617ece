"""A store whose summaries come from a loopback API, through the real SDK."""

import os

import pytest

from pid.adapters.anthropic import AnthropicSummarizer
from pid.protocol import CreateParams
from tests.anthropic_server import AnthropicServer
from tests.service.compaction.steps import SETTINGS, converse
from tests.service.daemon import make_store


@pytest.fixture
def server(monkeypatch):
    with AnthropicServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", running.api_key)
        yield running


@pytest.fixture
async def store(tmp_path, told, server):
    store = make_store(tmp_path, told, summarizers=(AnthropicSummarizer(os.environ),))
    yield store
    await store.close_all()


@pytest.fixture
async def resident(store):
    found = await store.create(CreateParams(cwd="/p", settings=SETTINGS))
    await converse(found, 6)
    return found
