"""Damage that shows only when a body is used: told to the client, once, whoever finds it; the state has it too."""

from __future__ import annotations

import json

import pytest

from pid.errors import NothingToCompact
from pid.protocol import BranchParams, ContextParams, PreviewParams, TreeParams
from pid.service import answers, answers_tree
from tests.service.daemon import Told, append, make_store, open_path, user

pytestmark = pytest.mark.anyio

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
DAMAGED = b'"message":{"role":"user","content":,}}'
NOT_UTF8 = b'"message":{"role":"user","content":"\xff"}}'
LONE = b'"message":{"role":"user","content":"\\ud800"}}'


def line(entry_id: str, parent: str | None, rest: bytes) -> bytes:
    head = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"}
    return json.dumps(head, separators=(",", ":")).encode()[:-1] + b"," + rest + b"\n"


CONTENT = b"".join(
    (
        json.dumps(HEADER).encode() + b"\n",
        line("a", None, NOT_UTF8),
        line("b", "a", DAMAGED),
        line("c", "b", LONE),
        line("d", "c", b'"message":{"role":"user","content":"hi"}}'),
    )
)


async def tree(resident):
    await answers_tree.get_tree(resident.session, TreeParams(session_id="s"))


async def branch(resident):
    await answers.get_branch(resident.session, BranchParams(session_id="s"))


async def context(resident):
    await answers.build_context(resident.session, ContextParams(session_id="s"))


async def usage(resident):
    await resident.compactor.gauge.usage(resident.session.leaf)


async def preview(resident):
    with pytest.raises(NothingToCompact):
        await resident.compactor.preview(PreviewParams(session_id="s"))


@pytest.mark.parametrize("use", [tree, branch, context, usage, preview])
async def test_it_is_told_whoever_finds_it(tmp_path, use):
    path, told = tmp_path / "s.jsonl", Told()
    path.write_bytes(CONTENT)
    store = make_store(tmp_path, told)
    resident = await open_path(store, path)
    assert resident.session.problems == []
    for _ in range(2):
        await use(resident)
    expected = [(2, "invalidUtf8", "a"), (3, "malformedLine", "b")]
    found = [problem for notice in told.of("session/problems") for problem in notice.added]
    assert sorted((problem.line, problem.kind, problem.entry_id) for problem in found) == expected
    assert sorted(resident.session.problems, key=lambda problem: problem.line) == sorted(
        found, key=lambda problem: problem.line
    )
    await store.close_all()


async def test_what_is_read_whole_at_opening_is_told_then(tmp_path):
    """Lines that the fast scan does not know, the header among them."""
    told = Told()
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"session","version":3,"id":"s","cwd":"/\xff"}\n{"id":"a","parentId":null,"type":"\xff"}')
    store = make_store(tmp_path, told)
    resident = await open_path(store, path)
    problems = [(problem.line, problem.kind, problem.entry_id) for problem in resident.session.problems]
    assert problems == [(1, "invalidUtf8", None), (2, "invalidUtf8", "a")]
    assert resident.session.body(0) == '{"id":"a","parentId":null,"type":"\ufffd"}'.encode()
    await append(resident, user("next"))
    assert told.of("session/problems") == []
    await store.close_all()
