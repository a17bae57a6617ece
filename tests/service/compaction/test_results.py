"""What a compaction writes, and what becomes of one whose summary fails."""

import json
from pathlib import Path

import msgspec
import pytest

from pid.adapters.anthropic import AnthropicSummarizer
from pid.core.extractive import HEADINGS, sections_of
from pid.core.prompts import Capacity
from pid.errors import CompactionSuperseded, LeafConflict, NothingToCompact, SummarizerFailed, SummarizerUnavailable
from pid.protocol import CreateParams, Overflow, PreviewParams, SettingsUpdate
from tests import anthropic_server as api
from tests.anthropic_server import Reply
from tests.service.compaction.steps import REAL, SETTINGS, assistant, converse, entries, params, raw, states
from tests.service.daemon import append, open_path, user

pytestmark = pytest.mark.anyio


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
    server.script(Reply("what the first one said"), Reply("what the second one said"))
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
    assert "what the first one said" in prompt
    assert "what the second one said" in second.summary


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
    rules = sections_of(first.summary).of(HEADINGS[1])
    assert len(rules) > 5
    assert {rule.text for rule in rules} <= {rule.text for rule in sections_of(second.summary).of(HEADINGS[1])}
    assert second.tokens_after < second.tokens_before


async def test_a_context_without_reports_is_walked_through_once(resident, monkeypatch):
    await converse(resident, 300, size=20)
    journal, read = resident.session.journal, []
    stored = type(journal).read
    monkeypatch.setattr(type(journal), "read", lambda self, spans: read.append(len(spans)) or stored(self, spans))
    first = await resident.compactor.preview(PreviewParams(session_id="s"))
    once = sum(read)
    assert once < 2 * 612 + 200  # to measure it, and to take it in; the newest and the oldest once more
    read.clear()
    assert await resident.compactor.preview(PreviewParams(session_id="s")) == first
    assert sum(read) < once - 400
    usage = await resident.compactor.gauge.usage(resident.session.leaf)
    assert usage.tokens == first.tokens_before
    await append(resident, user("z" * 4_000))
    later = await resident.compactor.preview(PreviewParams(session_id="s"))
    assert later.tokens_before == first.tokens_before + 1_000


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
    with pytest.raises(SummarizerUnavailable, match=r"There are now: auto, anthropic, extractive\."):
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


# What a plan costs


async def test_a_plan_without_its_requests_says_the_same_and_reckons_them(resident):
    call = {"type": "toolCall", "id": "c1", "name": "write", "arguments": {"path": "/made.py"}}
    await converse(resident, 6)
    await append(resident, assistant("", content=[call], stopReason="toolUse"))
    await converse(resident, 12)
    outline = await resident.compactor.preview(PreviewParams(session_id="s"))
    whole = await resident.compactor.preview(PreviewParams(session_id="s", include_requests=True))
    assert outline.details.modified_files == ["/made.py"]
    assert outline.requests is None
    reckoned = {"requests": whole.requests, "request_tokens": whole.request_tokens}
    assert msgspec.structs.replace(outline, **reckoned) == whole
    assert whole.request_tokens / 2 < outline.request_tokens < whole.request_tokens * 2


# What does not fit


async def test_an_overlong_history_is_folded_in_requests_within_the_server_s_limit(store, server, monkeypatch):
    server.context_window = 20_000
    server.default = lambda request: Reply(f"## Goal\nnotes {len(server.requests)}")
    monkeypatch.setattr(AnthropicSummarizer, "capacity", Capacity(20_000, 1_000))
    resident = await store.create(CreateParams(cwd="/p", settings=SETTINGS))
    await converse(resident, 80)
    plan = await resident.compactor.preview(PreviewParams(session_id="s", include_requests=True))
    result = await resident.compactor.compact(params())
    sent = server.requests
    assert len(sent) == plan.request_count == result.attempts >= 5
    assert not [request for request in sent if request.refused]
    assert max(request.tokens + request.body["max_tokens"] for request in sent) <= server.context_window
    said = "".join(request.prompt for request in sent)
    kept = {number for number in range(80) if f"do {number} " not in said or f"did {number} " not in said}
    assert kept <= {78, 79}
    assert all(said.count(f"[User]: do {number} ") == 1 for number in set(range(80)) - kept)
    folded = [number for number in range(1, len(sent)) if plan.requests[number].purpose == "history"]
    assert all(f"notes {number}" in sent[number].prompt for number in folded)
