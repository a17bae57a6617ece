"""The Messages API's form both ways: a payload of the context, and a raw message as entries.

What a payload may hold, and what becomes of a raw message, is decided in the core; here it is read, in slices of the
loop's time, and planned in the order of writes.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from pid.core.agent_message import AgentMessage, Message, read_entry
from pid.core.anthropic_format import PayloadBuilder
from pid.core.anthropic_messages import find_call, stored_entries
from pid.core.appending import read_sent
from pid.core.context import InEffect, messages_in_effect
from pid.core.guess import guess_tokens
from pid.core.overlay import Overlay, Planned, Stamp, plan_append
from pid.core.prune import results_to_shorten, shortened
from pid.core.tree import Tree
from pid.entries import ROLE_NAMES, DamagedLine, Kind, canonical_ms, read_body
from pid.errors import InvalidParams
from pid.protocol import (
    AnthropicPayload,
    AppendParams,
    ContextParams,
    ContextWarning,
    PruneToolResults,
)
from pid.service.pages import slices
from pid.service.session import Session
from pid.service.turns import next_turn

Found = list[tuple[int, Raw]]
"""The agent messages of a context, each with its row."""

_PLAIN_KINDS = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT})
_ROLES: dict[int, str] = {
    **ROLE_NAMES,
    Kind.CUSTOM_MESSAGE: "custom",
    Kind.BRANCH_SUMMARY: "branchSummary",
    Kind.COMPACTION: "compactionSummary",
}


async def payload_of(
    session: Session, effect: InEffect, params: ContextParams, found: Found | None, warnings: list[ContextWarning]
) -> tuple[AnthropicPayload, list[list[str]]]:
    """The payload of a context, and for each of its messages the entries that it came from.

    `found` are its messages where they were read already (shortened ones). Adds to `warnings` what was mended.
    """
    builder = PayloadBuilder(params.context_model or effect.model)
    ids = session.tree.ids
    if found is not None:
        for row, message in found:
            builder.add(message, [ids[row]])
    else:
        for part in slices(session.tree, effect.rows):
            for row, said in _read(session.tree, effect, part, session.bodies(part), warnings):
                builder.add(said, [ids[row]])
            await next_turn()
    made = builder.finish(cache_breakpoints=params.cache_breakpoints or 0, trailing_assistant=params.trailing_assistant)
    warnings += made.warnings
    return AnthropicPayload(**made.payload), made.entry_ids


def _read(
    tree: Tree, effect: InEffect, rows: Sequence[int], bodies: Sequence[bytes], warnings: list[ContextWarning]
) -> Iterator[tuple[int, AgentMessage]]:
    """The messages of a slice: plain ones straight from the entry, all others through the context's rules."""
    for row, body in zip(rows, bodies, strict=True):
        plain = body and tree.kinds[row] in _PLAIN_KINDS and row not in effect.edits
        message = read_entry(body) if plain else None
        if message is not None:
            yield row, message
        else:
            yield from messages_in_effect(tree, effect, [row], [body], warnings)


def pruned(tree: Tree, found: Found, limits: PruneToolResults) -> Found:
    """The messages with old tool results shortened."""
    messages = [message for _, message in found]
    roles = [_ROLES.get(tree.kinds[row], "") for row, _ in found]
    places = results_to_shorten(
        roles, lambda at: guess_tokens(bytes(messages[at]).decode()), lambda at: _failed(messages[at]), limits
    )
    kept = list(found)
    for at in places:
        row, message = found[at]
        short = shortened(message, tree.ids[row])
        kept[at] = row, short if isinstance(short, Raw) else message
    return kept


class _Outcome(msgspec.Struct, rename="camel"):
    is_error: bool | None = None


_outcome = msgspec.json.Decoder(_Outcome).decode


def _failed(message: Raw) -> bool:
    try:
        return bool(_outcome(message).is_error)
    except (msgspec.DecodeError, RecursionError):
        return False


# The way back


def plan_api_message(params: AppendParams, told: list[ContextWarning], overlay: Overlay, stamp: Stamp) -> Planned:
    """Plans the entries that a raw API message becomes, in one write; adds to `told` what is not sent again.

    Raises `InvalidParams` (`message.…`) and what `plan_append` raises.
    """
    try:
        message = read_body(bytes(params.message))
    except DamagedLine as error:
        raise InvalidParams(f"message: {error}", path="message") from None
    above = params.parent_id if isinstance(params.parent_id, str) else overlay.leaf_id
    stored = stored_entries(
        message,
        canonical_ms(stamp[1]),
        model=params.model,
        find=lambda call_id: find_call(call_id, _replies_above(overlay, above)),
    )
    told += stored.warnings
    entries = [read_sent(msgspec.json.encode(entry), "message") for entry in stored.entries]
    return plan_append(overlay, params, entries, stamp)


def _replies_above(overlay: Overlay, entry_id: str | None) -> Iterator[Message]:
    """The assistant's messages on the path to an entry, the newest first."""
    at = None if entry_id is None or not overlay.knows(entry_id) else overlay.resolve(entry_id)
    while at is not None:
        if overlay.is_kind(at, Kind.ASSISTANT) and (message := read_entry(overlay.line_of(at) or b"{}")) is not None:
            yield message
        at = overlay.parent_of(at)
