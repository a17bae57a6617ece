"""How long other requests wait while a long history is read or planned: `python -m tests.benchmarks.latency [ENTRIES]`.

A session that was never compacted and has no reported usage is made into payloads, and compacted by the offline
summarizer; meanwhile another session is appended to and asked for its state, one request after the other.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from msgspec import Raw

from pid.client import Client, raw
from pid.protocol import InitializationOptions
from tests.benchmarks.sessions import Recipe, write

PAYLOADS: dict[str, dict[str, object]] = {
    "payload": {"cacheBreakpoints": 4},
    "payload, pruned": {"pruneToolResults": {}},
}
ENTRY = raw({"type": "message", "message": {"role": "user", "content": "x" * 200}})


async def asked(client: Client, session_id: str, until: asyncio.Future[object]) -> list[float]:
    """Seconds of each append and each look at the state, until something is done."""
    taken: list[float] = []
    while not until.done():
        for call in (
            client.session.append(session_id=session_id, entry=ENTRY),
            client.session.get_state(session_id=session_id),
        ):
            began = time.perf_counter()
            await call
            taken.append(time.perf_counter() - began)
        await asyncio.sleep(0.005)
    return taken


def told(name: str, taken: list[float]) -> str:
    ordered = sorted(taken)
    worst, most = ordered[-1] * 1000, ordered[len(ordered) * 99 // 100] * 1000
    figures = f"median {median(taken) * 1000:6.2f} ms   99 % within {most:7.2f} ms   worst {worst:7.2f} ms"
    return f"{name:16} {len(taken):6} requests   {figures}"


async def measure(entries: int, folder: Path) -> None:
    path = write(Recipe(entries), folder / "long.jsonl")
    text = path.read_bytes().replace(b'"usage":{', b'"formerly":{')
    path.write_bytes(text)
    print(f"{entries:,} entries, {len(text):,} bytes, no usage")
    async with Client.spawn(log="discard", options=InitializationOptions(session_dir=str(folder))) as client:
        other = (await client.session.create(cwd="/p")).session_id
        print(told("idle", await asked(client, other, asyncio.ensure_future(asyncio.sleep(3)))))
        long = (await client.session.open(path=str(path))).session_id
        for name, more in PAYLOADS.items():
            began = time.perf_counter()
            params = {"sessionId": long, "format": "anthropic", **more}
            call = asyncio.ensure_future(client.call("session/buildContext", params, Raw))
            print(told(name, await asked(client, other, call)), f"  took {time.perf_counter() - began:.1f} s")
        for name in ("preview", "preview again"):
            began = time.perf_counter()
            call = asyncio.ensure_future(client.session.preview_compaction(session_id=long))
            print(told(name, await asked(client, other, call)), f"  took {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        call = asyncio.ensure_future(client.session.compact(session_id=long, summarizer="extractive"))
        print(told("compaction", await asked(client, other, call)), f"  took {time.perf_counter() - began:.1f} s")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Path(folder)))


if __name__ == "__main__":
    main()
