"""Which files the tool calls of a session name, by entry: what a preview of a compaction reads a whole history for.

What was found is kept, a few bytes for each call, for as long as the file looks as it did when it was read; once it
changed, whoever changed it (an append is enough), all of it is read again. It is used in threads, and knows nothing of
plans.
"""

from array import array
from collections.abc import Sequence
from itertools import compress
from threading import Lock
from typing import Final
from weakref import ref

from pid.adapters.looks import Look, is_settled, look_at
from pid.adapters.memory import MemoryJournal
from pid.core.context import marks_of, rows_of_kinds
from pid.core.files import Use
from pid.core.stored_calls import uses_in_body, uses_in_line
from pid.core.tree import Tree
from pid.entries import MESSAGE_KINDS
from pid.service.aside import Reader
from pid.service.session import SLICE_ROWS, Session

_NS_PER_MS: Final = 1_000_000
_MESSAGES: Final = marks_of(*MESSAGE_KINDS)


class FileUses:
    """How the calls of one session use files; see the module."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self._found: _Found | None = None

    def of(self, tree: Tree, rows: Sequence[int], reader: Reader) -> set[Use]:
        """How the calls of these rows use files, as they are stored. Raises what the reader raises."""
        with self._lock:
            return self._read(tree, rows, reader).of(rows)

    def read(self, tree: Tree, rows: Sequence[int], reader: Reader) -> None:
        """Reads what `of` will tell of these rows."""
        with self._lock:
            self._read(tree, rows, reader)

    def _read(self, tree: Tree, rows: Sequence[int], reader: Reader) -> "_Found":
        look, now_ns = _look(reader), self._session.around.now() * _NS_PER_MS
        found = self._found
        if found is None or not found.holds(look, reader):
            found = self._found = _Found(look, now_ns, reader)
        found.read(tree, rows, reader)
        return found


def _look(reader: Reader) -> Look | None:
    """How the session's file looks; None for one in memory, and where another file has its name."""
    journal = reader.journal
    if isinstance(journal, MemoryJournal):
        return None
    look = look_at(journal.path)
    return look if look is not None and look[:2] == journal.identity else None


class _Found:
    """What was read of a file since it looked so; `now_ns` is when `reader` began (ns since 1970)."""

    def __init__(self, look: Look | None, now_ns: int, reader: Reader) -> None:
        self._reader = ref(reader)
        self._look = look
        self._is_kept = look is not None and is_settled(look, now_ns)
        self._is_read = bytearray()  # by row
        self._rows = array("I")
        self._uses = array("I")  # what each of `_rows` uses: places in `_known`
        self._known: dict[Use, int] = {}

    def holds(self, look: Look | None, reader: Reader) -> bool:
        """Whether what was read still counts: the file looks as it did, or the same work, by its reader, goes on."""
        return self._reader() is reader or (self._is_kept and look == self._look)

    def of(self, rows: Sequence[int]) -> set[Use]:
        """The uses of these rows, which were read."""
        wanted = bytearray(len(self._is_read))
        for row in rows:
            wanted[row] = True
        known = list(self._known)
        return {known[place] for place in set(compress(self._uses, map(wanted.__getitem__, self._rows)))}

    def read(self, tree: Tree, rows: Sequence[int], reader: Reader) -> None:
        """Reads what was not read yet of these rows."""
        kinds, is_read = tree.kinds, self._is_read
        is_read.extend(bytes(len(tree) - len(is_read)))
        fresh = rows_of_kinds(tree, [row for row in rows if not is_read[row]], _MESSAGES)
        for first in range(0, len(fresh), SLICE_ROWS):
            part = fresh[first : first + SLICE_ROWS]
            for row, raw in zip(part, reader.stored(part), strict=True):
                found = uses_in_line(raw)
                for use in found if found is not None else _unusual(kinds[row], row, reader):
                    self._rows.append(row)
                    self._uses.append(self._known.setdefault(use, len(self._known)))
                is_read[row] = True


def _unusual(kind: int, row: int, reader: Reader) -> Sequence[Use]:
    [body] = reader((row,))
    return uses_in_body(kind, body) if body else ()
