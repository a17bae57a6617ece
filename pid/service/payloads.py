"""The payload of a context for the Messages API, made in slices of the loop's time.

What a payload may hold is decided in the core; here its messages are read and handed on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pid.core.agent_message import AgentMessage, read_entry
from pid.core.anthropic_format import PayloadBuilder
from pid.core.context import InEffect, messages_in_effect
from pid.entries import Kind
from pid.protocol import AnthropicPayload, ContextParams, ContextWarning
from pid.service.pages import slices
from pid.service.pruning import Found, found_slices
from pid.service.session import Session
from pid.service.turns import next_turn

_PLAIN_KINDS = frozenset({Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT})


async def payload_of(
    session: Session, effect: InEffect, params: ContextParams, found: Found | None, warnings: list[ContextWarning]
) -> tuple[AnthropicPayload, list[list[str]]]:
    """The payload of a context, and for each of its messages the entries that it came from.

    `found` are its messages where they were read already (pruned ones). Adds to `warnings` what was mended.
    """
    builder, ids = PayloadBuilder(params.context_model or effect.model), session.tree.ids
    parts: Iterator[Any] = slices(session.tree, effect.rows) if found is None else found_slices(found)
    for number, part in enumerate(parts):
        if number:
            await next_turn()
        for row, message in _read(session, effect, part, warnings) if found is None else part:
            builder.add(message, [ids[row]])
    made = builder.finish(cache_breakpoints=params.cache_breakpoints or 0, trailing_assistant=params.trailing_assistant)
    warnings += made.warnings
    return AnthropicPayload(**made.payload), made.entry_ids


def _read(
    session: Session, effect: InEffect, rows: Sequence[int], warnings: list[ContextWarning]
) -> Iterator[tuple[int, AgentMessage]]:
    """The messages of a slice: plain ones straight from the entry, all others through the context's rules."""
    tree = session.tree
    for row, body in zip(rows, session.bodies(rows), strict=True):
        plain = body and tree.kinds[row] in _PLAIN_KINDS and row not in effect.edits
        message = read_entry(body) if plain else None
        if message is not None:
            yield row, message
        else:
            yield from messages_in_effect(tree, effect, [row], [body], warnings)
