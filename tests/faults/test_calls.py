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
from pathlib import Path

import pytest

from pid.errors import WriteFailed
from tests.faults.calls import stand_between
from tests.faults.lines import entries
from tests.service.daemon import append, make_store, open_path, user

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
OLD = HEADER | {"version": 1}
FIRST = user("first") | {"timestamp": "2026-01-01T00:00:01.000Z"}
FAULTS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EDQUOT", "EINTR", "EFBIG", "EROFS")}


class Fault:
    """Fails the call with this number (from 1) of the kinds that it concerns; a write may go out in part before."""

    def __init__(self, number: int, code: int, part: int = 0) -> None:
        self.number, self.code, self.part = number, code, part
        self.seen = 0

    def __call__(self, name, real, *args):
        if name == "open":
            return None
        self.seen += 1
        if self.seen != self.number:
            return None
        if name == "write" and self.part:
            real(args[0], bytes(args[1])[: self.part])
            self.seen -= 1  # the write that went out in part says so, and its rest fails
            self.part = 0
            return min(len(args[1]), 7)
        raise OSError(self.code, os.strerror(self.code))


def session_file(folder: Path, header) -> Path:
    first = FIRST if header is OLD else FIRST | {"id": "first", "parentId": None}
    path = folder / "s.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (header, first)))
    return path


async def appended_under(fault: Fault, path: Path) -> tuple[str, int]:
    """One append of three pipelined under the fault, then again without it: what came of it, and calls made."""
    store = make_store(path.parent)
    resident = await open_path(store, path)
    with pytest.MonkeyPatch.context() as patch:
        stand_between(patch, fault)
        batch = [append(resident, user(f"n{number}", id=f"n{number}")) for number in range(3)]
        results = await asyncio.gather(*batch, return_exceptions=True)
    for result in results:
        assert not isinstance(result, Exception) or isinstance(result, WriteFailed), result
    outcome = getattr(results[0], "details", {}).get("outcome", "written")
    agree(resident.session, path)
    if outcome == "notWritten":
        assert [entry["id"] for entry in entries(path) if entry.get("id", "").startswith("n")] == []
    for number in range(3):
        again = await append(resident, user(f"n{number}", id=f"n{number}"))
        assert again.planned.duplicate == (outcome != "notWritten")
    agree(resident.session, path)
    await store.close_all()
    return outcome, fault.seen


def agree(session, path: Path) -> None:
    """Memory holds what the file holds, each entry once."""
    stored = [entry.get("id") for entry in entries(path)]
    assert len(stored) == len(set(stored))
    if session.journal.scanner.version == 3:
        assert session.tree.ids == stored


@pytest.mark.parametrize("header", [pytest.param(HEADER, id="append"), pytest.param(OLD, id="rewrite")])
def test_every_call_fails(tmp_path, counts, header):
    outcomes: dict[str, int] = {}
    sound = Fault(0, 0)
    assert asyncio.run(appended_under(sound, session_file(tmp_path, header)))[0] == "written"
    for number, code, part in itertools.product(range(1, sound.seen + 1), FAULTS.values(), (0, 7)):
        folder = tmp_path / f"{number}-{code}-{part}"
        folder.mkdir()
        path = session_file(folder, header)
        before = path.read_bytes()
        outcome, _ = asyncio.run(appended_under(Fault(number, code, part), path))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        kept = path.with_name("s.jsonl.v1") if header is OLD else path
        assert kept.read_bytes().startswith(before)
        assert not list(folder.glob(".*"))
    assert set(outcomes) >= {"notWritten", "unknown"}
    counts(calls=sound.seen, faults=sum(outcomes.values()), **outcomes, lost=0)


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
