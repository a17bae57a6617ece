"""A daemon at its default log level, with faults of every kind: no content and no key in the log or on stderr."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.lines import message
from tests.faults.peer import Peer, Refused

SECRET = "sk-ant-the-key-or-what-was-said"


def test_no_content_in_the_log(home, tmp_path, counts, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    told, refused = tmp_path / "stderr", 0
    with told.open("wb") as stderr, Peer(home, stderr=stderr) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path), "name": SECRET})
        session_id, path = state["sessionId"], Path(state["path"])
        wrong = [
            ("session/append", {"entry": message(SECRET, id=SECRET + "!")}),
            ("session/append", {"entry": {"type": "message", "message": SECRET}}),
            ("session/append", {"entry": message(SECRET), "expectedLeafId": SECRET}),
            ("session/append", {"entry": {"type": "label", "targetId": SECRET, "label": SECRET}}),
            ("session/getBranch", {"cursor": SECRET}),
            ("no/such", {"text": SECRET}),
        ]
        for method, params in wrong:
            with pytest.raises(Refused):
                peer.call(method, {"sessionId": session_id, **params})
            refused += 1
        peer.call("session/append", {"sessionId": session_id, "entry": message(SECRET)})
        with path.open("ab") as file:
            file.write(b'{"type":"message","id":"a","parentId":null,"message":"' + SECRET.encode() + b"]]]\n")
        peer.call("session/getTree", {"sessionId": session_id})
        peer.tell("$/cancelRequest", {"id": {"x": SECRET}})
        path.unlink()
        with pytest.raises(Refused):
            peer.call("session/getState", {"sessionId": session_id})
        peer.end()
    logs = list(home.rglob("*.log"))
    assert len(logs) == 1
    assert SECRET not in logs[0].read_text()
    assert SECRET not in told.read_text()
    counts(refused=refused + 1, log_bytes=os.path.getsize(logs[0]))
