"""Entries found by how their lines begin are those that taking every line apart gives, in any mixture of lines."""

from __future__ import annotations

import json
from typing import Any, TypeVar
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pid.core.batch import Batch
from pid.core.lines import Scanner
from pid.core.prefixes import UNKNOWN, rows_of
from pid.core.tree import Tree
from pid.entries import NO_TIME, ROLES, TYPES, Kind, canonical_ms
from tests.core.test_lines import HEADER, TIME

Members = list[tuple[str, Any]]
T = TypeVar("T")


def mostly(usual: st.SearchStrategy[T], *others: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """The usual one five times of six."""
    return st.integers(0, 5).flatmap(lambda dice: usual if dice else st.one_of(others))


HEX = st.text("0123456789abcdef", min_size=8, max_size=8)
IDS = mostly(HEX, st.sampled_from(["a", "x" * 64, "x" * 65, "a b", "ü", 'q"', "b\\s", "~!", "7", 7]))
PARENTS = mostly(IDS, st.none())
MOMENTS = st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds") + "Z")
NO_MOMENTS = (
    "2026-02-30T01:02:03.004Z",
    "2026-01-01T24:01:00.001Z",
    "2026-01-01T23:60:00.000Z",
    "2026-01-01T23:59:60.000Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01",
    7,
    None,
)
TIMES = mostly(MOMENTS, st.sampled_from(NO_MOMENTS))
ENTRY_TYPES = st.sampled_from([*["message"] * 20, *["custom"] * 3, *TYPES, "unheard_of", "session", "a-b"])
MESSAGES = st.sampled_from([*ROLES] * 2 + ["unheard_of", "a-b", None]).map(lambda role: {"role": role, "content": "é"})
OTHERS = st.lists(
    st.sampled_from(
        [
            ("customType", "pid.leaf"),
            ("targetId", "a"),
            ("label", "L"),
            ("name", "a name"),
            ("details", {"parentId": "no entry", "id": "z"}),
            ("data", "x" * 300),
            ("firstKeptEntryId", "a"),
        ]
    ),
    max_size=2,
    unique_by=lambda member: member[0],
)


@st.composite
def entries(draw: st.DrawFn) -> Members:
    """The members of an entry, in the order in which pi writes them, migrates them, or in any other."""
    kind = draw(ENTRY_TYPES)
    head: Members = [("type", kind)]
    links: Members = [("id", draw(IDS)), ("parentId", draw(PARENTS))]
    time: Members = [("timestamp", draw(TIMES))]
    message: Members = [("message", draw(MESSAGES))] if kind == "message" or draw(st.integers(0, 9)) == 0 else []
    body = [*message, *draw(OTHERS)]
    match draw(st.sampled_from([*["written"] * 12, *["migrated"] * 3, "any", "lacking"])):
        case "written":
            return head + links + time + body
        case "migrated":
            return head + time + body + links
        case "any":
            return draw(st.permutations(head + links + time + body))
    lacking = draw(st.sampled_from(["type", "id", "parentId", "timestamp"]))
    return [member for member in head + links + time + body if member[0] != lacking]


SEPARATORS = st.sampled_from([*[(",", ":")] * 4, (", ", ": ")])
WHOLE = st.builds(
    lambda members, separators: json.dumps(dict(members), separators=separators, ensure_ascii=False).encode(),
    entries(),
    SEPARATORS,
)
LINKED = WHOLE.filter(lambda raw: b'"parentId"' in raw)


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """The beginning of an entry: one that does not end as an object would."""
    raw = draw(WHOLE)
    part = raw[: draw(st.integers(0, len(raw) - 1))].rstrip(b"}")
    assume(b'"parentId"' in part or b'"timestamp"' not in part)  # else it goes on as another one that was migrated
    return part


LINES = mostly(
    WHOLE,
    WHOLE.map(lambda raw: raw + b"\r"),
    torn(),
    st.tuples(torn(), LINKED).map(b"".join),
    st.tuples(WHOLE, st.sampled_from([b"", b" ", b"\x00"]), LINKED).map(b"".join),
    st.tuples(st.sampled_from([b"\x00", b"\xef\xbb\xbf", b" "]), WHOLE).map(b"".join),
    st.tuples(WHOLE, st.sampled_from([b"\x00", b"\r\r", b" "])).map(b"".join),
    st.sampled_from([b"", b"\r", b"42", b"garbage", b"}", b"{}"]),
)


def scan(parts: list[bytes]) -> tuple[list[Batch], dict[str, Any]]:
    """What a scanner gives for the slices of a file, and what it knows then."""
    tree = Tree()
    scanner = Scanner(tree.rows)
    offset, batches = 0, []
    for part in parts:
        batches.append(scanner.scan(bytearray(part + b"half a line"), len(part), offset))
        tree.extend(batches[-1])
        offset += len(part)
    return batches, {name: value for name, value in vars(scanner).items() if name not in ("_taken", "_last_id")}


def unknown_rows(view: bytes | bytearray, at: int, stop: int, offset: int, line: int) -> Batch:
    """In the place of `rows_of`: no line shows by its beginning what it holds."""
    found = Batch()
    for number, raw in enumerate(bytes(view[at:stop]).split(b"\n")[:-1], line):
        found.add("", None, UNKNOWN, NO_TIME, offset + at, len(raw), 0, number)
        at += len(raw) + 1
    return found


@settings(max_examples=300)
@given(st.lists(st.lists(LINES, min_size=1, max_size=8), min_size=1, max_size=3))
def test_beginnings_say_what_whole_lines_say(slices: list[list[bytes]]) -> None:
    parts = [HEADER, *(b"".join(line + b"\n" for line in part) for part in slices)]
    with mock.patch("pid.core.lines.rows_of", unknown_rows):
        taken_apart = scan(parts)
    assert scan(parts) == taken_apart


WRITTEN = b'{"type":"message","id":"u1","parentId":null,"timestamp":"%s","message":{"role":"user"}}' % TIME.encode()
SHAPES = {
    "as written": WRITTEN,
    "with spaces": WRITTEN.replace(b'":', b'": ').replace(b',"', b', "'),
    "as migrated": b'{"type":"message","timestamp":"%s","message":{"role":"user"},"id":"u1","parentId":null}'
    % TIME.encode(),
    "with a carriage return": WRITTEN + b"\r",
    "with long ids": WRITTEN.replace(b'"u1","parentId":null', b'"%s","parentId":"%s"' % (b"u" * 64, b"p" * 64)),
}


@pytest.mark.parametrize("line", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("others", [[], [WRITTEN], [b"", b"garbage"]])
def test_shapes_that_are_not_parsed(line: bytes, others: list[bytes]) -> None:
    view = b"".join(raw + b"\n" for raw in [*others, line, *others])
    found, place = rows_of(view, 0, len(view), 1000, 7), len(others)
    links = ("u" * 64, "p" * 64) if b"uu" in line else ("u1", None)
    assert (found.ids[place], found.parent_ids[place]) == links
    assert (found.kinds[place], found.times[place]) == (Kind.USER, canonical_ms(TIME))
    assert found.lines[place] == 7 + place
    start, size = found.starts[place] - 1000, found.sizes[place]
    assert view[start : start + size] == line.rstrip(b"\r")


@pytest.mark.parametrize(
    ("name", "kind"), [("custom", Kind.CUSTOM), ("unheard_of", Kind.OTHER), ("usage", Kind.USAGE), ("label", UNKNOWN)]
)
@pytest.mark.parametrize("message", [b"", b',"message":{"role":"user"}'])
def test_kinds_by_type_alone(name: str, kind: int, message: bytes) -> None:
    line = b'{"type":"%s","id":"u1","parentId":null,"timestamp":"%s"%s}' % (name.encode(), TIME.encode(), message)
    assert rows_of(line + b"\n", 0, len(line) + 1, 0, 1).kinds[0] == kind


def test_an_empty_line_at_the_beginning_is_told_from_what_stands_behind_the_slice() -> None:
    line = WRITTEN + b"\r\n"
    view = b"\n" + line + line.removesuffix(b"\n")  # the last line break comes with the next slice
    found = rows_of(view, 0, 1 + len(line), 1000, 7)
    assert list(found.sizes) == [0, len(WRITTEN)]
    assert list(found.kinds) == [UNKNOWN, Kind.USER]
