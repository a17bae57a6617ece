"""A store in a folder of its own, and what it tells its client."""

import pytest

from tests.service.daemon import Told, make_store


@pytest.fixture
def told():
    return Told()


@pytest.fixture
async def store(tmp_path, told):
    store = make_store(tmp_path, told)
    yield store
    await store.close_all()
