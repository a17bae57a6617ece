"""A search in an open session for what people remember: its name, labels, the first words of the user's messages."""

from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import islice

from pid.adapters.journal import Journal
from pid.adapters.memory import MemoryJournal
from pid.core.context import Bodies
from pid.core.outline import Landmark, landmark_rows, landmarks
from pid.core.previews import preview, read_line
from pid.core.spans import READ_BYTES
from pid.core.tree import ROOT, Tree
from pid.service.aside import aside
from pid.service.session import SLICE_ROWS, Session

Found = list[tuple[Landmark, int]]
"""Landmarks, each with its line, from 0."""


async def find_landmarks(threads: Executor, session: Session, query: str, limit: int) -> Found:
    """What in a session has `query` in its name, at most `limit`. Raises `ReadFailed`, `SessionChangedOnDisk`."""

    def work(bodies: Bodies) -> Found:
        journal, tree = session.journal, session.tree
        found = landmarks(tree, session.session_id, _previews(tree, bodies), query)
        return list(_with_lines(journal, tree, islice(found, limit)))

    return await aside(threads, session, work)


def _previews(tree: Tree, bodies: Bodies) -> Iterator[tuple[int, str | None]]:
    rows, kinds = landmark_rows(tree), tree.kinds
    for first in range(0, len(rows), SLICE_ROWS):
        part = rows[first : first + SLICE_ROWS]
        for row, body in zip(part, bodies(part), strict=True):
            yield row, preview(kinds[row], read_line(body)) if body else None


def _with_lines(
    journal: Journal | MemoryJournal, tree: Tree, found: Iterator[Landmark]
) -> Iterator[tuple[Landmark, int]]:
    """Counts the lines before each: rows ascend, so each byte is looked at once."""
    at = line = 0
    for landmark in found:
        stop = at if landmark.row == ROOT else tree.starts[landmark.row]
        while at < stop:
            size = min(READ_BYTES, stop - at)
            line += journal.read([(at, size)])[0].count(b"\n")
            at += size
        yield landmark, 0 if landmark.row == ROOT else line
