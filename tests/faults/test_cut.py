"""A file cut at every byte of its last 4 KB, and with every byte of its last line flipped.

No complete record is lost, whatever stands behind it; and the next append survives reopening.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pid.protocol import SettingsUpdate
from tests.faults.conftest import sized
from tests.faults.test_calls import HEADER
from tests.service.daemon import append, make_store, open_path, user

LAST_BYTES = 4096
STEP = sized(5, 1)  # in CI every byte of the last line alone
FLIPS = {
    "all bits": lambda byte: byte ^ 0xFF,
    "one bit": lambda byte: byte ^ 1,
    "NUL": lambda _: 0,
    "line break": lambda _: 10,
}


def lines() -> list[bytes]:
    """A session with every kind of line, among them what makes cuts interesting: text beyond ASCII, a leaf marker."""
    time = {"timestamp": "2026-01-01T00:00:00.000Z"}
    made, parent = [HEADER], None
    for number in range(24):
        entry = user(f'wörd ☂ {number} \\ " {"é" * number * 4}') | {"id": f"e{number}", "parentId": parent} | time
        if number % 6 == 3:
            entry = {"type": "label", "id": f"e{number}", "parentId": parent, "targetId": "e1", "label": "L"} | time
        if number % 6 == 5:
            entry = {"type": "custom", "id": f"e{number}", "parentId": "e2", "customType": "pid.leaf"} | time
        parent = entry["id"]
        made.append(entry)
    raw = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() for entry in made]
    assert sum(map(len, raw)) > LAST_BYTES
    return raw


async def goes_on(path: Path, whole: list[str]) -> int:
    """Opens, checks the records, appends, opens again; how many problems were told."""
    store = make_store(path.parent, prefix="new")
    resident = await open_path(store, path)
    session = resident.session
    session.set_settings(SettingsUpdate(durability="written"))  # thousands of syncs would prove nothing here
    for entry_id in whole:
        assert json.loads(session.body(session.tree.rows[entry_id]))["id"] == entry_id
    problems = len(session.problems)
    entry_id = (await append(resident)).planned.entry_ids[0]
    parent = session.tree.parents[session.tree.rows[entry_id]]
    parent_id = session.tree.id_of(parent)
    await store.close_all()
    again = await open_path(store, path)
    tree = again.session.tree
    assert [entry for entry in whole if entry not in tree.rows] == []
    assert (again.session.leaf_id, tree.id_of(tree.parents[tree.rows[entry_id]])) == (entry_id, parent_id)
    await store.close_all()
    return problems


def test_cut_at_every_byte(tmp_path, counts):
    raw = lines()
    content = b"\n".join(raw) + b"\n"
    path = tmp_path / "cut.jsonl"
    ends, at = {}, 0
    for number, line in enumerate(raw):
        at += len(line) + 1
        ends[at - 1] = number  # a record is whole without its line break, too

    first, end = len(content) - LAST_BYTES, len(content)
    sizes = sorted({*range(first, end, STEP), *range(end - len(raw[-1]) - 2, end)})

    async def every_cut() -> int:
        told = 0
        for size in sizes:
            path.unlink(missing_ok=True)  # some file systems flush a file that is written anew in its place
            path.write_bytes(content[:size])
            told += await goes_on(path, [f"e{number - 1}" for end, number in ends.items() if end <= size and number])
        return told

    told = asyncio.run(every_cut())
    assert told > len(sizes) / 2
    counts(cuts=len(sizes), torn_lines_told=told, lost=0)


@pytest.mark.parametrize("flip", FLIPS.values(), ids=FLIPS)
def test_every_byte_of_the_last_line_flipped(tmp_path, counts, flip):
    raw = lines()[:-1]
    before, last = b"\n".join(raw[:-1]) + b"\n", raw[-1] + b"\n"
    path = tmp_path / "flipped.jsonl"
    whole = [f"e{number}" for number in range(len(raw) - 2)]

    async def every_flip() -> int:
        told = 0
        for index in range(len(last)):
            path.write_bytes(before + last[:index] + bytes([flip(last[index])]) + last[index + 1 :])
            told += await goes_on(path, whole)
        return told

    counts(bytes_flipped=len(last), problems_told=asyncio.run(every_flip()), lost=0)
