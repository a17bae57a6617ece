"""Of all long work one slice in each round of the loop, in turn; who gives up holds nobody up."""

from __future__ import annotations

import asyncio

import pytest

from pid.service.turns import next_turn

pytestmark = pytest.mark.anyio


class Rounds:
    """Counts the rounds of the loop."""

    def __init__(self) -> None:
        self.number = 0
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self.number += 1
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


async def test_one_slice_a_round_in_turn():
    rounds, ran = Rounds(), []

    async def long_work(name):
        for _ in range(10):
            await next_turn()
            ran.append((rounds.number, name))

    await asyncio.gather(*(long_work(name) for name in "abc"))
    rounds.stop()
    assert len({number for number, _ in ran}) == len(ran) == 30
    assert [name for _, name in ran] == list("abc" * 10)


async def test_who_is_cancelled_holds_nobody_up():
    ran = []

    async def long_work(name):
        while True:
            await next_turn()
            ran.append(name)

    tasks = [asyncio.create_task(long_work(name)) for name in "abc"]
    await asyncio.sleep(0)
    for task in tasks:
        await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        ran.clear()
    await asyncio.sleep(0.01)
    assert ran == []
    await next_turn()


def test_each_loop_has_its_own():
    async def left_behind():
        asyncio.create_task(next_turn())  # noqa: RUF006

    for _ in range(3):
        asyncio.run(left_behind())
        asyncio.run(next_turn())
