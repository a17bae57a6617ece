"""What a plan costs, beside pi: `python -m tests.benchmarks.plans [ENTRIES]`.

One session, with and without reported usage. Of pi the CPU of its own `prepareCompaction` on the open session; here
that of a plan, of an outline (a plan and the files that calls name) and a second one, of a draft (a plan and all that a
summary is made of) and a second one; and the bodies read.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pid.core.compaction import plan
from pid.core.prompts import Capacity
from pid.service.aside import Reader, aside
from pid.service.drafts import draft_of, outline_of
from pid.service.gauge import Snapshot
from pid.service.store import Resident
from tests.benchmarks.many import DOUBTFUL_SECONDS
from tests.benchmarks.sessions import Recipe, write
from tests.npm import Missing, find
from tests.pi import Pi
from tests.service.daemon import make_store, open_path

KEEP = 20_000


class Counting(Reader):
    """A reader like another that counts the bodies that it reads."""

    def __init__(self, reader: Reader) -> None:
        self.__dict__.update(reader.__dict__)
        self.read = 0

    def stored(self, rows: Sequence[int]) -> list[bytes]:
        self.read += len(rows)
        return super().stored(rows)


async def ours(path: Path) -> None:
    store = make_store(path.parent)
    resident: Resident = await open_path(store, path)
    session, gauge = resident.session, resident.compactor.gauge

    def draft(snapshot: Snapshot) -> None:
        found = draft_of(session.tree, snapshot, None, None, for_model=False)
        gauge.note(snapshot, found.filled)

    def outline(snapshot: Snapshot) -> None:
        found = outline_of(session.tree, snapshot, None, None, uses=resident.compactor.uses)
        found.outline(Capacity())
        gauge.note(snapshot, found.filled)

    makers: dict[str, Callable[[Snapshot], Any]] = {
        "plan": lambda found: plan(found.speech, found.estimator, found.limits),
        "outline": outline,
        "outline again": outline,
        "draft": draft,
        "draft again": draft,
    }

    def work(reader: Reader) -> None:
        for name, make in makers.items():
            counting, began = Counting(reader), time.thread_time()
            make(gauge.snapshot(session.leaf, counting))
            print(f"  {name:13} {1000 * (time.thread_time() - began):9.1f} ms of CPU  {counting.read:9,} bodies read")

    with ThreadPoolExecutor(1) as threads:
        await aside(threads, session, work)
    await store.close_all()


def pis(path: Path) -> None:
    try:
        pi = Pi(find(), path.parent, timeout=300.0)
    except Missing as reason:
        print(f"  pi: {reason}")
        return
    try:
        print(f"  {'pi 1.6.0':13} {pi.open(path).prepared_in(KEEP):9.1f} ms of CPU")
    finally:
        pi.stop()


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = write(Recipe(entries), Path(folder) / "session.jsonl")
        for name in ("usage reported", "no usage"):
            if name == "no usage":
                path.write_bytes(path.read_bytes().replace(b'"usage":{', b'"formerly":{'))
            time.sleep(DOUBTFUL_SECONDS)
            print(f"{entries:,} entries, {path.stat().st_size:,} bytes, {name}")
            asyncio.run(ours(path))
            pis(path)


if __name__ == "__main__":
    main()
