"""The editor goes away: its end of the pipe closes, it is killed, it stops reading. No orphan, no spin, no loss."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.conftest import sized
from tests.faults.lines import entries, message
from tests.faults.peer import SERVE, Peer

REQUESTS = 500
STALL = sized(3, 60)  # seconds in which nobody reads
LEAVES_WITHIN = 10.0  # seconds, on a machine that has other work; the daemon's own limit is one

EDITOR = """
import json, subprocess, sys, time
daemon = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    daemon.stdin.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    daemon.stdin.flush()
def receive():
    length = int(daemon.stdout.readline().split(b":")[1])
    daemon.stdout.readline()
    return json.loads(daemon.stdout.read(length))
import os
send(id=1, method="initialize", params={"processId": os.getpid(), "rootUri": None, "capabilities": {}})
receive()
send(method="initialized", params={})
send(id=2, method="session/create", params={"cwd": sys.argv[1], "sessionDir": sys.argv[1]})
state = receive()["result"]
for number in range(300):
    entry = {"type": "message", "id": f"n{number}", "message": {"role": "user", "content": "x"}}
    send(id=number + 3, method="session/append", params={"sessionId": state["sessionId"], "entry": entry})
acknowledged = [receive()["result"]["entryId"] for _ in range(100)]
print(json.dumps({"daemon": daemon.pid, "path": state["path"], "acknowledged": acknowledged}), flush=True)
time.sleep(60)
"""


def test_end_of_input(home, tmp_path, counts):
    """All that was received is written and answered before the daemon ends."""
    with Peer(home) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path)})
        params = [{"sessionId": state["sessionId"], "entry": message("x", id=f"n{n}")} for n in range(REQUESTS)]
        numbers = [peer.send("session/append", each) for each in params]
        peer.close_input()
        acknowledged = [peer.answer(number)["entryId"] for number in numbers]
        assert peer.process.wait(LEAVES_WITHIN) == 1
    assert [entry["id"] for entry in entries(Path(state["path"]))] == acknowledged
    counts(requests=REQUESTS, acknowledged=len(acknowledged), lost=0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the orphan in /proc")
def test_the_editor_is_killed(tmp_path, counts):
    import json

    editor = subprocess.Popen([sys.executable, "-c", EDITOR, str(tmp_path), *SERVE], stdout=subprocess.PIPE)
    assert editor.stdout
    told = json.loads(editor.stdout.readline())
    editor.kill()
    editor.wait()
    editor.stdout.close()
    deadline = time.monotonic() + LEAVES_WITHIN
    while _runs(told["daemon"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(told["daemon"]), "the daemon stays without its editor"
    found = [entry["id"] for entry in entries(Path(told["path"]))]
    assert found[: len(told["acknowledged"])] == told["acknowledged"]
    counts(acknowledged=len(told["acknowledged"]), in_the_file=len(found), orphans=0, lost=0)


def _runs(pid: int) -> bool:
    """Whether it is there and no zombie (whoever inherited it may not have waited for it yet)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="the time that the daemon takes stands in /proc")
def test_a_reader_that_stalls(home, tmp_path, counts):
    """Nobody reads for a while: the daemon waits without spinning, and then everything comes."""
    with Peer(home) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path)})
        session_id, path = state["sessionId"], Path(state["path"])
        for number in range(20):
            peer.call("session/append", {"sessionId": session_id, "entry": message("y" * 100_000, id=f"n{number}")})
        with peer.stalled():
            numbers = [peer.send("session/getBranch", {"sessionId": session_id}) for _ in range(30)]
            wanted = peer.send("session/append", {"sessionId": session_id, "entry": message("late", id="late")})
            time.sleep(1)
            before = _cpu_seconds(peer.process.pid)
            time.sleep(STALL)
            spent = _cpu_seconds(peer.process.pid) - before
        assert [len(peer.answer(number)["entries"]) for number in numbers] == [20] * 30
        assert peer.answer(wanted)["entryId"] == "late"
        assert peer.end() == 0
    assert spent < STALL / 4, "it spins"
    assert [entry["id"] for entry in entries(path)][-1] == "late"
    counts(seconds_stalled=STALL, cpu_seconds=round(spent, 2), answers=31, lost=0)


def _cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_full_stderr_pipe(home, tmp_path, counts):
    """Nobody reads stderr, and every request gives the daemon something to say there."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        while True:
            try:
                os.write(writing, bytes(4096))
            except BlockingIOError:
                break
        os.set_blocking(writing, True)
        with Peer(home, stderr=writing) as peer:
            for number in range(200):
                peer.tell("no/such", {"number": number})
                peer.tell("$/cancelRequest", {"id": [number]})
            assert peer.call("session/create", {"cwd": str(tmp_path)})["leafId"] is None
            peer.process.send_signal(signal.SIGTERM)
            assert peer.process.wait(LEAVES_WITHIN) in (0, 1)
    finally:
        os.close(reading)
        os.close(writing)
    counts(messages=400)
