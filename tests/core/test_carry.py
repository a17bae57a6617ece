"""The index that is carried over to a fork is the one that reading the fork gives."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pid.core.carry import carried, places_of
from pid.core.fork import Source, Stamp, fork_header, fork_of
from pid.core.lines import PLAIN, PROVEN, UNCLEAN, Scanner
from pid.core.tree import Tree
from tests.core.test_fork import NOW, OWN, Bytes, trees
from tests.trees import Loaded, load, session_bytes


def both(source: Loaded, entry_id: str | None) -> tuple[Tree | None, Loaded]:
    """The tree of a fork carried over (None: that is not possible), and read."""
    tree, scanner = source.tree, source.scanner
    path = None if entry_id is None else tree.path(tree.find(entry_id))
    start, end = sum(scanner.header_span), len(source.data)
    plan = Source(
        tree, scanner.version, path, tree.last, tree.last, dict(tree.labels), start, end, source.data[-1:] == b"\n"
    )
    numbers, stored = itertools.count(1), Bytes(source.data)
    fork = fork_of(plan, Stamp(lambda: f"new{next(numbers)}", NOW))
    header = fork_header(source.data[slice(scanner.header_span[0], start)], OWN)
    data = header + b"".join(part if isinstance(part, bytes) else stored.read(*part) for part in fork.parts(stored))
    places = places_of(fork, len(header), scanner.line)
    assert places is None or places.line <= load(data).scanner.line
    if source.change.problems or places is None:
        return None, load(data)
    ours = Tree()
    for batch in carried(fork, places, stored):
        ours.extend(batch)
    rest = Scanner(ours.rows)
    rest.scan(header + b"\n", len(header) + 1, 0)
    rest.line = places.line
    ours.extend(rest.scan(data[places.end :], len(data) - places.end, places.end))
    read = load(data)
    assert ours.settle().problems == read.change.problems
    return ours, read


def shape(tree: Tree) -> dict[str, Any]:
    """All that a tree holds; which bodies are proven may differ."""
    state = {name: value for name, value in vars(tree).items() if name != "_pending"}
    return state | {"flags": [flag & ~(PROVEN | UNCLEAN | PLAIN) for flag in tree.flags]}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])  # few trees are sound
@given(trees(), st.data())
def test_any_sound_tree(text: str, data: st.DataObject) -> None:
    source = load(session_bytes(text))
    assume(not source.change.problems)
    visible = [entry_id for row, entry_id in enumerate(source.tree.ids) if not source.tree.is_hidden(row)]
    ours, read = both(source, data.draw(st.sampled_from([None, *visible])))
    assert ours is not None
    assert shape(ours) == shape(read.tree)


SOUND = {
    "spaces around": lambda data: data.replace(b"\n", b" \r\n\n"),
    "entries that share a line": lambda data: data.replace(
        b'}\n{"type":"message","id":"u2"', b'} {"type":"message","id":"u2"'
    ),
    "no last line break": lambda data: data[:-1],
}


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("entry_id", [None, "u2"])
def test_unusual_lines(change: Any, entry_id: str | None) -> None:
    ours, read = both(load(change(session_bytes("u1 a1 l1(u1) u2 n1=x c1(a1) | u1 > u3 p1"))), entry_id)
    assert ours is not None
    assert shape(ours) == shape(read.tree)


def test_a_header_that_shares_its_line_needs_reading() -> None:
    data = session_bytes("u1 a1").replace(b"\n", b"", 1)
    assert both(load(data), None)[0] is None
    assert both(load(data), "a1")[0] is not None


def test_many_rows_come_in_slices() -> None:
    source = load(session_bytes(" ".join(f"u{number}" for number in range(5000))))
    ours, read = both(source, None)
    assert ours is not None
    assert shape(ours) == shape(read.tree)
