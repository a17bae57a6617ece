"""Fuzzing that is led by coverage, by hand: frames and messages, the scan of lines, whole session files.

    python -m tests.faults.coverage_guided -max_total_time=600

It needs atheris, which the tests do not install; the arguments are libFuzzer's. Whatever comes must raise nothing and
give the same in one piece as in many.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pid"]):
    from pid.core.framing import Framer
    from pid.core.lines import Scanner
    from pid.core.skim import Skim
    from pid.core.tree import Tree
    from pid.shell.envelope import read_event
    from tests.faults.test_calls import HEADER
    from tests.faults.test_fuzz import goes_on

HEAD = json.dumps(HEADER).encode() + b"\n"
OLD_HEAD = HEAD.replace(b'"version": 3', b'"version": 1')
LIMIT = 2000
_folder = Path(tempfile.mkdtemp(prefix="pid-fuzz-"))


def frames(data: bytes) -> None:
    """The same events in any chunking; each means something."""
    whole, parts = Framer(LIMIT), Framer(LIMIT)
    size = 1 + len(data) % 7
    events = [*whole.receive(data), *whole.end()]
    pieces = [event for at in range(0, len(data), size) for event in parts.receive(data[at : at + size])]
    assert [*pieces, *parts.end()] == events
    for event in events:
        read_event(event)


def body(data: bytes) -> None:
    """Any body."""
    frames(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))


def lines(data: bytes) -> None:
    """The same rows and links, of a slice and of its lines one by one; the listing sees the same name."""
    for head in (HEAD, OLD_HEAD):
        content = head + data.replace(b"\x00\x01", b"\n") + b"\n"
        first, second = _tree([content]), _tree([line + b"\n" for line in content.split(b"\n")[:-1]])
        assert (first.ids, first.parents, first.kinds, first.flags) == (
            second.ids,
            second.parents,
            second.kinds,
            second.flags,
        )
        for row in range(len(first)):
            first.path(row)
        Skim().scan(content, len(content), 0)


def _tree(slices: list[bytes]) -> Tree:
    tree, at = Tree(), 0
    scanner = Scanner(tree.rows)
    for part in slices:
        tree.extend(scanner.scan(part, len(part), at))
        at += len(part)
    tree.settle()
    return tree


def file(data: bytes) -> None:
    """A session file with this behind its header: opened, appended to, opened again."""
    path = _folder / "f.jsonl"
    path.unlink(missing_ok=True)
    content = HEAD + data.replace(b"\x00\x01", b"\n")
    path.write_bytes(content)
    asyncio.run(goes_on(path, content))


TARGETS = (frames, body, lines, lines, file)


def one_input(data: bytes) -> None:
    """The first byte chooses the target."""
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
