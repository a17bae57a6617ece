"""The write order: arrival order, one sync for many, cancellation, failures, other processes' locks."""

import asyncio
import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from pid.adapters import journal as journal_module
from pid.errors import (
    LeafConflict,
    SessionBusy,
    SessionChangedOnDisk,
    SessionNotFound,
    WriteFailed,
)
from pid.protocol import CreateParams, SettingsUpdate
from pid.service import writing
from pid.service.turns import begin, together
from tests.service.daemon import append, make_store, move, open_path, user

pytestmark = pytest.mark.anyio


@pytest.fixture
async def resident(store):
    return await store.create(CreateParams(cwd="/p"))


def lines(resident):
    return [json.loads(line) for line in Path(resident.session.journal.path).read_bytes().splitlines()[1:]]


async def test_pipelined_appends_share_a_sync_and_keep_their_order(resident, monkeypatch):
    syncs = []
    monkeypatch.setattr(journal_module, "_sync", syncs.append)
    written = await asyncio.gather(*(append(resident, user(str(number))) for number in range(100)))
    assert [line["message"]["content"] for line in lines(resident)] == [str(number) for number in range(100)]
    assert [one.revision for one in written] == list(range(1, 101))
    assert len(syncs) <= 2


async def test_an_answer_comes_after_the_sync(resident, monkeypatch):
    order = []
    monkeypatch.setattr(journal_module, "_sync", lambda fd: order.append("synced"))
    await append(resident)
    order.append("answered")
    assert order == ["synced", "answered"]


async def test_written_durability_does_not_sync(resident, monkeypatch):
    resident.session.set_settings(SettingsUpdate(durability="written"))
    monkeypatch.setattr(journal_module, "_sync", lambda fd: pytest.fail("synced"))
    await append(resident)
    assert len(lines(resident)) == 1


async def test_a_write_that_fails_unexpectedly_fails_alone(resident):
    def plan(overlay, stamp):
        raise ZeroDivisionError

    results = await asyncio.gather(
        append(resident, user("a")),
        resident.order.write(plan, "append"),
        append(resident, user("c")),
        return_exceptions=True,
    )
    assert isinstance(results[1], ZeroDivisionError)
    await resident.order.settled()
    assert [line["message"]["content"] for line in lines(resident)] == ["a", "c"]


async def test_a_refused_write_does_not_stop_its_neighbours(resident):
    results = await asyncio.gather(
        append(resident, user("a")),
        append(resident, user("b"), expected_leaf_id=None),
        append(resident, user("c")),
        return_exceptions=True,
    )
    assert isinstance(results[1], LeafConflict)
    assert [line["message"]["content"] for line in lines(resident)] == ["a", "c"]
    assert results[2].planned.parent_id == results[0].planned.leaf_id


