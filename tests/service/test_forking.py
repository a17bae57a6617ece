"""`session/fork` on real files: of open sessions and closed ones, in memory, with writes in flight, under faults."""

import asyncio
import errno
import itertools
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from pid.adapters import fork_file
from pid.adapters.held import Held
from pid.errors import (
    EntryNotFound,
    InvalidParams,
    NotASession,
    SessionChangedOnDisk,
    SessionExists,
    SessionNotFound,
    WriteFailed,
)
from pid.protocol import CreateParams, ForkParams, OpenParams
from pid.service.forking import fork
from tests import interop
from tests.core.test_carry import shape
from tests.service.daemon import append, make_store, move, user
from tests.trees import load, session_bytes

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "forks")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.jsonl"
    path.write_bytes(session_bytes("u1 a1 l1(u1)=here u2 a2 | a1 > u3 a3"))
    return path


async def forked(store, **params):
    return (await fork(store, ForkParams(**params))).session


def lines(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def left_behind(directory):
    """What lies in a directory, hidden files too."""
    return sorted(os.listdir(directory)) if os.path.exists(directory) else []


async def test_a_whole_fork_of_a_closed_file(store, source):
    before, seen = source.read_bytes(), source.stat()
    session = await forked(store, path=str(source))
    header, *entries = lines(session.journal.path)
    assert entries == lines(source)[1:]
    assert (header["parentSession"], header["cwd"]) == (str(source), "/proj")
    assert header["id"] == session.session_id
    assert session.journal.path.endswith(f"_{session.session_id}.jsonl")
    assert os.stat(session.journal.path).st_mode & 0o777 == 0o600
    state = session.state()
    assert (state.leaf_id, state.parent_session, state.problems) == ("a3", str(source), [])
    assert (source.read_bytes(), source.stat().st_mtime_ns) == (before, seen.st_mtime_ns)
    assert left_behind(store.places.session_dir) == [os.path.basename(session.journal.path)]
    with pytest.raises(SessionNotFound):  # the source did not become resident
        store.get("s-0001")


async def test_a_fork_of_a_path_opens_at_its_entry(store, source):
    session = await forked(store, path=str(source), entry_id="a2")
    assert session.state().leaf_id == session.state().file_leaf_id == "a2"
    assert session.tree.label_of(session.tree.find("u1")) == "here"
    written = await append((await store.open(OpenParams(path=session.journal.path))), user())
    assert written.planned.parent_id == "a2"


@pytest.mark.parametrize("entry_id", [None, "a2", "l1"])
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_fork_in_memory_is_what_reading_it_gives(store, source, entry_id, is_open):
    if is_open:
        await store.open(OpenParams(path=str(source)))
    session = await forked(store, path=str(source), entry_id=entry_id)
    read = await store.read(session.journal.path)
    assert shape(session.tree) == shape(read.tree)
    assert (session.journal.end, session.leaf) == (read.journal.end, read.leaf)
    assert vars(session.journal.scanner).keys() == vars(read.journal.scanner).keys()
    for name in ("header", "header_span", "version", "session_id", "line"):
        assert getattr(session.journal.scanner, name) == getattr(read.journal.scanner, name)

    resident = await store.open(OpenParams(path=session.journal.path))
    with Path(session.journal.path).open("ab") as other:
        other.write(b'{"type":"custom","id":"x1","parentId":null,"timestamp":"2026-01-01T00:00:09.000Z"}\n')
    await append(resident, user())
    assert [row for row in ("x1",) if row in session.tree.rows] == ["x1"]
    assert shape((await store.read(session.journal.path)).tree) == shape(session.tree)


async def test_what_is_given_wins(store, source, tmp_path):
    there = tmp_path / "a" / "b"
    session = await forked(store, path=str(source), id="my-fork", cwd="/other", session_dir=str(there))
    assert (session.session_id, session.state().cwd) == ("my-fork", "/other")
    assert os.path.dirname(session.journal.path) == str(there)
    assert {path.stat().st_mode & 0o777 for path in (there, there.parent)} == {0o700}
    with pytest.raises(SessionExists):
        await forked(store, path=str(source), id="my-fork", session_dir=str(there))


async def test_a_fork_waits_for_the_writes_before_it(store, source):
    resident = await store.open(OpenParams(path=str(source)))
    writes = [asyncio.create_task(append(resident, user(str(number)))) for number in range(50)]
    await asyncio.sleep(0)
    session = await forked(store, session_id=resident.session.session_id)
    await asyncio.gather(*writes)
    assert session.state().entry_count == 7 + 50
    await append(resident, user("later"))
    assert session.leaf_id == lines(source)[-2]["id"]


async def test_writes_go_on_while_a_fork_is_made(store, source, monkeypatch):
    resident = await store.open(OpenParams(path=str(source)))
    monkeypatch.setattr(fork_file, "_SMALL", 0)
    task = asyncio.create_task(forked(store, session_id=resident.session.session_id))
    for number in range(20):
        await append(resident, user(str(number)))
    copied = lines((await task).journal.path)[1:]
    assert 7 <= len(copied) <= 27
    assert copied == lines(source)[1 : len(copied) + 1]


async def test_a_leaf_that_was_moved_in_memory_alone(store, source):
    resident = await store.open(OpenParams(path=str(source), leaf_id="u2"))
    session = await forked(store, session_id=resident.session.session_id)
    assert session.state().leaf_id == "u2"
    reopened = load(Path(session.journal.path).read_bytes())
    assert reopened.tree.id_of(reopened.tree.last) == "u2"
    await move(resident, None)
    top = await forked(store, session_id=resident.session.session_id)
    assert top.state().leaf_id is None


async def test_a_session_in_memory_forks_in_memory_or_into_a_file(store, tmp_path):
    resident = await store.create(CreateParams(cwd="/proj", in_memory=True))
    await append(resident, user("one"))
    first = resident.session.leaf_id
    await append(resident, user("two"), {"type": "label", "targetId": first, "label": "x"})
    handle = resident.session.session_id
    kept = await forked(store, session_id=handle)
    path = await forked(store, session_id=handle, entry_id=first)
    saved = await forked(store, session_id=handle, session_dir=str(tmp_path / "saved"))
    assert [session.state().path is None for session in (kept, path, saved)] == [True, True, False]
    assert [session.state().entry_count for session in (kept, path, saved)] == [3, 2, 3]
    assert path.state().leaf_id == first
    assert not os.path.exists(store.places.session_dir)
    assert saved.state().parent_session is None
    with pytest.raises(SessionExists):
        await forked(store, session_id=handle, id=handle)


@pytest.mark.parametrize("entry_id", [None, "last"])
async def test_a_real_old_session_becomes_a_consistent_one(store, tmp_path, entry_id):
    path = interop.FOLDER / "real-session-v1.jsonl"
    if not path.exists():
        pytest.skip("no interop files here")
    old = await store.read(str(path))
    session = await forked(store, path=str(path), entry_id=entry_id and old.leaf_id)
    state = session.state()
    assert (state.version, state.leaf_id, state.problems) == (3, old.leaf_id, [])
    assert session.tree.ids == old.tree.ids
    assert list(session.tree.parents) == list(old.tree.parents)
    entries = lines(session.journal.path)[1:]
    by_id = {entry["id"]: entry for entry in entries}
    assert all(entry["parentId"] is None or entry["parentId"] in by_id for entry in entries)
    kept = [entry.get("firstKeptEntryId") for entry in entries if entry["type"] == "compaction"]
    assert all(entry_id in by_id for entry_id in kept)


REFUSED = {
    "no such handle": ({"session_id": "gone"}, SessionNotFound),
    "no such file": ({"path": "/nowhere/x.jsonl"}, SessionNotFound),
    "no session": ({"path": "/dev/null"}, NotASession),
    "no such entry": ({"path": "SOURCE", "entry_id": "gone"}, EntryNotFound),
}


@pytest.mark.parametrize(("params", "error"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_leaves_nothing(store, source, params, error):
    params = {key: value.replace("SOURCE", str(source)) for key, value in params.items()}
    with pytest.raises(error):
        await forked(store, **params)
    assert left_behind(store.places.session_dir) == []


async def test_a_source_without_a_directory_needs_one(tmp_path, source):
    store = make_store(tmp_path)
    store.places = type(store.places)(str(tmp_path / "agent"))
    source.write_bytes(session_bytes("u1").replace(b'"cwd": "/proj"', b'"cwd": 5'))
    with pytest.raises(InvalidParams):
        await forked(store, path=str(source))
    session = await forked(store, path=str(source), cwd="/x")
    assert os.path.dirname(session.journal.path) == str(tmp_path / "agent" / "sessions" / "--x--")


# Faults


def failing(code, after):
    """A call that fails with an errno from the call behind `after` on."""
    calls = itertools.count(1)

    def wrap(real):
        def call(*args, **kwargs):
            if next(calls) > after:
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call

    return wrap


@pytest.mark.parametrize("name", ["write", "link", "copy_file_range"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
async def test_a_failing_call_leaves_nothing_and_a_retry_works(store, source, monkeypatch, name, code):
    if not hasattr(os, name):
        pytest.skip(f"no {name} here")
    monkeypatch.setattr(fork_file, "_SMALL", 8)
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(code, 0)(getattr(os, name)))
        with pytest.raises(WriteFailed) as raised:
            await forked(store, path=str(source), entry_id="a2")
    assert raised.value.data["errno"] == code
    assert raised.value.data["outcome"] == "notWritten"
    assert left_behind(store.places.session_dir) == []
    assert (await forked(store, path=str(source), entry_id="a2")).leaf_id == "a2"


@pytest.mark.parametrize("name", ["sync_file", "sync_directory"])
async def test_a_failing_sync_leaves_nothing(store, source, monkeypatch, name):
    def broken(_):
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(fork_file, name, broken)
    with pytest.raises(WriteFailed):
        await forked(store, path=str(source))
    assert left_behind(store.places.session_dir) == []


@pytest.mark.parametrize("code", [errno.EXDEV, errno.ENOSYS, errno.EINVAL])
async def test_without_a_copy_in_the_kernel(store, source, monkeypatch, code):
    monkeypatch.setattr(fork_file, "_SMALL", 0)
    monkeypatch.setattr(os, "copy_file_range", failing(code, 0)(None), raising=False)
    session = await forked(store, path=str(source))
    assert lines(session.journal.path)[1:] == lines(source)[1:]


async def test_without_links_the_name_is_taken_all_the_same(store, source, monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EPERM, 0)(None))
    session = await forked(store, path=str(source))
    assert left_behind(store.places.session_dir) == [os.path.basename(session.journal.path)]


async def test_a_name_that_is_taken_meanwhile_is_not_overwritten(store, source, monkeypatch):
    def take(file):
        Path(file.path).write_text("mine")
        return publish(file)

    publish = fork_file.ForkFile.publish
    monkeypatch.setattr(fork_file.ForkFile, "publish", take)
    with pytest.raises(SessionExists):
        await forked(store, path=str(source))
    [name] = left_behind(store.places.session_dir)
    assert Path(store.places.session_dir, name).read_text() == "mine"


@pytest.mark.parametrize("change", ["truncate", "rewrite", "replace"])
async def test_a_source_that_changes_meanwhile_is_no_source(store, source, monkeypatch, change):
    resident = await store.open(OpenParams(path=str(source)))
    put = fork_file.ForkFile.put

    def changing(file, raw):
        if change == "replace":
            shutil.copy(source, f"{source}.new")
            os.replace(f"{source}.new", source)
        else:
            text = source.read_bytes()
            source.write_bytes(text[:50] if change == "truncate" else text.replace(b"u1", b"v1"))
        put(file, raw)

    monkeypatch.setattr(fork_file.ForkFile, "put", changing)
    if change == "replace":  # the same content under the name: the session goes on, and so does its fork
        assert (await forked(store, session_id=resident.session.session_id)).leaf_id == "a3"
        return
    with pytest.raises(SessionChangedOnDisk):
        await forked(store, session_id=resident.session.session_id)
    assert left_behind(store.places.session_dir) == []


async def test_a_cancelled_fork_leaves_nothing(store, source, monkeypatch):
    reading = asyncio.Event()
    loop = asyncio.get_running_loop()
    read = Held.read

    def slow(held, start, size):
        loop.call_soon_threadsafe(reading.set)
        time.sleep(0.05)
        return read(held, start, size)

    monkeypatch.setattr(fork_file, "_SMALL", 0)
    monkeypatch.setattr(Held, "read", slow)
    monkeypatch.setattr(os, "copy_file_range", failing(errno.ENOSYS, 0)(None), raising=False)
    monkeypatch.setattr(fork_file, "CHUNK", 64)
    task = asyncio.create_task(forked(store, path=str(source)))
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_behind(store.places.session_dir) == []


async def test_descriptors_are_given_back(store, source):
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(5):
        session = await forked(store, path=str(source))
        with pytest.raises(EntryNotFound):
            await forked(store, path=str(source), entry_id="gone")
        await store.close(session.session_id)
    assert not before or len(os.listdir("/proc/self/fd")) == before
