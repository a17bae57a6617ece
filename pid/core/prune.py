"""Old tool results made short, for one context: files and entries are never touched.

Which results go hangs on the messages alone. The newest are protected, failed ones and those of the last turns stay
whole, and the rest go from the oldest on, in steps of `minimum_saving`: the prompt stays the same, and cached, until
another step is worth it. Each shortened result says which entry holds it whole.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from pid.core.agent_message import AgentMessage, Message, read
from pid.core.anthropic_types import Text
from pid.core.splice import with_member
from pid.protocol import PruneToolResults

HEAD: Final = 200
"""So many characters of a shortened result stay."""
SHORT_TOKENS: Final = 100
"""What a shortened result takes at most; no result that takes less is shortened."""
USER_SIDE: Final = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
"""The roles that begin a turn."""


def results_to_shorten(
    roles: Sequence[str],
    tokens: Callable[[int], int],
    failed: Callable[[int], bool],
    limits: PruneToolResults,
) -> list[int]:
    """The places of the tool results to shorten, oldest first.

    `tokens` estimates a message, `failed` says whether a result is an error; both are asked about tool results alone.
    """
    last_turns = _start_of_last_turns(roles, limits.keep_turns)
    newer = 0
    savings: dict[int, int] = {}  # newest first
    for at in range(len(roles) - 1, -1, -1):
        if roles[at] == "toolResult" and not failed(at):
            size = tokens(at)
            newer += size
            if at < last_turns and newer > limits.protect_tokens and size > SHORT_TOKENS:
                savings[at] = size - SHORT_TOKENS
    return _oldest_worth(savings, limits.minimum_saving)


def _start_of_last_turns(roles: Sequence[str], count: int) -> int:
    starts = [at for at, role in enumerate(roles) if role in USER_SIDE]
    return starts[-count] if 0 < count <= len(starts) else 0 if count else len(roles)


def _oldest_worth(savings: dict[int, int], minimum: int) -> list[int]:
    """The oldest places that save together the largest multiple of the minimum that all of them can save."""
    total = sum(savings.values())
    goal = total // minimum * minimum if minimum else total
    chosen, saved = [], 0
    for at in reversed(savings):
        if saved >= goal:
            break
        chosen.append(at)
        saved += savings[at]
    return chosen


def shortened(message: AgentMessage, entry_id: str) -> AgentMessage:
    """A tool result of which the head is left, and where the whole of it is."""
    known = read(message, lambda kind, detail: None)
    content = [{"type": "text", "text": _short_text(known, entry_id)}]
    if isinstance(message, dict):
        return message | {"content": content}
    if isinstance(message, Message):
        return msgspec.structs.replace(message, content=[Text(text=Raw(msgspec.json.encode(content[0]["text"])))])
    return Raw(with_member(Raw(message), "content", msgspec.json.encode(content)))


def _short_text(message: Message, entry_id: str) -> str:
    texts = [msgspec.json.decode(block.text) for block in message.blocks if type(block) is Text]
    text = "\n".join(part for part in texts if isinstance(part, str))
    images = len(message.blocks) - len(texts)
    left_out = [f"{len(text) - HEAD:,} of {len(text):,} characters"] if len(text) > HEAD else []
    left_out += [f"{images} image(s)"] if images else []
    note = f"[Shortened: {' and '.join(left_out) or 'nothing'} left out. The entry {entry_id} holds the whole result.]"
    return f"{text[:HEAD]}\n{note}" if text else note
