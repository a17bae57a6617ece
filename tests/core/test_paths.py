"""Paths are what following the parents gives, however the file is linked, read and mended."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.lines import Scanner
from pid.core.tree import Tree
from pid.entries import iso_of
from tests.trees import START_MS, tree_of

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'
MOST = 120
LINKS = st.one_of(
    *[st.just("before")] * 30,
    st.integers(0, MOST),  # any entry: an earlier one, a later one, itself, one that never comes
    st.just("root"),
    st.just("marker"),
    st.integers(0, MOST).map(lambda number: ("again", number)),
)


def line(number: int, link: Any) -> bytes:
    entry_id, parent = f"e{number}", f"e{number - 1}" if number else None
    fields: dict[str, Any] = {"type": "message", "message": {"role": "user" if number % 3 else "assistant"}}
    match link:
        case int():
            parent = f"e{link}"
        case "root":
            parent = None
        case "marker":
            fields = {"type": "custom", "customType": "pid.leaf"}
        case ("again", int(other)):
            entry_id = f"e{other}"
    head = {"id": entry_id, "parentId": parent, "timestamp": iso_of(START_MS + number)}
    return json.dumps(fields | head, separators=(",", ":")).encode() + b"\n"


def read(lines: list[bytes], stops: list[int]) -> Tree:
    """The tree of the lines, read and mended in parts."""
    tree = Tree()
    scanner = Scanner(tree.rows)
    data, offset = HEADER, 0
    for start, stop in zip([0, *stops], [*stops, len(lines)], strict=True):
        data += b"".join(lines[start:stop])
        tree.extend(scanner.scan(data, len(data), offset))
        tree.settle()
        offset, data = offset + len(data), b""
    return tree


@settings(max_examples=200)
@given(st.lists(LINKS, min_size=1, max_size=MOST), st.sets(st.integers(0, MOST), max_size=4))
def test_a_path_follows_the_parents(links: list[Any], stops: set[int]) -> None:
    lines = [line(number, link) for number, link in enumerate(links)]
    tree = read(lines, sorted(stop for stop in stops if stop <= len(lines)))
    for row in range(len(tree)):
        walked = []
        while row >= 0:
            walked.append(row)
            row = tree.parents[row]
        walked.reverse()
        leaf = walked[-1]
        assert tree.path(leaf) == walked
        assert tree.path_and_kinds(leaf) == (walked, bytes(tree.kinds[at] for at in walked))


def test_interleaved_branches_and_chains_alike() -> None:
    twins = tree_of("u1 | u2 " + " ".join(f"| u{n - 2} > u{n}" for n in range(3, 200))).tree
    assert twins.path(198) == list(range(0, 199, 2))
    chain = tree_of(" ".join(f"u{n}" for n in range(1, 200))).tree
    assert chain.path(198) == list(range(199))
    assert chain.path(-1) == []
