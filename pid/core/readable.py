"""An entry for people, as Markdown: what it says, and what is to be known of it. Bounded, however long the entry is."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pid.core.context import InEffect, entries_in_effect
from pid.core.messages import agent_messages
from pid.core.outline import called
from pid.core.reading import LOOKED_AT, Reading
from pid.core.tokens import blocks_of, calibration_for, chars4, size_of, total
from pid.core.tree import ROOT
from pid.entries import DamagedLine, Kind, read_body

MOST_CHARACTERS: Final = 8_000
"""Of all that an entry says, and of each thing in it a quarter."""
_MOST_OF_ONE: Final = MOST_CHARACTERS // 4
_LONG: Final = 1 << 20  # bytes of an entry that is estimated by its length alone
_FENCE: Final = re.compile("`{3,}")
_IMAGE_SHARE: Final = 3 / 4  # of the length of base64


@dataclass(frozen=True, slots=True)
class Context:
    """What is in effect at a leaf, for many questions: `rows` gives the context, `left_out` are edited away."""

    leaf: int
    rows: frozenset[int]
    path: frozenset[int]
    edited: frozenset[int]
    left_out: frozenset[int]
    compaction: int
    model_id: str | None


def context_of(reading: Reading, leaf: int) -> Context:
    """The context at a leaf. Linear in the path."""
    effect: InEffect = entries_in_effect(reading.tree, leaf, reading.bodies)
    return Context(
        leaf=leaf,
        rows=frozenset(effect.rows),
        path=frozenset(reading.tree.path(leaf)),
        edited=frozenset(row for row, edit in effect.edits.items() if edit is not None),
        left_out=frozenset(row for row, edit in effect.edits.items() if edit is None),
        compaction=effect.compaction,
        model_id=effect.model.model_id if effect.model else None,
    )


def entry_markdown(reading: Reading, row: int, context: Context) -> str:
    """What an entry is and says: type, role, time, depth, tokens, whether it is in the context, its text."""
    tree, glance = reading.tree, reading.glances[row]
    raw = reading.stored(row)
    too_long = len(raw) > LOOKED_AT
    body = b"" if too_long else reading.body(row)
    messages = [read_body(bytes(message)) for message in agent_messages(tree, row, body)] if body else []
    facts = [f"**{called(glance)}**", f"`{_code(tree.ids[row])}`", glance.timestamp or "no time"]
    facts.append(f"depth {len(tree.path(row)) - tree.is_hidden(row):,}")
    if messages:
        facts.append(f"about {_tokens(messages, context, len(raw)):,} tokens")
    lines = [" · ".join(facts), _standing(reading, row, context)]
    if label := tree.label_of(row):
        lines.append(f"Label: {_inline(label)}")
    if body:
        said = "\n\n".join(_said(messages, row, reading, body))
    else:
        said = f"{len(raw):,} bytes, too long to be shown here." if too_long else "This line is damaged."
    return "  \n".join(lines) + ("\n\n---\n\n" + said if said else "")


def header_markdown(reading: Reading) -> str:
    """What the header of a session says, and how large the session is."""
    header, tree = reading.scanner.header or {}, reading.tree
    names = ("cwd", "timestamp", "parentSession")
    facts = [f"**session** · `{reading.scanner.session_id}` · version {reading.scanner.version}"]
    facts += [f"Name: {_inline(tree.name)}"] if tree.name else []
    facts += [f"{name}: {_inline(str(header[name]))}" for name in names if header.get(name)]
    facts.append(f"{tree.visible_count:,} entries; the leaf is `{tree.id_of(tree.last)}`")
    return "  \n".join(facts)


def _tokens(messages: list[dict[str, Any]], context: Context, size: int) -> int:
    if size > _LONG:
        return sum(map(chars4, messages))
    return calibration_for(context.model_id).tokens(total(size_of(message) for message in messages))


def _standing(reading: Reading, row: int, context: Context) -> str:
    """Whether the model sees an entry at the present leaf, and if not, why."""
    tree = reading.tree
    if tree.is_hidden(row):
        marks = tree.kinds[row] == Kind.LEAF_MARKER
        return "A leaf marker: the leaf was moved to its parent" if marks else "Replaced by a later line with its id"
    if row == context.leaf and row in context.rows:
        return "The leaf, in the present context"
    if row in context.left_out:
        return "Left out of the present context by an edit"
    if row in context.rows:
        return "In the present context" + (", edited" if row in context.edited else "")
    if row in context.path and context.compaction != ROOT:
        return f"Not in the present context: summarised by the compaction `{tree.ids[context.compaction]}`"
    return "Not in the present context: on another branch"


# What it says


def _said(messages: list[dict[str, Any]], row: int, reading: Reading, body: bytes) -> Iterator[str]:
    left = MOST_CHARACTERS
    for part in _parts(messages, row, reading, body):
        if left <= 0:
            yield "…"
            return
        left -= len(part)
        yield part


def _parts(messages: list[dict[str, Any]], row: int, reading: Reading, body: bytes) -> Iterator[str]:
    if messages:
        for message in messages:
            yield from _message(message)
        return
    try:
        entry = read_body(body)
    except DamagedLine:
        return
    shown = {key: value for key, value in entry.items() if key not in ("type", "id", "parentId", "timestamp")}
    yield _fenced(_json(shown), "json")


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    match message.get("role"):
        case "bashExecution":
            yield _fenced(f"$ {_text(message.get('command'))}\n{_text(message.get('output'))}", "sh")
        case "branchSummary" | "compactionSummary":
            yield _shortened(_text(message.get("summary")))
        case "toolResult":
            yield from (_block(block, quoted=True) for block in blocks_of(message.get("content")))
        case "system":
            yield _fenced(_json({key: message[key] for key in message if key != "role"}), "json")
        case _:
            yield from (_block(block) for block in blocks_of(message.get("content")))
    if isinstance(message.get("errorMessage"), str):
        yield f"✗ {_shortened(message['errorMessage'])}"


def _block(block: Mapping[str, Any], *, quoted: bool = False) -> str:
    kind = block.get("type")
    show = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if kind == "text" and quoted:
        return _fenced(_text(block.get("text")))
    return show(block) if show else _fenced(_json(block), "json")


def _thinking(block: Mapping[str, Any]) -> str:
    text = _shortened(_text(block.get("thinking"))) or "(not shown)"
    return "\n".join(f"> {line}" for line in f"*thinking* \n{text}".splitlines())


def _call(block: Mapping[str, Any]) -> str:
    arguments = block.get("arguments")
    lines = [f"→ **{_inline(_text(block.get('name')))}** `{_code(_text(block.get('id')))}`"]
    if isinstance(arguments, dict):
        lines += [_fenced("\n".join(f"{key}: {_value(value)}" for key, value in arguments.items()))]
    elif arguments is not None:
        lines += [_fenced(_json(arguments), "json")]
    return "\n\n".join(lines)


def _image(block: Mapping[str, Any]) -> str:
    size = int(len(_text(block.get("data"))) * _IMAGE_SHARE)
    return f"[{_inline(_text(block.get('mimeType')) or 'image')}, {size:,} bytes]"


_BLOCKS: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "text": lambda block: _shortened(_text(block.get("text"))),
    "thinking": _thinking,
    "toolCall": _call,
    "image": _image,
}


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _value(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value)).decode()
    except RecursionError:
        return "(nested too deeply)"


def _shortened(text: str) -> str:
    left = len(text) - _MOST_OF_ONE
    return text if left <= 0 else f"{text[:_MOST_OF_ONE]}\n\n… {left:,} more characters"


def _fenced(text: str, language: str = "") -> str:
    """A text between fences that do not occur in it."""
    shown = _shortened(text)
    fence = max(["```", *(f"{run}`" for run in _FENCE.findall(shown))], key=len)
    return f"{fence}{language}\n{shown}\n{fence}"


def _code(text: str) -> str:
    """A text for a code span."""
    return " ".join(text.replace("`", "'").split())


def _inline(text: str) -> str:
    """A text on one line, in which no character has a meaning to Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))
