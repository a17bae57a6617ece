"""Trees as lines: every entry once, below its parent, in few lanes, whatever the tree."""

import math
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.protocol import TreeNode
from pid.shell.drawing import Fold, Place, folded, places, tree


def nodes_of(text: str) -> list[TreeNode]:
    """`"u1 a1 | u1 > a2"`: each word hangs on the one before it, or on what is named before `>`; `|` begins anew."""
    nodes: list[TreeNode] = []
    seconds = count()
    for stretch in text.split("|"):
        parent, words = None, stretch.split()
        if ">" in words:
            parent, words = words[0], words[2:]
        for word in words:
            role = {"u": "user", "a": "assistant"}.get(word[0], "toolResult")
            timestamp = f"2026-01-01T00:{next(seconds):02}:00.000Z"
            nodes.append(TreeNode(id=word, parent_id=parent, type="message", timestamp=timestamp, role=role))
            parent = word
    return nodes


def drawn(text: str, leaf: str | None = None, *, short: bool = False) -> str:
    """What stands left of the text, and the ids."""
    nodes = nodes_of(text)
    found = places(nodes, leaf or nodes[-1].id)
    lines = folded(found, leaf or nodes[-1].id) if short else found
    return "\n".join(
        f"{place.lanes}+{place.size}" if isinstance(place, Fold) else f"{place.lanes}{place.node.id}" for place in lines
    )


CASES = {
    "a chain is straight": ("u1 a1 t1 a2", "u1\na1\nt1\na2"),
    "what was left hangs beside the way on": ("u1 a1 a2 | u1 > a3 a4", "u1\n├─a1\n│ a2\na3\na4"),
    "the leaf's path is straight also where it is the older": (
        "u1 a1 a2 | u1 > a3 a4 | a2 > u2",
        "u1\n├─a3\n│ a4\na1\na2\nu2",
    ),
    "branches of branches": ("u1 a1 a2 | a1 > a3 | u1 > a4", "u1\n├─a1\n│ ├─a2\n│ a3\na4"),
    "several roots by age": ("u1 a1 | u2", "u1\na1\nu2"),
    "a parent that is not there": ("gone > u1 a1", "u1\na1"),
    "three at one place, by age": ("u1 a1 | u1 > a2 | u1 > a3 | a2 > u4", "u1\n├─a1\n├─a3\na2\nu4"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_drawing(name: str) -> None:
    text, expected = CASES[name]
    assert drawn(text) == expected


def test_short_keeps_ends_questions_and_branches() -> None:
    text = "u1 a1 t1 a2 t2 u2 a3 | a2 > t3 a4 t4 a5 | a5 > u3"
    assert drawn(text, short=True) == "u1\n+2\na2\n├─t2\n│ u2\n│ a3\n+4\nu3"


def test_empty() -> None:
    assert list(tree([], None)) == []


@st.composite
def forests(draw: st.DrawFn) -> list[TreeNode]:
    size = draw(st.integers(1, 60))
    parents = [draw(st.none() | st.integers(0, row - 1)) if row else None for row in range(size)]
    return [
        TreeNode(
            id=str(row),
            parent_id=None if parent is None else str(parent),
            type="message",
            timestamp=draw(st.sampled_from([None, "odd", "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"])),
        )
        for row, parent in enumerate(parents)
    ]


@given(forests(), st.integers(0, 59))
def test_any_tree_is_drawn_whole_and_narrow(nodes: list[TreeNode], leaf: int) -> None:
    leaf_id = nodes[leaf % len(nodes)].id
    drawing = list(places(nodes, leaf_id))
    order = [place.node.id for place in drawing]
    assert sorted(order) == sorted(node.id for node in nodes)
    at = {entry_id: number for number, entry_id in enumerate(order)}
    assert all(node.parent_id is None or at[node.parent_id] < at[node.id] for node in nodes)
    assert max(len(place.lanes) // 2 for place in drawing) <= math.log2(len(nodes)) + 1
    by_id = {node.id: node for node in nodes}
    on_path: str | None = leaf_id
    while on_path is not None:
        assert drawing[at[on_path]].lanes == ""
        on_path = by_id[on_path].parent_id
    shown = list(folded(iter(drawing), leaf_id))
    assert sum(place.size if isinstance(place, Fold) else 1 for place in shown) == len(nodes)
    assert leaf_id in {place.node.id for place in shown if isinstance(place, Place)}
    assert len([line for line in tree(nodes, leaf_id) if line]) == len(nodes)


@pytest.mark.parametrize("parent", [lambda row: row - 1, lambda row: row - 1 if row % 2 else row - 2, lambda row: 0])
def test_a_long_session_needs_no_recursion(parent: Callable[[int], int]) -> None:
    nodes = [
        TreeNode(id=str(row), parent_id=str(max(parent(row), 0)) if row else None, type="message", timestamp=None)
        for row in range(20_000)
    ]
    assert sum(1 for _ in tree(nodes, "19999")) == 20_000


def test_what_is_said_of_an_entry() -> None:
    node = TreeNode(
        id="a1",
        parent_id=None,
        type="message",
        timestamp="2026-01-01T00:00:00.000Z",
        role="assistant",
        label="here",
        preview="as far as",
        stop_reason="aborted",
    )
    [line] = tree([node], "a1")
    told = "".join(text for text, _ in line)
    assert told.endswith("✗ assistant  ◀ leaf [here] (aborted) as far as")
