"""Old tool results made short, for one context: files and entries are never touched.

Which results go hangs on the messages alone. The newest are protected, failed ones and those of the last turns stay
whole, and the rest go from the oldest on, in steps of `minimum_saving`: the prompt stays the same, and cached, until
another step is worth it. Each shortened result says which entry holds it whole.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from pid.core.agent_message import Message, StoredImage, read
from pid.core.anthropic_types import Text
from pid.core.guess import guess_tokens
from pid.core.splice import with_member
from pid.core.tokens import IMAGE_TOKENS
from pid.entries import Kind
from pid.protocol import PruneToolResults

HEAD: Final = 200
"""So many characters of a shortened result stay."""
SHORT_TOKENS: Final = 100
"""What a shortened result takes at most; no result that takes less is shortened."""
WEIGHED_BYTES: Final = 2 << 10
"""So much of a text is weighed; the rest is taken to be like it."""
USER_SIDE: Final = frozenset(
    {Kind.USER, Kind.BASH, Kind.CUSTOM_ROLE, Kind.CUSTOM_MESSAGE, Kind.BRANCH_SUMMARY, Kind.COMPACTION}
)
"""The entries that begin a turn."""


class Result(NamedTuple):
    """A tool result as the rules see it: its token estimate, and whether it failed."""

    tokens: int
    failed: bool = False


def result_of(message: Raw) -> Result:
    """What a stored tool result weighs."""
    known = _read(message)
    texts = sum(_weight(memoryview(block.text)) for block in known.blocks if type(block) is Text)
    images = sum(type(block) is StoredImage for block in known.blocks)
    return Result(texts + images * IMAGE_TOKENS, known.is_error is True)


def _weight(text: memoryview) -> int:
    head = bytes(text[:WEIGHED_BYTES])
    return guess_tokens(head.decode(errors="replace")) * len(text) // len(head)


def results_to_shorten(results: dict[int, Result], turns: Sequence[int], limits: PruneToolResults) -> list[int]:
    """The places of the tool results to shorten, oldest first.

    `results` are all of them by their places, `turns` the places at which turns begin, both in order.
    """
    last_turns = _start_of_last_turns(turns, limits.keep_turns)
    newer = 0
    savings: dict[int, int] = {}  # newest first
    for place, (tokens, failed) in reversed(results.items()):
        if not failed:
            newer += tokens
            if (last_turns is None or place < last_turns) and newer > limits.protect_tokens and tokens > SHORT_TOKENS:
                savings[place] = tokens - SHORT_TOKENS
    return _oldest_worth(savings, limits.minimum_saving)


def _start_of_last_turns(turns: Sequence[int], count: int) -> int | None:
    """Where the last turns begin; None: no turn is kept."""
    if count == 0:
        return None
    return turns[-count] if count <= len(turns) else 0


def _oldest_worth(savings: dict[int, int], minimum: int) -> list[int]:
    """The oldest places that save together the largest multiple of the minimum that all of them can save."""
    total = sum(savings.values())
    goal = total // minimum * minimum if minimum else total
    chosen, saved = [], 0
    for place in reversed(savings):
        if saved >= goal:
            break
        chosen.append(place)
        saved += savings[place]
    return chosen


def shortened(message: Raw, entry_id: str) -> Raw:
    """A stored tool result of which the head is left, and where the whole of it is; as it is if the head is all."""
    known = _read(message)
    texts = [msgspec.json.decode(block.text) for block in known.blocks if type(block) is Text]
    text = "\n".join(part for part in texts if isinstance(part, str))
    left_out = _left_out(text, known)
    if not left_out:
        return message
    note = f"[Shortened: {' and '.join(left_out)} left out. The entry {entry_id} holds the whole result.]"
    content = [{"type": "text", "text": f"{text[:HEAD]}\n{note}" if text else note}]
    return Raw(with_member(message, "content", msgspec.json.encode(content)))


def _left_out(text: str, message: Message) -> list[str]:
    images = sum(type(block) is StoredImage for block in message.blocks)
    others = sum(type(block) not in (Text, StoredImage) for block in message.blocks)
    return [
        *([f"{len(text) - HEAD:,} of {len(text):,} characters"] if len(text) > HEAD else []),
        *([f"{images} image(s)"] if images else []),
        *([f"{others} other block(s)"] if others else []),
    ]


def _read(message: Raw) -> Message:
    return read(message, lambda kind, detail: None)
