"""What comes from outside is bounded: memory, time, names; and what is no session is left as it is."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.benchmarks.processes import Memory
from tests.faults.conftest import sized
from tests.faults.lines import message
from tests.faults.peer import SERVE, Gone, Peer, Refused

MB = 1_000_000
ENTRIES = sized(300_000, 1_000_000)
LONG_LINE = sized(200 * MB, 1000 * MB)
FLOOD = sized(2_000, 20_000)
AN_ENTRY = 200  # bytes of memory for one, at most
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}


def entry(number: int) -> bytes:
    parent = f'"{number - 1:08x}"' if number else "null"
    head = f'{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z",'
    return head.encode() + b'"message":{"role":"user","content":"hi"}}\n'


def many(path: Path, count: int) -> Path:
    with path.open("wb") as file:
        file.write(json.dumps(HEADER).encode() + b"\n")
        file.writelines(map(entry, range(count)))
    return path


def test_many_entries(home, tmp_path, counts):
    with Peer(home) as peer:
        peer.call("session/open", {"path": str(many(tmp_path / "some.jsonl", 20_000))})  # what any session needs
        memory = Memory(peer.process.pid)
        before = memory.resident()
        path = many(tmp_path / "many.jsonl", ENTRIES)
        began = time.monotonic()
        state = peer.call("session/open", {"path": str(path)})
        seconds = time.monotonic() - began
        each = (memory.resident() - before) * MB / ENTRIES
        peak = memory.added() * MB / ENTRIES
        assert state["entryCount"] == ENTRIES
        answer = peer.call("session/append", {"sessionId": state["sessionId"], "entry": message("goes on")})
        assert answer["parentId"] == state["leafId"]
    counts(entries=ENTRIES, bytes_each=round(each), bytes_each_at_the_peak=round(peak), seconds=round(seconds, 1))
    assert each <= AN_ENTRY


@pytest.mark.parametrize("whole", [True, False], ids=["an entry", "no entry"])
def test_a_long_line(home, tmp_path, counts, whole):
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(HEADER).encode() + b"\n" + entry(0))
        line = entry(1)
        at = line.index(b"hi")
        file.write(line[:at] if whole else b"")
        file.seek(LONG_LINE, os.SEEK_CUR)  # NULs: they take no room on the disk, and as much work as any
        file.write((line[at:] if whole else b"\n") + entry(2))
    with Peer(home) as peer:
        memory = Memory(peer.process.pid)
        state = peer.call("session/open", {"path": str(path)})
        answer = peer.call("session/append", {"sessionId": "s", "entry": message("goes on", id="last")})
        assert answer["parentId"] == "00000002"
        peak = memory.added()
        nodes = [node["id"] for node in peer.call("session/getTree", {"sessionId": "s", "content": "none"})["nodes"]]
    assert nodes == ["00000000", *(["00000001"] if whole else []), "00000002", "last"]
    assert [problem["line"] for problem in state["problems"]][:1] == ([3] if not whole or LONG_LINE > 256 * MB else [])
    assert peak < 150
    counts(line_mb=LONG_LINE // MB, peak_mb=round(peak))


def test_a_deep_nesting(home, tmp_path, counts):
    deep = 100_000
    path = tmp_path / "deep.jsonl"
    nested = (
        b'{"type":"message","id":"00000001","parentId":"00000000","timestamp":"2026-01-01T00:00:00.000Z","message":'
    )
    path.write_bytes(
        json.dumps(HEADER).encode() + b"\n" + entry(0) + nested + b"[" * deep + b"]" * deep + b"}\n" + entry(2)
    )
    with Peer(home) as peer:
        state = peer.call("session/open", {"path": str(path)})
        nodes = peer.call("session/getTree", {"sessionId": "s"})["nodes"]
        assert [node["id"] for node in nodes] == ["00000000", "00000001", "00000002"]
        assert nodes[1]["damaged"]
        assert state["leafId"] == "00000002"
        params = b'{"sessionId":"s","entry":{"type":"x","y":' + b"[" * deep + b"]" * deep + b"}}"
        body = b'{"jsonrpc":"2.0","id":"deep","method":"session/append","params":' + params + b"}"
        peer.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        peer.process.stdin.flush()
        peer.wait_for(lambda: peer.strays)
        assert ("error" in peer.strays[0], peer.strays[0]["id"]) == (True, "deep")
        assert peer.call("session/getState", {"sessionId": "s"})["entryCount"] == 3
    counts(nesting=deep)


def test_a_header_that_claims_too_much(home, counts):
    with Peer(home) as peer:
        memory = Memory(peer.process.pid)
        peer.process.stdin.write(b"Content-Length: 1000000000000\r\n\r\n" + b"x" * MB)
        peer.process.stdin.flush()
        time.sleep(0.5)
        added = memory.added()
        assert added < 30
        try:
            peer.close_input()
            peer.process.wait(10)
        except Gone:
            pass
    counts(bytes_claimed=10**12, mb_added=round(added))


def test_a_flood_on_one_session_delays_no_other(home, tmp_path, counts):
    """A client floods one session, with hundreds of appends in flight, and asks small things of another."""
    waits = Waits()
    with Peer(home) as peer:
        ids = [peer.call("session/create", {"cwd": str(tmp_path)})["sessionId"] for _ in range(2)]
        peer.call("session/append", {"sessionId": ids[1], "entry": message("quiet")})
        flood = [{"sessionId": ids[0], "entry": message("x" * 2000)} for _ in range(FLOOD)]
        pending: list[int] = []
        for number, params in enumerate(flood):
            pending.append(peer.send("session/append", params))
            if number % 50 == 49:
                waits.ask(peer, ids[1])
                in_flight = [number for number in pending if number not in peer.answers]
                if len(in_flight) > 500:
                    peer.answer(in_flight[-300])
                pending = in_flight
        for number in pending:
            peer.answer(number)
    counts(appends=FLOOD, **waits.counts())


@pytest.mark.parametrize("method", ["session/getTree", "session/getBranch", "session/buildContext"])
def test_long_answers_about_one_session_delay_no_other(home, tmp_path, counts, method):
    """Several of them are made at once, in turns."""
    waits = Waits()
    with Peer(home) as peer:
        quiet = peer.call("session/create", {"cwd": str(tmp_path)})["sessionId"]
        state = peer.call("session/open", {"path": str(many(tmp_path / "many.jsonl", 20_000))})
        pending = [peer.send(method, {"sessionId": state["sessionId"]}) for _ in range(4)]
        while any(number not in peer.answers for number in pending):
            waits.ask(peer, quiet)
        for number in pending:
            peer.answer(number)
    counts(long_answers=len(pending), **waits.counts())


class Waits:
    """Small requests: how long each took, and what of that the daemon's own loop worked (0 where nobody tells)."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.work: list[float] = []

    def ask(self, peer: Peer, session_id: str) -> None:
        began, worked = time.monotonic(), _worked(peer.process.pid)
        peer.call("session/getState", {"sessionId": session_id})
        self.waits.append(time.monotonic() - began)
        self.work.append(_worked(peer.process.pid) - worked)

    def counts(self) -> dict[str, float]:
        self.waits.sort()
        return {
            "small_requests": len(self.waits),
            "median_ms": round(self.waits[len(self.waits) // 2] * 1000, 1),
            "slowest_ms": round(self.waits[-1] * 1000, 1),
            "most_work_ms": round(max(self.work) * 1000, 1),
        }


def _worked(pid: int) -> float:
    """Seconds that the main thread of a process has worked."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


@pytest.mark.parametrize("last", ["session/close", "shutdown"])
@pytest.mark.parametrize("in_memory", [False, True], ids=["a file", "in memory"])
def test_a_long_read_is_whole_though_the_session_is_closed_behind_it(home, tmp_path, last, in_memory):
    with Peer(home) as peer:
        created = {"cwd": "/p", "sessionDir": str(tmp_path), "id": "s", "inMemory": in_memory}
        peer.call("session/create", created)
        entries = [message("x" * 1000) for _ in range(3000)]
        peer.call("session/appendBatch", {"sessionId": "s", "entries": entries})
        reads = [peer.send(f"session/{name}", {"sessionId": "s"}) for name in ("getTree", "getBranch", "buildContext")]
        end = peer.send(last, {"sessionId": "s"})
        tree, branch, context = map(peer.answer, reads)
        assert peer.answer(end) is None
    assert not any(node.get("damaged") for node in tree["nodes"])
    assert [len(found) for found in (tree["nodes"], branch["entries"], context["messages"])] == [3000] * 3
    assert all(branch["entries"])


FOREIGN = {
    "an empty file": b"",
    "text": b"hello\n",
    "another JSON": b'{"type":"config"}\n',
    "a JSON array": b"[1,2]\n",
    "binary": bytes(range(256)) * 20,
    "half a header": b'{"type":"session","id":',
    "an entry first": entry(0),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_left_untouched(home, tmp_path, content):
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)
    before = path.stat()
    with Peer(home) as peer:
        refused(peer, "session/open", {"path": str(path)}, 1005)
    after = path.stat()
    assert (path.read_bytes(), after.st_mtime_ns, after.st_mode) == (content, before.st_mtime_ns, before.st_mode)


def refused(peer: Peer, method: str, params, code: int) -> None:
    with pytest.raises(Refused) as error:
        peer.call(method, params, timeout=5)
    assert error.value.code == code


def test_what_is_no_regular_file_is_refused_without_blocking(home, tmp_path, counts):
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "gone")
    special = {
        "fifo.jsonl": 1005,
        "": 1005,
        "/dev/zero": 1005,
        "/dev/tty": 1005,
        "loop.jsonl": 1017,
        "nowhere.jsonl": 1001,
    }
    with Peer(home) as peer:
        for name, code in special.items():
            path = os.path.join(tmp_path, name)
            refused(peer, "session/open", {"path": path}, code)
        refused(peer, "session/create", {"cwd": "/p", "sessionDir": str(tmp_path / "fifo.jsonl")}, 1007)
    assert not (tmp_path / "gone").exists()
    counts(refused=len(special) + 1)


NO_IDS = ["../x", "..", "/etc/passwd", "a/b", "", ".", "a\x00b", "-x", "x-", "%2e%2e", "a\\b", "x\n", "*"]


def test_ids_and_cursors_never_become_paths(home, tmp_path, counts):
    (tmp_path / "inner").mkdir()
    victim = tmp_path / "_x.jsonl"
    victim.write_bytes(json.dumps(HEADER).encode() + b"\n")
    with Peer(home) as peer:
        for bad in NO_IDS:
            refused(peer, "session/create", {"cwd": "/p", "sessionDir": str(tmp_path / "inner"), "id": bad}, -32602)
            refused(peer, "session/open", {"id": bad, "cwd": str(tmp_path)}, -32602)
            refused(peer, "session/getState", {"sessionId": bad}, 1001)
        state = peer.call("session/create", {"cwd": "/p", "sessionDir": str(tmp_path / "inner")})
        for bad in ("../x", "/etc/passwd", "e30=", "a" * 10_000):
            refused(peer, "session/getTree", {"sessionId": state["sessionId"], "cursor": bad}, 1021)
        refused(peer, "session/open", {"path": "../x.jsonl"}, -32602)
    assert sorted(path.name for path in tmp_path.rglob("*.jsonl")) == sorted([victim.name, Path(state["path"]).name])
    counts(ids=len(NO_IDS), refused=3 * len(NO_IDS) + 5)


def test_files_are_private(home, tmp_path):
    before = os.umask(0)
    try:
        with Peer(home) as peer:
            path = Path(peer.call("session/create", {"cwd": "/some/where"})["path"])
            modes = {oct(parent.stat().st_mode & 0o777) for parent in list(path.parents)[:3]}
            assert (oct(path.stat().st_mode & 0o777), modes) == ("0o600", {"0o700"})
    finally:
        os.umask(before)


def test_nothing_is_left_of_a_process_that_was_only_started(home):
    done = subprocess.run(SERVE, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
