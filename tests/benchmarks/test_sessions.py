"""The generated sessions are what they claim: pi's own form, one recipe one file, 2.45 KB an entry."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.benchmarks.sessions import COMPACT_AFTER, KINDS, Recipe, entries, write
from tests.pi import Pi


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_what_json_stringify_writes(kind: str, tmp_path: Path) -> None:
    lines = write(Recipe(300, kind), tmp_path / "s.jsonl").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    assert len(lines) == 301
    for line in lines:
        assert json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")) == line


def test_one_recipe_gives_one_file(tmp_path: Path) -> None:
    one, same, other = (
        write(recipe, tmp_path / f"{number}.jsonl").read_bytes()
        for number, recipe in enumerate((Recipe(200), Recipe(200), Recipe(200, seed=2)))
    )
    assert one == same != other


def test_size_and_mix(tmp_path: Path) -> None:
    path = write(Recipe(5000), tmp_path / "s.jsonl")
    assert 2300 < path.stat().st_size / 5000 < 2600
    messages = [json.loads(line)["message"] for line in path.read_text(encoding="utf-8").split("\n")[1:-1]]
    results = [len(json.dumps(message)) for message in messages if message["role"] == "toolResult"]
    assert 0.3 < len(results) / len(messages) < 0.5
    assert min(results) < 1000 < 15_000 < max(results)


def test_ids_are_unique_and_times_rise() -> None:
    story = list(entries(Recipe(20_000, "branchy")))
    assert len({entry.id for entry in story}) == len(story)
    assert all(one.timestamp < two.timestamp for one, two in pairwise(story))


def test_a_linear_session_is_one_path_and_a_branchy_one_is_not(pi: Pi, tmp_path: Path) -> None:
    for kind, branches in (("linear", False), ("branchy", True)):
        session = pi.open(write(Recipe(2000, kind), tmp_path / f"{kind}.jsonl"))
        tree = session.show("tree")
        assert (len(session.show("branch")) < 2000) == branches
        assert any(len(node["children"]) > 1 for node in tree["preorder"]) == branches
        assert (len(tree["preorder"]), tree["entriesNotReachable"]) == (2000, [])
        session.close()


def test_compactions_keep_a_tail(pi: Pi, tmp_path: Path) -> None:
    path = write(Recipe(2000, "compacted"), tmp_path / "s.jsonl")
    assert path.stat().st_size > 3 * COMPACT_AFTER
    session = pi.open(path)
    first, second, *_ = session.show("context")["messages"]
    assert (first["role"], second["role"]) == ("compactionSummary", "user")
    assert len(session.show("contextEntries")) < 1000
    session.close()


def test_the_migrated_form_is_what_pi_leaves(pi: Pi, tmp_path: Path) -> None:
    by_pi = write(Recipe(300, "version1"), tmp_path / "old.jsonl")
    pi.open(by_pi).close()
    ours = write(Recipe(300, "migrated"), tmp_path / "new.jsonl")
    assert without_ids(by_pi).replace("bench-version1", "bench-migrated") == without_ids(ours)


def without_ids(path: Path) -> str:
    """pi's ids are random: only their place is compared."""
    ids = r'"id":"[0-9a-f]{8}","parentId":("[0-9a-f]{8}"|null)}$'
    return re.sub(ids, "IDS", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
