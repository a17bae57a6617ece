"""A power cut at every point of the trace that the journal's own calls leave, with any part of what was not synced.

The model of a disk: what a file was synced with is there; of what was written since, nothing, a head, all, or a
length without the bytes (NULs) may be. Names that were made, moved or removed since the directory was synced are there
up to any point of their order, as on a journalled file system. Whatever of it comes back, everything that was
acknowledged by then must be in the session, and the session must go on.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pid.adapters import fork_file
from pid.errors import NotASession, SessionNotFound
from pid.protocol import CreateParams, ForkParams
from pid.service.forking import fork
from tests.faults.calls import stand_between
from tests.faults.conftest import sized
from tests.faults.test_calls import FIRST, OLD
from tests.service.daemon import append, make_store, move, open_path, user
from tests.trees import session_bytes

CHANCES = sized(3, 20)  # random parts of the unsynced bytes at each point, beside nothing, all and NULs

Event = tuple[Any, ...]


class Tracer:
    """Notes every call that changes the folder, in order, and what was acknowledged between them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._inodes: dict[int, int] = {}

    def __call__(self, name, real, *args):
        if name in ("open", "create"):
            fd = real(*args)
            self._inodes[fd] = os.fstat(fd).st_ino
            if name == "create":
                self.events.append(("create", self._inodes[fd], os.path.basename(args[0])))
            return fd
        if name == "write":
            count = real(*args)
            self.events.append(("write", self._inodes[args[0]], bytes(args[1])[:count]))
            return count
        if name == "copy_file_range":
            count = real(*args)
            self.events.append(("write", self._inodes[args[1]], os.pread(args[0], count, args[3])))
            return count
        if name in ("fsync", "fdatasync", "ftruncate"):
            self.events.append((name, self._inodes[args[0]], *args[1:]))
        elif name in ("rename", "link", "unlink"):
            self.events.append((name, *map(os.path.basename, args)))
        return None

    def acknowledged(self, *ids: str) -> None:
        self.events.append(("ack", ids))


@dataclass
class Disk:
    """One folder on a disk that loses power: what is certain, and what may or may not have come to it."""

    folder: int
    names: dict[str, int] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    made: bool = False  # whether a session was acknowledged to be there
    moves: list[Event] = field(default_factory=list)  # of names, since the folder was synced
    writes: dict[int, bytes] = field(default_factory=dict)  # each file as it is now, if it is not synced
    acknowledged: list[str] = field(default_factory=list)

    def take(self, event: Event) -> None:
        kind, *rest = event
        if kind == "ack":
            self.made = True
            self.acknowledged += rest[0]
        elif kind == "create":
            self.files.setdefault(rest[0], b"")
            self.moves.append(event)
        elif kind in ("rename", "link", "unlink"):
            self.moves.append(event)
        elif kind == "write":
            self.writes[rest[0]] = self._now(rest[0]) + rest[1]
        elif kind == "ftruncate":
            self.writes[rest[0]] = self._now(rest[0])[: rest[1]]
        elif rest[0] == self.folder:
            self.names, self.moves = self._moved(len(self.moves)), []
        else:
            self.files[rest[0]] = self.writes.pop(rest[0], self.files[rest[0]])

    def remains(self, moves: int, part: float | None) -> dict[str, bytes]:
        """The files after the cut, with so many moves of names, and a part of each unsynced write (None: NULs)."""
        return {name: self._part(inode, part) for name, inode in self._moved(moves).items()}

    def _part(self, inode: int, part: float | None) -> bytes:
        sure, now = self.files[inode], self._now(inode)
        if not now.startswith(sure):
            return now
        if part is None:
            return sure + bytes(len(now) - len(sure))
        return now[: len(sure) + round((len(now) - len(sure)) * part)]

    def _now(self, inode: int) -> bytes:
        return self.writes.get(inode, self.files[inode])

    def _moved(self, count: int) -> dict[str, int]:
        names = dict(self.names)
        for kind, *rest in self.moves[:count]:
            if kind == "create":
                names[rest[1]] = rest[0]
            elif kind == "rename":
                names[rest[1]] = names.pop(rest[0])
            elif kind == "link":
                names[rest[1]] = names[rest[0]]
            else:
                names.pop(rest[0], None)
        return names


