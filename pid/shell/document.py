"""One document that an editor has open: its text as it is edited, and what was read in it, up to date when asked.

All of it is for the one thread of `documents`. Of a document that does not begin with a session header nothing is
kept. Nothing here writes.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, UnsetType

from pid.core.pairs import Pairs, pairs_of
from pid.core.readable import Context, context_of
from pid.core.reading import Reading, is_session
from pid.core.text import Json, Lines, Place, Stretch, edited, first_difference, head_line, read_lines
from pid.core.tree import MISSING, ROOT, Tree
from pid.shell.lsp import ContentChange

_ALL: Final = 1 << 62


class Document:
    """See the module. `version` is the client's; `told` says whether problems were told of it."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.version = 0
        self.told = False
        self._lines: Lines | None = None  # None: no session when it was opened
        self._reading: Reading | None = None
        self._same = _ALL  # lines before this one are as they were read
        self._pairs: Pairs | None = None
        self._context: Context | None = None

    def open(self, text: Json, version: int) -> None:
        """Takes a whole text, a JSON string. Raises ValueError if it is none."""
        self.version = version
        if is_session(head_line(text)):
            self._take(read_lines(text), 0)
        else:
            self._lines = self._reading = None

    def change(self, changes: Iterable[ContentChange], version: int) -> None:
        """Takes edits, each of what the one before it left. Raises ValueError for a text that is no string."""
        self.version = version
        for change in changes:
            if change.range is None:
                self.open(change.text, version)
            elif self._lines is not None:
                start, end = change.range.start, change.range.end
                part = Stretch(Place(start.line, start.character), Place(end.line, end.character))
                self._take(edited(self._lines, part, read_lines(change.text)), start.line)

    def _take(self, lines: Lines, start: int) -> None:
        self._same = min(self._same, first_difference(self._lines or (), lines, max(start, 0)))
        self._lines = lines

    @property
    def reading(self) -> Reading | None:
        """What is in the text as it is now; None if it is no session. Reads what was not read yet."""
        if self._lines is None:
            return None
        if self._reading is None:
            self._reading = Reading(self._lines)
        elif self._reading.lines is not self._lines:
            self._reading = self._reading.follow(self._lines, self._same)
        elif self._same == _ALL:
            return self._reading if self._reading.is_session else None
        self._same, self._pairs, self._context = _ALL, None, None
        return self._reading if self._reading.is_session else None

    def pairs(self, reading: Reading) -> Pairs:
        """The tool calls and results of the present reading."""
        if self._pairs is None:
            self._pairs = pairs_of(reading)
        return self._pairs

    def context(self, reading: Reading, leaf_id: str | UnsetType | None) -> Context:
        """The context at a leaf (None: before the first entry); where the text says that it is, if it is UNSET or not
        in the text.
        """
        leaf = _row_of(reading.tree, leaf_id)
        if self._context is None or self._context.leaf != leaf:
            self._context = context_of(reading, leaf)
        return self._context


def _row_of(tree: Tree, leaf_id: str | UnsetType | None) -> int:
    if leaf_id is None:
        return ROOT
    row = MISSING if leaf_id is UNSET else tree.rows.get(leaf_id, MISSING)
    return tree.last if row == MISSING else tree.visible(row)
