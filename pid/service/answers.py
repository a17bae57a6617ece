"""The answers that carry entries and messages: a branch, entries, the context of a leaf.

They read and assemble, in slices of the loop's time, and change nothing. What gives a context is decided in
`core.context`. Entries and messages are joined slice by slice: one `Raw` of a list has all those of a slice, with
commas between them, so that a long answer is held once, in few pieces.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import UNSET, Raw

from pid.core.context import entries_in_effect, messages_in_effect
from pid.core.messages import llm_message
from pid.core.splice import without_image_data
from pid.core.tree import ROOT, Tree
from pid.errors import EntryNotFound
from pid.protocol import (
    AnthropicPayload,
    BranchParams,
    ContextParams,
    ContextResult,
    EntriesParams,
    EntriesResult,
)
from pid.service.pages import Page, begin, cursor_at, damaged_cursor, page_of, slices
from pid.service.payloads import payload_of
from pid.service.pruning import Found, found_slices, pruned
from pid.service.session import Session
from pid.service.turns import next_turn

Part = TypeVar("Part")
_Places = Iterator[tuple[int, int]]
"""Rows with the places that a cursor names them by."""

_NULL: Final = b"null"
_IMAGE_DATA: Final = "imageData"


async def get_branch(session: Session, params: BranchParams) -> EntriesResult:
    """The entries of the path to an entry, or to the leaf. Raises `EntryNotFound`, `InvalidCursor`."""
    page = begin(session, params, params.cursor)
    tree = session.tree
    end = page.leaf if params.entry_id is None else tree.find(params.entry_id)
    upwards = params.direction == "leafFirst"
    return await _entries(session, page, _climb(tree, page, end) if upwards else _rest(page, tree.path(end)), params)


async def get_entries(session: Session, params: EntriesParams) -> EntriesResult:
    """Entries by their ids, or in the order of the file. Raises `EntryNotFound`, `InvalidCursor`."""
    page = begin(session, params, params.cursor)
    tree = session.tree
    if params.ids is not None:
        return await _entries(
            session, page, _rest(page, [_shown(session, entry_id) for entry_id in params.ids]), params
        )
    first = 0
    if params.after is not None:
        tree.find(params.after)
        first = tree.rows[params.after] + 1
    return await _entries(session, page, _rest(page, range(first, page.rows)), params)


def _shown(session: Session, entry_id: str) -> int:
    row = session.tree.find(entry_id)
    if row == ROOT:
        raise EntryNotFound(f"{entry_id!r} marks the place before the first entry.", entryId=entry_id)
    return row


def _rest(page: Page, rows: Sequence[int]) -> _Places:
    """The rows from the page's place on; a place is an index."""
    return ((place, rows[place]) for place in range(page.place, len(rows)))


def _climb(tree: Tree, page: Page, row: int) -> _Places:
    """The rows from the page's place up to the root; a place is one more than the row, and 0 the beginning.

    So a page costs what it shows, however long the path is.
    """
    if page.place > page.rows:
        raise damaged_cursor()
    row = page.place - 1 if page.place else row
    while row >= 0:
        yield row + 1, row
        row = tree.parents[row]


async def _entries(
    session: Session, page: Page, places: _Places, params: BranchParams | EntriesParams
) -> EntriesResult:
    tree = session.tree
    shown, place = page_of(tree, places, params.limit)
    entries: list[Raw] = []
    for number, part in enumerate(slices(tree, shown)):
        if number:
            await next_turn()
        bodies = session.bodies(part)
        if _IMAGE_DATA in params.omit:
            bodies = [without_image_data(body) for body in bodies]
        entries.append(Raw(b",".join([body or _NULL for body in bodies])))
    return EntriesResult(
        entries=entries,
        entry_ids=[tree.ids[row] for row in shown],
        parent_ids=[tree.id_of(tree.parents[row]) for row in shown],
        leaf_id=tree.id_of(page.leaf),
        revision=page.revision,
        epoch=page.epoch,
        next_cursor=None if place is None else cursor_at(page, params, place),
    )


async def build_context(session: Session, params: ContextParams) -> ContextResult:
    """The messages that a model sees at a leaf. Raises `EntryNotFound`."""
    tree, revision, leaf = session.tree, session.revision, _leaf(session, params.leaf_id)
    effect = entries_in_effect(tree, leaf, session.bodies)
    warnings = list(effect.warnings)

    def read(rows: Sequence[int]) -> Found:
        return list(messages_in_effect(tree, effect, rows, session.messages(rows), warnings))

    found: Found | None = None
    if params.prune_tool_results:
        found = []
        for number, rows in enumerate(slices(tree, effect.rows)):
            if number:
                await next_turn()
            found += read(rows)
        found = await pruned(tree, found, params.prune_tool_results)
    messages: list[Raw] | None = None
    payload: AnthropicPayload | None = None
    if params.format == "anthropic":
        payload, entry_ids = await payload_of(session, effect, params, found, warnings)
    elif found is None:
        messages, entry_ids = await _joined(tree, slices(tree, effect.rows), read, for_llm=params.format == "llm")
    else:
        messages, entry_ids = await _joined(tree, found_slices(found), list, for_llm=params.format == "llm")
    return ContextResult(
        messages=messages,
        payload=payload,
        entry_ids=entry_ids,
        thinking_level=effect.thinking_level,
        model=effect.model,
        leaf_id=tree.id_of(leaf),
        revision=revision,
        epoch=session.epoch,
        warnings=warnings,
    )


async def _joined(
    tree: Tree, parts: Iterator[Part], read: Callable[[Part], Found], *, for_llm: bool
) -> tuple[list[Raw], list[list[str]]]:
    """Messages as they go out, and for each the entry that it came from; `read` gives those of a part."""
    messages: list[Raw] = []
    entry_ids: list[list[str]] = []
    for number, part in enumerate(parts):
        if number:
            await next_turn()
        found = read(part)
        if for_llm:
            seen = ((row, llm_message(tree.kinds[row], message)) for row, message in found)
            found = [(row, message) for row, message in seen if message is not None]
        if found:
            messages.append(Raw(b",".join([message for _, message in found])))
            entry_ids += [[tree.ids[row]] for row, _ in found]
    return messages, entry_ids


def _leaf(session: Session, leaf_id: object) -> int:
    """The row that `leafId` names: absent the leaf, null the place before the first entry."""
    if leaf_id is UNSET:
        return session.leaf
    return ROOT if leaf_id is None else session.tree.find(str(leaf_id))
