"""Token estimates of messages, by two rules.

`chars4` is pi's rule (UTF-16 units / 4), for exact comparison. The calibrated rule is linear in a `Size`, so sizes
are kept with their entries and any model's estimate follows: tokens of o200k times a slope, and constants, by
model family. Nothing here loads a tokenizer: a counter is handed in, or the bytes are looked at (`guess`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from pid.core.guess import guess_tokens
from pid.core.javascript import json_text, utf16_length

Message = Mapping[str, Any]
TokenCounter = Callable[[str], int]
"""The o200k tokens of a text."""
TextsCounter = Callable[[Sequence[str]], Sequence[int] | None]
"""The o200k tokens of each of some texts: one call for many, since counting may take place elsewhere. None: they are
not counted, and shall be guessed."""
Tokens = Callable[[str], int]
"""The estimate of a text for a model."""

IMAGE_TOKENS: Final = 1_200
_CHARS4_IMAGE: Final = 4_800


class Size(NamedTuple):
    """What messages hold, whatever the model."""

    text: int = 0  # o200k tokens of all their text
    messages: int = 0
    results: int = 0  # of these messages, tool results
    calls: int = 0
    images: int = 0
    guessed: int = 0  # of `text`, what was not counted


def total(sizes: Iterable[Size]) -> Size:
    """Sizes add up."""
    return Size(*map(sum, zip(*sizes, strict=True)))


# What a message says


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """The content blocks of a message; a string is one text block, what is no block is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


_IN_INPUT: Final = frozenset({"text", "image"})
_BLOCKS: Final[Mapping[str, frozenset[str]]] = {
    "assistant": frozenset({"text", "thinking", "toolCall"}),
    **dict.fromkeys(("user", "toolResult", "custom", "system"), _IN_INPUT),
}
"""The kinds of block that pi counts, by role."""
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bashExecution": ("command", "output"),
    "branchSummary": ("summary",),
    "compactionSummary": ("summary",),
}
"""The texts of the roles without blocks."""


def _block_texts(block: Mapping[str, Any]) -> tuple[str, ...]:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return (_string(block.get(kind)),)
        case "toolCall":
            return _string(block.get("name")), json_text(block.get("arguments"))
    return ()


def _system_texts(message: Message) -> list[str]:
    sections, tools = message.get("sections"), message.get("toolsAdded")
    texts = [_string(text) for text in sections.values()] if isinstance(sections, dict) else []
    return texts if tools is None else [*texts, json_text(tools)]


class Parts(NamedTuple):
    """What of one message a model reads: its texts, and how many images and tool calls."""

    texts: list[str]
    images: int = 0
    calls: int = 0
    results: int = 0

    def size(self, tokens: int, guessed: int = 0) -> Size:
        """The size, once the texts are counted. A message that no model sees takes nothing."""
        seen = int(bool(self.texts or self.images))
        return Size(tokens, seen, self.results if seen else 0, self.calls, self.images, guessed)


def parts_of(message: Message, *, every_block: bool = True) -> Parts:
    """What a model reads of a message. An unknown role says nothing; without `every_block`, only what pi counts."""
    role = _string(message.get("role"))
    if fields := _FIELDS.get(role):
        hidden = every_block and message.get("excludeFromContext") is True
        return Parts([] if hidden else [_string(message.get(field)) for field in fields])
    if (kinds := _BLOCKS.get(role)) is None:
        return Parts([])
    blocks = [b for b in blocks_of(message.get("content")) if every_block or b.get("type") in kinds]
    texts = [text for block in blocks for text in _block_texts(block)]
    types = [block.get("type") for block in blocks]
    extra = _system_texts(message) if role == "system" else []
    return Parts(texts + extra, types.count("image"), types.count("toolCall"), int(role == "toolResult"))


# The two rules


def chars4(message: Message) -> int:
    """pi's estimate of one message: its UTF-16 units / 4, rounded up; an image is 4,800 units."""
    if message.get("role") == "assistant" and isinstance(message.get("content"), str):
        return 0  # pi looks for blocks in the string, and finds none
    parts = parts_of(message, every_block=False)
    return -(-(sum(map(utf16_length, parts.texts)) + _CHARS4_IMAGE * parts.images) // 4)


def size_of(message: Message, count: TokenCounter | None = None) -> Size:
    """The size of one message, by a tokenizer or else by a guess."""
    parts = parts_of(message)
    if count is not None:
        return parts.size(sum(map(count, parts.texts)))
    guessed = sum(map(guess_tokens, parts.texts))
    return parts.size(guessed, guessed)


def sizes_of(messages: Sequence[Message], count: TextsCounter) -> list[Size]:
    """The size of each message, counted in one call; guessed where nobody counts."""
    found = [parts_of(message) for message in messages]
    counted = count([text for parts in found for text in parts.texts])
    if counted is None:
        return list(map(size_of, messages))
    counts = iter(counted)
    return [parts.size(sum(islice(counts, len(parts.texts)))) for parts in found]


@dataclass(frozen=True, slots=True)
class Calibration:
    """From a size to the tokens of one model family. `error` is the likely relative error of one message."""

    slope: float
    message: int
    result: int  # beside `message`
    call: int
    error: float

    def tokens(self, size: Size) -> int:
        """The estimate for a size."""
        framing = self.message * size.messages + self.result * size.results + self.call * size.calls
        return round(self.slope * size.text + framing) + IMAGE_TOKENS * size.images


CALIBRATIONS: Final[tuple[tuple[tuple[str, ...], Calibration], ...]] = (
    (("claude",), Calibration(1.25, 3, 8, 35, 0.18)),
    (("gpt", "codex", "o1", "o3", "o4"), Calibration(1.0, 4, 4, 10, 0.2)),
    (("qwen", "qwq"), Calibration(1.02, 4, 4, 20, 0.2)),
    (("deepseek",), Calibration(1.06, 4, 4, 20, 0.2)),
    (("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral"), Calibration(1.07, 4, 4, 20, 0.2)),
)
"""By parts of a model's id. Claude's numbers come from 408 gaps between reported prompts and 431 reported outputs
of a real session; the other slopes from these vendors' own tokenizers on the same texts (o200k is OpenAI's own).
Their constants are not measured, so their errors are wider until a session's own usage narrows them."""
UNKNOWN_FAMILY: Final = Calibration(1.1, 4, 6, 20, 0.3)


def calibration_for(model_id: str | None) -> Calibration:
    """The calibration of a model's family, by its id (`claude-opus-4-5`, `qwen/qwen3-coder`)."""
    name = (model_id or "").lower()
    for parts, calibration in CALIBRATIONS:
        if any(part in name for part in parts):
            return calibration
    return UNKNOWN_FAMILY
