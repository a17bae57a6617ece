"""What the summarizer without a model keeps: `python -m tests.benchmarks.retention`.

A session is told up to a point and compacted, again and again, as the daemon would; after one, three and ten
compactions in a row it is looked at what the context still says of what must not be lost, and how much smaller it
is. Truths do not come from the code under test: those of generated sessions are put there, those of the real one were
read by a person.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pid.core.compaction import Limits, plan
from pid.core.extractive import summary
from pid.core.files import recorded
from pid.core.material import Material
from pid.core.speech import Estimator
from pid.core.summary import request_text
from pid.core.tokens import calibration_for
from pid.entries import iso_of
from pid.errors import NothingToCompact
from tests.interop import FOLDER
from tests.plans import View, view_of_bytes
from tests.trees import START_MS

Json = dict[str, Any]
ESTIMATOR = Estimator(calibration_for("claude"))
WINDOW = 200_000


@dataclass
class Truth:
    """What must still be said, as of some place of a session."""

    rules: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    newest: str = ""


@dataclass
class Tale:
    """Messages in order, and what is true behind each of them."""

    messages: list[Json]
    rules: dict[int, str] = field(default_factory=dict)  # place -> the words that must survive
    failures: dict[int, str] = field(default_factory=dict)  # place -> a command that never succeeds

    def truth(self, stop: int) -> Truth:
        said = self.messages[:stop]
        calls = [
            block
            for message in said
            for block in (message["content"] if isinstance(message["content"], list) else [])
            if block.get("type") == "toolCall" and block["name"] in ("edit", "write")
        ]
        users = [text for message in said if (text := request_text(message))]
        return Truth(
            [rule for place, rule in self.rules.items() if place < stop],
            sorted({call["arguments"]["path"] for call in calls}),
            [command for place, command in self.failures.items() if place < stop],
            users[-1] if users else "",
        )


# Generated sessions

RULES = (
    "Always run `make check` before you commit.",
    "Never touch the files under vendor/.",
    "Do not add new dependencies without asking me.",
    "All public functions must have docstrings.",
    "Please make sure the changelog mentions every change.",
    "Use tabs, not spaces.",
    "Bitte niemals direkt auf main pushen.",
    "Kommentare müssen auf Deutsch sein.",
    "Il ne faut jamais supprimer les anciens tests.",
    "Siempre escribe los mensajes de commit en inglés.",
    "Не меняй публичный интерфейс.",
    "请不要修改数据库的结构。",
    "テストは必ず追加してください。",
    "설정 파일은 절대 커밋하지 마.",
    "From now on answer in one paragraph.",
    "The API has to stay compatible, you must not rename endpoints.",
)
TASKS = ("add a cache to", "fix the crash in", "rename the helpers of", "document", "write tests for", "speed up")


def generated(seed: int, turns: int) -> Tale:
    """A session of turns: a task, reads and edits, commands of which some fail and some of those are mended."""
    rng = Random(seed)
    tale = Tale([])
    rules = list(RULES)
    rng.shuffle(rules)
    for turn in range(turns):
        wish = f"Please {rng.choice(TASKS)} module_{rng.randrange(40)}.py, request number {turn} of many."
        if rules and rng.random() < 0.25:
            rule = rules.pop()
            tale.rules[len(tale.messages)] = rule
            wish = rng.choice((f"{wish}\n\n{rule}", f"{rule} {wish}"))
        tale.messages.append({"role": "user", "content": wish})
        for step in range(rng.randrange(1, 6)):
            _step(tale, rng, f"call{turn}.{step}")
        tale.messages.append(_assistant(f"Done with request {turn}: {_words(rng, 60)}"))
    return tale


def _step(tale: Tale, rng: Random, call: str) -> None:
    path = f"src/module_{rng.randrange(40)}.py"
    kind = rng.choice(("read", "read", "edit", "write", "test"))
    if kind == "test":
        command = f"pytest {path.replace('src', 'tests')} -k case_{rng.randrange(10_000)}"
        tale.messages.append(_assistant("", ("bash", {"command": command}, call)))
        if rng.random() < 0.3:
            tale.failures[len(tale.messages)] = command
            tale.messages.append(_result(call, f"{_words(rng, 80)}\nAssertionError: {_words(rng, 5)}", failed=True))
        else:
            tale.messages.append(_result(call, _words(rng, 80)))
        return
    arguments = {"path": path} | ({} if kind == "read" else {"text": _words(rng, 200)})
    tale.messages.append(_assistant(_words(rng, 15), (kind, arguments, call)))
    tale.messages.append(_result(call, _words(rng, rng.choice((50, 400, 1_500)))))


def _words(rng: Random, count: int) -> str:
    return " ".join(f"word{rng.randrange(5_000)}" for _ in range(count))


def _assistant(text: str, *calls: tuple[str, Json, str]) -> Json:
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "toolCall", "id": call, "name": name, "arguments": given} for name, given, call in calls]
    return {"role": "assistant", "content": blocks, "stopReason": "toolUse" if calls else "stop"}


def _result(call: str, text: str, failed: bool = False) -> Json:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": call, "toolName": "t", "content": content, "isError": failed}


# The real session

REAL_RULES = (
    "every line returned by a component's render method must not be wider than the passed in width",
    "truncated text must stop when it encounters a new line",
    "use fucking rgb values in the themes, no rgb indices!",
    "don't modify the theme",
    "make sure you know to read the README.md also when the user asks you to create a new theme",
    "got a crash, that should never happen",
    "invalid themes must NEVER explode",
    "no conosle logs!",
    "make sure toolText is also used",
)
"""What the user of the real session wants to hold beyond the step at hand, in the user's own words."""


