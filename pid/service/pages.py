"""Pages of long answers: cursors that pin what all pages of one answer show, and where a page ends.

A cursor is opaque to clients. It is bound to the call that began the answer, to the session's epoch and to a
revision; it holds no state in the daemon, so it costs nothing and outlives nothing but its session.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from pid.core.tree import Tree
from pid.errors import InvalidCursor
from pid.protocol import MAX_PAGE_BYTES, Wire
from pid.service.session import SLICE_ROWS, Session

SLICE_BYTES: Final = 1 << 20
"""Stored bytes that one slice of an answer handles: a few milliseconds of the loop's time."""
NODE_BYTES: Final = 200
"""What an entry costs on a page beside its own bytes: ids and punctuation."""


class Page(msgspec.Struct, frozen=True, array_like=True):
    """Where an answer stands: `place` of its order comes next, of the tree as it was when the answer began.

    `call` is only told by a cursor; `rows` is the tree's length then; `leaf` the row of the leaf.
    """

    call: str
    epoch: str
    revision: int
    rows: int
    leaf: int
    place: int = 0


def begin(session: Session, params: Wire, cursor: str | None) -> Page:
    """The page that a request asks for: the first one, or the one that its cursor names. Raises `InvalidCursor`."""
    if cursor is None:
        return Page("", session.epoch, session.revision, len(session.tree), session.leaf)
    page = _decoded(cursor)
    if page.call != call_of(params):
        raise InvalidCursor("This cursor belongs to another call, or to other params; begin without a cursor.")
    if page.epoch != session.epoch:
        raise InvalidCursor("The session was opened anew since this cursor was given; begin without a cursor.")
    sound = page.place >= 0 and 0 <= page.rows <= len(session.tree) and -1 <= page.leaf < page.rows
    if not sound or not 0 <= page.revision <= session.revision:
        raise damaged_cursor()
    return page


def damaged_cursor() -> InvalidCursor:
    """The error for a cursor that this daemon cannot have given."""
    return InvalidCursor("This cursor is damaged; begin without a cursor.")


def cursor_at(page: Page, params: Wire, place: int) -> str:
    """The cursor of the page that begins at `place`, for a call with these params."""
    next_page = msgspec.structs.replace(page, call=call_of(params), place=place)
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(next_page)).decode()


def _decoded(cursor: str) -> Page:
    try:
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(cursor.encode()), type=Page)
    except ValueError:
        raise InvalidCursor("This is no cursor of this daemon; begin without a cursor.") from None


def call_of(params: Wire) -> str:
    """What a cursor of this call is bound to: the params but for the page."""
    whole = msgspec.structs.replace(params, cursor=None, limit=None)
    digest = hashlib.blake2b(type(params).__name__.encode(), digest_size=8)
    digest.update(msgspec.json.encode(whole))
    return digest.hexdigest()


def page_of(tree: Tree, places: Iterable[tuple[int, int]], limit: int | None) -> tuple[list[int], int | None]:
    """The rows of a page out of rows with their places, and the place where the next page begins, if there is one.

    A page ends at `limit`, or before it grows past `MAX_PAGE_BYTES`. Hidden rows are left out and count for nothing;
    the page has a row if there is a visible one left.
    """
    shown: list[int] = []
    room = MAX_PAGE_BYTES
    for place, row in places:
        if tree.is_hidden(row):
            continue
        size = tree.sizes[row] + NODE_BYTES
        if shown and (len(shown) == limit or room < size):
            return shown, place
        shown.append(row)
        room -= size
    return shown, None


def slices(tree: Tree, rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """The rows in parts that hold the loop for a few milliseconds each."""
    start = size = 0
    for place, row in enumerate(rows):
        if place > start and (size + tree.sizes[row] > SLICE_BYTES or place - start >= SLICE_ROWS):
            yield rows[start:place]
            start, size = place, 0
        size += tree.sizes[row]
    if start < len(rows):
        yield rows[start:]
