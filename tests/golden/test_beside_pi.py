"""pi and the daemon on one file, in turns: pi opens every kind of file that the daemon makes, and the other way."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pid.protocol import CreateParams
from pid.service.store import Resident
from tests.golden.view import view
from tests.pi import Pi
from tests.service.daemon import append, make_store, move, user

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
REPLY = {
    "role": "assistant",
    "content": [{"type": "text", "text": "yes"}, {"type": "toolCall", "id": "t", "name": "ls", "arguments": {}}],
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "m1",
    "usage": {"input": 9, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10},
    "stopReason": "toolUse",
    "timestamp": 1767225602000,
}


async def _talk(resident: Resident) -> list[str]:
    ids = []
    for entry in (user("one", id="u1"), {"type": "message", "id": "a1", "message": REPLY}, user("two", id="u2")):
        ids += (await append(resident, entry)).planned.entry_ids
    return ids


async def _nothing(resident: Resident) -> None:
    """A header, and no entry."""


async def _linear(resident: Resident) -> None:
    await _talk(resident)


async def _branched(resident: Resident) -> None:
    await _talk(resident)
    await move(resident, "u1")
    await append(resident, user("another way"))


async def _leaf_moved(resident: Resident) -> None:
    await _talk(resident)
    await move(resident, "a1")


async def _leaf_before_the_first(resident: Resident) -> None:
    await _talk(resident)
    await move(resident, None)


async def _second_root(resident: Resident) -> None:
    await _talk(resident)
    await append(resident, user("again"), parent_id=None, new_root=True)


async def _labelled(resident: Resident) -> None:
    await _talk(resident)
    for label in ("first", "second", ""):
        await append(resident, {"type": "label", "targetId": "a1", "label": label})
    await append(resident, {"type": "label", "targetId": "u1", "label": "here"})


async def _compacted(resident: Resident) -> None:
    await _talk(resident)
    kept = {"type": "compaction", "summary": "S", "firstKeptEntryId": "u2", "tokensBefore": 10}
    await append(resident, kept)
    await append(resident, user("three"))
    await append(resident, kept | {"firstKeptEntryId": None})


async def _every_type(resident: Resident) -> None:
    await _talk(resident)
    for entry in (
        {"type": "model_change", "provider": "openai", "modelId": "m2"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "session_info", "name": "A name"},
        {"type": "custom", "customType": "x", "data": {"k": 1.0}},
        {"type": "custom_message", "customType": "x", "content": "said", "display": True},
        {"type": "branch_summary", "fromId": "u2", "summary": "B"},
        {"type": "context_edit", "targetId": "u2", "replacement": {"content": "edited"}},
        {"type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": REPLY["usage"]},
        {"type": "future_thing", "field": [1, {"a": None}]},
        user("\u2028 in a line"),
    ):
        await append(resident, entry)


KINDS: dict[str, Callable[[Resident], Awaitable[None]]] = {
    "nothing": _nothing,
    "linear": _linear,
    "branched": _branched,
    "leaf moved": _leaf_moved,
    "leaf before the first": _leaf_before_the_first,
    "second root": _second_root,
    "labelled": _labelled,
    "compacted": _compacted,
    "every type": _every_type,
}


def _seen(said: Json, markers: set[str]) -> Json:
    """What both must say alike. pi shows leaf markers as the entries that they are; the wording for models differs."""
    return {
        "name": said["sessionName"],
        "labels": said["labels"],
        "branch": [entry_id for entry_id in said["branch"] if entry_id not in markers],
        "entries": sorted(node["id"] for node in said["tree"]["preorder"] if node["id"] not in markers),
        "context": said["context"],
        "roles": [message["role"] for message in said["llm"]],
    }


def _markers(path: Path) -> set[str]:
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    return {entry["id"] for entry in entries if entry.get("customType") == "pid.leaf"}


async def _both_say_the_same(pi: Pi, path: Path, copy: Path) -> None:
    copy.write_bytes(path.read_bytes())
    theirs = pi.open(copy)
    store = make_store(path.parent)
    ours = await view(store, path)
    assert _seen(ours, set()) == _seen(theirs.view(), _markers(path))
    theirs.close()
    await store.close_all()


@pytest.mark.parametrize("kind", KINDS)
async def test_each_opens_what_the_other_wrote(pi: Pi, tmp_path: Path, kind: str) -> None:
    store = make_store(tmp_path)
    resident = await store.create(CreateParams(cwd=str(tmp_path)))
    await KINDS[kind](resident)
    path = Path(resident.session.journal.path or "")
    before = path.read_bytes()
    await store.close_all()
    await _both_say_the_same(pi, path, tmp_path / "copy.jsonl")

    theirs = pi.open(path)
    theirs.append([{"role": "user", "content": [{"type": "text", "text": "by pi"}], "timestamp": 1767225609000}])
    theirs.close()
    assert path.read_bytes().startswith(before)
    await _both_say_the_same(pi, path, tmp_path / "copy.jsonl")
