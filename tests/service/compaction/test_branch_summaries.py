"""Moving the leaf with a summary of the branch that is left."""

import asyncio

import pytest

from pid.errors import CompactionSuperseded, RequestCancelled
from pid.protocol import SetLeafParams
from pid.service.branching import move_with_summary
from tests.anthropic_server import Reply
from tests.service.compaction.steps import asked, entries, gate, raw
from tests.service.daemon import append, user

pytestmark = pytest.mark.anyio


async def test_a_branch_summary_moves_the_leaf_in_one_write(resident, server):
    server.script(Reply("what was tried"))
    target, old = entries(resident)[3]["id"], resident.session.leaf_id
    written = await move_with_summary(
        resident.compactor, SetLeafParams(session_id="s", entry_id=target, summarize=True), lambda step: None
    )
    entry = entries(resident)[-1]
    assert (entry["type"], entry["parentId"], entry["fromId"]) == ("branch_summary", target, old)
    assert entry["summary"].startswith("what was tried")
    assert written.planned.leaf_id == resident.session.leaf_id == entry["id"]
    assert "do 2" in server.requests[0].prompt
    assert "do 1" not in server.requests[0].prompt


async def test_a_branch_summary_is_for_the_leaf_that_it_began_at(resident, server):
    ready = gate(server)
    where = SetLeafParams(session_id="s", entry_id=entries(resident)[3]["id"], summarize=True)
    task = asyncio.create_task(move_with_summary(resident.compactor, where, lambda step: None))
    await asked(server)
    await append(resident, user("later"))
    before, leaf = raw(resident), resident.session.leaf_id
    ready.set()
    with pytest.raises(CompactionSuperseded):
        await task
    assert (raw(resident), resident.session.leaf_id) == (before, leaf)


async def test_a_branch_summary_ends_with_the_session(resident, store, server):
    gate(server)
    before = raw(resident)
    where = SetLeafParams(session_id="s", entry_id=entries(resident)[3]["id"], summarize=True)
    task = asyncio.create_task(move_with_summary(resident.compactor, where, lambda step: None))
    await asked(server)
    await store.close_all()
    with pytest.raises(RequestCancelled):
        await task
    assert raw(resident) == before
