"""The system fails at every single call that makes a new file: a session, a fork, the memory of listings.

Whatever fails, once or from then on: nobody finds half of anything, the source is untouched, a file that is there is
whole, and the same request works as soon as the system does.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from pid.adapters import fork_file
from pid.adapters.listing import Lister
from pid.adapters.listing_index import ListingIndex
from pid.errors import SessionExists, WriteFailed
from pid.protocol import CreateParams, ForkParams
from pid.service.forking import fork
from tests.faults.calls import stand_between
from tests.faults.lines import entries
from tests.faults.test_calls import Fault, faults
from tests.service.daemon import append, make_store
from tests.trees import session_bytes

SOURCE = session_bytes("u1 a1 l1(u1)=here u2 a2 | a1 > u3 a3")
HIDDEN_ENDING = ".pid-fork"


def store_in(folder: Path):
    """A store whose directory of sessions is still to be made."""
    return make_store(folder / "a" / "sessions")


async def create(store, source):
    return await store.create(CreateParams(cwd="/p", id="mine"))


async def create_named(store, source):
    return await store.create(CreateParams(cwd="/p", id="mine", name="a name"))


async def fork_whole(store, source):
    return await fork(store, ForkParams(path=str(source), id="mine"))


async def fork_path(store, source):
    return await fork(store, ForkParams(path=str(source), id="mine", entry_id="a2"))


MADE = {create: 0, create_named: 1, fork_whole: 7, fork_path: 6}
"""What makes a session, and how many entries it has."""


def there(store) -> list[str]:
    """What lies in the directory of sessions."""
    folder = Path(store.places.session_dir)
    return sorted(os.listdir(folder)) if folder.exists() else []


async def made_under(fault: Fault, folder: Path, make) -> str:
    """What came of it under the fault; then again without it."""
    source = folder / "source.jsonl"
    source.write_bytes(SOURCE)
    store = store_in(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_file, "_SMALL", 64)  # so that the system copies, too
        stand_between(patch, fault)
        result = (await asyncio.gather(make(store, source), return_exceptions=True))[0]
    assert not isinstance(result, BaseException) or isinstance(result, WriteFailed), result
    outcome = getattr(result, "details", {}).get("outcome", "made")
    assert source.read_bytes() == SOURCE
    assert outcome != "unknown" or "unlink" in fault.failed
    names = [name for name in there(store) if not name.startswith(".")]
    hidden = [name for name in there(store) if name.startswith(".")]
    assert len(names) == {"made": 1, "notWritten": 0}.get(outcome, len(names))
    assert not hidden or "unlink" in fault.failed
    assert all(name.endswith(HIDDEN_ENDING) for name in hidden)
    if names and outcome == "unknown":
        with pytest.raises(SessionExists):
            await make(store, source)
        return outcome
    resident = result if outcome == "made" else await make(store, source)
    assert len(there(store)) == 1 + len(hidden)
    path = Path(resident.session.journal.path)
    assert [entry["id"] for entry in entries(path)] == resident.session.tree.ids
    assert len(resident.session.tree) == MADE[make]
    assert (await append(resident)).planned.entry_ids[0] == entries(path)[-1]["id"]
    await store.close_all()
    return outcome


@pytest.mark.parametrize("make", MADE, ids=[make.__name__ for make in MADE])
def test_every_call_fails(tmp_path, counts, make):
    outcomes: dict[str, int] = {}
    sound = Fault(0, 0)
    (tmp_path / "sound").mkdir()
    assert asyncio.run(made_under(sound, tmp_path / "sound", make)) == "made"
    for number, fault in enumerate(faults(sound.seen)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        outcome = asyncio.run(made_under(fault, folder, make))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes["notWritten"] > outcomes.get("unknown", 0)
    counts(calls=sound.seen, faults=sum(outcomes.values()), **outcomes, halves=0)


@pytest.mark.parametrize("make", [fork_whole, fork_path])
def test_short_writes_and_copies(tmp_path, counts, make):
    calls = []

    def short(name, real, *args):
        if name not in ("write", "copy_file_range"):
            return None
        calls.append(name)
        size = 1 + len(calls) % 5
        if name == "write":
            return real(args[0], bytes(args[1])[:size])
        return real(*args[:2], min(size, args[2]), *args[3:])

    async def run():
        source = tmp_path / "source.jsonl"
        source.write_bytes(SOURCE)
        store = store_in(tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fork_file, "_SMALL", 64)
            stand_between(patch, short)
            resident = await make(store, source)
        whole = await make(store_in(tmp_path / "other"), source)
        first, second = (Path(each.session.journal.path).read_bytes().split(b"\n", 1)[1] for each in (resident, whole))
        assert [entry["id"] for entry in entries(Path(resident.session.journal.path))] == resident.session.tree.ids
        assert len(first) == len(second)
        await store.close_all()

    asyncio.run(run())
    counts(short_calls=len(calls), of_them_copies=calls.count("copy_file_range"), lost=0)


# The memory of listings: it may be lost, and is never trusted wrongly


def listed(cache: Path, folder: Path) -> list[tuple[str, int]]:
    lister = Lister(ListingIndex(str(cache)), lambda: time.time_ns() + 3_000_000_000)
    return sorted((found.path, found.session.message_count) for found in lister.sessions(str(folder), lambda *_: None))


def test_a_listing_is_right_whatever_fails_in_its_cache(tmp_path, counts):
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.jsonl").write_bytes(session_bytes("u1 a1 u2"))
    sound, injected = Fault(0, 0), 0
    with pytest.MonkeyPatch.context() as patch:
        stand_between(patch, sound)
        right = listed(tmp_path / "sound", folder)
    assert [count for _, count in right] == [3, 3, 3]
    for number, fault in enumerate(faults(sound.seen)):
        cache = tmp_path / f"cache-{number}"
        for _ in range(2):
            with pytest.MonkeyPatch.context() as patch:
                stand_between(patch, fault)
                assert listed(cache, folder) == right
        assert listed(cache, folder) == right
        injected += 1
    counts(calls=sound.seen, faults=injected, wrong=0)


@pytest.mark.parametrize("lost", ["a tail", "a tail that became NULs", "what was written last"])
def test_a_listing_is_right_after_a_power_cut_in_its_cache(tmp_path, counts, lost):
    """The index is not synced: any part of it may be gone, or an older one may be back."""
    folder, cache = tmp_path / "sessions", tmp_path / "cache"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.jsonl").write_bytes(session_bytes("u1 a1 u2"))
    listed(cache, folder)
    (index,) = (cache / "listings").iterdir()
    before = index.read_bytes()
    (folder / "0.jsonl").write_bytes(session_bytes("u1 a1 u2 a2 u3"))
    (folder / "1.jsonl").unlink()
    right = listed(tmp_path / "none", folder)
    assert listed(cache, folder) == right
    whole = index.read_bytes()
    wrecks = {
        "a tail": [whole[:size] for size in range(len(whole))],
        "a tail that became NULs": [whole[:size] + bytes(len(whole) - size) for size in range(len(whole))],
        "what was written last": [before, before[: len(before) // 2] + whole[len(before) // 2 :]],
    }[lost]
    for wreck in wrecks:
        index.write_bytes(wreck)
        assert listed(cache, folder) == right
    counts(indexes=len(wrecks), wrong=0)
