"""The client's own model, asked over the wire by the real daemon: late, never, with an error, cut off, gone.

The daemon is a process of its own, and so is what it talks to: this one. Where a client must die, a third one is it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pid.client import Client, raw
from pid.errors import CompactionInProgress, RequestCancelled, SummarizerFailed
from pid.protocol import (
    CompactionNotice,
    DidChangeNotice,
    InitializationOptions,
    SettingsUpdate,
    SummarizeAbility,
    SummarizeResult,
)

pytestmark = pytest.mark.anyio

SETTINGS = SettingsUpdate(keep_recent_tokens=500, overhead_tokens=0, token_estimator="chars4", fallback=False)
DAEMON = """
import sys
from pid.service import summarizing
summarizing.REQUEST_SECONDS, summarizing.FIRST_PAUSE, summarizing.MAX_ATTEMPTS = 0.3, 0.01, 2
from pid.__main__ import main
sys.exit(main([]))
"""
"""The daemon with short deadlines."""
ENDS = {"completed", "failed", "cancelled"}


@pytest.fixture(autouse=True)
async def bounded():
    with anyio.fail_after(60):
        yield


@asynccontextmanager
async def daemon(tmp_path, summarize, ability=None, hurried=False):
    options = InitializationOptions(session_dir=str(tmp_path), agent_dir=str(tmp_path / "agent"), settings=SETTINGS)
    command = [sys.executable, "-c", DAEMON] if hurried else None
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    env["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    async with Client.spawn(
        command, env=env, log="capture", options=options, notifications=["session/compaction", "session/didChange"],
        summarize=summarize, summarize_ability=ability,
    ) as client:  # fmt: skip
        state = await client.session.create(cwd="/proj")
        said = [
            message(role, f"{role} {number} " + "x" * 1600) for number in range(6) for role in ("user", "assistant")
        ]
        await client.session.append_batch(session_id=state.session_id, entries=said)
        yield client, state.session_id, Path(str(state.path))


def message(role, text):
    return raw({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}})


async def end_of(notices):
    """The states up to the end."""
    states = [(await anext(notices)).state]
    while states[-1] not in ENDS:
        states.append((await anext(notices)).state)
    return states


async def test_a_late_answer_is_waited_for_and_appends_go_on(tmp_path):
    asked, ready = asyncio.Event(), asyncio.Event()
    seen = []

    async def late(params):
        seen.append(params)
        asked.set()
        await ready.wait()
        usage = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15}
        return SummarizeResult(summary="## Goal\nfrom the editor", stop_reason="stop", usage=usage)

    async with daemon(tmp_path, late, SummarizeAbility(max_input_tokens=50_000, max_output_tokens=900)) as (
        client,
        session_id,
        _,
    ):
        assert "client" in client.initialized.capabilities.experimental.pid.summarizers
        progress = []
        with client.listen(CompactionNotice) as notices, client.progress(progress.append) as token:
            call = asyncio.create_task(client.session.compact(session_id=session_id, work_done_token=token))
            await asked.wait()
            with pytest.raises(CompactionInProgress):
                await client.session.compact(session_id=session_id)
            added = await client.session.append(session_id=session_id, entry=message("user", "meanwhile"))
            ready.set()
            result = await call
            assert progress[-1].kind == "end", "before the answer"
            assert await end_of(notices) == ["started", "progress", "completed"]
        assert (seen[0].purpose, seen[0].max_tokens, len(seen)) == ("history", 900, 1)
        assert (result.summarizer, result.usage.total_tokens) == ("client", 15)
        branch = await client.session.get_branch(session_id=session_id)
        assert branch.entry_ids[-2:] == [added.entry_id, result.entry_id]
        assert progress[0].kind == "begin"
        assert sum(one.kind == "end" for one in progress) == 1


async def test_its_entry_is_told_once_behind_the_answer(tmp_path):
    async with daemon(tmp_path, None) as (client, session_id, _):
        with client.listen(DidChangeNotice) as changes:
            result = await client.session.compact(session_id=session_id, summarizer="extractive")
            last = await client.session.append(session_id=session_id, entry=message("user", "on"))
            told = [await anext(changes)]
            while told[-1].revision < last.revision:
                told.append(await anext(changes))
        assert [one.revision for one in told] == [result.revision - 1, result.revision, last.revision][-len(told) :]
        assert [one.cause for one in told][-2:] == ["compaction", "append"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SummarizeResult(summary="The", stop_reason="length"), "truncated"),
        (SummarizeResult(summary="", stop_reason="stop"), "empty"),
        (SummarizeResult(summary="no", stop_reason="refusal"), "refused"),
        (SummarizeResult(summary="", stop_reason="error"), "error"),
        (SummarizerFailed("no key: sk-secret", reason="auth"), "auth"),
        (SummarizerFailed("slow down", reason="rateLimit", retryAfterMs=10), "rateLimit"),
        (ZeroDivisionError(), "error"),
    ],
)
async def test_what_is_no_summary_writes_nothing(tmp_path, answer, reason):
    calls = []

    async def bad(params):
        calls.append(params)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with daemon(tmp_path, bad, hurried=True) as (client, session_id, path):
        before = path.read_bytes()
        with client.listen(CompactionNotice) as notices:
            with pytest.raises(SummarizerFailed) as error:
                await client.session.compact(session_id=session_id)
            assert (await end_of(notices))[-1] == "failed"
        assert error.value.details["reason"] == reason
        assert "sk-secret" not in str(error.value)
        assert path.read_bytes() == before
        assert len(calls) == (2 if reason == "rateLimit" else 1)
        fallen = await client.session.compact(session_id=session_id, summarizer="extractive")
        assert fallen.summarizer == "extractive"


async def never(params):
    await asyncio.sleep(3600)
    raise AssertionError


async def test_no_answer_at_all_ends_at_the_deadline_and_the_client_is_told(tmp_path):
    given_up = []

    async def silent(params):
        try:
            return await never(params)
        except asyncio.CancelledError:
            given_up.append(params)
            raise

    async with daemon(tmp_path, silent, hurried=True) as (client, session_id, path):
        before = path.read_bytes()
        with pytest.raises(SummarizerFailed) as error:
            await client.session.compact(session_id=session_id)
        assert (error.value.details["reason"], error.value.details["attempts"]) == ("timeout", 2)
        assert len(given_up) == 2
        assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["request", "cancelCompaction", "close"])
async def test_cancelled_at_once_whatever_the_client_does(tmp_path, how):
    asked = asyncio.Event()

    async def deaf(params):
        asked.set()
        return await never(params)

    async with daemon(tmp_path, deaf) as (client, session_id, path):
        before = path.read_bytes()
        with client.listen(CompactionNotice) as notices:
            call = asyncio.create_task(client.session.compact(session_id=session_id))
            await asked.wait()
            state = await client.session.get_state(session_id=session_id)
            assert state.compaction.state == "progress"
            began = time.monotonic()
            if how == "request":
                call.cancel()
            elif how == "close":
                await client.session.close(session_id=session_id)
            else:
                other = await client.session.cancel_compaction(session_id=session_id, compaction_id="other")
                assert not other.cancelled
                assert (await client.session.cancel_compaction(session_id=session_id)).cancelled
            with pytest.raises((RequestCancelled, asyncio.CancelledError)):
                await call
            assert time.monotonic() - began < 5
            assert (await end_of(notices))[-1] == "cancelled"
        assert path.read_bytes() == before


DYING = """
import asyncio, os, sys
from pathlib import Path
from tests.e2e.test_client_summarizer import daemon, never

async def main():
    async def dying(params):
        os.kill(os.getpid(), 9)
    async with daemon(Path(sys.argv[1]), dying) as (client, session_id, path):
        print(client.process_id, path, len(path.read_bytes()), flush=True)
        await client.session.compact(session_id=session_id)

asyncio.run(main())
"""


async def test_a_client_that_dies_while_it_is_asked(tmp_path):
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, str(tmp_path), cwd=root, env=env, stdout=subprocess.PIPE
    )
    out, _ = await child.communicate()
    assert child.returncode == -signal.SIGKILL
    process_id, path, size = out.decode().split()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{process_id}").exists() and time.monotonic() < deadline:
        if "State:\tZ" in Path(f"/proc/{process_id}/status").read_text():
            break
        await asyncio.sleep(0.02)
    else:
        assert not Path(f"/proc/{process_id}").exists(), "the daemon ends with its client"
    assert len(Path(path).read_bytes()) == int(size), "nothing was written for it"
