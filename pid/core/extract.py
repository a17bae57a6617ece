"""What a summary without a model may quote of a conversation, gathered message by message in one pass.

It keeps little of each message: what the user said and the rules in it, what failed and was not followed by a
success, the last todo list or plan, the last thing that the assistant said. How it becomes a summary says
`extractive`.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pid.core.rules import prose_lines, rules_in
from pid.core.summary import request_text
from pid.core.tokens import Message, blocks_of


class Said(NamedTuple):
    """A text and the entry that it stands in."""

    entry_id: str
    text: str


class UserMessage(NamedTuple):
    """What a user said, shortened, and the rules that it states."""

    entry_id: str
    text: str
    rules: tuple[str, ...]


class Failure(NamedTuple):
    """What did not work: a command, or a tool and what it was used on."""

    entry_id: str
    what: str
    why: str


USER_CHARACTERS: Final = 1_200
_SAID_CHARACTERS: Final = 4_000
_WHY_CHARACTERS: Final = 200
_LOOKED_AT: Final = 20_000  # of a longer user message, the first and the last so many characters
_MOST_TODOS: Final = 40
_MOST_FAILURES: Final = 200


@dataclass(slots=True)
class Extract:
    """What was gathered. `failures` by what failed; `successes` also end failures of an earlier summary."""

    users: list[UserMessage] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)
    successes: set[str] = field(default_factory=set)
    todo: Said | None = None
    said: Said | None = None
    _calls: dict[str, str] = field(default_factory=dict)  # call id -> what it does

    def add(self, entry_id: str, message: Message) -> None:
        """Takes in the next message."""
        match message.get("role"):
            case "user":
                self._add_user(entry_id, request_text(message))
            case "assistant":
                self._add_assistant(entry_id, message)
            case "toolResult":
                what = self._calls.pop(str(message.get("toolCallId")), "")
                self._add_outcome(entry_id, what, bool(message.get("isError")), _text_of(message))
            case "bashExecution":
                failed = bool(message.get("exitCode")) or bool(message.get("cancelled"))
                output = message.get("output")
                self._add_outcome(entry_id, command_key(message.get("command")), failed, str(output or ""))

    def _add_user(self, entry_id: str, text: str) -> None:
        if text:
            looked_at = text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
            written = "\n".join(prose_lines(looked_at)) or text
            shown = one_paragraph(written, USER_CHARACTERS) + (" …" if len(written) < len(text) // 2 else "")
            self.users.append(UserMessage(entry_id, shown, tuple(rules_in(looked_at))))

    def _add_assistant(self, entry_id: str, message: Message) -> None:
        if text := _text_of(message):
            self.said = Said(entry_id, text[:_SAID_CHARACTERS])
            if todo := todo_in(text):
                self.todo = Said(entry_id, todo)
        for block in blocks_of(message.get("content")):
            if block.get("type") == "toolCall":
                self._calls[str(block.get("id"))] = _what(block)
                if todo := _todo_of_call(block):
                    self.todo = Said(entry_id, todo)

    def _add_outcome(self, entry_id: str, what: str, failed: bool, output: str) -> None:
        if not what or (failed and _SEARCH.match(what)):
            return
        if failed:
            self.failures.pop(what, None)  # so that the newest stands last
            self.failures[what] = Failure(entry_id, what, _last_line(output))
            self.successes.discard(what)
            if len(self.failures) > _MOST_FAILURES:
                del self.failures[next(iter(self.failures))]
        else:
            self.successes.add(what)
            part = f"{what} "  # as `is_settled` says, for all failures at once
            for failure in [known for known in self.failures if known == what or known.startswith(part)]:
                del self.failures[failure]


def extract_of(messages: Iterable[tuple[str, Message]]) -> Extract:
    """What messages (with their entries' ids) give."""
    found = Extract()
    for entry_id, message in messages:
        found.add(entry_id, message)
    return found


# Texts


def _text_of(message: Message) -> str:
    texts = (block.get("text") for block in blocks_of(message.get("content")) if block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def one_paragraph(text: str, characters: int) -> str:
    """The text in one line, cut at a length."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[:characters].rstrip()} …"


def _last_line(output: str) -> str:
    tail = output[-4 * _WHY_CHARACTERS :].split("\n")
    lines = [line.strip() for line in tail if any(map(str.isalpha, line))]
    telling = [line for line in lines if not _EXIT.match(line)] or lines
    return telling[-1][:_WHY_CHARACTERS] if telling else ""


# Commands


_EXIT: Final = re.compile(r"(?:command |process )?exit(?:ed)?\b", re.IGNORECASE)
_SEARCH: Final = re.compile(r"(?:git )?(?:grep|rg|ag|find|which|diff|test|\[)\b")
"""Commands that fail where they find nothing."""
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_TARGET_KEYS: Final = ("path", "file_path", "filePath", "filename", "target_file", "pattern", "query", "url")
_PREFIX: Final = re.compile(r"^\s*cd\s+\S+\s*(?:&&|;)\s*")
_SUFFIX: Final = re.compile(r"\s*(?:2>&1|>\s*/dev/null|\|\s*(?:tail|head|grep|cat|less|tee)\b[^|]*)\s*$")


def _what(call: Mapping[str, Any]) -> str:
    """What a tool call does, in a form that a later call of the same kind has too."""
    name, arguments = call.get("name"), call.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return ""
    for key in _COMMAND_KEYS:
        if isinstance(arguments.get(key), str) and not isinstance(arguments.get("path"), str):
            return command_key(arguments[key])
    target = next((arguments[key] for key in _TARGET_KEYS if isinstance(arguments.get(key), str)), "")
    return one_paragraph(f"{name} {target}", _WHY_CHARACTERS).replace("`", "'")


def command_key(command: object) -> str:
    """A command without the directory it ran in and without what only shortens its output."""
    if not isinstance(command, str):
        return ""
    text = _PREFIX.sub("", one_paragraph(command, 2 * _WHY_CHARACTERS))
    while (shorter := _SUFFIX.sub("", text)) != text:
        text = shorter
    return text[:_WHY_CHARACTERS].replace("`", "'").strip()


def is_settled(what: str, successes: Container[str]) -> bool:
    """Whether what failed succeeded later: the same, or the whole of which it was a part (`npm test`)."""
    words = what.split(" ")
    return any(" ".join(words[:count]) in successes for count in range(len(words), 0, -1))


# Todo lists and plans

_CHECKBOX: Final = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+\[.\]\s+\S")
_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+\S")
_PLAN_LINE: Final = re.compile(
    r"\b(?:plan|to-?dos?|next steps?|remaining|steps)\b[^.]*:?\s*$|^#+\s.*\bplan\b", re.IGNORECASE
)
_BOXES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("completed", "complete", "done"), "x"),
    **dict.fromkeys(("in_progress", "inProgress", "active"), "~"),
}
"""The state of a todo item to what stands in its box."""
_ITEM_KEYS: Final = ("content", "text", "step", "title", "task")


def todo_in(text: str) -> str:
    """The last todo list or plan in a text: check boxes, or the list under a line that announces a plan."""
    runs: list[list[str]] = []
    before, announced = "", False
    for line in text.split("\n"):
        if _LIST_ITEM.match(line) and (_CHECKBOX.match(line) or (announced := announced or _announces(before))):
            if not runs:
                runs.append([])
            runs[-1].append(line.rstrip()[:_WHY_CHARACTERS])
        elif line.strip():
            before, announced = line, False
            if runs and runs[-1]:
                runs.append([])
    lists = [run for run in runs if len(run) > 1]
    return "\n".join(lists[-1][:_MOST_TODOS]) if lists else ""


def _announces(line: str) -> bool:
    return len(line) <= _WHY_CHARACTERS and bool(_PLAN_LINE.search(line))


def _todo_of_call(call: Mapping[str, Any]) -> str:
    name, arguments = str(call.get("name")).lower(), call.get("arguments")
    if not isinstance(arguments, Mapping) or not ("todo" in name or "plan" in name):
        return ""
    items = next((value for value in arguments.values() if isinstance(value, list)), [])
    lines = [_todo_line(item) for item in items if isinstance(item, Mapping)]
    return "\n".join([line for line in lines if line][:_MOST_TODOS])


def _todo_line(item: Mapping[str, Any]) -> str:
    words = next((item[key] for key in _ITEM_KEYS if isinstance(item.get(key), str)), "")
    finished = item.get("done") is True or item.get("completed") is True
    box = _BOXES.get(str(item.get("status")), "x" if finished else " ")
    return f"- [{box}] {one_paragraph(words, _WHY_CHARACTERS)}" if words else ""
