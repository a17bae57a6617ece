"""kill -9 at random moments under pipelined appends, batches, labels and moves of the leaf.

Every id is the client's own, so the lines that the requests must give are known before they are sent. What stands in
the file after a kill must be a head of these lines, in their order, with their parents, and as long as what was
acknowledged: nothing acknowledged is lost, nothing comes twice, nothing else comes. A line that the kill tore was not
acknowledged; it stays, and the next append goes behind it.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.conftest import sized
from tests.faults.lines import Entry, entries, is_marker, leaf, links, message, visible_parent
from tests.faults.peer import Gone, Params, Peer

ROUNDS = sized(20, 200)
LATEST_KILL = 0.25  # seconds after the first request of a round
FILE_ROUNDS = 10  # then another file: reading it again is most of the time
LARGE = 100_000  # bytes of a few messages: a write of more than one page is under way for longer

Link = tuple[str | None, str | None]
"""An entry's id and its parent; a leaf marker's id is the daemon's own, so None here."""


@dataclass
class Work:
    """Random requests on one session, and the lines that each must give."""

    session_id: str
    chance: random.Random
    ids: list[str]
    leaf: str | None
    made: int = 0
    requests: list[tuple[int, list[Link]]] = field(default_factory=list)

    def next(self) -> tuple[str, Params, list[Link]]:
        kind = self.chance.choices(("append", "batch", "label", "move"), (6, 2, 2, 3))[0]
        made: tuple[str, Params, list[Link]] = getattr(self, f"_{kind}")()
        return made

    def _append(self) -> tuple[str, Params, list[Link]]:
        entry = message("x" * self.chance.choice((5, 400, 3_000, LARGE if self.made % 40 == 39 else 1)))
        where: Params = {}
        if self.chance.random() < 0.2 and self.ids:
            where = {"parentId": self.chance.choice(self.ids)}
        parent = where.get("parentId", self.leaf)
        links = self._links([entry], parent)
        return "session/append", self._params(entry=entry, **where), links

    def _batch(self) -> tuple[str, Params, list[Link]]:
        batch = [message("of a batch") for _ in range(self.chance.randint(2, 5))]
        links = self._links(batch, self.leaf)
        return "session/appendBatch", self._params(entries=batch), links

    def _label(self) -> tuple[str, Params, list[Link]]:
        if not self.ids:
            return self._append()
        entry = {"type": "label", "targetId": self.chance.choice(self.ids), "label": "L"}
        links = self._links([entry], self.leaf)
        return "session/append", self._params(entry=entry), links

    def _move(self) -> tuple[str, Params, list[Link]]:
        target = self.chance.choice([None, *self.ids[-50:]])
        links: list[Link] = [] if target == self.leaf else [(None, target)]
        self.leaf = target
        return "session/setLeaf", self._params(entryId=target), links

    def _params(self, **fields: object) -> Params:
        return {"sessionId": self.session_id, **fields}

    def _links(self, batch: list[Entry], parent: str | None) -> list[Link]:
        found: list[Link] = []
        for entry in batch:
            self.made += 1
            entry["id"] = f"{self.session_id[-4:]}-{len(self.ids)}-{self.made}"
            found.append((entry["id"], parent))
            parent = entry["id"]
            self.ids.append(parent)
        self.leaf = parent
        return found


def flood(peer: Peer, work: Work, stop: threading.Event) -> None:
    """Sends until the daemon is gone."""
    try:
        while not stop.is_set():
            method, params, links = work.next()
            work.requests.append((peer.send(method, params), links))
    except Gone:
        pass


def written_since(path: Path, before: int) -> list[Link]:
    found = entries(path, torn=FILE_ROUNDS)
    by_id = {entry["id"]: entry for entry in found}
    return [(None if is_marker(entry) else entry["id"], visible_parent(entry, by_id)) for entry in found[before:]]


def test_kill_under_load(home, tmp_path, counts):
    chance = random.Random(20260105)
    path, lines_before, acknowledged, sent = Path(), 0, 0, 0
    for number in range(ROUNDS):
        with Peer(home) as peer:
            if number % FILE_ROUNDS == 0:
                state = peer.call("session/create", {"cwd": str(tmp_path)})
                path, lines_before = Path(state["path"]), 0
            else:
                state = peer.call("session/open", {"path": str(path)})
            known = links(path, torn=FILE_ROUNDS)
            ids = {entry_id for entry_id, _ in known}
            nodes = peer.call("session/getTree", {"sessionId": state["sessionId"], "content": "none"})["nodes"]
            assert [(node["id"], node.get("parentId")) for node in nodes if node["id"] in ids] == known
            assert len(nodes) - len(known) <= FILE_ROUNDS  # torn lines keep their places
            assert state["leafId"] == (leaf(path, torn=FILE_ROUNDS) if lines_before else None)

            lines_before = len(entries(path, torn=FILE_ROUNDS))
            work = Work(state["sessionId"], chance, [entry_id for entry_id, _ in known], state["leafId"])
            method, params, expected = work._append()
            peer.call(method, params)
            stop = threading.Event()
            sender = threading.Thread(target=flood, args=(peer, work, stop))
            sender.start()
            stop.wait(chance.uniform(0, LATEST_KILL))
            peer.kill()
            stop.set()
            sender.join()

        expected += [link for _, links_of in work.requests for link in links_of]
        answered = [links_of for number, links_of in work.requests if "result" in peer.answers.get(number, {})]
        assert not [answer for answer in peer.answers.values() if "error" in answer]
        promised = 1 + sum(map(len, answered))
        written = written_since(path, lines_before)
        assert written == expected[: len(written)]
        assert len(written) >= promised, "an acknowledged entry is lost"
        acknowledged += promised
        sent += len(work.requests) + 1
        lines_before = len(entries(path, torn=FILE_ROUNDS))
    counts(rounds=ROUNDS, requests_sent=sent, lines_acknowledged=acknowledged, lost=0)
