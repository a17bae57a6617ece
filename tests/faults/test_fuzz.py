"""Fuzzing of what comes from outside: params of every method, JSON, session files. One response a request, no crash.

An internal error (-32603) counts as a crash: it is an answer that nobody thought of.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pid.errors import NotASession
from pid.protocol import METHODS
from tests.faults.conftest import sized
from tests.faults.lines import message
from tests.faults.peer import Peer, Refused
from tests.faults.test_calls import HEADER
from tests.service.daemon import append, make_store, open_path

QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck)}
EXAMPLES = sized(40, 1500)
LIFE_CYCLE = frozenset({"initialize", "initialized", "shutdown", "exit"})
INTERNAL_ERROR = -32603

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["", "first", "../x", "/", "\ud800", "\u2028", "0" * 5000]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


class Fuzzed:
    """A daemon with a session of one entry, and what became of the requests."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.folder = folder
        self.peer = Peer(home, notifications=["session/didChange"])
        state = self.peer.call("session/create", {"cwd": str(folder), "sessionDir": str(folder)})
        self.session_id, self.path = state["sessionId"], Path(state["path"])
        self.append("first")
        self.answered = 0

    def append(self, entry_id: str) -> None:
        self.peer.call("session/append", {"sessionId": self.session_id, "entry": message("x", id=entry_id)})

    def ask(self, method: str, params: object) -> None:
        try:
            self.peer.answer(self.peer.send(method, params), timeout=20)
        except Refused as error:
            assert error.code != INTERNAL_ERROR, error
        self.answered += 1


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    fuzzed = Fuzzed(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("sessions"))
    yield fuzzed
    fuzzed.append("last")
    assert fuzzed.peer.end() == 0


def fields(method: str) -> list[str]:
    kind = METHODS[method].params
    return [field.encode_name for field in msgspec.structs.fields(kind)] if issubclass(kind, msgspec.Struct) else []


def plausible(method: str, session_id: str, folder: Path) -> st.SearchStrategy:
    """Params with the method's own names, some of them right."""
    right = {
        "sessionId": st.just(session_id),
        "entryId": st.sampled_from(["first", None]),
        "ids": st.just(["first"]),
        "cwd": st.just(str(folder)),
        "sessionDir": st.just(str(folder)),
        "path": st.just(str(folder / "none.jsonl")),
        "entry": st.just(message("fuzz")),
    }
    one = {name: st.one_of(right.get(name, VALUES), right.get(name, VALUES), VALUES) for name in fields(method)}
    return st.one_of(st.fixed_dictionaries({}, optional=one), VALUES)


@pytest.mark.parametrize("method", sorted(METHODS.keys() - LIFE_CYCLE))
def test_params(fuzzed, counts, method):
    begun = fuzzed.answered

    @settings(max_examples=EXAMPLES, **QUICK)
    @given(params=plausible(method, fuzzed.session_id, fuzzed.folder))
    def ask(params):
        if method == "session/close" and isinstance(params, dict) and params.get("sessionId") == fuzzed.session_id:
            return
        fuzzed.ask(method, params)

    ask()
    counts(requests=fuzzed.answered - begun, unanswered=0, internal_errors=0)


@settings(max_examples=EXAMPLES * 5, **QUICK)
@given(start=st.integers(0, 70), junk=st.binary(max_size=8), kept=st.booleans())
def test_bodies(fuzzed, start, junk, kept):
    """Any bytes in a sound frame get one answer, and the next request is answered as ever."""
    whole = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "session/getState", "params": {}}).encode()
    body = whole[:start] + junk + (whole[start:] if kept else b"")
    before = len(fuzzed.peer.strays)
    fuzzed.peer.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    fuzzed.ask("session/getState", {"sessionId": fuzzed.session_id})
    for stray in fuzzed.peer.strays[before:]:
        assert stray["error"]["code"] != INTERNAL_ERROR
    assert len(fuzzed.peer.strays) <= before + 1


PIECES = st.sampled_from(
    [
        json.dumps(HEADER).encode(),
        json.dumps(message("a", id="a", parentId=None, timestamp="2026-01-01T00:00:00.000Z")).encode(),
        json.dumps(message("b", id="b", parentId="a", timestamp="2026-01-01T00:00:01.000Z")).encode(),
        json.dumps(message("c", id="c", parentId="c", timestamp="x")).encode(),
        b'{"type":"custom","id":"m","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","customType":"pid.leaf"}',
        b'{"type":"custom","id":"m2","parentId":"b","timestamp":"2026-01-01T00:00:02.000Z","customType":"pid.leaf"}',
        b'{"type":"label","id":"l","parentId":"b","timestamp":"x","targetId":"a","label":"L"}',
        b'{"type":"compaction","id":"k","parentId":"b","summary":"s","firstKeptEntryId":"z"}',
        b'{"type":"message","id":"d","parentId":"b","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user",]}}',
        b'{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"us',
        b"\n",
        b"\n",
        b"\n",
        b"\r\n",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xff",
        b" ",
        b"{",
        b"}",
        b'"',
        b"null",
        b"[" * 1500,
    ]
)


@settings(max_examples=sized(500, 20_000), **QUICK)
@given(pieces=st.lists(st.one_of(PIECES, st.binary(max_size=5)), max_size=14), headed=st.booleans())
def test_session_files(tmp_path_factory, pieces, headed):
    """Whatever stands in a file: it is refused untouched, or opened, appended to behind it, and read again."""
    content = (json.dumps(HEADER).encode() + b"\n" if headed else b"") + b"".join(pieces)
    path = tmp_path_factory.getbasetemp() / "fuzzed" / "f.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    asyncio.run(goes_on(path, content))


async def goes_on(path: Path, content: bytes) -> None:
    store = make_store(path.parent, prefix="new")
    try:
        resident = await open_path(store, path)
    except NotASession:
        assert path.read_bytes() == content
        return
    assert path.read_bytes() == content
    leaf = resident.session.leaf_id
    written = await append(resident)
    assert written.planned.parent_id == leaf
    assert path.read_bytes().startswith(content)
    again = await open_path(make_store(path.parent), path)
    assert shown(again.session) == shown(resident.session)
    assert again.session.leaf_id == written.planned.entry_ids[0]
    again.session.journal.close()
    await store.close_all()


def shown(session) -> list[tuple[str, str | None, bytes]]:
    tree = session.tree
    rows = [row for row in range(len(tree)) if not tree.is_hidden(row)]
    bodies = session.bodies(rows)
    return [(tree.ids[row], tree.id_of(tree.parents[row]), body) for row, body in zip(rows, bodies, strict=True)]
