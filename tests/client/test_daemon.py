"""The client and the real daemon: what a program does with them, and what it sees when the daemon is killed."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from pid import __version__, errors
from pid.client import Client, DaemonGone, OtherError, pages, plain, raw
from pid.protocol import METHODS, DidChangeNotice, InitializationOptions, SettingsUpdate

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    with anyio.fail_after(60):
        yield


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    options = InitializationOptions(session_dir=str(tmp_path), agent_dir=str(tmp_path / "agent"))
    async with Client.spawn(log="capture", notifications=["session/didChange"], options=options) as client:
        yield client


def message(text: str, **fields: Any) -> msgspec.Raw:
    return raw({"type": "message", "message": {"role": "user", "content": text}, **fields})


async def create(client: Client, **fields: Any) -> str:
    return (await client.session.create(cwd="/proj", **fields)).session_id


async def test_what_the_daemon_says_of_itself(client: Client) -> None:
    assert client.initialized.server_info.name == "pid"
    assert client.initialized.server_info.version == __version__
    served = {method.name for method in METHODS.values() if method.direction == "toServer"}
    assert set(client.initialized.capabilities.experimental.pid.methods) == served


async def test_a_session_from_its_making_to_its_reopening(client: Client, tmp_path: Path) -> None:
    state = await client.session.create(cwd="/proj", name="a first name")
    session_id = state.session_id
    first = await client.session.append(session_id=session_id, entry=message("one"))
    batch = await client.session.append_batch(session_id=session_id, entries=[message("two"), message("three")])
    await client.session.set_leaf(session_id=session_id, entry_id=first.entry_id)
    label = raw({"type": "label", "targetId": first.entry_id, "label": "here"})
    labelled = await client.session.append(session_id=session_id, entry=label)
    tree = await client.session.get_tree(session_id=session_id)
    assert [node.label for node in tree.nodes if node.id == first.entry_id] == ["here"]
    branch = await client.session.get_branch(session_id=session_id)
    assert branch.entry_ids[-2:] == [first.entry_id, labelled.entry_id]
    entries = await client.session.get_entries(session_id=session_id, ids=batch.entry_ids)
    assert [plain(entry)["message"]["content"] for entry in entries.entries] == ["two", "three"]
    context = await client.session.build_context(session_id=session_id, format="llm")
    assert [plain(sent)["content"] for sent in context.messages or []] == ["one"]
    payload = (await client.session.build_context(session_id=session_id, format="anthropic")).payload
    assert plain(payload) == {"messages": [{"role": "user", "content": [{"type": "text", "text": "one"}]}]}
    assert plain(None) is None
    await client.session.close(session_id=session_id)
    again = await client.session.open(path=str(state.path))
    assert (again.name, again.leaf_id) == ("a first name", labelled.entry_id)
    assert Path(str(state.path)).parent == tmp_path


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Python's own limit, which other tests (hypothesis) may have raised."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_recursion")
async def test_an_answer_too_deep_for_python_fails_its_own_call_alone(client: Client) -> None:
    """On Python 3.11 msgspec goes no deeper than Python's own stack; files may hold 1,000 levels."""
    session_id = await create(client)
    deep = '{"type":"custom","customType":"deep","data":' + "[" * 998 + "]" * 998 + "}"
    entry = await client.session.append(session_id=session_id, entry=msgspec.Raw(deep.encode()))
    asked = [client.session.get_entries(session_id=session_id), client.session.get_state(session_id=session_id)]
    entries, state = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(entries, RecursionError) or sys.version_info >= (3, 12)
    assert state.leaf_id == entry.entry_id  # type: ignore[union-attr]


async def test_a_prompt_of_another_noun(client: Client, tmp_path: Path) -> None:
    built = await client.prompt.build(cwd=str(tmp_path), discover=False, date="2026-01-31")
    assert "2026-01-31" in built.prompt


async def test_a_prompt_holds_nothing_of_a_project_that_is_not_trusted(tmp_path: Path) -> None:
    for name in ("trusted", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "AGENTS.md").write_text(f"Of {name}.")
    options = InitializationOptions(agent_dir=str(tmp_path / "agent"), trusted_roots=[str(tmp_path / "trusted")])
    async with Client.spawn(log="capture", options=options) as client:
        trusted = await client.prompt.build(cwd=str(tmp_path / "trusted"))
        other = await client.prompt.build(cwd=str(tmp_path / "other"))
    assert [file.content for file in trusted.context_files] == ["Of trusted."]
    assert other.context_files == []


async def test_settings_go_with_the_start(tmp_path: Path) -> None:
    options = InitializationOptions(session_dir=str(tmp_path), settings=SettingsUpdate(durability="written"))
    async with Client.spawn(log="capture", options=options) as client:
        state = await client.session.create(cwd="/proj")
        assert state.settings.durability == "written"


async def test_errors_are_those_of_the_protocol(client: Client, tmp_path: Path) -> None:
    with pytest.raises(errors.SessionNotFound) as missing:
        await client.session.open(path=str(tmp_path / "none.jsonl"))
    assert missing.value.data["reason"] == "noFile"
    session_id = await create(client)
    await client.session.append(session_id=session_id, entry=message("one", id="same"))
    with pytest.raises(errors.DuplicateEntryId):
        await client.session.append(session_id=session_id, entry=message("two", id="same"))
    leaf_id = (await client.session.append(session_id=session_id, entry=message("two"))).leaf_id
    with pytest.raises(errors.LeafConflict) as conflict:
        await client.session.append(session_id=session_id, entry=message("three"), expected_leaf_id="same")
    assert conflict.value.data["currentLeafId"] == leaf_id
    with pytest.raises(errors.InvalidParams) as invalid:
        await client.session.get_tree(session_id=session_id, limit=0)
    assert invalid.value.data["path"] == "limit"
    with pytest.raises(OtherError) as unknown:
        await client.call("session/noSuchThing", {}, dict)
    assert unknown.value.code == -32601


