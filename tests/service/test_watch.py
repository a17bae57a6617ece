"""The watch: how full the context is, told as it grows; compactions that start by themselves, and when none does."""

import asyncio
import json
import os
import threading

import pytest

from pid.adapters.anthropic import AnthropicSummarizer
from pid.adapters.counting import CountingProcess
from pid.core.overlay import Planned
from pid.errors import SummarizerUnavailable
from pid.protocol import CreateParams, PreviewParams, SettingsUpdate
from tests import anthropic_server as api
from tests.anthropic_server import AnthropicServer, Reply
from tests.service.compaction.steps import ENDS, assistant, converse, entries, params, states
from tests.service.daemon import append, make_store, move, open_path, user

pytestmark = pytest.mark.anyio

AUTO = SettingsUpdate(
    context_window=6_000,
    reserve_tokens=1_000,
    keep_recent_tokens=500,
    overhead_tokens=0,
    auto_compact=True,
    token_estimator="chars4",
    summarizer="extractive",
)


async def say(resident, *said, wanted=False, **where):
    """Appends as the server does: the write, then the look of the watch."""
    written = await append(resident, *said, **where)
    return written, await resident.watch.appended(written.planned, wanted=wanted)


async def quiet(resident):
    """Until no look and no compaction goes on."""
    while resident.compactor.running or resident.watch._looking:
        await asyncio.sleep(0.002)


def usage_of(tokens):
    return {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens}


# The usage


async def test_it_is_told_with_the_append_and_costs_what_was_added(store):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    _, (usage, _) = await say(resident, user("x" * 400), wanted=True)
    assert (usage.tokens, usage.source, usage.leaf_id) == (100, "estimate", resident.session.leaf_id)
    _, (usage, _) = await say(resident, assistant("y", usage=usage_of(1_000)), wanted=True)
    assert (usage.tokens, usage.source, usage.usage_tokens) == (1_000, "provider", 1_000)
    reads = []
    resident.session.bodies, bodies = lambda rows: reads.append(len(rows)) or bodies(rows), resident.session.bodies
    _, (usage, _) = await say(resident, user("z" * 40), wanted=True)
    assert (usage.tokens, usage.source, usage.estimated_tokens) == (1_010, "mixed", 10)
    assert sum(reads) <= 1


async def test_a_walk_and_the_sum_agree(store, tmp_path):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    for number in range(30):
        _, (usage, _) = await say(resident, user("x" * 7 * number), wanted=True)
    other = await open_path(make_store(tmp_path), resident.session.journal.path, settings=AUTO)
    assert (await other.compactor.gauge.usage(other.session.leaf)).tokens == usage.tokens
    other.session.journal.close()


async def test_usage_from_before_a_compaction_does_not_count(store):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await converse(resident, 4)
    await say(resident, assistant("z", usage=usage_of(5_900)))
    await quiet(resident)
    assert states(store.around.outlet) == ["started", "completed"]
    _, (usage, running) = await say(resident, user("next"), wanted=True)
    assert usage.tokens < 3_000
    assert (usage.source, running) == ("estimate", None)