async def work(store, resident, tracer: Tracer) -> None:
    """Appends alone, pipelined and in a batch, moves and labels; each noted as soon as it was answered."""

    async def one(*entries, **where):
        written = await append(resident, *entries, **where)
        tracer.acknowledged(*written.planned.entry_ids)

    await one(user("a", id="a"))
    await asyncio.gather(*(one(user("x" * 300, id=f"p{number}")) for number in range(4)))
    await move(resident, "p1")
    await one(user("b", id="b0"), user("b", id="b1"))
    await one({"type": "label", "targetId": "a", "label": "L", "id": "l"})
    await asyncio.gather(move(resident, None), one(user("c", id="c"), parent_id="a"))
    await store.close_all()


def traced(folder: Path, start) -> tuple[list[Event], Disk]:
    """The trace of `work`, and the disk before it."""
    tracer = Tracer()
    disk = Disk(folder.stat().st_ino)
    for path in folder.iterdir():
        disk.names[path.name] = path.stat().st_ino
        disk.files[path.stat().st_ino] = path.read_bytes()

    async def run():
        store = make_store(folder)
        resident = await start(store)
        tree = resident.session.tree
        shown = [entry_id for row, entry_id in enumerate(tree.ids) if not tree.is_hidden(row)]
        tracer.acknowledged(*(shown if start in FORKS else ()))
        await work(store, resident, tracer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_file, "_SMALL", 64)  # so that the system copies, too
        stand_between(patch, tracer)
        asyncio.run(run())
    return tracer.events, disk


async def survives(folder: Path, disk: Disk) -> bool:
    """Whether a session came back (there need not be one before it was acknowledged); it must be sound then."""
    sessions = [path for path in folder.glob("*.jsonl") if not path.name.startswith(".")]
    store = make_store(folder, prefix="again")
    try:
        resident = await open_path(store, sessions[0] if sessions else folder / "none")
    except (SessionNotFound, NotASession):
        assert not disk.made
        return False
    for entry_id in disk.acknowledged:
        assert json.loads(resident.session.body(resident.session.tree.find(entry_id)))["id"] == entry_id
    written = await append(resident)
    assert resident.session.body(resident.session.tree.find(written.planned.entry_ids[0]))
    await store.close_all()
    return True


async def create(store):
    return await store.create(CreateParams(cwd="/p"))


async def open_old(store):
    return await open_path(store, Path(store.places.session_dir) / "s.jsonl")


async def fork_whole(store):
    return await fork(store, ForkParams(path=str(Path(store.places.session_dir).parent / "source.jsonl")))


async def fork_path(store):
    path = str(Path(store.places.session_dir).parent / "source.jsonl")
    return await fork(store, ForkParams(path=path, entry_id="s2"))


FORKS = (fork_whole, fork_path)


@pytest.mark.parametrize("start", [create, open_old, *FORKS])
def test_power_cut_at_every_point(tmp_path, counts, start):
    folder, after = tmp_path / "disk", tmp_path / "after"
    folder.mkdir()
    if start is open_old:
        (folder / "s.jsonl").write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (OLD, FIRST)))
    (tmp_path / "source.jsonl").write_bytes(session_bytes("s1 a1 l1(s1)=here s2 | s1 > s3"))
    events, disk = traced(folder, start)
    chance, cuts, came_back = random.Random(7), 0, 0
    assert events
    for event in [None, *events]:
        if event is not None:
            disk.take(event)
        parts = [None, 0.0, 1.0, *(chance.random() for _ in range(CHANCES))]
        for moves in range(len(disk.moves) + 1):
            for part in parts if disk.writes else parts[:1]:
                shutil.rmtree(after, ignore_errors=True)
                after.mkdir()
                for name, content in disk.remains(moves, part).items():
                    (after / name).write_bytes(content)
                came_back += asyncio.run(survives(after, disk))
                cuts += 1
    acknowledged = len(disk.acknowledged)
    assert acknowledged >= 9
    counts(calls=len(events), cuts=cuts, sessions_that_came_back=came_back, acknowledged=acknowledged, lost=0)
