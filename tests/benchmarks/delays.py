"""How long a small request waits while something large goes on: sent at a steady pace, whether answered or not.

Who waits for an answer before the next request sees one delay where a user who types sees many; hence the pace.
"""

from __future__ import annotations

from threading import Event, Thread
from time import perf_counter

from tests.benchmarks.wire import Daemon, Params, number_of

PERIOD = 0.002  # seconds between small requests

Request = tuple[str, Params]


def delays(daemon: Daemon, large: Request, small: Request) -> list[float]:
    """Seconds from each small request to its reply, of those sent while the large one was not answered whole."""
    sent: dict[int, float] = {}
    over = Event()
    number = daemon.ask(*large)
    sender = Thread(target=_send, args=(daemon, small, sent, over))
    sender.start()
    try:
        arrived = _arrivals(daemon, number)
    finally:
        over.set()
        sender.join()
    while len(arrived) <= len(sent):
        _arrival(daemon, arrived)
    return [arrived[each] - moment for each, moment in sent.items() if moment < arrived[number]]


def _send(daemon: Daemon, small: Request, sent: dict[int, float], over: Event) -> None:
    while not over.wait(PERIOD):
        moment = perf_counter()
        sent[daemon.ask(*small)] = moment


def _arrivals(daemon: Daemon, last: int) -> dict[int, float]:
    """When which reply was here, up to that of the request `last`."""
    arrived: dict[int, float] = {}
    while last not in arrived:
        _arrival(daemon, arrived)
    return arrived


def _arrival(daemon: Daemon, arrived: dict[int, float]) -> None:
    reply = daemon.reply()
    arrived[number_of(reply)] = perf_counter()
