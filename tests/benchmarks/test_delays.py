"""Delays are those of the small requests that were sent while the large one was under way."""

from __future__ import annotations

import time
from pathlib import Path

from tests.benchmarks.delays import PERIOD, delays
from tests.benchmarks.sessions import Recipe, write
from tests.benchmarks.wire import Daemon


def test_small_requests_are_sent_and_answered_meanwhile(tmp_path: Path) -> None:
    large = "session/open", {"path": str(write(Recipe(10_000), tmp_path / "large.jsonl"))}
    with Daemon() as daemon:
        state = {"sessionId": daemon.result("session/create", {"cwd": "/", "inMemory": True})["sessionId"]}
        started = time.perf_counter()
        waited = delays(daemon, large, ("session/getState", state))
        taken = time.perf_counter() - started
        assert 0 < len(waited) <= taken / PERIOD + 1
        assert all(0 < each < taken for each in waited)
        assert daemon.result("session/getState", state)["entryCount"] == 0  # no reply was left behind
