"""Forks: the bytes that stay, the lines written anew, and the same context on every path."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.context import entries_in_effect, messages_in_effect
from pid.core.fork import Source, Stamp, fork_header, fork_of
from pid.core.tree import ROOT
from pid.entries import Kind
from tests.trees import Loaded, load, session_bytes, tree_of

NOW = "2026-02-02T02:02:02.000Z"
OWN = {"type": "session", "version": 3, "id": "fork", "timestamp": NOW, "cwd": "/new", "parentSession": "/old.jsonl"}


class Bytes:
    """The source's bytes; `read` counts what is looked at."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reads = 0

    def read(self, start: int, size: int) -> bytes:
        self.reads += 1
        return self.data[start : start + size]

    def line_end(self, start: int) -> int:
        return self.data.index(b"\n", start)


def fork(source: Loaded, entry_id: str | None = None, *, leaf: int | None = None) -> bytes:
    """The whole file of a fork: of the path to an entry, or of everything."""
    tree, scanner = source.tree, source.scanner
    row = tree.last if leaf is None else leaf
    path = None if entry_id is None else tree.path(tree.find(entry_id))
    start = sum(scanner.header_span)
    end = len(source.data) if scanner._in_line or source.data.endswith(b"\n") else source.data.rindex(b"\n") + 1
    closed = source.data[:end].endswith(b"\n")
    plan = Source(tree, scanner.version, path, row, tree.last, dict(tree.labels), start, end, closed)
    numbers = itertools.count(1)
    stored = Bytes(source.data)
    parts = fork_of(plan, Stamp(lambda: f"new{next(numbers)}", NOW)).parts(stored)
    behind = b"".join(part if isinstance(part, bytes) else stored.read(*part) for part in parts)
    header = source.data[scanner.header_span[0] : start]
    return fork_header(header, OWN | {"version": max(3, scanner.version)}) + behind


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def links(loaded: Loaded) -> dict[str, str | None]:
    """Every row's parent, leaf markers too."""
    return {
        entry_id: loaded.tree.id_of(parent)
        for entry_id, parent in zip(loaded.tree.ids, loaded.tree.parents, strict=True)
    }


def context(loaded: Loaded, row: int) -> tuple[Any, ...]:
    """What the model sees at a row, and what is told of it, but for circles: a fork of a path has cut them for good."""
    effect = entries_in_effect(loaded.tree, row, loaded.bodies)
    warnings = list(effect.warnings)
    rows = [row for row in effect.rows if loaded.tree.kinds[row] != Kind.LABEL]
    found = messages_in_effect(loaded.tree, effect, rows, loaded.bodies(rows), warnings)
    messages = [(loaded.tree.ids[row], json.loads(bytes(message))) for row, message in found]
    for _, message in messages:
        message.pop("fromId", None)
    told = [warning.kind for warning in warnings if warning.kind != "cycle"]
    return messages, effect.model, effect.thinking_level, told


# The header


def test_the_header_has_its_own_members_and_keeps_what_is_unknown() -> None:
    old = b'{"type":"session", "version":2, "id":"old","extra":[1.0],"cwd":"/old","big":12345678901234567890123}'
    assert fork_header(old, OWN) == (
        b'{"type":"session","version":3,"id":"fork","timestamp":"2026-02-02T02:02:02.000Z","cwd":"/new",'
        b'"parentSession":"/old.jsonl","extra":[1.0],"big":12345678901234567890123}'
    )
    assert b"parentSession" not in fork_header(old, OWN | {"parentSession": None})


# The whole session


