"""A store on real files, without a client: for tests of the service."""

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec

from pid.adapters.catalog import Places
from pid.core.appending import read_sent
from pid.core.overlay import plan_append, plan_move
from pid.protocol import OpenParams, Placement
from pid.service.compactor import Workshop
from pid.service.session import Surroundings
from pid.service.store import Store

THREADS = ThreadPoolExecutor(2)
PLANNERS = ThreadPoolExecutor(2)


class Told:
    """An outlet that keeps what it is given."""

    def __init__(self):
        self.notices = []

    def wants(self, method):
        return True

    def send(self, method, params):
        self.notices.append((method, params))

    def of(self, method):
        return [params for name, params in self.notices if name == method]


def no_tokenizer(texts):
    """Token estimates go by characters, as where the tokenizer's data are missing."""
    return


def make_store(directory, told=None, prefix="", summarizers=(), count=no_tokenizer, ahead_ms=0):
    """A store whose files are in `directory`; entry ids are counted, behind `prefix`. Its clock may be ahead."""
    numbers = itertools.count(1)
    around = Surroundings(
        outlet=told or Told(),
        now=lambda: time.time_ns() // 1_000_000 + ahead_ms,
        new_entry_id=lambda: f"{prefix}e{next(numbers)}",
        new_session_id=lambda: f"s-{next(numbers)}",
        new_epoch=lambda: os.urandom(4).hex(),
        threads=THREADS,
    )
    return Store(Places(str(directory), str(directory)), around, Workshop(summarizers, count, PLANNERS))


async def open_path(store, path, **fields):
    return await store.open(OpenParams(path=str(path), **fields))


def user(text="hi", **fields):
    return {"type": "message", "message": {"role": "user", "content": text}} | fields


async def append(resident, *entries, **where):
    """What a write of entries did; without entries, one user message."""
    placement = Placement(session_id="s", **where)
    sent = [read_sent(msgspec.json.encode(entry), "entry") for entry in entries or (user(),)]
    return await resident.order.write(lambda overlay, stamp: plan_append(overlay, placement, sent, stamp), "append")


async def move(resident, entry_id, expected=msgspec.UNSET):
    """What moving the leaf did."""
    return await resident.order.write(lambda overlay, stamp: plan_move(overlay, entry_id, expected, stamp), "setLeaf")
