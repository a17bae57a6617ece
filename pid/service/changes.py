"""What changed in a session, by revision: for `since`, and for the notification of each change."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import UNSET, UnsetType


@dataclass(frozen=True, slots=True)
class Changed:
    """One change: the rows it added, older rows that look different now, the leaf, and what made it.

    `previous_leaf_id` is UNSET if the leaf did not move; `name` is the new name ("" if cleared), None if it stayed.
    """

    revision: int
    rows: tuple[int, ...]
    touched: tuple[int, ...]
    leaf_id: str | None
    previous_leaf_id: str | UnsetType | None
    name: str | None
    cause: str


class ChangeLog:
    """The revisions of one epoch. Rows only grow, so a revision is remembered as a number of rows."""

    def __init__(self) -> None:
        self._row_marks = array("Q", [0])
        self._touched: list[tuple[int, int]] = []

    def begin(self, rows: int) -> None:
        """The rows that loading found are revision 0."""
        self._row_marks[0] = rows

    @property
    def revision(self) -> int:
        """The number of changes since loading."""
        return len(self._row_marks) - 1

    def add(self, rows_end: int, touched: Iterable[int] = ()) -> int:
        """Counts one change and returns its revision."""
        self._row_marks.append(max(rows_end, self._row_marks[-1]))
        self._touched += [(self.revision, row) for row in sorted(touched)]
        return self.revision

    def since(self, revision: int) -> tuple[range, list[int]] | None:
        """The rows added after a revision, and the older ones that look different; None if there was none such."""
        if not 0 <= revision <= self.revision:
            return None
        added = range(self._row_marks[revision], self._row_marks[-1])
        later = self._touched[bisect_right(self._touched, (revision, 1 << 62)) :]
        return added, sorted({row for _, row in later if row < added.start})


def moved(before: str | None, after: str | None) -> str | UnsetType | None:
    """The leaf before a change, or UNSET if it did not move."""
    return UNSET if before == after else before


def renamed(before: str | None, after: str | None) -> str | None:
    """The name after a change ("" if it was cleared), or None if it stayed."""
    return None if before == after else after or ""