SHAPES = {
    "a line": "u1 a1 l1(u1) u2",
    "branches": "u1 a1 | a1 > u2 l2(u1) | u1 > p1",
    "damaged": "u1 !a1 u2",
    "forward": "a1 > u2 | u2 > a2 | u1 > a1 | u1",
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_a_whole_fork_is_the_bytes_behind_a_new_header(text: str) -> None:
    source = tree_of(text)
    forked = fork(source)
    assert forked.partition(b"\n")[2] == source.data.partition(b"\n")[2]
    assert links(load(forked)) == links(source)


BEGINNINGS = {
    "carriage return": lambda data: data.replace(b"\n", b"\r\n"),
    "a second object on the line": lambda data: data.replace(b"\n", b"", 1),
    "NUL bytes behind it": lambda data: data.replace(b"\n", b"\0\0\n", 1),
    "noise before it": lambda data: b"\xef\xbb\xbf" + b"null\n" + data,
    "no last line break": lambda data: data[:-1],
    "nothing else": lambda data: data.partition(b"\n")[0],
}


@pytest.mark.parametrize("change", BEGINNINGS.values(), ids=BEGINNINGS)
def test_what_stands_around_the_header(change: Any) -> None:
    source = load(change(session_bytes("u1 a1")))
    forked = fork(source)
    assert links(load(forked)) == links(source)
    assert forked.endswith(b"\n")
    header = forked.splitlines()[0].rstrip(b"\0")
    assert json.loads(header)["id"] == "fork"


def test_half_a_line_stays_behind() -> None:
    source = load(session_bytes("u1 a1") + b'{"type":"mess')
    assert fork(source) == fork(tree_of("u1 a1"))


def test_another_leaf_than_the_files_gets_a_marker() -> None:
    source = tree_of("u1 a1 | u1 > a2")
    forked = load(fork(source, leaf=source.row("a1")))
    assert forked.tree.id_of(forked.tree.last) == "a1"
    assert forked.tree.ids == ["u1", "a1", "a2", "new1"]
    top = load(fork(source, leaf=ROOT))
    assert top.tree.last == ROOT


def test_ids_that_were_derived_become_the_forks_own() -> None:
    nameless = b'{"type":"message","parentId":"u1","timestamp":"2026-01-01T00:00:09.000Z","message":{"role":"user"}}\n'
    source = load(session_bytes("u1") + nameless)
    derived = source.tree.ids[1]
    child = nameless.replace(b'"parentId":"u1"', f'"id":"c1","parentId":"{derived}"'.encode())
    source = load(session_bytes("u1") + nameless + child)
    for forked in (load(fork(source)), load(fork(source, "c1"))):
        assert forked.tree.ids == ["u1", derived, "c1"]
        assert forked.change.problems == []


# A path


def test_a_path_is_its_entries_byte_for_byte() -> None:
    source = tree_of("u1 a1 u2 | a1 > u3 a3 | a1 > u4")
    forked = load(fork(source, "a3"))
    assert forked.tree.ids == ["u1", "a1", "u3", "a3"]
    assert [forked.stored(row) for row in range(4)] == [
        source.stored(source.row(entry_id)) for entry_id in forked.tree.ids
    ]
    assert forked.change.problems == []


def test_labels_are_left_out_and_those_in_effect_come_again() -> None:
    source = tree_of("u1 l1(u1)=first a1 | a1 > u2 l2(a1) a2 | u1 > l3(u1)=last a9 l4(a9) l5(u2)= l6(gone)")
    forked = load(fork(source, "a2"))
    assert links(forked) == {"u1": None, "a1": "u1", "u2": "a1", "a2": "u2", "new1": "a2", "new2": "new1", "new3": "a2"}
    assert {target: label.text for target, label in forked.tree.labels.items()} == {"a1": "l2", "u1": "last"}
    assert forked.tree.id_of(forked.tree.last) == "a2"
    assert lines(forked.data)[5] == lines(source.data)[5] | {"id": "new1", "parentId": "a2"}
    assert forked.change.problems == []


def test_a_label_on_a_label_names_it_by_its_new_id() -> None:
    source = tree_of("u1 l1(u1) l2(l1) a1 l3(l2)=far | u1 > l4(l9) | l9")
    forked = load(fork(source, "a1"))
    assert [(label["id"], label["targetId"]) for label in lines(forked.data) if label["type"] == "label"] == [
        ("new1", "u1"),
        ("new2", "new1"),
        ("new3", "new2"),
    ]


def test_the_leaf_may_be_a_label_a_marker_or_nothing() -> None:
    source = tree_of("u1 a1 l1(u1) | u1 > p1 | p2")
    labelled = load(fork(source, "l1"))
    assert labelled.tree.id_of(labelled.tree.last) == "a1"
    assert load(fork(source, "p1")).tree.ids == ["u1", "new1", "new2"]
    assert lines(fork(source, "p2")) == [OWN]


FIRST_KEPT = {
    "an entry": ("u1 a1 u2 c1(u2) u3", "u2"),
    "itself": ("u1 a1 c1(c1) u3", "c1"),
    "a label": ("u1 a1 l1(u1) u2 c1(l1) u3", "u2"),
    "labels up to the compaction": ("u1 l1(u1) l2(u1) c1(l1) u3", "c1"),
    "a label behind it": ("u1 c1(l1) l1(u1) u3", "u3"),
    "a label behind all": ("u1 u3 c1(l1) l1(u1)", "c1"),
    "a marker on the path": ("u1 a1 p1 u2 c1(p1) u3", "u2"),
    "a marker at the root": ("p1 u1 a1 c1(p1) u3", "u1"),
    "a label off the path": ("u1 l9(u1) | u1 > a1 c1(l9) u3", "l9"),
    "nothing": ("u1 a1 c1(gone) u3", "gone"),
}


@pytest.mark.parametrize(("text", "kept"), FIRST_KEPT.values(), ids=FIRST_KEPT)
def test_what_a_compaction_keeps_stays_the_same(text: str, kept: str) -> None:
    source = tree_of(text)
    leaf = "l1" if text.endswith("l1(u1)") else "u3"
    forked = load(fork(source, leaf))
    [compaction] = [line for line in lines(forked.data) if line["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == kept
    at = forked.tree.last
    assert context(forked, at) == context(source, source.row(leaf))


def test_edits_and_summaries_name_labels_by_their_new_ids() -> None:
    source = tree_of("u1 l1(u1) a1 e1(l1) r1(l1) r2(p9) e2(a1)=x | u1 > p9")
    by_id = {line["id"]: line for line in lines(fork(source, "e2"))}
    assert by_id["e1"]["targetId"] == by_id["r1"]["fromId"] == "new1"
    assert by_id["r2"]["fromId"] == "u1"
    assert by_id["e2"] == lines(source.data)[7]


def test_what_hangs_on_a_marker_or_in_a_circle_is_linked_for_good() -> None:
    marked = load(fork(tree_of("u1 a1 | u1 > p1 u2"), "u2"))
    assert [line.get("parentId") for line in lines(marked.data)] == [None, None, "u1"]
    circle = load(fork(tree_of("u3 > u1 u2 u3"), "u3"))
    assert (circle.tree.ids, circle.change.problems) == (["u1", "u2", "u3"], [])


def test_a_lost_history_stays_told() -> None:
    for text in ("gone > u1 u2", "gone > l1 u2", "gone > p1 u2"):
        forked = load(fork(tree_of(text), "u2"))
        assert [problem.kind for problem in forked.change.problems] == ["missingParent"]
        assert "gone" in forked.change.problems[0].message


@pytest.mark.parametrize("text", ["u1 !a1 u2", "u1 l1(u1) !a1 u2", "u1 p1 !a1 u2"])
def test_a_damaged_line_keeps_its_place(text: str) -> None:
    forked = load(fork(tree_of(text), "u2"))
    assert links(forked)["u2"] == "a1"
    assert links(forked)["a1"] == "u1"
    kinds = [problem.kind for problem in forked.change.problems]
    assert kinds == ["malformedLine"]


def test_two_entries_on_a_line_get_lines_of_their_own() -> None:
    data = session_bytes("u1 a1 u2 a2")
    one, two, three, four, five, _ = data.split(b"\n")
    source = load(b"\n".join([one, two + three, four + b" " + five, b""]))
    assert fork(source, "a2").split(b"\n")[1:] == [two, three, four, five, b""]


def test_only_what_must_be_read_is_read() -> None:
    source = tree_of("u1 a1 l1(u1) " + " ".join(f"u{number}" for number in range(2, 200)))
    tree, scanner = source.tree, source.scanner
    stored = Bytes(source.data)
    plan = Source(
        tree,
        3,
        tree.path(tree.last),
        tree.last,
        tree.last,
        dict(tree.labels),
        sum(scanner.header_span),
        len(source.data),
        True,
    )
    parts = list(fork_of(plan, Stamp(lambda: "new1", NOW)).parts(stored))
    assert stored.reads == 2  # the entry that hung on the label, and the label
    assert sum(isinstance(part, tuple) for part in parts) == 2


# Old versions


def old_bytes(version: int | None) -> bytes:
    """A file of version 1 (no ids) or 2, with what each calls otherwise."""

    def entry(number: int, entry_type: str, **fields: Any) -> dict[str, Any]:
        ids = {} if version is None else {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        return {"type": entry_type, **ids, "timestamp": f"2026-01-01T00:00:{number:02}.000Z"} | fields

    def user(text: str) -> dict[str, Any]:
        return {"role": "user", "content": text, "timestamp": 1}

    header = {"type": "session", "id": "s-0001", "timestamp": NOW, "cwd": "/proj"} | (
        {} if version is None else {"version": version}
    )
    kept = {"firstKeptEntryIndex": 2} if version is None else {"firstKeptEntryId": "e2"}
    entries = [
        entry(1, "message", message=user("one")),
        entry(2, "message", message={"role": "hookMessage", "customType": "k", "content": "h", "display": True}),
        entry(3, "compaction", summary="s", tokensBefore=5, **kept),
        entry(4, "message", message=user("four")),
    ]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in (header, *entries))


@pytest.mark.parametrize("version", [None, 2])
@pytest.mark.parametrize("whole", [True, False])
def test_a_fork_of_an_old_file_is_a_consistent_file_of_version_3(version: int | None, whole: bool) -> None:
    source = load(old_bytes(version))
    forked = load(fork(source, None if whole else source.tree.ids[3]))
    assert forked.scanner.version == 3
    assert links(forked) == links(source)
    assert forked.change.problems == []
    written = lines(forked.data)
    assert [line.get("id") for line in written[1:]] == source.tree.ids
    assert written[2]["message"]["role"] == "custom"
    assert written[3]["firstKeptEntryId"] == source.tree.ids[1]
    assert not re.search(rb"hookMessage|firstKeptEntryIndex", forked.data)
    assert context(forked, forked.tree.last) == context(source, source.tree.last)


# Any tree


@st.composite
def trees(draw: st.DrawFn) -> str:
    """A tree of up to 14 entries: any parents (also later, missing and leaf markers), any targets, damaged lines."""
    size = draw(st.integers(1, 14))
    letters = draw(st.lists(st.sampled_from("uuuaaatllcedrpnk"), min_size=size, max_size=size))
    names = [f"{letter}{number}" for number, letter in enumerate(letters, 1)]
    told = []
    for number, name in enumerate(names):
        above = st.sampled_from(
            [*names[:number], *names[max(0, number - 1) : number] * 6, *names[number : number + 1], "gone"]
        )
        parent = f"{draw(above)} > " if number and draw(st.booleans()) else ""
        about = f"({draw(st.sampled_from([*names, 'gone']))})" if name[0] in "lcer" else ""
        damaged = "!" if draw(st.integers(0, 9)) == 0 else ""
        told.append(f"{'| ' if parent else ''}{parent}{damaged}{name}{about}")
    return " ".join(told)


@given(trees(), st.data())
def test_every_path_of_any_tree_gives_the_same_context(text: str, data: st.DataObject) -> None:
    source = tree_of(text)
    visible = [row for row in range(len(source.tree)) if not source.tree.is_hidden(row)]
    if not visible:
        return
    row = data.draw(st.sampled_from(visible))
    before = bytes(source.data)
    forked = load(fork(source, source.tree.ids[row]))
    assert source.data == before
    kept = [at for at in source.tree.path(row) if source.tree.kinds[at] != Kind.LABEL]
    at = forked.tree.find(source.tree.ids[kept[-1]]) if kept else ROOT
    path = forked.tree.path(at)
    assert forked.ids(path) == source.ids(kept)
    assert not kept or context(forked, at) == context(source, row)
    assert len(set(forked.tree.ids)) == len(forked.tree.ids)
    assert {problem.kind for problem in forked.change.problems} <= {
        problem.kind for problem in source.change.problems
    } | {
        "danglingTarget",
        "missingFirstKept",
    }
    on_path = {target for target in source.tree.labels if source.tree.rows.get(target, ROOT) in kept}
    assert {target: forked.tree.labels[target].text for target in on_path} == {
        target: source.tree.labels[target].text for target in on_path
    }


@given(trees())
def test_a_whole_fork_of_any_tree_is_the_same_tree(text: str) -> None:
    source = tree_of(text)
    forked = load(fork(source))
    assert forked.tree.ids == source.tree.ids
    assert list(forked.tree.parents) == list(source.tree.parents)
    assert forked.tree.last == source.tree.last
    assert [problem.kind for problem in forked.change.problems] == [problem.kind for problem in source.change.problems]
