"""The system fails at every single call that an append or a rewrite makes, in every way that it can.

Whatever fails: the answer says so, memory and file agree, what was acknowledged stands once, and the same append
works as soon as the system does.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pid.errors import WriteFailed
from tests.faults.calls import stand_between
from tests.faults.conftest import LONG
from tests.faults.lines import entries
from tests.service.daemon import append, make_store, open_path, user

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
OLD = HEADER | {"version": 1}
FIRST = user("first") | {"timestamp": "2026-01-01T00:00:01.000Z"}
CODES = [errno.ENOSPC, errno.EIO, errno.EINTR, *([errno.EDQUOT, errno.EFBIG, errno.EROFS] if LONG else [])]


class Fault:
    """Fails the call with this number (from 1), or it and all behind it; a write may go out in part before.

    `failed` has the names of the calls that failed.
    """

    def __init__(self, number: int, code: int, part: int = 0, *, lasting: bool = False) -> None:
        self.number, self.code, self.part, self.lasting = number, code, part, lasting
        self.seen = 0
        self.failed: list[str] = []

    def __call__(self, name, real, *args):
        if name == "open":
            return None
        self.seen += 1
        if self.seen < self.number or (self.seen > self.number and not self.lasting):
            return None
        if self.part and name in IN_PART and self.number == self.seen:
            self.seen -= 1  # the call that went out in part says so, and its rest fails
            part, self.part = self.part, 0
            return IN_PART[name](real, args, part)
        self.failed.append(name)
        raise OSError(self.code, os.strerror(self.code))


IN_PART = {
    "write": lambda real, args, part: real(args[0], bytes(args[1])[:part]),
    "copy_file_range": lambda real, args, part: real(*args[:2], min(part, args[2]), *args[3:]),
}
"""Calls that may do less than they were asked to, done in part."""


def faults(calls: int):
    """Every fault at each of so many calls."""
    for number, code, part, lasting in itertools.product(range(1, calls + 1), CODES, (0, 7), (False, True)):
        yield Fault(number, code, part, lasting=lasting)


def session_file(folder: Path, header) -> Path:
    first = FIRST if header is OLD else FIRST | {"id": "first", "parentId": None}
    path = folder / "s.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (header, first)))
    return path


async def appended_under(fault: Fault, path: Path) -> tuple[list[str], int]:
    """Three pipelined appends under the fault, then again without it: what came of each, and calls made.

    The first goes alone, the others behind it in one group.
    """
    store = make_store(path.parent)
    resident = await open_path(store, path)
    with pytest.MonkeyPatch.context() as patch:
        stand_between(patch, fault)
        batch = [append(resident, user(f"n{number}", id=f"n{number}")) for number in range(3)]
        results = await asyncio.gather(*batch, return_exceptions=True)
    for result in results:
        assert not isinstance(result, Exception) or isinstance(result, WriteFailed), result
    outcomes = [getattr(result, "details", {}).get("outcome", "written") for result in results]
    torn = int("ftruncate" in fault.failed)  # what went out could not be cut back
    agree(resident.session, path, torn)
    stored = {entry.get("id") for entry in entries(path, torn=torn)}
    for number, outcome in enumerate(outcomes):
        assert outcome == "unknown" or (f"n{number}" in stored) == (outcome == "written")
        again = await append(resident, user(f"n{number}", id=f"n{number}"))
        assert outcome == "unknown" or again.planned.duplicate == (outcome == "written")
    agree(resident.session, path, torn)
    await store.close_all()
    return outcomes, fault.seen


def agree(session, path: Path, torn: int = 0) -> None:
    """Memory holds what the file holds, each entry once; `torn` lines may be broken."""
    stored = [entry.get("id") for entry in entries(path, torn=torn)]
    assert len(stored) == len(set(stored))
    if session.journal.scanner.version == 3:
        assert session.tree.ids == stored


@pytest.mark.parametrize("header", [pytest.param(HEADER, id="append"), pytest.param(OLD, id="rewrite")])
def test_every_call_fails(tmp_path, counts, header):
    outcomes: Counter[str] = Counter()
    sound = Fault(0, 0)
    assert asyncio.run(appended_under(sound, session_file(tmp_path, header)))[0] == ["written"] * 3
    for number, fault in enumerate(faults(sound.seen)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        path = session_file(folder, header)
        before = path.read_bytes()
        outcomes.update(asyncio.run(appended_under(fault, path))[0])
        kept = path.with_name("s.jsonl.v1") if header is OLD else path
        assert kept.read_bytes().startswith(before)
        assert not list(folder.glob(".*"))
    assert set(outcomes) >= {"notWritten", "unknown"}
    counts(calls=sound.seen, faults=number + 1, **outcomes, lost=0)


def test_short_writes(tmp_path, counts):
    written = []

    def short(name, real, *args):
        if name != "write":
            return None
        written.append(1)
        return real(args[0], bytes(args[1])[: 1 + len(written) % 5])

    async def work():
        store = make_store(tmp_path)
        path = session_file(tmp_path, OLD)
        resident = await open_path(store, path)
        with pytest.MonkeyPatch.context() as patch:
            stand_between(patch, short)
            await asyncio.gather(*(append(resident, user("x" * 50)) for _ in range(20)))
        agree(resident.session, path)
        assert len(entries(path)) == 21
        await store.close_all()

    asyncio.run(work())
    counts(short_writes=len(written), entries=21, lost=0)