def real() -> Tale:
    lines = (FOLDER / "real-session-v1.jsonl").read_text(encoding="utf-8").splitlines()
    messages = [entry["message"] for entry in map(json.loads, lines) if entry["type"] == "message"]
    places = {
        rule: next(at for at, message in enumerate(messages) if rule in request_text(message)) for rule in REAL_RULES
    }
    return Tale(messages, {place: rule for rule, place in places.items()})


# Telling and compacting


@dataclass(frozen=True)
class Kept:
    """The shares of what is still said after some compactions, and what the context takes of what it took."""

    rules: float
    modified: float
    failures: float
    newest: float
    compression: float


def told(tale: Tale, times: int, window: int = WINDOW) -> Kept:
    """A session compacted so many times in a row, evenly, the last time at its end."""
    entries: list[Json] = []
    stops = [len(tale.messages) * (index + 1) // times for index in range(times)]
    begun = 0
    for stop in stops:
        for message in tale.messages[begun:stop]:
            _append(entries, "message", message=_without_usage(message))
        begun = stop
        _compact(entries, window)
    return _kept(_view(entries), tale.truth(len(tale.messages)), tale)


def _without_usage(message: Json) -> Json:
    return {key: value for key, value in message.items() if key != "usage"}


def _append(entries: list[Json], kind: str, **fields: Any) -> None:
    number = len(entries)
    parent = entries[-1]["id"] if entries else None
    head = {"type": kind, "id": f"{number:08x}", "parentId": parent, "timestamp": iso_of(START_MS + number)}
    entries.append(head | fields)


def _view(entries: Iterable[Json]) -> View:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": iso_of(START_MS), "cwd": "/p"}
    return view_of_bytes("".join(json.dumps(line) + "\n" for line in [header, *entries]).encode())


def _compact(entries: list[Json], window: int) -> None:
    view = _view(entries)
    try:
        planned = plan(view.speech, ESTIMATOR, Limits(window, reserve=window // 8, keep=window // 50))
    except NothingToCompact:
        return
    before = next((entry for entry in reversed(entries) if entry["type"] == "compaction"), {})
    material = Material(ESTIMATOR.text, before.get("summary", ""), recorded(before.get("details")))
    for entry_id, message in view.said(planned.begin, planned.turn_start):
        material.add(entry_id, message)
    for entry_id, message in view.said(planned.turn_start, planned.cut):
        material.add(entry_id, message, in_turn_head=True)
    for _, message in view.said(planned.cut, len(planned.rows)):
        material.keep(message)
    _append(
        entries,
        "compaction",
        summary=summary(material, window).text(),
        firstKeptEntryId=view.first_kept(planned),
        tokensBefore=planned.tokens_before,
        details={"readFiles": material.files.read_files, "modifiedFiles": material.files.modified_files},
    )


def _kept(view: View, truth: Truth, tale: Tale) -> Kept:
    messages = [message for entry in view.speech.ahead(0, len(view.speech)) for message in entry.messages]
    text = _flat(" ".join(_texts(messages)))
    tokens = sum(map(ESTIMATOR.message, messages))
    return Kept(
        _share(truth.rules, text),
        _share(truth.modified, text),
        _share(truth.failures, text),
        _share([truth.newest], text),
        tokens / sum(map(ESTIMATOR.message, tale.messages)),
    )


def _texts(messages: Iterable[Json]) -> Iterator[str]:
    for message in messages:
        yield message.get("summary", "")
        content = message.get("content", "")
        yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _flat(text: str) -> str:
    return " ".join(text.replace("\\n", " ").replace("\\", "").split())


def _share(wanted: list[str], text: str) -> float:
    return sum(_flat(words) in text for words in wanted) / len(wanted) if wanted else 1.0


def sessions() -> Iterator[tuple[str, Tale, int]]:
    """The name of each session, its tale, and the window that it is compacted for."""
    yield "real", real(), WINDOW
    yield "real, 16k", real(), 16_000
    for seed in range(1, 4):
        yield f"120 turns, {seed}", generated(seed, 120), WINDOW
    yield "600 turns", generated(4, 600), WINDOW
    yield "600 turns, 16k", generated(4, 600), 16_000


def main() -> None:
    print(f"{'session':15} {'times':>5} {'rules':>7} {'files':>7} {'failed':>7} {'newest':>7} {'of the size':>12}")
    for name, tale, window in sessions():
        for times in (1, 3, 10):
            kept = told(tale, times, window)
            shares = " ".join(f"{value:7.0%}" for value in (kept.rules, kept.modified, kept.failures, kept.newest))
            print(f"{name:15} {times:5} {shares} {kept.compression:12.2%}")


if __name__ == "__main__":
    main()
