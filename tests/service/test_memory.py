"""What is closed is given back at once: full collections are rare in the daemon, so nothing may wait for one."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from pid.errors import PidError
from pid.protocol import ContextParams, ForkParams, SettingsUpdate
from pid.service import answers
from pid.service.forking import fork
from pid.service.store import Store
from pid.service.turns import begin
from tests.service.daemon import append, make_store, move, open_path, user
from tests.trees import session_bytes

pytestmark = pytest.mark.anyio


async def nothing(store, resident):
    pass


async def write(store, resident):
    await append(resident)
    await move(resident, "u1")


async def be_refused(store, resident):
    with pytest.raises(PidError):
        await append(resident, user(), parent_id="gone")


async def be_refused_in_turn(store, resident):
    before = asyncio.create_task(append(resident))
    await asyncio.sleep(0)
    await be_refused(store, resident)
    await before


async def read(store, resident):
    await answers.build_context(resident.session, ContextParams(session_id="s"))
    await resident.compactor.gauge.usage(resident.session.leaf)


async def watch(store, resident):
    resident.session.configure(SettingsUpdate(context_window=100_000))
    resident.watch.configured()
    await append(resident)
    await asyncio.sleep(0.05)


async def see_others(store, resident):
    with open(resident.session.journal.path, "ab") as file:
        file.write(b'{"type":"custom","id":"x1","parentId":null,"timestamp":"2026-01-01T00:00:09.000Z"}\n')
    await resident.order.settled()


async def be_forked(store, resident):
    made = await fork(store, ForkParams(session_id=resident.session.session_id))
    await store.close(made.session.session_id)


USES = [nothing, write, be_refused, be_refused_in_turn, read, watch, see_others, be_forked]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("start", [asyncio.create_task, begin], ids=["in a task", "at once"])
async def test_a_closed_session_is_gone(tmp_path, use, start):
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes("u1 a1 u2 a2"))
    store = make_store(tmp_path)
    gc.collect()
    gc.disable()
    try:
        resident = await open_path(store, path)
        session, handle = weakref.ref(resident.session), resident.session.session_id
        if using := start(use(store, resident)):
            await using
        del resident, using
        await store.close(handle)
        await asyncio.sleep(0.01)
        assert session() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("resident", [False, True])
async def test_an_opening_that_fails_leaves_nothing(tmp_path, monkeypatch, resident):
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes("u1 a1 u2 a2"))
    store, read, seen = make_store(tmp_path), Store.read, []

    async def noted(self, path):
        session = await read(self, path)
        seen.append(weakref.ref(session))
        return session

    monkeypatch.setattr(Store, "read", noted)
    gc.collect()
    gc.disable()
    try:
        handle = (await open_path(store, path)).session.session_id if resident else None
        with pytest.raises(PidError):
            await open_path(store, path, leaf_id="gone")
        with pytest.raises(PidError):
            await fork(store, ForkParams(path=str(path), entry_id="gone"))
        if handle:
            await store.close(handle)
        await asyncio.sleep(0.01)
        assert seen
        assert [session() for session in seen] == [None] * len(seen)
    finally:
        gc.enable()