async def test_cancelled_before_it_begins_nothing_is_written(resident):
    holder = os.open(resident.session.journal.path, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = asyncio.create_task(append(resident, user("never")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    os.close(holder)
    await append(resident, user("next"))
    assert [line["message"]["content"] for line in lines(resident)] == ["next"]


@pytest.mark.parametrize("withdrawn", [(1,), (1, 2), (2, 1)])
@pytest.mark.parametrize("is_withdrawn_first", [True, False])
async def test_a_read_waits_for_the_writes_before_those_that_were_withdrawn(resident, withdrawn, is_withdrawn_first):
    with Path(resident.session.journal.path).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        tasks = [asyncio.create_task(append(resident)) for _ in range(3 if len(withdrawn) > 1 else 2)]
        await asyncio.sleep(0.001)
        reading = None if is_withdrawn_first else asyncio.create_task(resident.order.settled())
        for place in withdrawn:
            await asyncio.sleep(0.001)
            tasks[place].cancel()
        await asyncio.sleep(0.001)
        reading = reading or asyncio.create_task(resident.order.settled())
        await asyncio.sleep(0.001)
        assert not reading.done()
    await reading
    assert tasks[0].done()


async def test_cancelled_after_it_began_the_result_comes(resident, monkeypatch):
    entered, release = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(fd):
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(5)

    monkeypatch.setattr(journal_module, "_sync", slow)
    task = asyncio.create_task(append(resident))
    await entered.wait()
    task.cancel()
    await asyncio.sleep(0)
    release.set()
    written = await task
    assert written.planned.leaf_id == lines(resident)[0]["id"] == resident.session.leaf_id


async def test_reads_wait_for_the_writes_before_them(resident):
    task = asyncio.create_task(append(resident))
    await asyncio.sleep(0)
    await resident.order.settled()
    assert resident.session.revision == 1
    assert task.done() or (await task).revision == 1


async def test_a_held_lock_is_waited_for_and_then_busy(resident, monkeypatch):
    holder = os.open(resident.session.journal.path, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = asyncio.create_task(append(resident))
    await asyncio.sleep(0.05)
    assert not task.done()
    fcntl.flock(holder, fcntl.LOCK_UN)
    await task
    fcntl.flock(holder, fcntl.LOCK_EX)
    monkeypatch.setattr(writing, "LOCK_DEADLINE", 0.02)
    with pytest.raises(SessionBusy):
        await append(resident)
    os.close(holder)
    await append(resident)
    assert len(lines(resident)) == 2


async def test_a_full_disk_fails_the_group_and_a_retry_works(resident, monkeypatch):
    await append(resident)
    before = Path(resident.session.journal.path).read_bytes()

    def full(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal_module.os, "write", full)
    results = await asyncio.gather(*(append(resident, user(id="own")) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results[:1]] == [WriteFailed]
    assert results[0].details["errno"] == errno.ENOSPC
    monkeypatch.undo()
    assert Path(resident.session.journal.path).read_bytes() == before
    assert resident.session.revision == 1
    written = await append(resident, user(id="own"))
    assert (written.planned.duplicate, written.revision) == (False, 2)


@pytest.mark.parametrize("what", ["is cut", "is gone", "cannot be read"])
async def test_each_write_is_answered_when_the_medium_goes_away_at_the_sync(resident, told, monkeypatch, what):
    path, syncs = str(resident.session.journal.path), []

    def fail(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def go_away(fd):
        syncs.append(fd)
        match what:
            case _ if len(syncs) == 1:
                return  # of the first write, which goes alone: the three behind it go together
            case "is cut":
                os.truncate(path, 10)
            case "is gone":
                os.unlink(path)
            case _:
                monkeypatch.setattr(journal_module.os, "pread", fail)
        fail()

    monkeypatch.setattr(journal_module, "_sync", go_away)
    async with asyncio.timeout(10):
        found = await asyncio.gather(*(append(resident, user(id=f"n{n}")) for n in range(4)), return_exceptions=True)
    assert [type(error) for error in found[1:]] == [WriteFailed] * 3
    assert all(change.truncated or change.added for change in told.of("session/didChange"))


async def test_after_a_failed_sync_a_retry_syncs_before_it_answers(resident, told, monkeypatch):
    def broken(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(journal_module, "_sync", broken)
    with pytest.raises(WriteFailed) as error:
        await append(resident, user(id="own"))
    assert error.value.details["outcome"] == "unknown"
    assert resident.session.leaf_id == "own"
    assert [notice.revision for notice in told.of("session/didChange")] == [1]
    with pytest.raises(WriteFailed):
        await append(resident, user(id="own"))
    syncs = []
    monkeypatch.setattr(journal_module, "_sync", syncs.append)
    assert (await append(resident, user(id="own"))).planned.duplicate
    assert len(syncs) == 1
    assert len(lines(resident)) == 1


async def test_a_file_system_without_locks_is_told_once(resident, told, monkeypatch):
    def none(fd, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(journal_module.fcntl, "flock", none)
    await append(resident)
    await append(resident)
    assert [problem.kind for problem in resident.session.problems] == ["noLocks"]
    assert len(told.of("session/problems")) == 1


async def test_what_others_wrote_is_read_before_a_read(resident):
    first = (await append(resident)).planned.leaf_id
    line = {"type": "message", "id": "theirs", "parentId": first, "timestamp": "2026-01-01T00:00:00.000Z"}
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(line | {"message": {"role": "user"}}).encode() + b"\n")
    resident.session.body(0)
    await resident.order.settled()
    assert resident.session.leaf_id == "theirs"


async def test_what_others_damaged_is_no_leaf(resident):
    first = (await append(resident)).planned.leaf_id
    line = b'{"type":"message","id":"bad","parentId":"%b","timestamp":"2026-01-01T00:00:00.000Z","message":{]}}'
    with open(resident.session.journal.path, "ab") as file:
        file.write(line % first.encode() + b"\n")
    await resident.order.settled()
    state = resident.session.state()
    assert (state.leaf_id, state.file_leaf_id) == (first, first)


async def test_a_marker_on_a_damaged_entry_means_the_sound_one_above(store, resident, tmp_path):
    first = (await append(resident)).planned.leaf_id
    second = (await append(resident)).planned.leaf_id
    await append(resident)
    await move(resident, second)
    path = tmp_path / "damaged.jsonl"
    lines = Path(resident.session.journal.path).read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"hi"', b"hi")
    path.write_bytes(b"".join(lines))
    again = await open_path(make_store(tmp_path), path)
    assert again.session.leaf_id == again.session.state().file_leaf_id == first
    again.session.journal.close()


async def test_what_others_wrote_is_read_first(resident, told):
    first = (await append(resident)).planned.leaf_id
    line = {"type": "message", "id": "theirs", "parentId": first, "timestamp": "2026-01-01T00:00:00.000Z"}
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(line | {"message": {"role": "user"}}).encode() + b"\n")
    written = await append(resident)
    assert (written.planned.parent_id, written.revision) == ("theirs", 3)
    external = told.of("session/didChange")[-1]
    assert (external.cause, external.revision, external.leaf_id) == ("external", 2, "theirs")
    assert external.previous_leaf_id == first


async def test_what_others_branch_off_does_not_move_the_leaf(resident):
    first = (await append(resident)).planned.leaf_id
    second = (await append(resident)).planned.leaf_id
    line = {"type": "message", "id": "theirs", "parentId": first, "timestamp": "2026-01-01T00:00:00.000Z"}
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(line | {"message": {"role": "user"}}).encode() + b"\n")
    assert (await append(resident)).planned.parent_id == second


async def test_a_lost_file_is_never_written_again(resident, store, told):
    path = Path(resident.session.journal.path)
    path.unlink()
    with pytest.raises(SessionChangedOnDisk):
        await append(resident)
    assert not path.exists()
    assert [notice.reason for notice in told.of("session/didClose")] == ["deleted"]
    with pytest.raises(SessionChangedOnDisk):
        store.get(resident.session.session_id)
    path.write_bytes(b"something else\n")
    with pytest.raises(SessionChangedOnDisk):
        await append(resident)
    assert path.read_bytes() == b"something else\n"


async def test_one_file_is_opened_once(store, resident, tmp_path):
    path = Path(resident.session.journal.path)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    other = make_store(tmp_path)
    residents = await asyncio.gather(*(open_path(other, where) for where in (path, link, path)))
    assert len({id(one) for one in residents}) == 1
    assert residents[0].session.opens == 3
    for _ in range(2):
        await other.close(residents[0].session.session_id)
    assert other.get(residents[0].session.session_id) is residents[0]
    await other.close(residents[0].session.session_id)
    with pytest.raises(SessionNotFound):
        other.get(residents[0].session.session_id)


async def test_two_files_with_one_header_id_have_two_handles(store, resident, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(Path(resident.session.journal.path).read_bytes())
    other = await open_path(store, copy)
    assert other.session.session_id.startswith(resident.session.session_id + "~")
    assert store.get(other.session.session_id) is other


async def test_a_lost_session_can_be_opened_again(store, resident):
    path = Path(resident.session.journal.path)
    raw = path.read_bytes()
    path.unlink()
    with pytest.raises(SessionChangedOnDisk):
        await append(resident)
    path.write_bytes(raw)
    again = await open_path(store, path)
    assert again.session.session_id == resident.session.session_id
    assert (await append(again)).revision == 1
    assert again.session.epoch != resident.session.epoch


async def test_closing_finishes_what_is_being_written(store, resident):
    task = asyncio.create_task(append(resident))
    await asyncio.sleep(0)
    await store.close_all()
    assert (await task).revision == 1


async def test_a_session_in_memory(store):
    resident = await store.create(CreateParams(cwd="/p", in_memory=True, name="N"))
    await append(resident)
    await move(resident, None)
    state = resident.session.state()
    assert (state.path, state.name, state.leaf_id, state.entry_count) == (None, "N", None, 2)


async def test_a_known_leaf_is_taken_at_opening(store, resident, tmp_path):
    first = (await append(resident)).planned.leaf_id
    await append(resident)
    path = Path(resident.session.journal.path)
    before = path.read_bytes()
    other = make_store(tmp_path)
    again = await open_path(other, path, leaf_id=first)
    state = again.session.state()
    assert (state.leaf_id, state.file_leaf_id) == (first, resident.session.leaf_id)
    assert path.read_bytes() == before
    await other.close_all()


async def test_a_damaged_last_line_is_no_leaf(store, resident, tmp_path):
    first = (await append(resident)).planned.leaf_id
    path = Path(resident.session.journal.path)
    good = path.read_bytes().splitlines()[-1]
    with path.open("ab") as file:
        file.write(good.replace(first.encode(), b"broken").replace(b'"hi"', b"hi") + b"\n")
    other = make_store(tmp_path)
    again = await open_path(other, path)
    assert again.session.leaf_id == first
    assert [problem.kind for problem in again.session.problems] == ["malformedLine"]
    assert again.session.problems[0].line == 3
    await other.close_all()


async def test_changes_since_a_revision(resident):
    session = resident.session
    one = (await append(resident)).planned.leaf_id
    await append(resident, user(), user())
    await append(resident, {"type": "label", "targetId": one, "label": "L"})
    assert session.log.since(0) == (range(4), [])
    assert session.log.since(2) == (range(3, 4), [session.tree.rows[one]])
    assert session.log.since(3) == (range(4, 4), [])
    assert session.log.since(4) is None


@pytest.mark.parametrize("behind", [0, 1, 2])
async def test_a_cancellation_right_behind_a_write_is_too_late_or_in_time(resident, behind):
    """As of a request and its cancel in one read: the first write has begun then, those behind it have not."""
    written = []

    async def write(number):
        written.append(await append(resident, user(id=f"n{number}")))

    tasks = [begin(write(number)) for number in range(3)]
    tasks[behind].cancel()
    await asyncio.wait(tasks)
    assert tasks[behind].cancelled() == (behind > 0)
    ids = [each.planned.entry_ids[0] for each in written]
    assert ids == [f"n{number}" for number in range(3) if number == 0 or number != behind]
    assert [entry_id for entry_id in resident.session.tree.ids if entry_id.startswith("n")] == ids


async def test_requests_that_begin_together_share_one_look(resident, monkeypatch):
    journal, looks = resident.session.journal, []
    verify = type(journal).verify
    monkeypatch.setattr(type(journal), "verify", lambda self: looks.append(self) or verify(self))

    def ask(times):
        with together():
            for _ in range(times):
                assert begin(resident.order.settled()) is None

    ask(3)
    assert len(looks) == 1
    with open(journal.path, "ab") as other:
        other.write(b'{"type":"custom","id":"x1","parentId":null,"timestamp":"2026-01-01T00:00:09.000Z"}\n')
    ask(3)
    assert "x1" in resident.session.tree.rows
    looks.clear()
    for _ in range(2):
        await resident.order.settled()
    assert len(looks) == 2  # outside there is no moment that two belong to
