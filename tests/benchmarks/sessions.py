"""Generated session files, the same bytes for the same recipe: what the figures are measured on.

The mix is that of real coding sessions: short user messages, assistant messages with thinking, tool calls
and usage, tool results of 0.2 to 20 KB; about 2.45 KB an entry. Lines are written as pi writes them: compact
JSON in its key order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random

from tests.benchmarks.prose import Prose

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
SIGNATURE = "EqQBCkYIBhgCIkDR" * 24
BRANCH_CHANCE = 0.04
COMPACT_AFTER = 800_000  # characters on the path since the last compaction


@dataclass(frozen=True)
class Recipe:
    """`kind` is one of `KINDS`; `seed` varies the text and the shape."""

    entries: int
    kind: str = "linear"
    seed: int = 1

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.entries}"


@dataclass(frozen=True)
class Kind:
    """How the tree grows, and how a line and the header look."""

    line: Callable[[Entry], str]
    header: str
    branches: bool = False
    compacts: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """`fields` is JSON text: the members of the entry beside the four that all entries have."""

    type: str
    id: str
    parent: str  # JSON text: a quoted id, or null
    timestamp: str
    fields: str


def write(recipe: Recipe, path: Path) -> Path:
    """Writes the session file, in a few hundred KB at a time; returns `path`."""
    lines = _lines(recipe)
    with path.open("wb") as file:
        while batch := list(islice(lines, 100)):
            file.write("".join(batch).encode())
    return path


def entries(recipe: Recipe) -> Iterator[Entry]:
    """The entries in file order; the last one is the leaf."""
    story = _Story(KINDS[recipe.kind], recipe.seed)
    endless = (entry for _ in iter(int, 1) for entry in story.turn())
    return islice(endless, recipe.entries)


def _lines(recipe: Recipe) -> Iterator[str]:
    kind = KINDS[recipe.kind]
    yield kind.header.format(id=f"bench-{recipe.name}", timestamp=_iso(0)) + "\n"
    for entry in entries(recipe):
        yield kind.line(entry) + "\n"


def _pi_line(entry: Entry) -> str:
    head = f'{{"type":"{entry.type}","id":"{entry.id}","parentId":{entry.parent},'
    return f'{head}"timestamp":"{entry.timestamp}",{entry.fields}}}'


def _migrated_line(entry: Entry) -> str:
    """What is left when pi rewrites a version-1 file: ids behind everything else."""
    return f'{_version1_line(entry)[:-1]},"id":"{entry.id}","parentId":{entry.parent}}}'


def _version1_line(entry: Entry) -> str:
    return f'{{"type":"{entry.type}","timestamp":"{entry.timestamp}",{entry.fields}}}'


_PI_HEADER = '{{"type":"session","version":3,"id":"{id}","timestamp":"{timestamp}","cwd":"/projects/bench"}}'
_OLD_HEADER = '{{"type":"session","id":"{id}","timestamp":"{timestamp}","cwd":"/projects/bench"}}'
_MIGRATED_HEADER = _OLD_HEADER[:-2] + ',"version":3}}'

KINDS = {
    "linear": Kind(_pi_line, _PI_HEADER),
    "branchy": Kind(_pi_line, _PI_HEADER, branches=True),
    "compacted": Kind(_pi_line, _PI_HEADER, compacts=True),
    "migrated": Kind(_migrated_line, _MIGRATED_HEADER),
    "version1": Kind(_version1_line, _OLD_HEADER),
}


class _Story:
    """What happens in a session, turn by turn. Its state is where the tree and the clock stand."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self._kind = kind
        self._rng = Random(seed)
        self._prose = Prose(self._rng)
        self._count = 0
        self._ms = 0
        self._leaf = "null"
        self._turn_starts: deque[tuple[str, str]] = deque(maxlen=20)  # (id of the user's entry, its parent)
        self._since_compaction = 0

    def turn(self) -> Iterator[Entry]:
        """Perhaps a branch or a compaction; a user message; up to 7 tool calls and results; a last word."""
        if self._kind.branches and self._turn_starts and self._rng.random() < BRANCH_CHANCE:
            self._leaf = self._rng.choice(self._turn_starts)[1]
        if self._kind.compacts and self._since_compaction > COMPACT_AFTER:
            yield self._compaction()
        parent = self._leaf
        user = self._message(self._user())
        self._turn_starts.append((user.id, parent))
        yield user
        for _ in range(int(self._rng.random() * 8)):
            call = f"toolu_{self._rng.getrandbits(80):020x}"
            yield self._message(self._assistant(call))
            yield self._message(self._tool_result(call))
        yield self._message(self._assistant(None))

    def _entry(self, kind: str, fields: str) -> Entry:
        self._count += 1
        self._ms += 200 + int(self._rng.random() * 20_000)
        self._since_compaction += len(fields)
        entry_id = f"{self._count * 2654435761 & 0xFFFFFFFF:08x}"  # odd factor: no id twice
        entry = Entry(kind, entry_id, self._leaf, _iso(self._ms), fields)
        self._leaf = f'"{entry_id}"'
        return entry

    def _message(self, message: str) -> Entry:
        return self._entry("message", f'"message":{message}')

    def _text(self, smallest: int, largest: int) -> str:
        """Many short ones, a few long ones: a little below log-uniform."""
        size = smallest * (largest / smallest) ** self._rng.random() ** 1.25
        return self._prose.take(self._rng, int(size))

    def _user(self) -> str:
        content = f'[{{"type":"text","text":"{self._text(40, 1500)}"}}]'
        return f'{{"role":"user","content":{content},"timestamp":{_epoch(self._ms)}}}'

    def _assistant(self, call: str | None) -> str:
        blocks = [f'{{"type":"text","text":"{self._text(60, 800)}"}}']
        if self._rng.random() < 0.4:
            thought = f'"thinking":"{self._text(80, 1200)}","thinkingSignature":"{SIGNATURE}"'
            blocks.insert(0, f'{{"type":"thinking",{thought}}}')
        if call:
            arguments = f'{{"path":"src/{call[-4:]}.ts","edits":"{self._text(40, 600)}"}}'
            blocks.append(f'{{"type":"toolCall","id":"{call}","name":"edit","arguments":{arguments}}}')
        return (
            f'{{"role":"assistant","content":[{",".join(blocks)}],"api":"anthropic-messages",'
            f'"provider":"anthropic","model":"claude-sonnet-4-5","usage":{self._usage()},'
            f'"stopReason":"{"toolUse" if call else "stop"}","timestamp":{_epoch(self._ms)}}}'
        )

    def _usage(self) -> str:
        """The whole context as the provider would report it, at four characters a token."""
        read, output = self._since_compaction // 4, 40 + int(self._rng.random() * 600)
        return (
            f'{{"input":4,"output":{output},"cacheRead":{read},"cacheWrite":900,'
            f'"totalTokens":{read + output + 904},"cost":{{"input":0.00012,"output":0.0048,'
            '"cacheRead":0.0151,"cacheWrite":0.0034,"total":0.02342}}'
        )

    def _tool_result(self, call: str) -> str:
        return (
            f'{{"role":"toolResult","toolCallId":"{call}","toolName":"edit","content":[{{"type":"text",'
            f'"text":"{self._text(200, 20_000)}"}}],"isError":false,"timestamp":{_epoch(self._ms)}}}'
        )

    def _compaction(self) -> Entry:
        first_kept, tokens = self._turn_starts[-3][0], self._since_compaction // 4
        summary = self._text(2000, 6000)
        self._since_compaction = 0
        return self._entry(
            "compaction",
            f'"summary":"{summary}","firstKeptEntryId":"{first_kept}","tokensBefore":{tokens},'
            '"details":{"readFiles":["src/a.ts"],"modifiedFiles":["src/b.ts"]}',
        )


def _epoch(ms: int) -> int:
    return int(START.timestamp()) * 1000 + ms


def _iso(ms: int) -> str:
    moment = datetime.fromtimestamp(_epoch(ms) / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03}Z"
