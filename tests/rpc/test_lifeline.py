"""The watch on a process, with and without pidfd; what is not watched."""

import asyncio
import os
import subprocess
import sys

import pytest

from pid.shell.lifeline import watch_process

SLEEPER = [sys.executable, "-c", "input()"]


def no_pidfd(pid: int, flags: int = 0) -> int:
    raise OSError("not on this system")


@pytest.mark.parametrize("how", ["pidfd", "looking"])
async def test_the_end_of_a_process_is_told_once(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "looking":
        monkeypatch.setattr(os, "pidfd_open", no_pidfd, raising=False)
    told: asyncio.Queue[str] = asyncio.Queue()
    with subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as process:
        watch_process(process.pid, lambda: told.put_nowait("gone"))
        await asyncio.sleep(0.3)
        assert told.empty()
        process.kill()
        await asyncio.to_thread(process.wait)
        assert await asyncio.wait_for(told.get(), 5) == "gone"
    await asyncio.sleep(0.3)
    assert told.empty()


@pytest.mark.parametrize("how", ["pidfd", "looking"])
async def test_a_watch_that_is_stopped(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "looking":
        monkeypatch.setattr(os, "pidfd_open", no_pidfd, raising=False)
    told: list[str] = []
    with subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as process:
        stop = watch_process(process.pid, lambda: told.append("gone"))
        stop()
        stop()
        process.kill()
    await asyncio.sleep(0.4)
    assert told == []


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40, 2**70])
async def test_what_is_not_there_is_not_watched(pid: int) -> None:
    told: list[str] = []
    watch_process(pid, lambda: told.append("gone"))()
    watch_process(pid, lambda: told.append("gone"))
    await asyncio.sleep(0.3)
    assert told == []


async def test_no_signal_is_ever_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a signal was sent"))
    monkeypatch.setattr(os, "pidfd_open", no_pidfd, raising=False)
    stop = watch_process(os.getpid(), lambda: None)
    await asyncio.sleep(0.3)
    stop()