async def test_changes_in_a_row_are_told_once(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await say(resident, user("x"))
    await quiet(resident)
    await asyncio.sleep(0.1)
    before = len(told.of("session/contextUsage"))
    for _ in range(50):
        await say(resident, user("x" * 40))
    await asyncio.sleep(0.1)
    notices = told.of("session/contextUsage")[before:]
    assert 1 <= len(notices) < 50
    assert notices[-1].tokens == 501
    assert notices[-1].leaf_id == resident.session.leaf_id


async def test_other_writers_entries_are_told_too(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await say(resident, user("x"))
    await quiet(resident)
    write_theirs(resident, "x" * 400)
    await resident.order.settled()
    await quiet(resident)
    await asyncio.sleep(0.1)
    assert told.of("session/contextUsage")[-1].tokens == 101


async def test_a_window_that_is_not_set_makes_nothing_due(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=SettingsUpdate(auto_compact=True)))
    _, (usage, running) = await say(resident, user("x" * 4_000_000), wanted=True)
    assert (usage.should_compact, usage.context_window, running) == (False, None, None)


async def test_an_append_is_answered_before_the_tokenizer_is_there(tmp_path, told):
    ready, counted = threading.Event(), threading.Event()

    def count(texts):
        ready.wait(5)
        counted.set()
        return [1000 for _ in texts]

    store = make_store(tmp_path, told, count=count)
    settings = SettingsUpdate(context_window=100_000, overhead_tokens=0)
    resident = await store.create(CreateParams(cwd="/p", settings=settings))
    _, (usage, _) = await say(resident, user("hello"), wanted=True)
    assert usage.tokens < 50
    assert not counted.is_set()
    ready.set()
    await quiet(resident)
    exact = await resident.compactor.gauge.usage(resident.session.leaf)
    assert exact.tokens > 1_000
    await store.close_all()


async def test_a_cancelled_look_does_not_take_the_append_back(tmp_path, told):
    ready = threading.Event()
    store = make_store(tmp_path, told)
    resident = await store.create(CreateParams(cwd="/p"))
    for _ in range(2):
        resident.compactor.workshop.threads.submit(ready.wait, 5)
    written = await append(resident, user("x"))
    task = asyncio.create_task(resident.watch.appended(written.planned, wanted=True))
    await asyncio.sleep(0.01)
    task.cancel()
    assert await task == (None, None)
    ready.set()
    await store.close_all()


async def test_the_real_tokenizer_counts_in_its_own_process(tmp_path):
    counting = CountingProcess()
    store = make_store(tmp_path, count=counting.count)
    settings = SettingsUpdate(context_window=100_000, overhead_tokens=0)
    resident = await store.create(CreateParams(cwd="/p", settings=settings))
    await append(resident, user("hello world " * 1000), {"type": "model_change", "provider": "p", "modelId": "gpt-5"})
    usage = await resident.compactor.gauge.usage(resident.session.leaf)
    assert 2000 <= usage.tokens <= 2010
    await store.close_all()
    counting.close()


def test_the_process_begins_before_there_are_texts_and_ends_with_its_input():
    counting = CountingProcess()
    assert counting.count(()) == []
    process = counting._process
    assert process is not None
    assert counting.count(["hello world"]) == [2]
    assert counting._process is process
    counting.close()
    assert process.returncode == 0


async def test_a_preview_has_the_counting_begin_before_it_reads(tmp_path):
    asked = []
    store = make_store(tmp_path, count=lambda texts: asked.append(len(texts)) or [len(text) // 4 for text in texts])
    resident = await store.create(CreateParams(cwd="/p", settings=SettingsUpdate(keep_recent_tokens=0)))
    await converse(resident, 5)
    await resident.compactor.preview(PreviewParams(session_id="s"))
    assert asked[0] == 0
    assert sum(asked) > 0
    await store.close_all()


# Compactions that start by themselves


async def test_one_starts_with_the_append_that_crosses_the_threshold(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await converse(resident, 5)
    await resident.compactor.gauge.usage(resident.session.leaf)
    _, (_, running) = await say(resident, user("x" * 4_800))
    assert running is not None
    assert resident.state().compaction.compaction_id == running.compaction_id
    await quiet(resident)
    notices = told.of("session/compaction")
    assert [notice.state for notice in notices] == ["started", "completed"]
    assert {notice.reason for notice in notices} == {"threshold"}
    assert [change.cause for change in told.of("session/didChange")][-1] == "compaction"
    _, (usage, running) = await say(resident, user("x"), wanted=True)
    assert (usage.should_compact, running) == (False, None)


async def test_without_auto_compact_it_is_only_told(store, told):
    settings = SettingsUpdate(context_window=2_000, reserve_tokens=500, overhead_tokens=0, token_estimator="chars4")
    resident = await store.create(CreateParams(cwd="/p", settings=settings))
    await say(resident, user("x" * 8_000))
    await quiet(resident)
    await asyncio.sleep(0.1)
    assert told.of("session/contextUsage")[-1].should_compact
    assert not told.of("session/compaction")


def write_theirs(resident, text, entry_id="theirs"):
    line = {"type": "message", "id": entry_id, "parentId": resident.session.leaf_id}
    line |= {"timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": text}}
    with open(resident.session.journal.path, "ab") as file:
        file.write(json.dumps(line).encode() + b"\n")


async def test_what_others_made_due_is_theirs_to_compact(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await converse(resident, 2)
    await say(resident, user("x"))
    await quiet(resident)
    write_theirs(resident, "x" * 20_000)
    await resident.order.settled()
    await quiet(resident)
    assert not told.of("session/compaction")


async def test_an_append_behind_what_others_made_due_starts_none(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await converse(resident, 2)
    await say(resident, user("x"))
    await quiet(resident)
    write_theirs(resident, "x" * 20_000)
    _, (usage, running) = await say(resident, user("y"), wanted=True)
    await quiet(resident)
    assert usage.should_compact
    assert running is None
    assert not told.of("session/compaction")


async def test_a_window_no_larger_than_the_reserve_never_loops(store, told):
    small = SettingsUpdate(context_window=1_000, auto_compact=True, overhead_tokens=0, token_estimator="chars4",
                           summarizer="extractive")  # fmt: skip
    resident = await store.create(CreateParams(cwd="/p", settings=small))
    for number in range(12):
        await say(resident, user(f"{number} " + "x" * 3_900))
        await quiet(resident)
    ends = [state for state in states(told) if state in ENDS]
    assert 0 < len(ends) <= 12
    assert resident.compactor.running is None


async def test_after_three_failures_none_starts_until_the_branch_changes(tmp_path, told, monkeypatch):
    with AnthropicServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", server.api_key)
        server.default = api.unauthorized()
        store = make_store(tmp_path, told, summarizers=(AnthropicSummarizer(os.environ),))
        settings = (SettingsUpdate(summarizer="anthropic", fallback=False), AUTO)
        resident = await store.create(CreateParams(cwd="/p"))
        resident.session.set_settings(*settings)
        await converse(resident, 8)
        for _ in range(6):
            await say(resident, user("more"))
            await quiet(resident)
        assert [state for state in states(told) if state in ENDS] == ["failed"] * 3
        assert "by itself" in told.of("session/compaction")[-1].error.message
        assert len(server.requests) == 3
        await move_and_look(resident, resident.session.leaf_id)
        await say(resident, user("more"))
        await quiet(resident)
        assert len(server.requests) == 3, "a move to where the leaf is changes no branch"
        server.default = Reply("notes")
        await move_and_look(resident, entries(resident)[-2]["id"])
        await say(resident, user("another way"))
        await quiet(resident)
        assert states(told)[-1] == "completed"
        await store.close_all()


async def test_a_summarizer_that_is_not_there_is_told_as_failed_and_then_left_alone(store, told, caplog):
    resident = await store.create(CreateParams(cwd="/p"))
    resident.session.set_settings(SettingsUpdate(summarizer="nobody"), AUTO)
    await converse(resident, 8)
    for _ in range(6):
        await say(resident, user("more"))
        await quiet(resident)
    ends = [notice for notice in told.of("session/compaction") if notice.state in ENDS]
    assert [(notice.state, notice.error.kind) for notice in ends] == [("failed", "summarizerUnavailable")] * 3
    assert "by itself" in ends[-1].error.message
    assert len(caplog.records) == 1
    with pytest.raises(SummarizerUnavailable):
        await resident.compactor.compact(params())
    assert len(states(told)) == 6, "what somebody asks for is refused, not begun"


async def move_and_look(resident, entry_id):
    written = await move(resident, entry_id)
    resident.watch.moved(written.planned)
    await quiet(resident)


async def test_a_manual_success_lets_them_start_again(store):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await converse(resident, 8)
    for _ in range(3):
        resident.compactor.breaker = resident.compactor.breaker.after(0)
    _, (_, running) = await say(resident, user("x"))
    await quiet(resident)
    assert running is None
    await resident.compactor.compact(params())
    assert not resident.compactor.breaker.is_open


async def test_other_settings_are_another_chance(store):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    resident.compactor.breaker = resident.compactor.breaker.after(None)
    resident.watch.configured()
    assert resident.compactor.breaker.failures == 0


async def test_a_closed_session_is_not_told_of(store, told):
    resident = await store.create(CreateParams(cwd="/p", settings=AUTO))
    await say(resident, user("x"))
    await store.close(resident.session.session_id)
    told.notices.clear()
    resident.watch.look(may_start=True)
    await resident.watch.appended(Planned((), None, None, None))
    await asyncio.sleep(0.1)
    assert not told.notices
