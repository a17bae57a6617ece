"""Comparing the daemon's view of a session with pi's; `table` has where they differ.

Ids of version-1 files are made up by both programs, so entries are called by their place there. The wording around
a summary and a bash execution is each program's own: compared is what it tells, the role, the time and the block.
"""

from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]

PARTS = (
    "leafId",
    "sessionName",
    "entryCount",
    "branch",
    "tree",
    "labels",
    "context",
    "contextEntries",
    "llm",
)
TOLD = {
    "bashExecution": ("command", "output", "exitCode", "fullOutputPath"),
    "branchSummary": ("summary",),
    "compactionSummary": ("summary",),
}
"""What the user message that the model gets for a message of these roles must tell."""


REFUSED: Json = {"opens": False}


def different(ours: Json, pis: Json) -> Json:
    """The parts in which the daemon's view is not pi's, as `brief` shows them; of a refused file, that it is."""
    if not ours["opens"]:
        return REFUSED if pis.get("opens", True) else {}
    return {part: brief(part, ours) for part in PARTS if _compared(part, ours) != _compared(part, pis)}


def brief(part: str, view: Json) -> Any:
    """A part as the table shows it: of messages the role and what they say, of a tree the children."""
    value = view[part]
    if part == "context":
        model = value["model"] and f"{value['model']['provider']}/{value['model']['modelId']}"
        return [value["thinkingLevel"], model, *map(_said, value["messages"])]
    if part == "llm":
        return [_said(message) for message in _unworded(view)]
    if part == "tree":
        return {node["id"]: node["children"] for node in value["preorder"]}
    return value


def _compared(part: str, view: Json) -> Any:
    value = view.get(part)
    if isinstance(value, dict) and "error" in value:
        return "failed"
    if part == "llm":
        return list(_unworded(view))
    if part == "context" and value:
        return value, [list(message) for message in value["messages"]]  # the order of keys too
    if part == "tree" and value:
        return [[node.get("id"), node["children"]] for node in value["preorder"]], value["roots"]
    return value


def _said(message: Any) -> str:
    if not isinstance(message, dict):
        return repr(message)
    content = message.get("content", message.get("summary", ""))
    texts = [block.get("text", "") for block in content] if isinstance(content, list) else [str(content)]
    return f"{message['role']}: {' '.join(texts)}"


def _unworded(view: Json) -> Iterator[Json]:
    """The messages for the model, where the program words them itself with only what they tell."""
    shown = iter(view["llm"])
    seen = {"user", "assistant", "toolResult", "system", "custom", *TOLD}
    for message in view["context"]["messages"]:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in seen or message.get("excludeFromContext"):
            continue
        found = next(shown)
        yield found if role not in TOLD else found | {"content": [_facts(message, block) for block in found["content"]]}
    yield from shown


def _facts(message: Json, block: Json) -> Json:
    told = [str(message[key]) for key in TOLD[message["role"]] if message.get(key)]
    return block | {"text": " ".join(fact for fact in told if fact in block["text"])}


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A view with other ids."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


def by_place(ids: Sequence[str]) -> dict[str, str]:
    """Ids by their place in the file, as the recorded answers of pi call the entries of a version-1 file."""
    return {entry_id: f"{number:08d}" for number, entry_id in enumerate(ids, 1)}
