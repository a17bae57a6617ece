"""Who has a session open: openings at once, cancelled ones, other names of one file, closing under those who read."""

import asyncio
import hashlib
import json
import os
import sys

import pytest

from pid.errors import EntryNotFound, ReadFailed, SessionNotFound, WriteFailed
from pid.protocol import CreateParams
from tests.service.daemon import append, open_path, user

pytestmark = pytest.mark.anyio

TIME = "2026-01-01T00:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/p"}


def session_file(path, *texts, **header):
    lines = [HEADER | header]
    for number, text in enumerate(texts, 1):
        parent = f"u{number - 1}" if number > 1 else None
        lines.append(user(text, id=f"u{number}", parentId=parent, timestamp=TIME))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


async def test_another_opening_that_fails_fails_alone(store, tmp_path):
    path = session_file(tmp_path / "s.jsonl", "hi")
    bad, good = await asyncio.gather(
        open_path(store, path, leaf_id="no"), open_path(store, path), return_exceptions=True
    )
    assert isinstance(bad, EntryNotFound)
    assert (good.session.leaf_id, good.session.opens) == ("u1", 1)


async def test_a_cancelled_opening_counts_nothing(store, tmp_path):
    path = session_file(tmp_path / "s.jsonl", *["hi"] * 100)
    first, second = (asyncio.create_task(open_path(store, path)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    resident = await second
    assert first.cancelled()
    assert resident.session.opens == 1
    await store.close("s")
    alone = asyncio.create_task(open_path(store, path))
    await asyncio.sleep(0)
    alone.cancel()
    await asyncio.wait([alone])
    with pytest.raises(SessionNotFound):
        store.get("s")


async def test_a_creation_that_has_begun_is_not_cancelled(store):
    task = asyncio.create_task(store.create(CreateParams(cwd="/p", name="N")))
    while not task.done():
        await asyncio.sleep(0)
        task.cancel()
    assert task.result().session.tree.name == "N"


async def test_a_hard_link_is_the_same_session(store, tmp_path):
    path = session_file(tmp_path / "s.jsonl", "hi")
    os.link(path, tmp_path / "link.jsonl")
    first, second = await open_path(store, path), await open_path(store, tmp_path / "link.jsonl")
    assert first is second
    assert first.session.opens == 2


async def test_an_opening_shows_the_file_as_it_is_now(store, tmp_path):
    path = session_file(tmp_path / "s.jsonl", "a")
    first = await open_path(store, path)
    session_file(path, "a", "b")
    assert (await open_path(store, path)).session.leaf_id == "u2"
    os.replace(session_file(tmp_path / "new.jsonl", "x", id="other"), path)
    second = await open_path(store, path)
    assert (second.session.session_id, second.session.tree.visible_count) == ("other", 1)
    assert first.session.lost


async def test_no_handle_is_given_twice(store, tmp_path):
    path = session_file(tmp_path / "b.jsonl", "b")
    suffixed = f"s~{hashlib.sha256(os.fsencode(path)).hexdigest()[:6]}"
    files = [session_file(tmp_path / "c.jsonl", id=suffixed), session_file(tmp_path / "a.jsonl"), path]
    residents = [await open_path(store, file) for file in files]
    assert [store.get(resident.session.session_id) for resident in residents] == residents


async def test_a_lost_session_gives_its_descriptor_back(store, tmp_path):
    await open_path(store, session_file(tmp_path / "a.jsonl"))  # so that the other one gets a suffix
    path, seen = tmp_path / "b.jsonl", set()
    for number in range(10):
        os.replace(session_file(tmp_path / "new.jsonl", f"{number}", "more"[: number % 2]), path)
        resident = await open_path(store, path)
        seen.add(resident.session.journal.size() and len(os.listdir("/dev/fd")))
        await asyncio.sleep(0)
        path.unlink()
        with pytest.raises(Exception, match="deleted"):
            await resident.order.settled()
    assert max(seen) - min(seen) <= 1


async def test_a_session_that_is_held_is_closed_behind(store, tmp_path):
    resident = await open_path(store, session_file(tmp_path / "s.jsonl", "hi"))
    release = resident.hold()
    closing = asyncio.create_task(store.close("s"))
    await asyncio.sleep(0.01)
    assert resident.session.body(0)
    closing.cancel()  # too late: the opening is taken back
    release()
    await closing
    with pytest.raises(ReadFailed):
        resident.session.body(0)


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
async def test_a_path_that_no_message_can_name_is_refused(store, tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    os.rename(session_file(tmp_path / "s.jsonl", "hi"), folder + b"/s.jsonl")
    os.symlink(folder, os.fsencode(tmp_path) + b"/link")
    with pytest.raises(ReadFailed):
        await open_path(store, tmp_path / "link" / "s.jsonl")
    with pytest.raises(WriteFailed):
        await store.create(CreateParams(cwd="/p", session_dir=str(tmp_path / "link")))
    assert os.listdir(folder) == [b"s.jsonl"]


async def test_an_append_and_an_opening_survive_a_close_in_between(store, tmp_path):
    path = session_file(tmp_path / "s.jsonl", "hi")
    resident = await open_path(store, path)
    writing = asyncio.create_task(append(resident))
    await asyncio.sleep(0)
    opening = asyncio.create_task(open_path(store, path))
    await asyncio.sleep(0)
    await store.close("s")
    await writing
    assert await opening is resident
    assert store.get("s") is resident
