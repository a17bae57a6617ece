"""A disk that fills, and a limit on the size of a file: an error, memory and file agree, a retry works with room."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.lines import entries, links, message
from tests.faults.peer import Peer, Refused
from tests.faults.test_old_files import OLD

ROOM = 256 * 1024  # bytes of the small disk, and of the largest file
TEXT = "x" * 10_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, with little room; it takes root to make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if made.returncode:
        pytest.skip(f"no small disk here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))


def raise_limit(peer: Peer) -> None:
    resource.prlimit(peer.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def tree_of(peer: Peer, session_id: str) -> list[tuple[str, str | None]]:
    nodes = peer.call("session/getTree", {"sessionId": session_id, "content": "none"})["nodes"]
    return [(node["id"], node.get("parentId")) for node in nodes]


def fill(peer: Peer, session_id: str) -> tuple[list[str], list[str]]:
    """Appends in pipelines of ten until nothing goes any more: what was acknowledged, and what was refused."""
    acknowledged, refused = [], []
    for batch in range(20):
        ids = [f"n{batch}-{number}" for number in range(10)]
        entries_ = [message(TEXT, id=entry_id) for entry_id in ids]
        numbers = [peer.send("session/append", {"sessionId": session_id, "entry": entry}) for entry in entries_]
        for entry_id, number in zip(ids, numbers, strict=True):
            try:
                acknowledged.append(peer.answer(number)["entryId"])
            except Refused as error:
                assert (error.code, error.data["outcome"]) == (1007, "notWritten")
                refused.append(entry_id)
        if refused:
            return acknowledged, refused
    raise AssertionError("it never filled")


def fails_and_goes_on(peer: Peer, path: Path, session_id: str, make_room) -> tuple[int, int]:
    acknowledged, refused = fill(peer, session_id)
    assert tree_of(peer, session_id) == links(path)
    assert [entry["id"] for entry in entries(path)] == acknowledged
    assert path.read_bytes().endswith(b"\n")
    make_room()
    for entry_id in refused:
        peer.call("session/append", {"sessionId": session_id, "entry": message(TEXT, id=entry_id)})
    assert [entry["id"] for entry in entries(path)] == acknowledged + refused
    assert tree_of(peer, session_id) == links(path)
    return len(acknowledged), len(refused)


def test_appends_on_a_full_disk(home, small_disk, counts):
    spare = small_disk / "spare"
    spare.write_bytes(bytes(ROOM // 2))
    with Peer(home) as peer:
        state = peer.call("session/create", {"cwd": "/p", "sessionDir": str(small_disk)})
        done = fails_and_goes_on(peer, Path(state["path"]), state["sessionId"], spare.unlink)
    counts(acknowledged=done[0], refused=done[1], then_written=done[1], lost=0)


def test_appends_past_a_limit_on_files(home, tmp_path, counts):
    with Peer(home, before_exec=limited) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path)})
        path = Path(state["path"])
        done = fails_and_goes_on(peer, path, state["sessionId"], lambda: raise_limit(peer))
    counts(acknowledged=done[0], refused=done[1], then_written=done[1], lost=0)


def old_file(folder: Path) -> Path:
    path = folder / "old.jsonl"
    big = OLD[1] | {"message": {"role": "user", "content": "y" * (ROOM // 3), "timestamp": 1}}
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in [*OLD, big]))
    return path


def rewrite_fails_and_goes_on(peer: Peer, path: Path, make_room) -> None:
    before = path.read_bytes()
    session_id = peer.call("session/open", {"path": str(path)})["sessionId"]
    known = tree_of(peer, session_id)
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            peer.call("session/append", {"sessionId": session_id, "entry": message("new", id="new")})
        assert (refused.value.code, refused.value.data["outcome"]) == (1007, "notWritten")
        assert path.read_bytes() == before
        assert tree_of(peer, session_id) == known
        assert not list(path.parent.glob(".*pid*"))
    make_room()
    peer.call("session/append", {"sessionId": session_id, "entry": message("new", id="new")})
    assert tree_of(peer, session_id) == links(path)
    assert [entry_id for entry_id, _ in links(path)] == [*(entry_id for entry_id, _ in known), "new"]
    assert path.with_name("old.jsonl.v1").read_bytes() == before


def test_a_rewrite_on_a_full_disk(home, small_disk, counts):
    spare = small_disk / "spare"
    spare.write_bytes(bytes(ROOM // 2))
    path = old_file(small_disk)
    with Peer(home) as peer:
        rewrite_fails_and_goes_on(peer, path, spare.unlink)
    counts(refused=2, then_written=1, lost=0)


def test_a_rewrite_past_a_limit_on_files(home, tmp_path, counts):
    path = old_file(tmp_path)

    def smaller() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM // 4, resource.RLIM_INFINITY))

    with Peer(home, before_exec=smaller) as peer:
        rewrite_fails_and_goes_on(peer, path, lambda: raise_limit(peer))
    counts(refused=2, then_written=1, lost=0)


def fork_fails_and_goes_on(peer: Peer, folder: Path, make_room) -> None:
    session_id = peer.call("session/create", {"cwd": "/p", "sessionDir": str(folder)})["sessionId"]
    for number in range(12):
        peer.call("session/append", {"sessionId": session_id, "entry": message(TEXT, id=f"n{number}")})
    (source,) = folder.glob("*.jsonl")
    before, known, there = source.read_bytes(), tree_of(peer, session_id), sorted(os.listdir(folder))
    params = {"sessionId": session_id, "sessionDir": str(folder)}
    for more in ({}, {"entryId": "n11"}):
        with pytest.raises(Refused) as refused:
            peer.call("session/fork", {**params, **more})
        assert (refused.value.code, refused.value.data["outcome"]) == (1007, "notWritten")
        assert (source.read_bytes(), sorted(os.listdir(folder))) == (before, there)
    make_room()
    fork = peer.call("session/fork", params)
    assert tree_of(peer, fork["sessionId"]) == known == tree_of(peer, session_id)


def test_a_fork_on_a_full_disk(home, small_disk, counts):
    spare = small_disk / "spare"
    spare.write_bytes(bytes(ROOM // 4))
    with Peer(home) as peer:
        fork_fails_and_goes_on(peer, small_disk, spare.unlink)
    counts(refused=2, then_forked=1, lost=0)


def test_a_fork_past_a_limit_on_files(home, tmp_path, counts):
    folder = tmp_path / "sessions"
    folder.mkdir()

    def lower(peer: Peer) -> None:
        resource.prlimit(peer.process.pid, resource.RLIMIT_FSIZE, (ROOM // 4, resource.RLIM_INFINITY))

    with Peer(home) as peer:
        state = peer.call("session/create", {"cwd": "/p", "sessionDir": str(folder)})
        session_id = state["sessionId"]
        for number in range(12):
            peer.call("session/append", {"sessionId": session_id, "entry": message(TEXT, id=f"n{number}")})
        known, there = tree_of(peer, session_id), sorted(os.listdir(folder))
        lower(peer)
        with pytest.raises(Refused) as refused:
            peer.call("session/fork", {"sessionId": session_id})
        assert (refused.value.code, refused.value.data["outcome"]) == (1007, "notWritten")
        assert sorted(os.listdir(folder)) == there
        raise_limit(peer)
        fork = peer.call("session/fork", {"sessionId": session_id})
        assert tree_of(peer, fork["sessionId"]) == known
    counts(refused=1, then_forked=1, lost=0)


def test_creating_on_a_full_disk_leaves_nothing(home, small_disk, counts):
    spare = small_disk / "spare"
    with pytest.raises(OSError, match="No space"), spare.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    with Peer(home) as peer:
        for more in ({}, {"name": "a name"}, {"name": "x" * 5000}):
            params = {"cwd": "/p", "sessionDir": str(small_disk), "id": "mine", **more}
            with pytest.raises(Refused) as refused:
                peer.call("session/create", params)
            assert (refused.value.code, refused.value.data["outcome"]) == (1007, "notWritten")
            assert os.listdir(small_disk) == ["spare"]
            with pytest.raises(Refused) as refused:
                peer.call("session/getState", {"sessionId": "mine"})
            assert refused.value.code == 1001
        spare.unlink()
        assert peer.call("session/create", params)["name"] == "x" * 5000
    counts(refused=3, then_written=1)


def test_listing_with_a_full_cache(home, small_disk, tmp_path, counts, monkeypatch):
    """The memory of listings has no room: they are as right without it, and nothing of it stays behind."""
    monkeypatch.setenv("PID_CACHE_DIR", str(small_disk / "cache"))
    spare = small_disk / "spare"
    with pytest.raises(OSError, match="No space"), spare.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    with Peer(home) as peer:
        for number in range(3):
            created = peer.call("session/create", {"cwd": "/p", "sessionDir": str(tmp_path), "id": f"s{number}"})
            peer.call("session/append", {"sessionId": created["sessionId"], "entry": message(TEXT)})
        listed = [peer.call("session/list", {"sessionDir": str(tmp_path), "all": True}) for _ in range(2)]
        assert not [path for path in small_disk.rglob("*") if path.is_file() and path != spare]
        spare.unlink()
        listed += [peer.call("session/list", {"sessionDir": str(tmp_path), "all": True}) for _ in range(2)]
        assert [path.stat().st_size > 0 for path in small_disk.rglob("listings/*")] == [True]
    assert [len(each["sessions"]) for each in listed] == [3] * 4
    assert all(each == listed[0] for each in listed)
    counts(listings=4, wrong=0)
