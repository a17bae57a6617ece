"""Listing, forking and configuring over the wire, and `pid list` and `pid fork` as people run them."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pid.client import Client, plain, raw
from pid.protocol import InitializationOptions, ListChangedNotice, ListResult, SessionState, WorkDoneProgress
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.wire import framed
from tests.e2e.terminal import COMMAND, ENV, pid
from tests.trees import session_bytes

pytestmark = pytest.mark.anyio


class Home:
    """A home of its own: sessions in pi's directories, settings, a cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sessions = root / "agent/sessions"
        self.env = ENV | {
            "HOME": str(root),
            "PI_CODING_AGENT_DIR": str(root / "agent"),
            "PID_CACHE_DIR": str(root / "cache"),
            "XDG_STATE_HOME": str(root / "state"),
        }
        (root / "proj").mkdir()

    def put(self, name: str, text: str = "u1 a1") -> Path:
        """A session of the project `proj`."""
        folder = self.sessions / f"--{str(self.root / 'proj').strip('/').replace('/', '-')}--"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.jsonl"
        path.write_bytes(session_bytes(text).replace(b'"/proj"', json.dumps(str(self.root / "proj")).encode()))
        return path

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Client]:
        """A daemon that works in `proj`."""
        chosen = InitializationOptions(**options)
        async with Client.spawn(env=self.env, cwd=self.root / "proj", log="capture", options=chosen) as client:
            yield client


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def names(listing: ListResult) -> list[str]:
    return [Path(info.path).stem for info in listing.sessions]


async def test_the_daemons_own_directory_is_listed_where_nothing_is_named(home: Home) -> None:
    home.put("a")
    async with home.client() as client:
        assert names(await client.session.list()) == ["a"]
        assert names(await client.session.list(cwd="/elsewhere")) == []


async def test_workspace_folders_are_listed_where_nothing_is_named(home: Home) -> None:
    home.put("a")
    proj = (home.root / "proj").as_uri()
    for folders, found in (
        ({"workspaceFolders": [{"uri": "file:///none", "name": ""}, {"uri": proj, "name": "proj"}]}, 1),
        ({"rootUri": f"{proj}/"}, 1),
        ({"workspaceFolders": [{"uri": "file:///none", "name": ""}], "rootUri": proj}, 0),
        ({"workspaceFolders": None}, 0),
    ):
        initialize = {"processId": None, "capabilities": {}, "rootUri": None, **folders}
        messages = [
            {"id": 1, "method": "initialize", "params": initialize},
            {"method": "initialized", "params": {}},
            {"id": 2, "method": "session/list", "params": {}},
        ]
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=home.env, cwd="/"
        )
        sent = b"".join(framed({"jsonrpc": "2.0", **message}) for message in messages)
        out, _ = await asyncio.wait_for(process.communicate(sent), 60)
        answer = json.loads(out[out.rindex(b'{"jsonrpc"') :])
        assert answer["result"]["total"] == found, folders


async def test_progress_comes_before_the_answer_and_ends(home: Home, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(30):
        write(Recipe(300, seed=number), many / f"{number}.jsonl")
    told: list[WorkDoneProgress] = []
    async with home.client() as client:
        with client.progress(told.append) as token:
            listing = await client.session.list(session_dir=str(many), all=True, work_done_token=token)
            assert [told[0].kind, told[-1].kind] == ["begin", "end"]
    assert listing.total == 30
    assert {progress.kind for progress in told[1:-1]} <= {"report"}
    shares = [progress.percentage or 0 for progress in told[:-1]]
    assert shares == sorted(shares)
    assert all(0 <= share <= 100 for share in shares)


async def test_a_listing_can_be_cancelled_and_another_follows(home: Home, tmp_path: Path) -> None:
    for number in range(20):
        write(Recipe(500, seed=number), tmp_path / f"{number}.jsonl")
    async with home.client() as client:
        task = asyncio.create_task(client.session.list(session_dir=str(tmp_path), all=True))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await client.session.list(session_dir=str(tmp_path), all=True)).total == 20


async def test_a_forks_life(home: Home) -> None:
    path = home.put("a", "u1 a1 l1(u1)=start u2 a2")
    async with home.client() as client:
        fork = await client.session.fork(path=str(path), entry_id="a1")
        assert (fork.leaf_id, fork.entry_count, fork.parent_session) == ("a1", 3, str(path))
        context = await client.session.build_context(session_id=fork.session_id)
        assert [plain(message)["role"] for message in context.messages or []] == ["user", "assistant"]
        listed = {info.path: info.session_id for info in (await client.session.list()).sessions}
        assert listed == {str(path): None, fork.path: fork.session_id}
        recent = await client.session.continue_recent(cwd=str(home.root / "proj"))
        assert (recent.created, recent.path) == (False, fork.path)


