"""Small trees written as text, for tests: `"u1 a1 t1 | a1 > u2"`.

Each word is an entry, in file order; its id is the word itself. An entry hangs on the one before it; `a1 > u2`
hangs u2 on a1, and `|` begins a new root (`| a1 > u2`: another branch of a1). A parent that is no entry may be
named (`gone > u2`), so may one that comes later (`u2 > u1 | u2`). The letters say what the entry is:

    u user          a assistant      t tool result     b bash execution   m custom message role  s system
    x custom_message  r branch_summary  c compaction   d custom           e context_edit         l label
    n session_info  k thinking_level_change   o model_change   q usage    z a type nobody knows  p leaf marker

Behind the letters and the number may stand, in this order:

    (u1)     what it is about: a compaction's first kept entry, the target of a label or an edit, a summary's `fromId`,
             the tool that an assistant calls (`a1(bash)`; the results behind it answer that call)
    =text    its text (`_` is a space): summary, label, name, level, `provider/model`, replacement, content
    *400     a text of 400 characters

A word in front of which `!` stands is damaged: its line ends in the middle. Times are seconds of 2026-01-01.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pid.core.lines import DAMAGED, Scanner
from pid.core.tree import Change, Tree
from pid.entries import DamagedLine, clean, iso_of

Json = dict[str, Any]

START_MS = 1_767_225_600_000
_WORD = re.compile(r"(!?)([a-z])(\d+)(?:\(([^)]*)\))?(?:=(\S*))?(?:\*(\d+))?")


@dataclass(frozen=True)
class Word:
    """One entry as written; `number` is its place in the file, from 1."""

    letter: str
    id: str
    parent_id: str | None
    about: str | None
    text: str
    damaged: bool
    number: int
    call_id: str | None

    @property
    def ms(self) -> int:
        return START_MS + 1000 * self.number


def _text(content: str) -> list[Json]:
    return [{"type": "text", "text": content}]


def _assistant(word: Word) -> Json:
    call = {"type": "toolCall", "id": word.call_id, "name": word.about, "arguments": {"path": f"/{word.id}"}}
    return {
        "role": "assistant",
        "content": _text(word.text) + ([call] if word.about else []),
        "provider": "anthropic",
        "model": "m1",
        "stopReason": "toolUse" if word.about else "stop",
        "timestamp": word.ms,
    }


def _result(word: Word) -> Json:
    return {
        "role": "toolResult",
        "toolCallId": word.call_id,
        "toolName": "tool",
        "content": _text(word.text),
        "isError": False,
        "timestamp": word.ms,
    }


MESSAGES: dict[str, Callable[[Word], Json]] = {
    "u": lambda word: {"role": "user", "content": _text(word.text), "timestamp": word.ms},
    "a": _assistant,
    "t": _result,
    "b": lambda word: {"role": "bashExecution", "command": word.about or "ls", "output": word.text, "exitCode": 0},
    "m": lambda word: {"role": "custom", "customType": word.about or "k", "content": word.text, "display": True},
    "s": lambda word: {"role": "system", "content": word.text},
}
ENTRIES: dict[str, tuple[str, Callable[[Word], Json]]] = {
    "x": ("custom_message", lambda word: {"customType": "k", "content": word.text, "display": True}),
    "r": ("branch_summary", lambda word: {"fromId": word.about or "root", "summary": word.text}),
    "c": ("compaction", lambda word: {"summary": word.text, "firstKeptEntryId": word.about, "tokensBefore": 9}),
    "d": ("custom", lambda word: {"customType": word.about or "k", "data": word.text}),
    "e": ("context_edit", lambda word: {"targetId": word.about, "replacement": _replacement(word)}),
    "l": ("label", lambda word: {"targetId": word.about, "label": word.text}),
    "n": ("session_info", lambda word: {"name": word.text}),
    "k": ("thinking_level_change", lambda word: {"thinkingLevel": word.text}),
    "o": ("model_change", lambda word: dict(zip(("provider", "modelId"), word.text.split("/"), strict=False))),
    "q": ("usage", lambda word: {"kind": "cache", "provider": "p", "model": "m", "usage": {}}),
    "z": ("future_thing", lambda word: {"what": word.text}),
    "p": ("custom", lambda word: {"customType": "pid.leaf"}),
}


def _replacement(word: Word) -> Json | None:
    return {"content": word.text} if word.text != word.id else None


def words(text: str) -> Iterator[Word]:
    """The entries of a tree written as text. Raises ValueError for a word that is no entry."""
    parent: str | None = None
    calls: dict[str | None, str] = {}
    number = 0
    tokens = text.split()
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        if token == "|" or following == ">":
            parent = None if token == "|" else token
        elif token != ">":
            number += 1
            word = _word(token, parent, calls, number)
            yield word
            parent = word.id


def _word(token: str, parent: str | None, calls: dict[str | None, str], number: int) -> Word:
    if (match := _WORD.fullmatch(token)) is None:
        raise ValueError(f"{token!r} is no entry of a tree written as text")
    damaged, letter, digits, about, said, size = match.groups()
    entry_id = letter + digits
    call = f"call-{entry_id}" if letter == "a" and about else calls.get(parent)
    if call:
        calls[entry_id] = call
    text = "x" * int(size) if size else said.replace("_", " ") if said is not None else entry_id
    return Word(letter, entry_id, parent, about, text, bool(damaged), number, call)


def entry(word: Word) -> Json:
    """The entry as a dict, in the key order that pi writes."""
    head = {"id": word.id, "parentId": word.parent_id, "timestamp": iso_of(word.ms)}
    if word.letter in MESSAGES:
        return {"type": "message", **head, "message": MESSAGES[word.letter](word)}
    entry_type, fields = ENTRIES[word.letter]
    return {"type": entry_type, **head, **fields(word)}


def session_bytes(text: str, version: int = 3) -> bytes:
    """The session file of a tree written as text."""
    header = {"type": "session", "version": version, "id": "s-0001", "timestamp": iso_of(START_MS), "cwd": "/proj"}
    lines = [json.dumps(header)]
    for word in words(text):
        line = json.dumps(entry(word), separators=(",", ":"))
        lines.append(line[: line.index('"timestamp"') + 40] if word.damaged else line)
    return "".join(f"{line}\n" for line in lines).encode()


@dataclass(frozen=True)
class Loaded:
    """A session in memory. `bodies` is the reader that the core asks; `asked` has the rows that it was asked for."""

    data: bytes
    tree: Tree
    scanner: Scanner
    change: Change
    asked: list[int]

    def bodies(self, rows: Sequence[int]) -> list[bytes]:
        self.asked.extend(rows)
        return [self._body(row) for row in rows]

    def _body(self, row: int) -> bytes:
        if not self.tree.flags[row] & DAMAGED:
            try:
                return clean(self.stored(row))
            except DamagedLine:
                self.tree.flags[row] |= DAMAGED
        return b""

    def stored(self, row: int) -> bytes:
        start = self.tree.starts[row]
        return self.data[start : start + self.tree.sizes[row]]

    def row(self, entry_id: str) -> int:
        return self.tree.find(entry_id)

    def ids(self, rows: Sequence[int]) -> list[str]:
        return [self.tree.ids[row] for row in rows]


def load(data: bytes) -> Loaded:
    """A session file's bytes as a tree with bodies, read in one slice. Raises ValueError for what is no session."""
    tree = Tree()
    scanner = Scanner(tree.rows)
    stop = data.rfind(b"\n") + 1
    tree.extend(scanner.scan(data, stop, 0))
    if stop < len(data) and (tail := scanner.scan_tail(data[stop:], stop)):
        tree.extend(tail)
    if scanner.foreign or scanner.header is None:
        raise ValueError("no session header")
    return Loaded(data, tree, scanner, tree.settle(), [])


def tree_of(text: str) -> Loaded:
    """A tree written as text, loaded."""
    return load(session_bytes(text))
