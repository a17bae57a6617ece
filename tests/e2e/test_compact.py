"""`pid compact` as people run it: in a pipe and in terminals, interrupted, with a model on a loopback API."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pid.protocol import CompactionPlan, CompactionResult
from tests.anthropic_server import AnthropicServer, Reply, unauthorized
from tests.e2e.terminal import ROOT, pid, pid_in_terminal

SAMPLE = ROOT / "pid/data/sample-session.jsonl"
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(rb"\x1b\[[0-9;]*[34][0-9][0-9;]*m")
BAR = b"Compacting"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLE, tmp_path / "session.jsonl"))


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with AnthropicServer(api_key="sk-ant-secret") as running:
        running.default = Reply("## Goal\nwhat the model wrote")
        yield running


def api(server: AnthropicServer) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.api_key}


def last_entry(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_bytes().splitlines()[-1])
    return found


def test_a_preview_says_what_would_be_done_and_writes_nothing(session: Path) -> None:
    before = session.read_bytes()
    told = pid("compact", session, "--preview", "--keep", "500").stdout.splitlines()
    as_json = pid("compact", session, "--preview", "--keep", "500", "--json").stdout
    plan = msgspec.json.decode(as_json, type=CompactionPlan)
    assert session.read_bytes() == before
    summarised = len(plan.summarize_entry_ids) + len(plan.turn_prefix_entry_ids)
    assert told[0].startswith(f"summarised  {summarised:,} entries")
    assert told[1] == f"kept        {len(plan.keep_entry_ids)} entries, from {plan.first_kept_entry_id}"
    assert told[2] == f"tokens      {plan.tokens_before:,} before, about {plan.tokens_after:,} after"
    assert {f"modified    {path}" for path in plan.details.modified_files} <= set(told)
    assert told[-1] == "Nothing was written."


def test_it_adds_one_entry_and_prints_the_summary(session: Path) -> None:
    before = session.read_bytes()
    done = pid("compact", session, "--keep", "500", "--summarizer", "extractive")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert session.read_bytes().startswith(before)
    entry = last_entry(session)
    assert entry["type"] == "compaction"
    assert done.stdout.startswith(entry["summary"])
    assert f"entry       {entry['id']}, written by extractive" in done.stdout


def test_json_is_the_answer_of_the_wire(session: Path) -> None:
    told = pid("compact", session, "--keep", "500", "--summarizer", "extractive", "--json").stdout
    result = msgspec.json.decode(told, type=CompactionResult)
    assert (result.entry_id, result.summary) == (last_entry(session)["id"], last_entry(session)["summary"])


def test_a_model_writes_the_summary(session: Path, server: AnthropicServer) -> None:
    told = pid("compact", session, "--keep", "500", "--instructions", "the ledger", env=api(server)).stdout
    assert told.startswith("## Goal\nwhat the model wrote")
    assert "written by anthropic" in told
    assert "the ledger" in server.requests[0].prompt


@pytest.mark.parametrize("columns", [80, 40])
def test_in_a_terminal_a_bar_shows_and_goes(session: Path, server: AnthropicServer, columns: int) -> None:
    sent = pid_in_terminal("compact", session, "--keep", "500", columns=columns, env=api(server))
    assert BAR in sent
    bar, summary = sent.rsplit(b"\x1b[2K", 1)  # the last thing that the bar does is to erase its line
    assert BAR not in summary
    lines = ESCAPE.sub(b"", summary).decode().split("\r\n")
    assert "what the model wrote" in lines
    assert max(map(len, lines)) <= columns
    drawn = re.split(rb"\r|\n", ESCAPE.sub(b"", bar))
    assert max(len(line.decode()) for line in drawn) <= columns - 3
    assert any(b"the history" in line for line in drawn)


def test_no_color_means_none(session: Path, server: AnthropicServer) -> None:
    coloured = pid_in_terminal("compact", session, "--keep", "500", "--preview", env=api(server))
    assert COLOUR.search(coloured)
    plain = pid_in_terminal("compact", session, "--keep", "500", env=api(server) | {"NO_COLOR": "1"})
    assert BAR in plain
    assert not COLOUR.search(plain)


def test_ctrl_c_leaves_the_file_as_it_was(session: Path, server: AnthropicServer) -> None:
    asked = threading.Event()

    def never(request: object) -> Reply:
        asked.set()
        return Reply("too late", gate=threading.Event())

    server.default = never
    before = session.read_bytes()
    sent = pid_in_terminal("compact", session, "--keep", "500", code=130, env=api(server), interrupt=asked)
    assert session.read_bytes() == before
    assert b"Traceback" not in sent
    assert server.requests[0].done.wait(10)
    assert server.requests[0].disconnected


@pytest.mark.parametrize(
    ("args", "line", "end"),
    [
        (["--summarizer", "anthropic"], "the summarizer 'anthropic' is not available", "auto, extractive."),
        (["--keep", "900000"], "nothing would be summarised", "(keeprecenttokens: 900,000)."),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(session: Path, args: list[str], line: str, end: str) -> None:
    before = session.read_bytes()
    done = pid("compact", session, *args, code=2, env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""})
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert done.stderr.lower().startswith(f"pid compact: {line}")
    assert done.stderr.lower().rstrip().endswith(end)
    assert session.read_bytes() == before


def test_where_a_model_fails_the_offline_summary_says_so(session: Path, server: AnthropicServer) -> None:
    server.default = unauthorized()
    done = pid("compact", session, "--keep", "500", env=api(server))
    assert "written by extractive, for the model failed (1 request)" in done.stdout
    assert server.api_key not in done.stdout + done.stderr


@pytest.mark.parametrize("tokens", ["x", "-1", "1.5", "²"])
def test_no_number_of_tokens(session: Path, tokens: str) -> None:
    done = pid("compact", session, f"--keep={tokens}", code=2)
    assert done.stderr.splitlines()[-1].endswith(f"argument --keep: {tokens!r} is no number of tokens")
