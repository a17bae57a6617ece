"""Compactions on real files, with the offline summarizer and with the real SDK against a loopback API."""

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from pid.adapters.anthropic import AnthropicSummarizer
from pid.errors import (
    CompactionInProgress,
    CompactionSuperseded,
    LeafConflict,
    NothingToCompact,
    PidError,
    RequestCancelled,
    SessionNotFound,
    SummarizerFailed,
    SummarizerUnavailable,
)
from pid.protocol import CompactParams, CreateParams, Overflow, PreviewParams, SetLeafParams, SettingsUpdate
from pid.service.branching import move_with_summary
from tests import anthropic_server as api
from tests.anthropic_server import AnthropicServer, Reply
from tests.interop import FOLDER
from tests.service.daemon import Told, append, make_store, move, open_path, user

pytestmark = pytest.mark.anyio

SETTINGS = SettingsUpdate(keep_recent_tokens=500, overhead_tokens=0, token_estimator="chars4")
REAL = FOLDER / "real-session-v1.jsonl"
ENDS = {"completed", "failed", "cancelled"}


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def server(monkeypatch):
    with AnthropicServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", running.api_key)
        yield running


@pytest.fixture
async def store(tmp_path, told, server):
    store = make_store(tmp_path, told, summarizers=(AnthropicSummarizer(os.environ),))
    yield store
    await store.close_all()


@pytest.fixture
async def resident(store):
    found = await store.create(CreateParams(cwd="/p", settings=SETTINGS))
    await converse(found, 6)
    return found


async def converse(resident, turns, size=1600):
    """So many turns of `size` characters a message."""
    for number in range(turns):
        await append(resident, user(f"do {number} " + "x" * size), assistant(f"did {number} " + "y" * size))


def assistant(text, **fields):
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "model": "m", "provider": "p"}
    return {"type": "message", "message": message | fields}


def params(**fields):
    return CompactParams(session_id="s", **fields)


def gate(server, text="the summary"):
    """The next reply waits until the event that is returned is set."""
    event = threading.Event()
    server.script(Reply(text, gate=event))
    return event


async def asked(server, count=1):
    while len(server.requests) < count:
        await asyncio.sleep(0.005)


def raw(resident):
    return Path(resident.session.journal.path).read_bytes()


def entries(resident):
    return [json.loads(line) for line in raw(resident).splitlines()[1:]]


def states(told):
    return [notice.state for notice in told.of("session/compaction")]


# What it writes


async def test_one_entry_says_what_a_plan_said(resident, told, server):
    server.script(Reply("## Goal\nthe summary"))
    before, leaf = raw(resident), resident.session.leaf_id
    plan = await resident.compactor.preview(PreviewParams(session_id="s", include_requests=True))
    assert raw(resident) == before
    assert not server.requests
    result = await resident.compactor.compact(params(first_kept_entry_id=plan.first_kept_entry_id))
    assert raw(resident).startswith(before)
    entry = entries(resident)[-1]
    assert (entry["type"], entry["id"], entry["parentId"]) == ("compaction", result.entry_id, leaf)
    assert entry["firstKeptEntryId"] == plan.first_kept_entry_id == result.first_kept_entry_id
    assert entry["summary"] == result.summary == "## Goal\nthe summary"
    assert entry["tokensBefore"] == plan.tokens_before == result.tokens_before
    assert entry["usage"]["output"] > 0
    assert result.usage.total_tokens == entry["usage"]["totalTokens"]
    assert (result.summarizer, result.attempts) == ("anthropic", 1)
    assert result.leaf_id == resident.session.leaf_id == entry["id"]
    assert server.requests[0].prompt == plan.requests[0].prompt
    after = await resident.compactor.gauge.usage(resident.session.leaf)
    assert after.tokens == result.tokens_after < result.tokens_before
    assert states(told) == ["started", "progress", "completed"]


async def test_a_second_one_keeps_what_the_first_one_kept(resident, server):
    server.default = Reply("notes")
    first = await resident.compactor.compact(params())
    await converse(resident, 4)
    second = await resident.compactor.compact(params())
    prompt = server.requests[-1].prompt
    order = [entry["id"] for entry in entries(resident)]
    kept = {e["id"]: e for e in entries(resident)[order.index(first.first_kept_entry_id) : order.index(first.entry_id)]}
    later = order.index(second.first_kept_entry_id)
    for entry_id, entry in kept.items():
        text = json.dumps(entry["message"]["content"])
        word = "did" if "did" in text else "do"
        said = f"{word} {text.split(word + ' ')[1].split()[0]} "
        assert said in prompt or order.index(entry_id) >= later
    assert "notes" in prompt


