"""The answers that carry entries and messages: a branch, entries, the context of a leaf.

They read and assemble, in slices of the loop's time, and change nothing. What gives a context is decided in
`core.context`.
"""

from collections.abc import Sequence
from typing import Final

import anyio.lowlevel
from msgspec import UNSET, Raw

from pid.core.context import entries_in_effect, messages_in_effect
from pid.core.messages import llm_message
from pid.core.splice import without_image_data
from pid.core.tree import ROOT
from pid.errors import EntryNotFound
from pid.protocol import BranchParams, ContextParams, ContextResult, EntriesParams, EntriesResult
from pid.service.pages import Page, begin, cursor_at, page_end, slices
from pid.service.session import Session

_NULL: Final = Raw(b"null")
_IMAGE_DATA: Final = "imageData"


async def get_branch(session: Session, params: BranchParams) -> EntriesResult:
    """The entries of the path to an entry, or to the leaf. Raises `EntryNotFound`, `InvalidCursor`."""
    page = begin(session, params, params.cursor)
    rows = session.tree.path(page.leaf if params.entry_id is None else session.tree.find(params.entry_id))
    if params.direction == "leafFirst":
        rows.reverse()
    return await _entries(session, page, rows, params)


async def get_entries(session: Session, params: EntriesParams) -> EntriesResult:
    """Entries by their ids, or in the order of the file. Raises `EntryNotFound`, `InvalidCursor`."""
    page = begin(session, params, params.cursor)
    tree = session.tree
    if params.ids is not None:
        return await _entries(session, page, [_shown(session, entry_id) for entry_id in params.ids], params)
    first = 0
    if params.after is not None:
        tree.find(params.after)
        first = tree.rows[params.after] + 1
    return await _entries(session, page, range(first, page.rows), params)


def _shown(session: Session, entry_id: str) -> int:
    row = session.tree.find(entry_id)
    if row == ROOT:
        raise EntryNotFound(f"{entry_id!r} marks the place before the first entry.", entryId=entry_id)
    return row


async def _entries(
    session: Session, page: Page, rows: Sequence[int], params: BranchParams | EntriesParams
) -> EntriesResult:
    tree = session.tree
    stop = page_end(tree, rows, page.place, params.limit)
    shown = [row for row in rows[page.place : stop] if not tree.is_hidden(row)]
    entries: list[Raw] = []
    for part in slices(tree, shown):
        bodies = session.bodies(part)
        if _IMAGE_DATA in params.omit:
            bodies = [without_image_data(body) for body in bodies]
        entries += [Raw(body) if body else _NULL for body in bodies]
        await anyio.lowlevel.checkpoint()
    return EntriesResult(
        entries=entries,
        entry_ids=[tree.ids[row] for row in shown],
        parent_ids=[tree.id_of(tree.parents[row]) for row in shown],
        leaf_id=tree.id_of(page.leaf),
        revision=page.revision,
        epoch=page.epoch,
        next_cursor=cursor_at(page, stop) if stop < len(rows) else None,
    )


async def build_context(session: Session, params: ContextParams) -> ContextResult:
    """The messages that a model sees at a leaf. Raises `EntryNotFound`."""
    tree, revision, leaf = session.tree, session.revision, _leaf(session, params.leaf_id)
    effect = entries_in_effect(tree, leaf, session.bodies)
    warnings = list(effect.warnings)
    messages: list[Raw] = []
    entry_ids: list[list[str]] = []
    for part in slices(tree, effect.rows):
        for row, message in messages_in_effect(tree, effect, part, session.bodies(part), warnings):
            shown = message if params.format == "agent" else llm_message(tree.kinds[row], message)
            if shown is not None:
                messages.append(shown)
                entry_ids.append([tree.ids[row]])
        await anyio.lowlevel.checkpoint()
    return ContextResult(
        messages=messages,
        entry_ids=entry_ids,
        thinking_level=effect.thinking_level,
        model=effect.model,
        leaf_id=tree.id_of(leaf),
        revision=revision,
        epoch=session.epoch,
        warnings=warnings,
    )


def _leaf(session: Session, leaf_id: object) -> int:
    """The row that `leafId` names: absent the leaf, null the place before the first entry."""
    if leaf_id is UNSET:
        return session.leaf
    return ROOT if leaf_id is None else session.tree.find(str(leaf_id))
