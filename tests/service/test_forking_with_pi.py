"""pi 1.6.0 opens every fork at the same leaf as the daemon, with the context that it gives at the source."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pid.core.tree import ROOT
from pid.protocol import ForkParams
from pid.service.forking import fork
from tests import interop
from tests.benchmarks.sessions import Recipe, write
from tests.pi import Pi, PiSession
from tests.service.daemon import make_store
from tests.trees import load, session_bytes

HANGS = {"16-cycle-2", "18-cycle-unreachable"}
"""pi hangs on the source."""
OTHERWISE = {
    "26-bom": "pi does not open the source",
    "48-null-first-line": "pi does not open the source",
    "52-message-null": "pi fails on the source",
    "74-numeric-ids": "pi does not find a number by its text, so it cannot branch to it",
}
_numbers = itertools.count()


def forked(path: Path, folder: Path, entry_id: str | None) -> Path:
    """A fork of a file that nobody has open; its file."""

    async def make() -> str:
        store = make_store(folder, prefix=f"f{next(_numbers)}")
        session = (await fork(store, ForkParams(path=str(path), entry_id=entry_id, id=f"f{next(_numbers)}"))).session
        assert session.journal.path is not None
        return session.journal.path

    return Path(asyncio.run(make()))


def opened(pi: Pi, path: Path, folder: Path) -> PiSession:
    """pi on a copy: it writes when it opens."""
    copy = folder / f"copy{next(_numbers)}.jsonl"
    shutil.copyfile(path, copy)
    return pi.open(copy)


def seen(session: PiSession) -> Any:
    """pi's context without what a fork gives new names: the leaf that a summary came from."""
    context = session.show("context")
    for message in context["messages"]:
        message.pop("fromId", None)
    session.close()
    return context


def check(pi: Pi, path: Path, folder: Path, entry_id: str | None) -> None:
    result = forked(path, folder / "forks", entry_id)
    ours = load(result.read_bytes()).tree
    theirs = opened(pi, result, folder)
    leaf = theirs.show("leafId")
    assert ours.id_of(ROOT if leaf is None else ours.find(leaf)) == ours.id_of(ours.last)

    source = opened(pi, path, folder)
    if entry_id is not None:
        source.branch(entry_id)
    assert seen(theirs) == seen(source)


def entry_ids(path: Path) -> list[str]:
    loaded = load(path.read_bytes())
    tree = loaded.tree
    if loaded.scanner.version == 1:
        return []  # pi gives ids of its own
    return [tree.ids[row] for row in range(len(tree)) if not tree.is_hidden(row) and not tree.flags[row] & 4]


@pytest.mark.parametrize("case", [case for case in interop.CASES if case not in HANGS | OTHERWISE.keys()])
def test_interop_cases(case: str, pi: Pi, tmp_path: Path) -> None:
    path = interop.case_file(case)
    try:
        ids = entry_ids(path)
    except ValueError:
        pytest.skip("no session")
    for entry_id in [None, *ids]:
        check(pi, path, tmp_path, entry_id)


@pytest.mark.parametrize("kind", ["linear", "branchy", "compacted", "migrated", "version1"])
def test_generated_sessions(kind: str, pi: Pi, tmp_path: Path) -> None:
    path = write(Recipe(300, kind), tmp_path / f"{kind}.jsonl")
    for entry_id in [None, *entry_ids(path)[10::97]]:
        check(pi, path, tmp_path, entry_id)


def test_the_real_old_session(pi: Pi, tmp_path: Path) -> None:
    path = interop.FOLDER / "real-session-v1.jsonl"
    if not path.exists():
        pytest.skip("no interop files here")
    check(pi, path, tmp_path, None)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A tree as pi can write one: parents stand above, targets are there; the daemon's leaf markers are in it."""
    letters = draw(st.lists(st.sampled_from("uuuaaallcederpnk"), min_size=1, max_size=12))
    names = [f"{letter}{number}" for number, letter in enumerate(letters, 1)]
    told = []
    for number, name in enumerate(names):
        above = names[:number]
        parent = f"| {draw(st.sampled_from(above))} > " if above and draw(st.integers(0, 3)) == 0 else ""
        about = f"({draw(st.sampled_from([*above, name] if name[0] == 'c' else above or names))})"
        told.append(f"{parent}{name}{about if name[0] in 'lcer' else ''}")
    return " ".join(told)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts(), data=st.data())
def test_any_tree_that_pi_can_write(text: str, data: st.DataObject, pi: Pi, tmp_path: Path) -> None:
    path = tmp_path / f"source{next(_numbers)}.jsonl"
    path.write_bytes(session_bytes(text))
    check(pi, path, tmp_path, data.draw(st.sampled_from([None, *entry_ids(path)])))
