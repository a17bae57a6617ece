"""The command `pid`: flags, and what is handed to the layers below (the clock, ids, threads).

`pid` and `pid --stdio` serve; the other commands are for people (`pid --help`).
"""

import os
import sys
import time

from pid import __version__

TYPE_CHECKING = False  # as in `typing`, whose import would triple the time before Ctrl-C is caught
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_BLOCKING_THREADS = 4
_TURN = 0.0005  # seconds that a thread which plans or lists may hold the interpreter while the event loop wants it
_COLLECTIONS = (20_000, 20, 100)  # a full one touches every id of every open session: 20 ms for 300,000 entries
_DEPTH_OF_STACK = 4_000  # msgspec counts nesting on Python's stack: entries are valid to a depth of 1,000


_INTERRUPTED = 130
_UNSUPPORTED = {
    "win32": "pid: Windows is not supported yet (file locks and syncs are those of Linux and macOS); use it in WSL.\n"
}


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Runs the command; the exit code: 130 for what Ctrl-C ends, 2 on a system that is not supported."""
    if why := _UNSUPPORTED.get(sys.platform):
        sys.stderr.write(why)
        return 2
    try:
        options = _parser().parse_args(arguments)
        return _serve() if options.run is None else int(options.run(options))
    except KeyboardInterrupt:  # while something is imported, or before the loop listens to signals
        return _INTERRUPTED


def _parser() -> "argparse.ArgumentParser":
    import argparse

    from pid.shell.commands import add_commands

    parser = argparse.ArgumentParser(
        prog="pid", description="Keeps coding-agent sessions as trees. Without a command it serves JSON-RPC on stdio."
    )
    parser.add_argument("--stdio", action="store_true", help="serve on stdin and stdout (the default)")
    parser.add_argument("--version", action="version", version=f"pid {__version__}")
    parser.set_defaults(run=None)
    add_commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    return parser


def _serve() -> int:
    import gc
    from concurrent.futures import ThreadPoolExecutor

    from platformdirs import user_cache_dir, user_state_dir

    from pid.adapters.listing import Lister
    from pid.adapters.listing_index import ListingIndex
    from pid.protocol import MAX_MESSAGE_BYTES
    from pid.service.session import Surroundings
    from pid.shell import logs
    from pid.shell.server import ClientOutlet, Daemon

    logs.set_up(user_state_dir("pid", appauthor=False), os.environ.get("PID_LOG_LEVEL", "info"))
    sys.setswitchinterval(_TURN)
    gc.freeze()  # what is imported stays: a full collection looks at sessions only, and holds the loop less
    gc.set_threshold(*_COLLECTIONS)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEPTH_OF_STACK))
    outlet = ClientOutlet()
    around = Surroundings(
        outlet=outlet,
        now=lambda: time.time_ns() // 1_000_000,
        new_entry_id=lambda: os.urandom(4).hex(),
        new_session_id=_uuid7,
        new_epoch=lambda: os.urandom(8).hex(),
        threads=ThreadPoolExecutor(_BLOCKING_THREADS, thread_name_prefix="pid-blocking"),
    )
    cache_dir = os.environ.get("PID_CACHE_DIR") or user_cache_dir("pid", appauthor=False)
    lister = Lister(ListingIndex(cache_dir), time.time_ns)
    return Daemon(around, outlet, MAX_MESSAGE_BYTES, lister).server.serve()


def _uuid7() -> str:
    """A UUIDv7 (RFC 9562): the time in ms, then chance; session ids in pi's form sort by age."""
    moment = time.time_ns() // 1_000_000
    value = (moment << 80 | int.from_bytes(os.urandom(10))) & ~(0xF << 76 | 0x3 << 62) | 0x7 << 76 | 0x2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


if __name__ == "__main__":
    sys.exit(main())