async def test_made_and_renamed_sessions_are_told(home: Home) -> None:
    chosen = ["session/listChanged", "session/didChange"]
    async with Client.spawn(env=home.env, cwd=home.root, log="capture", notifications=chosen) as client:
        listening = client.listen(ListChangedNotice)
        state = await client.session.create(cwd="/x", name="first")
        await client.session.create(cwd="/memory", in_memory=True)
        name = raw({"type": "session_info", "name": "second"})
        await client.session.append(session_id=state.session_id, entry=name)
        await client.session.append(session_id=state.session_id, entry=raw({"type": "custom", "customType": "k"}))
        await client.session.fork(session_id=state.session_id, cwd="/fork")
        await client.session.continue_recent(cwd="/x")
        await client.session.continue_recent(cwd="/new")
        await client.session.get_state(session_id=state.session_id)
        told = [(await anext(listening)).cwd for _ in range(4)]
    assert told == ["/x", "/x", "/fork", "/new"]


async def test_a_daemon_that_lists_ends_with_its_input(home: Home, tmp_path: Path) -> None:
    for number in range(40):
        write(Recipe(1000, seed=number), tmp_path / f"{number}.jsonl")
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}, "rootUri": None}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "session/list", "params": {"sessionDir": str(tmp_path), "all": True}},
    ]
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=home.env
    )
    sent = b"".join(framed({"jsonrpc": "2.0", **message}) for message in messages)
    out, _ = await asyncio.wait_for(process.communicate(sent), 60)
    assert out.count(b'"id":2,') == 1  # with its result, or the news that it was given up


async def test_settings_files_count_and_bad_values_are_told(home: Home) -> None:
    (home.root / "proj/.pi").mkdir()
    file = home.root / "proj/.pi/settings.json"
    file.write_text('{"compaction": {"reserveTokens": 7, "keepRecentTokens": "x"}, "sessionDir": "kept"}')
    async with home.client() as client:
        state = await client.session.create(cwd=str(home.root / "proj"))
        assert state.settings.reserve_tokens == 7
        assert Path(state.path or "").parent == home.root / "proj/kept"
        assert [(problem.path, problem.key) for problem in state.settings_problems] == [
            (str(file), "compaction.keepRecentTokens")
        ]
        settings = await client.session.configure(session_id=state.session_id, settings={"reserveTokens": 9})
        assert settings.reserve_tokens == 9
        again = await client.session.configure(session_id=state.session_id, settings={"reserveTokens": None})
        assert again.reserve_tokens == 7
    async with home.client(trusted_roots=[str(home.root / "other")]) as client:
        state = await client.session.create(cwd=str(home.root / "proj"))
        assert (state.settings.reserve_tokens, state.settings_problems) == (16384, ())
        assert Path(state.path or "").parent.parent == home.sessions


# The commands


def test_pid_list(home: Home) -> None:
    path = home.put("a", "u1=a_question a1 n1=the_name")
    home.put("b", "u1=another a1 a2")
    home.put("empty", "n1=nothing")
    told = pid("list", str(home.root / "proj"), env=home.env).stdout.splitlines()
    assert told == [
        "2026-01-01 00:00       3  another",
        f"    {path.with_name('b.jsonl')}",
        "2026-01-01 00:00       2  the name  a question",
        f"    {path}",
    ]
    assert pid("list", "--query", "NAME", env=home.env, cwd=home.root / "proj").stdout.splitlines() == told[2:]
    assert "(no message)" in pid("list", "--empty", env=home.env, cwd=home.root / "proj").stdout
    assert str(home.root / "proj") in pid("list", "--all", env=home.env, cwd="/").stdout
    assert pid("list", "/none", env=home.env).stdout == "There are no sessions of /none.\n"
    listing = msgspec.json.decode(pid("list", "--all", "--json", env=home.env).stdout, type=ListResult)
    assert (names(listing), listing.total) == (["b", "a"], 2)


def test_pid_fork(home: Home) -> None:
    path = home.put("a", "u1 a1 u2")
    made = Path(pid("fork", path, env=home.env).stdout.rstrip("\n"))
    assert made.parent == path.parent
    assert made.read_bytes().partition(b"\n")[2] == path.read_bytes().partition(b"\n")[2]
    there = home.root / "there"
    told = pid("fork", path, "--entry", "a1", "--cwd", "/other", "--session-dir", there, "--json", env=home.env).stdout
    state = msgspec.json.decode(told, type=SessionState)
    assert (state.leaf_id, state.cwd, Path(state.path or "").parent) == ("a1", "/other", there)
    assert "no entry" in pid("fork", path, "--entry", "zz", env=home.env, code=2).stderr
    assert "no file" in pid("fork", "/nowhere", env=home.env, code=2).stderr
    assert sorted(os.listdir(there)) == [Path(state.path or "").name]
