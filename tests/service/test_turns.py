"""What is short is done at once; of all long work one slice in each round of the loop, in turn."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextvars import ContextVar

import pytest

from pid.service.turns import begin, next_turn

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


# Work that begins at once


async def test_what_never_waits_is_done_at_once():
    ran = []

    async def short():
        ran.append("here")

    assert begin(short()) is None
    assert ran == ["here"]


async def test_what_waits_goes_on_in_a_task_and_in_its_context():
    variable, ran = ContextVar("variable", default="outside"), []

    async def long_work():
        variable.set("inside")
        ran.append(asyncio.current_task())
        await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        ran.append((asyncio.current_task(), variable.get()))

    task = begin(long_work())
    assert len(ran) == 1
    assert task is not None
    await task
    assert ran[1] == (task, "inside")
    assert variable.get() == "outside"


async def test_a_bare_yield_takes_one_round():
    rounds, ran = Rounds(), []

    async def giving_way():
        await asyncio.sleep(0)
        ran.append(rounds.number)
        await asyncio.sleep(0)
        ran.append(rounds.number)

    task = begin(giving_way())
    assert task is not None
    await task
    rounds.stop()
    assert ran == [1, 2]


async def begun_and_cancelled(work, rounds):
    """The task of work that waits, cancelled so many rounds of the loop after it began, and a while later."""
    task = begin(work)
    assert task is not None
    for _ in range(rounds):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0.001)
    return task


@pytest.mark.parametrize("rounds", range(3))
@pytest.mark.parametrize("refuses", [False, True], ids=["and ends", "and goes on"])
async def test_a_cancellation_reaches_the_work_however_early_it_comes(rounds, refuses):
    awaited, told = [asyncio.get_running_loop().create_future() for _ in range(2)], []

    async def waiting():
        try:
            await awaited[0]
        except asyncio.CancelledError:
            told.append(awaited[0].cancelled())
            if not refuses:
                raise
        await awaited[1]
        told.append("done")

    task = await begun_and_cancelled(waiting(), rounds)
    assert told == [True]  # as of any task, what it waits for is cancelled with it
    awaited[1].set_result(None)
    await asyncio.wait([task])
    assert (task.cancelled(), told) == ((False, [True, "done"]) if refuses else (True, [True]))


@pytest.mark.parametrize("rounds", range(3))
async def test_what_cannot_be_cancelled_is_awaited_on(rounds):
    class Firm(asyncio.Future):
        def cancel(self, msg=None):
            return False

    awaited, told = Firm(), []

    async def waiting():
        while True:
            try:
                told.append(await awaited)
                return
            except asyncio.CancelledError:
                told.append("cancelled")

    task = await begun_and_cancelled(waiting(), rounds)
    awaited.set_result("done")
    await task
    assert told == ["cancelled", "done"]


async def test_many_await_one_future():
    awaited, told = asyncio.get_running_loop().create_future(), []

    async def waiting():
        told.append(await awaited)

    tasks = [begin(waiting()), begin(waiting()), asyncio.create_task(waiting()), begin(waiting())]
    await asyncio.sleep(0)
    tasks.append(begin(waiting()))
    awaited.set_result("done")
    await asyncio.wait([task for task in tasks if task])
    assert told == ["done"] * 5


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_an_error_is_gone_with_the_work_that_met_it(is_cancelled):
    class Unhappy(Exception):
        pass

    seen, begun = [], []

    async def fail():
        raise Unhappy

    async def meeting():
        awaited = asyncio.create_task(fail())
        asyncio.get_running_loop().call_soon(lambda: is_cancelled and begun[0].cancel())  # before that task begins
        try:
            try:
                await awaited
            except asyncio.CancelledError:
                awaited.result()
            finally:
                del awaited
        except Unhappy as error:
            seen.append(weakref.ref(error))

    gc.collect()
    gc.disable()
    try:
        begun.append(begin(meeting()))
        await begun[0]
        begun.clear()
        await asyncio.sleep(0)
        assert [error() for error in seen] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("waits", [False, True])
async def test_what_it_raises_comes_to_who_began_it_or_awaits_it(waits):
    async def failing():
        if waits:
            await asyncio.sleep(0)
        raise LookupError("no")

    with pytest.raises(LookupError):
        task = begin(failing())
        assert waits
        assert task is not None
        await task
