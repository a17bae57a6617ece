"""Compactions that are given up: at any moment the file is as it was, or has one entry more."""

import asyncio
from pathlib import Path

import pytest

from pid.errors import PidError, RequestCancelled, SessionNotFound
from pid.protocol import CreateParams
from tests.anthropic_server import Reply
from tests.service.compaction.steps import ENDS, SETTINGS, asked, converse, entries, gate, params, raw, states

pytestmark = pytest.mark.anyio


async def cancelled_by_task(resident, store, task):
    task.cancel()


async def cancelled_by_request(resident, store, task):
    assert await resident.compactor.cancel(None)


async def cancelled_by_closing(resident, store, task):
    await store.close(resident.session.session_id)


async def cancelled_by_the_end(resident, store, task):
    await store.close_all()


@pytest.mark.parametrize(
    ("how", "error"),
    [(cancelled_by_task, asyncio.CancelledError), (cancelled_by_request, RequestCancelled),
     (cancelled_by_closing, RequestCancelled), (cancelled_by_the_end, RequestCancelled)],
)  # fmt: skip
async def test_cancelled_while_the_model_writes(resident, store, told, server, how, error):
    gate(server)
    before = raw(resident)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    await how(resident, store, task)
    with pytest.raises(error):
        await task
    assert raw(resident) == before
    assert [state for state in states(told) if state in ENDS] == ["cancelled"]
    assert resident.compactor.running is None
    assert server.requests[0].done.wait(5)
    assert server.requests[0].disconnected


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_cancelled_at_any_moment(resident, told, server, turns):
    server.default = Reply("notes")
    before = raw(resident)
    task = asyncio.create_task(resident.compactor.compact(params(summarizer="extractive" if turns % 2 else None)))
    for _ in range(turns):
        await asyncio.sleep(0.0005 * (turns % 7))
    task.cancel()
    try:
        result = await task
    except asyncio.CancelledError:
        assert raw(resident) == before
        assert states(told)[-1:] in ([], ["cancelled"])  # a task that never ran has told nothing
    else:
        assert raw(resident).startswith(before)
        assert len(entries(resident)) == 13
        assert entries(resident)[-1]["id"] == result.entry_id
        assert states(told)[-1] == "completed"
    assert sum(state in ENDS for state in states(told)) <= 1
    assert resident.compactor.running is None
    await converse(resident, 6)
    assert (await resident.compactor.compact(params(summarizer="extractive"))).entry_id


async def test_cancelled_while_it_waits_for_others(store, told, server):
    residents = [await store.create(CreateParams(cwd="/p", settings=SETTINGS)) for _ in range(3)]
    for resident in residents:
        await converse(resident, 4)
    gates = [gate(server), gate(server)]
    tasks = [asyncio.create_task(resident.compactor.compact(params())) for resident in residents]
    await asked(server, 2)
    assert await residents[2].compactor.cancel(residents[2].compactor.running.compaction_id)
    with pytest.raises(RequestCancelled):
        await tasks[2]
    for one in gates:
        one.set()
    await asyncio.gather(*tasks[:2])
    assert (await residents[2].compactor.compact(params(summarizer="extractive"))).entry_id


async def test_a_cancel_that_names_another_one_does_nothing(resident, server):
    assert not await resident.compactor.cancel(None)
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    assert not await resident.compactor.cancel("other")
    ready.set()
    assert await task
    assert not await resident.compactor.cancel(None)


async def test_nothing_begins_in_a_session_that_closes(resident, store):
    await store.close(resident.session.session_id)
    with pytest.raises(SessionNotFound):
        await resident.compactor.compact(params())


async def test_a_lost_file_fails_it(resident, told, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    Path(resident.session.journal.path).write_bytes(b"something else\n")
    ready.set()
    with pytest.raises(PidError) as error:
        await task
    assert error.value.kind == "sessionChangedOnDisk"
    assert Path(resident.session.journal.path).read_bytes() == b"something else\n"
    assert states(told)[-1] == "failed"
