"""The floor of an asyncio server: `python -m tests.benchmarks.bare [RESULT]` takes requests apart and does nothing.

One reader on the loop, the framing, an envelope decoded by msgspec, and the same result for every request: RESULT, or
with `--file PATH` what stands in the file at that moment. What the daemon takes beyond it is the daemon's own.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

CHUNK = 64 * 1024  # as the daemon reads
PIPE = 1024 * 1024  # as the daemon asks for it
HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n")


class Envelope(msgspec.Struct):
    method: str
    id: int | None = None
    params: msgspec.Raw = msgspec.Raw(b"null")


def bodies(data: bytearray) -> Iterator[bytearray]:
    """Takes every whole message out of `data`."""
    at = 0
    while header := HEADER.match(data, at):
        end = header.end() + int(header[1])
        if end > len(data):
            break
        yield data[header.end() : end]
        at = end
    del data[:at]


def serve(result: Callable[[], bytes]) -> None:
    loop = asyncio.new_event_loop()
    decode = msgspec.json.Decoder(Envelope).decode
    pending = bytearray()

    def readable() -> None:
        chunk = os.read(0, CHUNK)
        pending.extend(chunk)
        messages = [decode(body) for body in bodies(pending)]
        replies = [b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (each.id, result()) for each in messages if each.id]
        written(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(reply), reply) for reply in replies))
        if not chunk or any(each.method == "exit" for each in messages):
            loop.stop()

    loop.add_reader(0, readable)
    loop.run_forever()


def written(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def widened(descriptor: int) -> None:
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE)


if __name__ == "__main__":
    widened(0)
    widened(1)
    match sys.argv[1:]:
        case ["--file", path]:
            serve(Path(path).read_bytes)
        case arguments:
            fixed = "".join(arguments).encode() or b"null"
            serve(lambda: fixed)
