"""Compactions beside other work: appends, other writers, other compactions."""

import asyncio
import json

import pytest

from pid.errors import CompactionInProgress, CompactionSuperseded
from pid.protocol import CreateParams
from tests.anthropic_server import Reply
from tests.service.compaction.steps import SETTINGS, asked, converse, entries, gate, params, raw, states
from tests.service.daemon import append, move, user

pytestmark = pytest.mark.anyio


async def test_a_thousand_appends_during_a_slow_summary(resident, told, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    assert resident.state().compaction.state == "progress"
    written = await asyncio.gather(*(append(resident, user(f"during {number}")) for number in range(1000)))
    assert not task.done()
    ready.set()
    result = await task
    stored = entries(resident)
    assert [e["message"]["content"] for e in stored[-1001:-1]] == [f"during {number}" for number in range(1000)]
    assert stored[-1]["id"] == result.entry_id
    assert stored[-1]["parentId"] == written[-1].planned.leaf_id
    path = resident.session.tree.path(resident.session.leaf)
    assert len(path) == len(stored)
    assert resident.state().compaction is None
    context = await resident.compactor.gauge.usage(resident.session.leaf)
    assert context.tokens > result.tokens_after


async def test_a_leaf_that_left_the_branch_supersedes(resident, told, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    await move(resident, entries(resident)[2]["id"])
    before = raw(resident)
    ready.set()
    with pytest.raises(CompactionSuperseded):
        await task
    assert raw(resident) == before
    assert states(told)[-1] == "failed"
    assert not resident.compactor.breaker.failures


async def test_another_compaction_supersedes(resident, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    theirs = {
        "type": "compaction", "id": "theirs", "parentId": resident.session.leaf_id, "summary": "s",
        "timestamp": "2026-01-01T00:00:00.000Z", "firstKeptEntryId": resident.session.leaf_id, "tokensBefore": 9,
    }  # fmt: skip
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(theirs).encode() + b"\n")
    before = raw(resident)
    ready.set()
    with pytest.raises(CompactionSuperseded):
        await task
    assert raw(resident) == before


async def test_what_another_writer_appends_stays_on_the_path(resident, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    line = {"type": "message", "id": "theirs", "parentId": resident.session.leaf_id, "message": {"role": "user"}}
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(line | {"timestamp": "2026-01-01T00:00:00.000Z"}).encode() + b"\n")
    ready.set()
    await task
    assert entries(resident)[-1]["parentId"] == "theirs"


async def test_one_at_a_time_in_a_session(resident, server):
    ready = gate(server)
    task = asyncio.create_task(resident.compactor.compact(params()))
    await asked(server)
    with pytest.raises(CompactionInProgress) as error:
        await resident.compactor.compact(params())
    assert error.value.details["compactionId"] == resident.state().compaction.compaction_id
    ready.set()
    await task


async def test_two_at_a_time_in_a_daemon(store, told, server):
    server.default = Reply("notes")
    residents = [await store.create(CreateParams(cwd="/p", settings=SETTINGS)) for _ in range(3)]
    for resident in residents:
        await converse(resident, 4)
    gates = [gate(server), gate(server)]
    tasks = [asyncio.create_task(resident.compactor.compact(params())) for resident in residents[:2]]
    await asked(server, 2)
    tasks.append(asyncio.create_task(residents[2].compactor.compact(params())))
    await asyncio.sleep(0.05)
    assert residents[2].state().compaction.state == "queued"
    assert len(server.requests) == 2
    gates[0].set()
    gates[1].set()
    await asyncio.gather(*tasks)
    third = residents[2].session.session_id
    own = [notice.state for notice in told.of("session/compaction") if notice.session_id == third]
    assert own == ["queued", "started", "progress", "completed"]
