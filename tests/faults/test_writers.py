"""Several daemons append to one session at once, with pi 1.6.0 appending beside them, and a writer that stutters.

Every entry stands once, on a line of its own that is whole; every daemon ends with the same tree, which is the file's.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from tests.faults.conftest import sized
from tests.faults.lines import entries, leaf, links, message
from tests.faults.peer import Peer

EACH = sized(200, 1000)  # entries of each daemon
IN_FLIGHT = 20


def append_many(peer: Peer, session_id: str, name: str) -> list[str]:
    """Appends, some in flight at once; the acknowledged ids."""
    numbers = []
    for number in range(EACH):
        entry = message(f"{name} {number} " + "x" * (number % 700), id=f"{name}-{number}")
        numbers.append(peer.send("session/append", {"sessionId": session_id, "entry": entry}))
        if number >= IN_FLIGHT:
            peer.answer(numbers[number - IN_FLIGHT])
    return [peer.answer(number)["entryId"] for number in numbers]


def tree_of(peer: Peer, session_id: str) -> list[tuple[str, str | None]]:
    nodes = peer.call("session/getTree", {"sessionId": session_id, "content": "none"})["nodes"]
    return [(node["id"], node.get("parentId")) for node in nodes]


@pytest.mark.parametrize("daemons", [2, 5])
def test_daemons_and_pi_append_at_once(home, tmp_path, pi, counts, daemons):
    peers = [Peer(home, notifications=["session/didChange"]) for _ in range(daemons)]
    try:
        state = peers[0].call("session/create", {"cwd": str(tmp_path)})
        path, session_id = Path(state["path"]), state["sessionId"]
        peers[0].call("session/append", {"sessionId": session_id, "entry": message("first")})
        for peer in peers[1:]:
            peer.call("session/open", {"path": str(path)})
        written: dict[str, list[str]] = {}
        threads = [
            threading.Thread(
                target=lambda peer=peer, n=n: written.update({f"d{n}": append_many(peer, session_id, f"d{n}")})
            )
            for n, peer in enumerate(peers)
        ]
        for thread in threads:
            thread.start()
        theirs, of_pi = pi.open(path), []
        while any(thread.is_alive() for thread in threads):
            of_pi += theirs.append([{"role": "user", "content": f"pi {len(of_pi)}", "timestamp": 1767603600000}])
        for thread in threads:
            thread.join()
        theirs.close()

        acknowledged = [entry_id for ids in written.values() for entry_id in ids] + of_pi
        assert len(written) == daemons
        found = [entry["id"] for entry in entries(path)]
        assert sorted(found[1:]) == sorted(acknowledged)
        trees = [tree_of(peer, session_id) for peer in peers]
        assert all(tree == links(path) for tree in trees)
        states = [peer.call("session/getState", {"sessionId": session_id}) for peer in peers]
        assert {state["fileLeafId"] for state in states} == {leaf(path)}
        assert [problem for state in states for problem in state["problems"]] == []
        counts(daemons=daemons, acknowledged=len(acknowledged), of_pi=len(of_pi), lost=0, broken_lines=0)
    finally:
        for peer in peers:
            peer.kill()


def test_changes_by_pi_show_by_themselves(home, tmp_path, pi, counts):
    waits = []
    with Peer(home, notifications=["session/didChange"]) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path)})
        path, session_id = Path(state["path"]), state["sessionId"]
        peer.call("session/append", {"sessionId": session_id, "entry": message("first")})
        peer.wait_for(lambda: peer.told("session/didChange"))
        theirs = pi.open(path)
        for number in range(5):
            seen = len(peer.told("session/didChange"))
            (entry_id,) = theirs.append([{"role": "user", "content": f"pi {number}", "timestamp": 1767603600000}])
            began = time.monotonic()
            peer.wait_for(lambda seen=seen: len(peer.told("session/didChange")) > seen, 10)
            waits.append(time.monotonic() - began)
            change = peer.told("session/didChange")[-1]
            assert (change["cause"], change["leafId"], [node["id"] for node in change["added"]]) == (
                "external",
                entry_id,
                [entry_id],
            )
        theirs.branch(entries(path)[0]["id"])
        theirs.append([{"role": "user", "content": "a branch", "timestamp": 1767603600000}])
        peer.wait_for(lambda: len(peer.told("session/didChange")) > 6, 10)
        state = peer.call("session/getState", {"sessionId": session_id})
        assert (state["leafId"], state["fileLeafId"]) == (entry_id, leaf(path))
        theirs.close()
    counts(changes=len(waits), slowest_ms=round(max(waits) * 1000))


def test_a_line_in_two_halves(home, tmp_path, counts):
    """A second lies between the halves. What the daemon appends meanwhile is whole, and so is all before."""
    with Peer(home, notifications=["session/didChange", "session/problems"]) as peer:
        state = peer.call("session/create", {"cwd": str(tmp_path)})
        path, session_id = Path(state["path"]), state["sessionId"]
        peer.call("session/append", {"sessionId": session_id, "entry": message("first", id="first")})

        def line(name: str) -> bytes:
            entry = message(name, id=name, parentId="first", timestamp="2026-01-01T00:00:00.000Z")
            return json.dumps(entry).encode() + b"\n"

        with path.open("ab", buffering=0) as file:
            file.write(line("slow")[:70])
            time.sleep(1)
            assert [node for node, _ in tree_of(peer, session_id)] == ["first"]
            file.write(line("slow")[70:])
            peer.wait_for(lambda: len(peer.told("session/didChange")) == 2, 10)
            assert [node for node, _ in tree_of(peer, session_id)] == ["first", "slow"]
            assert peer.told("session/problems") == []

            file.write(line("torn")[:70])
            answer = peer.call("session/append", {"sessionId": session_id, "entry": message("mine", id="mine")})
            file.write(line("torn")[70:])
        assert answer["parentId"] == "slow"
        peer.call("session/append", {"sessionId": session_id, "entry": message("last", id="last")})
        known = tree_of(peer, session_id)
    assert {"first", "slow", "mine", "last"} <= {node for node, _ in known}
    with Peer(home) as peer:
        peer.call("session/open", {"path": str(path)})
        assert tree_of(peer, session_id) == known
    counts(halves=4, lost_of_the_daemon=0)
