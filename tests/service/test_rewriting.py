"""Old files become version 3 at the first append, and a session goes on with a file that was renamed over its own."""

import asyncio
import errno
import json
import os
import stat

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pid.adapters import replacing as replacing_module
from pid.errors import SessionChangedOnDisk, WriteFailed
from pid.protocol import ForkParams
from pid.service.forking import fork
from tests.service.daemon import append, make_store, open_path, user

pytestmark = pytest.mark.anyio

TIME = "2026-01-01T00:00:00.000Z"


def header(version=None, **fields):
    numbered = {} if version is None else {"version": version}
    return {"type": "session"} | numbered | {"id": "old", "timestamp": TIME, "cwd": "/p"} | fields


def said(text, role="user", **fields):
    return {"type": "message", "timestamp": TIME, "message": {"role": role, "content": text}} | fields


def file_of(path, *lines, end=b"\n"):
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(raw) + end)
    return path


def tree_of(session):
    tree = session.tree
    return list(zip(tree.ids, tree.parents, tree.kinds, tree.times, strict=True))


@pytest.fixture
def old(tmp_path):
    return file_of(
        tmp_path / "old.jsonl",
        header(extra=[1.0, "ä"]),
        said("one"),
        b"not json",
        said("two", "assistant"),
        said("hook", "hookMessage"),
        {"type": "compaction", "timestamp": TIME, "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 9},
        said("three", big=2**70),
    )


async def test_the_first_append_rewrites_and_keeps_the_old_file(store, told, old):
    before = old.read_bytes()
    resident = await open_path(store, old)
    session = resident.session
    rows, epoch = tree_of(session), session.epoch
    written = await append(resident, user("four"))

    assert tree_of(session)[:-1] == rows
    assert (session.epoch, session.revision, written.revision) == (epoch, 1, 1)
    assert [notice.cause for notice in told.of("session/didChange")] == []
    assert (session.state().version, session.state().problems[0].line) == (3, 3)
    assert old.with_name("old.jsonl.v1").read_bytes() == before
    lines = old.read_bytes().split(b"\n")
    assert json.loads(lines[0]) == header(3, extra=[1.0, "ä"])
    assert lines[2] == b"not json"
    entries = [json.loads(line) for line in lines[1:2] + lines[3:-1]]
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [
        (session.tree.ids[row], session.tree.id_of(session.tree.parents[row])) for row in range(len(session.tree))
    ]
    assert entries[2]["message"]["role"] == "custom"
    assert entries[3]["firstKeptEntryId"] == entries[1]["id"]
    assert b'"big": 1180591620717411303424' in lines[6]
    assert json.loads(session.body(0))["message"]["content"] == "one"


async def test_reopening_equals_memory(store, old, tmp_path):
    resident = await open_path(store, old)
    await append(resident, user("four"))
    other = make_store(tmp_path)
    again = await open_path(other, old)
    assert tree_of(again.session) == tree_of(resident.session)
    assert again.session.leaf == resident.session.leaf
    assert await append(again, user("five"))
    assert not old.with_name("old.jsonl.v1.2").exists()
    await other.close_all()


async def test_nothing_is_rewritten_for_nothing(store, old):
    before = old.read_bytes()
    resident = await open_path(store, old)
    with pytest.raises(Exception, match="nobody"):
        await append(resident, expected_leaf_id="nobody")
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == ["old.jsonl"]


async def test_version_2_keeps_its_ids(store, tmp_path):
    path = file_of(
        tmp_path / "two.jsonl",
        header(2),
        said("one", id="a1", parentId=None),
        said("no id"),
        said("orphan", id="a3", parentId="gone"),
        said("hook", "hookMessage", id=7, parentId="a1"),
        end=b"",
    )
    resident = await open_path(store, path)
    rows = tree_of(resident.session)
    await append(resident, parent_id="7")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert lines[0] == header(3)
    assert lines[1] == said("one", id="a1", parentId=None)
    assert lines[3] == said("orphan", id="a3", parentId="gone")
    assert lines[4] == said("hook", "custom", id=7, parentId="a1")
    assert lines[5]["parentId"] == "7"
    assert tree_of(resident.session)[:-1] == rows


async def test_a_newer_version_is_appended_to_as_it_is(store, tmp_path):
    path = file_of(tmp_path / "new.jsonl", header(9), said("one", id="a1", parentId=None))
    before = path.read_bytes()
    await append(await open_path(store, path))
    assert path.read_bytes().startswith(before)
    assert os.listdir(tmp_path) == ["new.jsonl"]


async def test_mode_links_and_taken_names(store, old, tmp_path):
    old.chmod(0o640)
    taken = old.with_name("old.jsonl.v1")
    taken.write_bytes(b"somebody's")
    left_behind = old.with_name(".old.jsonl.pid-draft")
    left_behind.write_bytes(b"half a draft")
    link = tmp_path / "link.jsonl"
    link.symlink_to(old)
    before = old.read_bytes()
    await append(await open_path(store, link))
    assert link.is_symlink()
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert taken.read_bytes() == b"somebody's"
    assert old.with_name("old.jsonl.v1.2").read_bytes() == before
    assert not left_behind.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_the_owner_stays(store, old):
    os.chown(old, 12345, 54321)
    await append(await open_path(store, old))
    assert (old.stat().st_uid, old.stat().st_gid) == (12345, 54321)


async def test_without_hard_links_the_old_file_is_copied(store, old, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(replacing_module.os, "link", refused)
    before = old.read_bytes()
    await append(await open_path(store, old))
    assert old.with_name("old.jsonl.v1").read_bytes() == before
    assert sorted(os.listdir(old.parent)) == ["old.jsonl", "old.jsonl.v1"]


@pytest.mark.parametrize("failing", ["write", "rename", "link", "fchmod"])
async def test_a_failed_rewrite_leaves_the_old_file(store, old, monkeypatch, failing):
    def refused(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = old.read_bytes()
    resident = await open_path(store, old)
    rows = tree_of(resident.session)
    monkeypatch.setattr(replacing_module.os, failing, refused)
    with pytest.raises(WriteFailed) as error:
        await append(resident, user(id="own"))
    monkeypatch.undo()
    assert (error.value.details["outcome"], error.value.details["errno"]) == ("notWritten", errno.ENOSPC)
    assert old.read_bytes() == before
    assert tree_of(resident.session) == rows
    assert not old.with_name(".old.jsonl.pid-draft").exists()
    assert not (await append(resident, user(id="own"))).planned.duplicate
    assert (resident.session.revision, len(resident.session.tree)) == (1, len(rows) + 1)


async def test_another_daemons_rewrite_is_followed(store, told, old, tmp_path):
    mine = await open_path(store, old)
    other = make_store(tmp_path, prefix="o")
    theirs = await append(await open_path(other, old), user("theirs"))
    written = await append(mine, user("mine"))
    assert written.planned.parent_id == theirs.planned.leaf_id
    external = told.of("session/didChange")[0]
    assert (external.cause, external.leaf_id) == ("external", theirs.planned.leaf_id)
    assert [json.loads(body)["message"]["content"] for body in mine.session.bodies([0, 5])] == ["one", "theirs"]
    await other.close_all()


async def test_a_rewrite_shows_in_the_next_look(store, told, old, tmp_path):
    mine = await open_path(store, old)
    other = make_store(tmp_path, prefix="o")
    await append(await open_path(other, old), user("theirs"))
    await mine.order.settled()
    assert mine.session.leaf_id == mine.session.state().file_leaf_id
    assert [notice.cause for notice in told.of("session/didChange")] == ["external"]
    assert json.loads(mine.session.body(5))["message"]["content"] == "theirs"
    await other.close_all()


def without_last(raw):
    return raw[: raw.rindex(b"\n", 0, -1) + 1]


@pytest.mark.parametrize("change", [without_last, lambda raw: raw.replace(b'"one"', b"one"), lambda raw: b"text\n"])
async def test_a_renamed_file_that_lacks_an_entry_is_lost(store, told, old, change):
    mine = await open_path(store, old)
    other = old.with_name("other")
    other.write_bytes(change(old.read_bytes()))
    other.rename(old)
    before = old.read_bytes()
    with pytest.raises(SessionChangedOnDisk):
        await append(mine)
    assert [notice.reason for notice in told.of("session/didClose")] == ["replaced"]
    assert old.read_bytes() == before


JUNK = st.sampled_from(
    [
        b"",
        b"not json",
        b"\x00\x00",
        b'{"type":"mess',
        b"[1]",
        b"\xff\xfe",
        b'{"type":"session","id":"x"}',
        b'{"type":"message","id":"a","parentId":null,"message":,}',
        b' \x00{"type":"custom","x":,"id":"b","parentId":"a"}',
        b'{"type":"custom","id":"c","parentId":"a","x":' + b"[" * 1500 + b"]" * 1500 + b"}",
        b'{"type":"message","id":"d","parentId":"a","mess{"type":"custom","parentId":null}',
    ]
)
ODD = st.sampled_from(
    [
        {},
        {"type": 5},
        {"id": "a", "parentId": "a"},
        {"id": "mine"},
        {"parentId": "gone"},
        {"type": "message", "message": None},
        {"type": "message", "message": {"role": "hookMessage", "x": {"role": "hookMessage"}}},
        {"type": "compaction", "firstKeptEntryIndex": 1},
        {"type": "compaction", "firstKeptEntryIndex": 99},
        {"type": "compaction", "firstKeptEntryIndex": 1, "firstKeptEntryId": "a"},
        {"type": "label", "targetId": "a", "label": "L"},
        {"type": "custom", "customType": "pid.leaf", "parentId": "a", "id": "m"},
        {"id": "a", "parentId": None, "type": "custom"},
        {"id": 1, "parentId": "a"},
    ]
)
LINES = st.lists(
    st.one_of(
        JUNK, ODD, st.text(max_size=8).map(said), st.tuples(ODD, ODD).map(lambda two: b"".join(map(_dumps, two)))
    ),
    max_size=8,
)


def _dumps(value):
    return json.dumps(value).encode()


TORN_PARENT = [
    b' \x00{"type":"custom","x":,"id":"b","parentId":"a"}',
    b'{"type":"message","id":"a","parentId":null,"message":,}',
]


@settings(max_examples=150)
@example(version=2, lines=TORN_PARENT, end=b"")
@given(version=st.sampled_from([None, 1, 2]), lines=LINES, end=st.sampled_from([b"", b"\n", b"\r\n"]))
def test_any_old_file_keeps_its_tree(tmp_path_factory, version, lines, end):
    path = file_of(tmp_path_factory.mktemp("old") / "f.jsonl", header(version), *lines, end=end)
    before = path.read_bytes()

    async def rewrite():
        store = make_store(path.parent)
        resident = await open_path(store, path)
        rows, kinds = tree_of(resident.session), {problem.kind for problem in resident.session.problems}
        await append(resident, user("new"))
        kept = tree_of(resident.session)[: len(rows)]
        if "tornLine" in kinds:  # once ended, it has a row as a damaged entry: who named it as parent hangs on it now
            torn = len(rows)
            waiting = {row for row, (now, then) in enumerate(zip(kept, rows, strict=True)) if now != then}
            assert all(rows[row][1] == -1 for row in waiting)
            rows = [(then[0], torn, *then[2:]) if row in waiting else then for row, then in enumerate(rows)]
        assert kept == rows
        again = await open_path(make_store(path.parent), path)
        assert tree_of(again.session) == tree_of(resident.session)
        assert again.session.leaf_id == resident.session.leaf_id
        assert kinds & {"malformedLine", "tornLine"} or b"not json" not in lines
        again.session.journal.close()
        await store.close_all()

    asyncio.run(rewrite())
    assert path.with_name("f.jsonl.v1").read_bytes() == before


@settings(max_examples=80)
@given(version=st.sampled_from([None, 1]), lines=LINES, end=st.sampled_from([b"", b"\n"]))
def test_a_fork_of_any_old_file_has_its_tree(tmp_path_factory, version, lines, end):
    path = file_of(tmp_path_factory.mktemp("old") / "f.jsonl", header(version), *lines, end=end)

    async def forked():
        store = make_store(path.parent / "forks")
        resident = await open_path(store, path)
        made = await fork(store, ForkParams(session_id=resident.session.session_id))
        assert tree_of(made.session) == tree_of(resident.session)
        assert made.session.leaf_id == resident.session.leaf_id
        await store.close_all()

    asyncio.run(forked())
