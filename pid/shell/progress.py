"""`$/progress` for a request that carries a `workDoneToken`: begin, some reports, and one end before the answer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pid.protocol import ProgressParams, Token, WorkDoneProgress
from pid.shell.rpc import RpcServer

_REPORT_EVERY: Final = 0.1
"""Seconds between two reports."""

Tell = Callable[[int, int], None]
"""Says how much of how much is done; from any thread."""


@contextmanager
def progress(server: RpcServer, token: Token | None, title: str) -> Iterator[Tell]:
    """Tells the client how far a request is, if it asked for that; the request can be cancelled."""
    if token is None:
        yield lambda done, total: None
        return

    def send(value: WorkDoneProgress) -> None:
        server.notify("$/progress", ProgressParams(token=token, value=value))

    due = time.monotonic() + _REPORT_EVERY

    def tell(done: int, total: int) -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + _REPORT_EVERY
            share = 100 * done // max(total, 1)
            send(WorkDoneProgress(kind="report", message=f"{done:,} of {total:,}", percentage=share))

    send(WorkDoneProgress(kind="begin", title=title, percentage=0, cancellable=True))
    try:
        yield tell
    finally:
        send(WorkDoneProgress(kind="end"))
