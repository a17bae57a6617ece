"""How a session comes into being: whole or not at all, and one for each id."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from pid.adapters import naming
from pid.errors import EntryNotFound, SessionBusy, SessionExists, WriteFailed
from pid.protocol import CreateParams, ForkParams, SettingsUpdate
from pid.service.forking import fork
from tests.service.daemon import append, make_store, move, open_path, user
from tests.trees import session_bytes

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path):
    store = make_store(tmp_path / "sessions")
    yield store
    await store.close_all()


def there(store):
    return sorted(os.listdir(store.places.session_dir))


@pytest.mark.parametrize("in_memory", [False, True])
async def test_the_name_comes_with_the_file(store, in_memory):
    resident = await store.create(CreateParams(cwd="/p", name="a\nname", in_memory=in_memory))
    state = resident.state()
    assert (state.name, state.entry_count, state.revision) == ("a name", 1, 0)
    assert state.leaf_id == resident.session.tree.ids[0]
    if not in_memory:
        header, entry = map(json.loads, Path(state.path).read_bytes().splitlines())
        assert (header["type"], entry["type"], entry["name"]) == ("session", "session_info", "a\nname")
        assert entry["timestamp"] == header["timestamp"]


@pytest.mark.parametrize("name", [None, "x" * 5000])
async def test_a_failed_creation_leaves_no_file_and_no_session(store, monkeypatch, name):
    write = os.write

    def full(fd, data):
        write(fd, bytes(data)[:300])
        raise OSError(errno.ENOSPC, "no room")

    params = CreateParams(cwd="/p", id="mine", name=name)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(WriteFailed) as refused:
            await store.create(params)
    assert refused.value.details["outcome"] == "notWritten"
    assert (there(store), list(store.handles())) == ([], [])
    assert (await store.create(params)).session.tree.name == name


# One for each id


async def make(store, source, kind):
    if kind == "create":
        return await store.create(CreateParams(cwd="/p", id="mine"))
    return await fork(store, ForkParams(path=str(source), id="mine"))


@pytest.mark.parametrize("kinds", [("create", "create"), ("create", "fork"), ("fork", "fork")])
async def test_two_daemons_at_once_make_one_session(tmp_path, store, kinds):
    """Both wait for the directory, at different times of the clock; then one has it."""
    source = tmp_path / "source.jsonl"
    source.write_bytes(session_bytes("u1 a1"))
    other = make_store(store.places.session_dir)
    os.makedirs(store.places.session_dir)
    held = os.open(store.places.session_dir, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    tasks = []
    for daemon, kind in zip((store, other), kinds, strict=True):
        tasks.append(asyncio.create_task(make(daemon, source, kind)))
        await asyncio.sleep(0.05)
    assert not any(task.done() for task in tasks)
    assert [name for name in there(store) if not name.startswith(".")] == []
    os.close(held)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(isinstance(result, SessionExists) for result in results) == [False, True]
    assert len(there(store)) == 1
    await other.close_all()


async def test_a_directory_that_stays_locked_is_told(store, monkeypatch):
    monkeypatch.setattr(naming, "DEADLINE", 0.05)
    os.makedirs(store.places.session_dir)
    held = os.open(store.places.session_dir, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(SessionBusy):
        await store.create(CreateParams(cwd="/p"))
    os.close(held)
    assert await store.create(CreateParams(cwd="/p"))


async def test_without_locks_on_directories_it_is_made_all_the_same(store, monkeypatch):
    def none(fd, operation):
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(naming, "fcntl", type("NoLocks", (), {"flock": staticmethod(none), "LOCK_EX": 2, "LOCK_NB": 4}))
    assert await store.create(CreateParams(cwd="/p", id="mine"))
    with pytest.raises(SessionExists):
        await store.create(CreateParams(cwd="/p", id="mine"))


# Another opening of what is open


async def test_another_opening_gives_its_settings_and_leaves_the_leaf(store):
    resident = await store.create(CreateParams(cwd="/p", settings=SettingsUpdate(context_window=1000)))
    first, second = [(await append(resident, user())).planned.entry_ids[0] for _ in range(2)]
    path = resident.session.journal.path
    again = await open_path(store, path, leaf_id=first, settings=SettingsUpdate(reserve_tokens=7))
    assert again is resident
    assert again.session.leaf_id == second
    assert (again.session.settings.context_window, again.session.settings.reserve_tokens) == (None, 7)
    resident.session.configure(SettingsUpdate(reserve_tokens=8))
    await open_path(store, path)
    await open_path(store, path, settings=SettingsUpdate(reserve_tokens=9, keep_recent_tokens=5))
    assert (again.session.settings.reserve_tokens, again.session.settings.keep_recent_tokens) == (8, 5)
    await move(resident, first)
    assert (await open_path(store, path, leaf_id=None)).session.leaf_id == first


async def test_another_opening_at_an_unknown_leaf_counts_nothing(store):
    resident = await store.create(CreateParams(cwd="/p"))
    await append(resident, user())
    with pytest.raises(EntryNotFound):
        await open_path(store, resident.session.journal.path, leaf_id="gone")
    assert resident.session.opens == 1
    await store.close(resident.session.session_id)
    assert store.handles() == {}
