"""pi and the daemon at one old file: what the daemon rewrites opens in pi, what pi rewrites is never mixed up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.faults.lines import message
from tests.faults.peer import Peer, Refused
from tests.interop import FOLDER

REAL = FOLDER / "real-session-v1.jsonl"
OLD = [
    {"type": "session", "id": "old", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"},
    *(
        {
            "type": "message",
            "timestamp": f"2026-01-01T00:00:0{number}.000Z",
            "message": {"role": "user", "content": f"message {number}", "timestamp": 1767225600000 + number},
        }
        for number in range(5)
    ),
    {
        "type": "compaction",
        "timestamp": "2026-01-01T00:00:06.000Z",
        "summary": "s",
        "tokensBefore": 9,
        "firstKeptEntryIndex": 3,
    },
    {
        "type": "message",
        "timestamp": "2026-01-01T00:00:07.000Z",
        "message": {"role": "hookMessage", "customType": "h", "content": "hook", "display": True, "timestamp": 1},
    },
]


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in OLD))
    return path


def as_pi_sees(pi, path: Path):
    session = pi.open(path)
    try:
        return session.view(("leafId", "branch", "context", "entryCount"))
    finally:
        session.close()


def test_pi_opens_the_rewritten_file_at_the_same_place(home, old, pi, tmp_path):
    copy = Path(shutil.copy(old, tmp_path / "copy.jsonl"))
    alone = as_pi_sees(pi, copy)
    with Peer(home) as peer:
        peer.call("session/open", {"path": str(old)})
        peer.call("session/append", {"sessionId": "old", "entry": message("new", id="new")})
        answer = peer.call("session/buildContext", {"sessionId": "old"})
    ours = as_pi_sees(pi, old)
    assert ours["leafId"] == "new"
    assert ours["entryCount"] == alone["entryCount"] + 1
    assert ours["context"]["messages"][:-1] == alone["context"]["messages"]
    assert ours["context"]["messages"] == answer["messages"]


@pytest.mark.parametrize("then", ["read", "append"])
def test_pi_rewrites_the_file_while_the_daemon_has_it_open(home, old, pi, then, counts):
    with Peer(home, notifications=["session/didClose"]) as peer:
        peer.call("session/open", {"path": str(old)})
        pi.open(old).close()
        after = old.read_bytes()
        with pytest.raises(Refused) as refused:
            if then == "read":
                peer.call("session/getBranch", {"sessionId": "old"})
            else:
                peer.call("session/append", {"sessionId": "old", "entry": message("never")})
        assert (refused.value.code, refused.value.data["reason"]) == (1006, "rewritten")
        assert [notice["reason"] for notice in peer.told("session/didClose")] == ["rewritten"]
        assert old.read_bytes() == after
        state = peer.call("session/open", {"path": str(old)})
        answer = peer.call("session/append", {"sessionId": state["sessionId"], "entry": message("now")})
        assert answer["parentId"] == as_pi_sees(pi, old)["branch"][-2]
    counts(rewrites_by_pi=1, mixtures=0)


@pytest.mark.skipif(not REAL.is_file(), reason="no interop cases here")
def test_the_real_old_session(home, tmp_path, pi, counts):
    """A real session of 1,018 entries (a public fixture of pi)."""
    path, copy = tmp_path / "real.jsonl", tmp_path / "copy.jsonl"
    shutil.copy(REAL, path)
    shutil.copy(REAL, copy)
    with Peer(home) as peer:
        state = peer.call("session/open", {"path": str(path)})
        session_id = state["sessionId"]
        before = peer.call("session/getTree", {"sessionId": session_id})["nodes"]
        peer.call("session/append", {"sessionId": session_id, "entry": message("new", id="new")})
        after = peer.call("session/getTree", {"sessionId": session_id})["nodes"]
        assert after[:-1] == before
    alone, ours = as_pi_sees(pi, copy), as_pi_sees(pi, path)
    assert ours["context"]["messages"][:-1] == alone["context"]["messages"]
    assert path.with_name("real.jsonl.v1").read_bytes() == REAL.read_bytes()
    counts(entries=len(before), changed=0, lost=0)
