"""Looks for what other programs append to the sessions that are open: one `stat` for each, four times a second."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Final

from pid.errors import PidError
from pid.service.writing import WriteOrder

LOOK_EVERY: Final = 0.25
"""Seconds between two looks: a change shows within half a second."""
_AT_ONCE: Final = 64  # looks before other work gets the loop


async def follow(orders: Callable[[], Iterable[WriteOrder]]) -> None:
    """Looks at the sessions that are open, for ever. A session whose file was lost has told it by itself."""
    while True:
        await asyncio.sleep(LOOK_EVERY)
        for number, order in enumerate(list(orders()), 1):
            with contextlib.suppress(PidError):
                order.look()
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