async def test_pipelined_appends_keep_their_order(client: Client) -> None:
    session_id = await create(client)
    async with asyncio.TaskGroup() as group:
        appends = [
            group.create_task(client.session.append(session_id=session_id, entry=message(str(n)))) for n in range(200)
        ]
    branch = await client.session.get_branch(session_id=session_id)
    assert branch.entry_ids == [append.result().entry_id for append in appends]
    assert [plain(entry)["message"]["content"] for entry in branch.entries] == [str(n) for n in range(200)]


async def test_all_pages_of_a_tree(client: Client) -> None:
    session_id = await create(client)
    await client.session.append_batch(session_id=session_id, entries=[message(str(n)) for n in range(10)])
    told = [
        [node.preview for node in page.nodes]
        async for page in pages(client.session.get_tree, session_id=session_id, limit=4)
    ]
    assert [preview for page in told for preview in page] == [str(n) for n in range(10)]
    assert len(told) == 3


async def test_a_large_entry_goes_and_comes_byte_for_byte(client: Client) -> None:
    session_id = await create(client)
    number = 12345678901234567890123
    stored = b'{"type":"custom","customType":"big","data":{"n":%d,"text":"%s"}}' % (number, b"x" * 10_000_000)
    appended = await client.session.append(session_id=session_id, entry=msgspec.Raw(stored))
    [entry] = (await client.session.get_entries(session_id=session_id, ids=[appended.entry_id])).entries
    assert bytes(entry).endswith(stored[len(b'{"type":"custom"') :])


async def test_changes_are_told_in_order(client: Client) -> None:
    session_id = await create(client)
    with client.listen(DidChangeNotice) as changes:
        appended = [await client.session.append(session_id=session_id, entry=message(str(n))) for n in range(3)]
        told = [await anext(changes) for _ in range(3)]
    assert [change.revision for change in told] == [append.revision for append in appended]
    assert [[node.id for node in change.added] for change in told] == [[append.entry_id] for append in appended]


async def test_what_was_not_named_does_not_come(tmp_path: Path) -> None:
    async with Client.spawn(log="capture", options=InitializationOptions(session_dir=str(tmp_path))) as client:
        with pytest.raises(ValueError, match="never comes"):
            client.listen(DidChangeNotice)


async def test_a_cancelled_write_happened_or_did_not(client: Client) -> None:
    """Whichever: the session is as it was or has the entry, and a retry with the same id makes sure."""
    session_id = await create(client)
    for number in range(20):
        entry = message("x", id=f"entry-{number}")
        call = asyncio.create_task(client.session.append(session_id=session_id, entry=entry))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        again = await client.session.append(session_id=session_id, entry=entry)
        assert again.entry_id == f"entry-{number}"
    branch = await client.session.get_branch(session_id=session_id)
    assert branch.entry_ids == [f"entry-{number}" for number in range(20)]


async def test_killed_in_the_middle_of_calls(client: Client) -> None:
    state = await client.session.create(cwd="/proj")
    calls = [
        asyncio.create_task(client.session.append(session_id=state.session_id, entry=message("x" * 1000)))
        for _ in range(500)
    ]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    os.kill(client.process_id, signal.SIGKILL)
    results = await asyncio.gather(*calls, return_exceptions=True)
    acknowledged = [result.entry_id for result in results if not isinstance(result, BaseException)]
    gone = [result for result in results if isinstance(result, BaseException)]
    assert acknowledged
    assert {type(error) for error in gone} <= {DaemonGone}
    assert all("ended by signal 9" in str(error) for error in gone)
    with pytest.raises(DaemonGone, match="no answer to session/getState"):
        await client.session.get_state(session_id=state.session_id)
    async with Client.spawn(log="capture") as other:
        again = await other.session.open(path=str(state.path))
        stored = await other.session.get_entries(session_id=again.session_id)
    assert stored.entry_ids[: len(acknowledged)] == acknowledged


async def test_two_clients_have_daemons_of_their_own(client: Client, tmp_path: Path) -> None:
    state = await client.session.create(cwd="/proj")
    async with Client.spawn(log="capture") as other:
        assert other.process_id != client.process_id
        session_id = (await other.session.open(path=str(state.path))).session_id
        appended = await other.session.append(session_id=session_id, entry=message("from the other"))
    reread = await client.session.append(session_id=state.session_id, entry=message("from this one"))
    assert reread.parent_id == appended.entry_id


async def test_the_daemon_ends_by_itself_and_with_code_0() -> None:
    async with Client.spawn(log="capture", grace=30) as client:
        await client.session.create(cwd="/proj", in_memory=True)
    assert client._connection.child.fate == "the daemon has ended with code 0"
    assert client.log == ""


async def test_the_daemon_is_that_of_this_package_wherever_it_runs(tmp_path: Path) -> None:
    (tmp_path / "pid.py").write_text("raise SystemExit('a trap')")
    async with Client.spawn(cwd=tmp_path, env={}, log="capture") as client:
        assert client.initialized.server_info.version == __version__
