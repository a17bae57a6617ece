"""A soak: twenty sessions, random work, closed and opened again, for ten minutes by hand and seconds in CI.

The trees equal a model all the way; descriptors stay level, and memory grows by no more than the index of what came.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.processes import Memory
from tests.faults.conftest import sized
from tests.faults.lines import links
from tests.faults.peer import Peer
from tests.faults.test_kill import Work

SESSIONS = 20
SECONDS = sized(8, 600)
AN_ENTRY = 300  # bytes of memory for one, with its share of the change log
SLACK = 20_000_000


class Soaked:
    """One session, and what its tree must be."""

    def __init__(self, peer: Peer, folder: Path, chance: random.Random) -> None:
        self.peer, self.chance = peer, chance
        state = peer.call("session/create", {"cwd": str(folder), "sessionDir": str(folder)})
        self.path = Path(state["path"])
        self.work = Work(state["sessionId"], chance, [], None)
        self.model: list[tuple[str, str | None]] = []

    def run(self) -> int:
        """Some requests in flight at once, then some reads."""
        sent = []
        for _ in range(self.chance.randint(1, 30)):
            method, params, made = self.work.next()
            sent.append(self.peer.send(method, params))
            self.model += [(entry_id, parent) for entry_id, parent in made if entry_id is not None]
        for number in sent:
            self.peer.answer(number)
        self.ask("session/buildContext", omit=["imageData"])
        self.ask("session/getBranch", limit=20, direction="leafFirst")
        if self.chance.random() < 0.2:
            self.ask("session/close")
            state = self.peer.call("session/open", {"path": str(self.path)})
            assert state["leafId"] == self.work.leaf
        return len(sent)

    def ask(self, method: str, **params: object) -> object:
        return self.peer.call(method, {"sessionId": self.work.session_id, **params})

    def check(self) -> None:
        nodes = self.ask("session/getTree", content="none")["nodes"]
        assert [(node["id"], node.get("parentId")) for node in nodes] == self.model == links(self.path)


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors stand in /proc")
def test_soak(home, tmp_path, counts):
    chance = random.Random(11)
    requests = 0
    with Peer(home, notifications=["session/didChange", "session/problems"]) as peer:
        sessions = [Soaked(peer, tmp_path / str(number), chance) for number in range(SESSIONS)]
        memory, began = Memory(peer.process.pid), time.monotonic()
        warm: tuple[float, int, int] | None = None
        while time.monotonic() < began + SECONDS:
            requests += chance.choice(sessions).run()
            peer.notices.clear()
            if warm is None and time.monotonic() > began + SECONDS / 4:
                warm = memory.resident(), descriptors(peer), sum(len(session.model) for session in sessions)
        for session in sessions:
            session.check()
        entries = sum(len(session.model) for session in sessions)
        assert warm is not None
        grown = (memory.resident() - warm[0]) * 1e6
        assert descriptors(peer) == warm[1]
        assert grown <= (entries - warm[2]) * AN_ENTRY + SLACK
        assert peer.end() == 0
    counts(
        seconds=SECONDS, requests=requests, entries=entries, mb_grown=round(grown / 1e6, 1), descriptors=warm[1], lost=0
    )


def descriptors(peer: Peer) -> int:
    return len(list(Path(f"/proc/{peer.process.pid}/fd").iterdir()))
