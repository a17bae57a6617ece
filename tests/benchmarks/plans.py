"""What a plan costs, beside pi: `python -m tests.benchmarks.plans [ENTRIES]`.

One session, with and without reported usage. Of pi the CPU of its own `prepareCompaction` on the open session; here
that of a plan, of a draft (a plan and all that a summary is made of), and of a second draft; and the bodies read.
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
from pid.core.context import Bodies
from pid.service.aside import aside
from pid.service.drafts import draft_of
from pid.service.gauge import Snapshot
from pid.service.store import Resident
from tests.benchmarks.sessions import Recipe, write
from tests.npm import Missing, find
from tests.pi import Pi
from tests.service.daemon import make_store, open_path

KEEP = 20_000


async def ours(path: Path) -> None:
    store = make_store(path.parent)
    resident: Resident = await open_path(store, path)
    session, gauge = resident.session, resident.compactor.gauge

    def draft(snapshot: Snapshot) -> None:
        found = draft_of(session.tree, snapshot, None, None, for_model=False)
        gauge.note(snapshot, found.filled)

    makers: dict[str, Callable[[Snapshot], Any]] = {
        "plan": lambda found: plan(found.speech, found.estimator, found.limits),
        "draft": draft,
        "draft again": draft,
    }

    def work(bodies: Bodies) -> None:
        for name, make in makers.items():
            read, began = 0, time.thread_time()

            def counting(rows: Sequence[int]) -> list[bytes]:
                nonlocal read
                read += len(rows)
                return bodies(rows)

            make(gauge.snapshot(session.leaf, counting))
            print(f"  {name:12} {1000 * (time.thread_time() - began):9.1f} ms of CPU  {read:9,} bodies read")

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
        print(f"  {'pi 1.6.0':12} {pi.open(path).prepared_in(KEEP):9.1f} ms of CPU")
    finally:
        pi.stop()


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = write(Recipe(entries), Path(folder) / "session.jsonl")
        for name in ("usage reported", "no usage"):
            if name == "no usage":
                path.write_bytes(path.read_bytes().replace(b'"usage":{', b'"formerly":{'))
            print(f"{entries:,} entries, {path.stat().st_size:,} bytes, {name}")
            asyncio.run(ours(path))
            pis(path)


if __name__ == "__main__":
    main()