async def test_two_in_a_row_on_the_real_session(store, tmp_path, server):
    if not REAL.exists():
        pytest.skip("the interop files are not here")
    path = tmp_path / "real.jsonl"
    path.write_bytes(REAL.read_bytes())
    resident = await open_path(store, path, settings=SettingsUpdate(token_estimator="chars4", summarizer="extractive"))
    plan = await resident.compactor.preview(PreviewParams(session_id="s"))
    order = [entry["id"] for entry in entries(resident)] if "id" in entries(resident)[0] else resident.session.tree.ids
    assert list(order).index(plan.first_kept_entry_id) == 837
    assert plan.is_split_turn
    first = await resident.compactor.compact(params())
    kept = set(plan.keep_entry_ids)
    await append(resident, user("z" * 90_000))
    again = await resident.compactor.preview(PreviewParams(session_id="s"))
    taken = set(again.summarize_entry_ids) | set(again.turn_prefix_entry_ids) | set(again.keep_entry_ids)
    assert kept <= taken
    second = await resident.compactor.compact(params())
    assert set(first.details.modified_files) <= set(second.details.modified_files)
    assert second.tokens_after < second.tokens_before


async def test_nothing_kept_is_null_and_the_entry_names_itself(resident):
    await append(resident, user("z" * 40_000))
    resident.session.set_settings(SettingsUpdate(context_window=9_000, summarizer="extractive"), SETTINGS)
    result = await resident.compactor.compact(params(reserve_tokens=1_000))
    assert result.first_kept_entry_id is None
    assert entries(resident)[-1]["firstKeptEntryId"] == result.entry_id
    context = await resident.compactor.gauge.usage(resident.session.leaf)
    assert context.tokens == result.tokens_after


async def test_after_an_overflow_the_failed_attempt_is_left_out_and_the_tail_fits(resident, server):
    await append(resident, assistant("", stopReason="error", errorMessage="prompt is too long"))
    server.default = Reply("notes")
    result = await resident.compactor.compact(
        params(reason="overflow", overflow=Overflow(prompt_tokens=6_000, limit=5_000))
    )
    assert result.tokens_after < 5_000
    assert result.tokens_before == 6_000


async def test_an_overflow_without_figures_leaves_the_failed_attempt_out_too(resident, server):
    server.default = Reply("notes")
    await append(resident, assistant("z" * 9_000, stopReason="error"))
    before = await resident.compactor.preview(PreviewParams(session_id="s", reason="overflow"))
    assert before.tokens_before < 6_000


async def test_nothing_to_compact(store, told):
    resident = await store.create(CreateParams(cwd="/p"))
    await append(resident)
    with pytest.raises(NothingToCompact):
        await resident.compactor.compact(params())
    assert states(told) == ["started", "failed"]
    assert told.of("session/compaction")[-1].error.kind == "nothingToCompact"


async def test_guards(resident):
    before = raw(resident)
    with pytest.raises(LeafConflict):
        await resident.compactor.compact(params(expected_leaf_id=entries(resident)[0]["id"]))
    with pytest.raises(CompactionSuperseded):
        await resident.compactor.compact(params(first_kept_entry_id=entries(resident)[0]["id"]))
    with pytest.raises(SummarizerUnavailable):
        await resident.compactor.compact(params(summarizer="client"))
    with pytest.raises(SummarizerUnavailable):
        await resident.compactor.compact(params(summarizer="none such"))
    assert raw(resident) == before
    assert not resident.compactor.breaker.failures


# When a summarizer fails


async def test_a_failed_one_falls_back_to_the_offline_one(resident, server):
    server.script(api.unauthorized())
    result = await resident.compactor.compact(params())
    assert (result.summarizer, result.attempts, result.usage) == ("extractive", 1, None)
    assert "do 0" in result.summary


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(api.empty(), "empty"), (api.thinking_only(), "empty"), (api.refused(), "refused"),
     (api.truncated(), "truncated"), (api.tool_use("bash", {"command": "ls"}), "toolCall"),
     (Reply("w " * 40_000), "larger"), (api.unauthorized(), "auth")],
)  # fmt: skip
async def test_what_is_no_summary_is_not_written(resident, server, told, reply, reason):
    resident.session.set_settings(SettingsUpdate(fallback=False), SETTINGS)
    server.script(reply)
    before = raw(resident)
    with pytest.raises(SummarizerFailed) as error:
        await resident.compactor.compact(params())
    assert (error.value.details["reason"], error.value.details["attempts"]) == (reason, 1)
    assert raw(resident) == before
    assert states(told)[-1] == "failed"
    assert server.api_key not in str(error.value) + str(error.value.data) + repr(told.notices)


async def test_a_fault_that_nobody_foresaw_ends_this_compaction_only(resident, told, monkeypatch):
    def broken(self):
        raise ZeroDivisionError

    monkeypatch.setattr("pid.service.drafts.Draft.extract", broken)
    with pytest.raises(SummarizerFailed):
        await resident.compactor.compact(params(summarizer="extractive"))
    assert states(told)[-1] == "failed"
    monkeypatch.undo()
    assert (await resident.compactor.compact(params(summarizer="extractive"))).entry_id


# Beside other work


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


# Cancelling


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


# Damage


async def test_damaged_entries_are_passed_over(resident, store, tmp_path, told):
    path = Path(resident.session.journal.path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"message":{', b'"message":{{', 1)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join(lines))
    other = await open_path(store, damaged, settings=SETTINGS)
    result = await other.compactor.compact(params(summarizer="extractive"))
    assert "do 0" in result.summary
    assert damaged.read_bytes().startswith(b"".join(lines))


# The branch that is left


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
