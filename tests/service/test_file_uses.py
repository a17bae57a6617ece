"""What is remembered of the files that calls name holds for as long as the file of the session looks the same."""

from __future__ import annotations

import json
import os

import pytest

from pid.core.stored_calls import uses_in_line
from pid.protocol import CreateParams, PreviewParams, SettingsUpdate
from pid.service import file_uses
from tests.service.daemon import append, make_store, open_path, user

pytestmark = pytest.mark.anyio

LONG_AGO = 1_700_000_000
SETTINGS = SettingsUpdate(keep_recent_tokens=0, token_estimator="chars4")


def call(path: str) -> dict[str, object]:
    return {"type": "toolCall", "id": "c", "name": "write", "arguments": {"path": path}}


def calling(path: str) -> dict[str, object]:
    message = {"role": "assistant", "content": [call(path)], "stopReason": "toolUse"}
    return {"type": "message", "message": message}


def session(*paths: str) -> bytes:
    lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}]
    for number, path in enumerate(paths):
        parent = f"{number:08}" if number else None
        entry = {
            "id": f"{number + 1:08}",
            "parentId": parent,
            "timestamp": "2026-01-01T00:00:00.000Z",
        }
        lines.append({**entry, **calling(path)})
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


@pytest.fixture
async def resident(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(session("/a", "/b", "/c", "/d"))
    os.utime(path, (LONG_AGO, LONG_AGO))
    # The change of the metadata is new, and cannot be set back: the clock goes ahead instead.
    store = make_store(tmp_path, ahead_ms=10_000)
    yield await open_path(store, path, settings=SETTINGS)
    await store.close_all()


@pytest.fixture
def read(monkeypatch):
    lines = []
    monkeypatch.setattr(file_uses, "uses_in_line", lambda raw: lines.append(raw) or uses_in_line(raw))
    return lines


async def modified(resident, **more):
    return (await resident.compactor.preview(PreviewParams(session_id="s", **more))).details.modified_files


async def test_a_history_is_read_once(resident, read):
    assert await modified(resident) == ["/a", "/b", "/c"]
    assert await modified(resident) == ["/a", "/b", "/c"]
    assert len(read) == 4


async def test_a_file_that_was_touched_is_read_again(resident):
    assert await modified(resident) == ["/a", "/b", "/c"]
    path = resident.session.journal.path
    with open(path, "r+b") as file:  # as nobody should: in place, and of the same size
        content = file.read().replace(b'"/a"', b'"/x"')
        file.seek(0)
        file.write(content)
    assert await modified(resident) == ["/b", "/c", "/x"]


async def test_a_file_that_was_changed_a_moment_ago_is_read_again(tmp_path, read):
    path = tmp_path / "s.jsonl"
    path.write_bytes(session("/a", "/b", "/c", "/d"))
    store = make_store(tmp_path)
    resident = await open_path(store, path, settings=SETTINGS)
    assert await modified(resident) == ["/a", "/b", "/c"]
    assert await modified(resident) == ["/a", "/b", "/c"]
    assert len(read) == 8
    await store.close_all()


async def test_another_branch_names_its_own_files(resident, read):
    assert await modified(resident) == ["/a", "/b", "/c"]
    resident.session.leaf = 2
    assert await modified(resident) == ["/a", "/b"]
    assert len(read) == 4


async def test_what_was_appended_counts(resident):
    assert await modified(resident) == ["/a", "/b", "/c"]
    await append(resident, calling("/e"))
    await append(resident, user("and now?"))
    assert await modified(resident) == ["/a", "/b", "/c", "/d", "/e"]


async def test_an_edit_takes_away_what_it_replaces(resident):
    assert await modified(resident) == ["/a", "/b", "/c"]
    edit = {"type": "context_edit", "targetId": "00000002", "replacement": {"content": [call("/edited")]}}
    await append(resident, edit)
    assert await modified(resident) == ["/a", "/c", "/edited"]


async def test_a_session_in_memory_is_read_each_time(tmp_path):
    store = make_store(tmp_path, ahead_ms=10_000)
    resident = await store.create(CreateParams(cwd="/p", in_memory=True, settings=SETTINGS))
    for path in ("/a", "/b"):
        await append(resident, calling(path))
    assert await modified(resident) == ["/a"]
    await append(resident, user("on"))
    assert await modified(resident) == ["/a", "/b"]
    await store.close_all()
