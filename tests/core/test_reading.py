"""Reading documents: the same entries as from a file, however the text came to be what it is."""

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core import reading as module
from pid.core.reading import Reading, is_session
from pid.core.text import Place, Stretch, edited, first_difference, units_before
from pid.core.tree import ROOT
from tests import interop
from tests.trees import load, session_bytes

HEADER = session_bytes("").rstrip(b"\n")


def read(text: bytes) -> Reading:
    return Reading(text.split(b"\n"))


def seen(reading: Reading) -> object:
    """All that a reading tells."""
    tree = reading.tree
    return (
        tree.ids,
        list(tree.parents),
        list(tree.starts),
        list(tree.sizes),
        bytes(flag & ~3 for flag in tree.flags),
        tree.name,
        {target: label.text for target, label in tree.labels.items()},
        reading.glances,
        list(reading.columns),
        list(reading.widths),
        [(problem.line, problem.kind, problem.entry_id) for problem in reading.problems()],
        [reading.span_of(row) for row in range(len(tree))],
    )


CASES = sorted(Path(__file__).parents[1].glob("golden/cases/*.jsonl"))
FILES = [*(case.read_bytes() for case in CASES), *(interop.case_file(case).read_bytes() for case in interop.CASES)]


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_a_document_is_read_as_the_file(data: bytes) -> None:
    text = data.decode(errors="replace").encode()
    reading = read(text)
    if not reading.is_session:
        return
    loaded = load(text)
    assert reading.tree.ids == loaded.tree.ids
    assert list(reading.tree.parents) == list(loaded.tree.parents)
    assert [reading.stored(row) for row in range(len(loaded.tree))] == [
        loaded.stored(row) for row in range(len(loaded.tree))
    ]
    assert [problem for problem in loaded.change.problems if problem not in reading.problems()] == []


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_growth_line_by_line_is_read_as_the_whole(data: bytes) -> None:
    lines = data.decode(errors="replace").encode().split(b"\n")
    reading = Reading(lines[:1])
    for size in range(2, len(lines) + 1):
        reading = reading.follow(lines[:size], size - 2)
    if read(b"\n".join(lines)).is_session:
        assert seen(reading) == seen(Reading(lines))


PIECES = [
    HEADER,
    *session_bytes("u1=One a1(bash) t1 | a1 > u2=\U0001f600 a2 l1(u1)=here c1(u2)=short !u3 a3 | gone > u4").split(
        b"\n"
    )[1:],
    b'{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user"}}',
    b'{"type":"message","id":"bad","parentId":"u1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user",}}',
    b"",
    b"no JSON",
    b"\r",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.data())
def test_edits_are_read_as_the_whole(lines: list[bytes], data: st.DataObject) -> None:
    """Any edits, after each of which the text may or may not be looked at."""
    lines = [HEADER, *lines]
    reading, same = Reading(lines), 1 << 62
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(lines) - 1))
        last = data.draw(st.integers(first, len(lines) - 1))
        part = Stretch(Place(first, data.draw(st.sampled_from([0, 30, 999]))), Place(last, 999))
        new = edited(lines, part, data.draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)))
        same = min(same, first_difference(lines, new, first))
        lines = new
        if data.draw(st.booleans()):
            reading, same = reading.follow(lines, same), 1 << 62
    reading = reading.follow(lines, same)
    fresh = Reading(lines)
    assert reading.is_session == fresh.is_session
    if fresh.is_session:
        assert seen(reading) == seen(fresh)


def test_growth_reads_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = session_bytes("u1 a1 u2 a2").split(b"\n")
    reading = Reading([*whole[:3], b""])
    looked: list[int] = []
    glance = Reading._glance
    monkeypatch.setattr(Reading, "_glance", lambda self, row, raw: (looked.append(row), glance(self, row, raw))[1])
    assert reading.follow(whole, 3) is reading
    assert looked == [2, 3]
    changed = [*whole[:3], whole[3].replace(b"u2", b"u9"), *whole[4:]]
    assert reading.follow(changed, 3) is not reading
    assert looked == [2, 3, 2]


def test_a_tail_without_a_line_break_is_an_entry_and_half_a_line_is_told() -> None:
    whole = session_bytes("u1 a1").rstrip(b"\n")
    reading = read(whole)
    assert reading.tree.ids == ["u1", "a1"]
    assert reading.problems() == []
    torn = read(whole[:-5])
    assert torn.tree.ids == ["u1"]
    assert [(problem.line, problem.kind) for problem in torn.problems()] == [(3, "tornLine")]
    assert torn.follow(whole.split(b"\n"), 2).problems() == []


def test_a_parent_that_comes_is_missing_no_more() -> None:
    first, second = session_bytes("u1 u2").split(b"\n")[1:3]
    reading = Reading([HEADER, second, b""])
    assert [problem.kind for problem in reading.problems()] == ["missingParent"]
    assert reading.follow([HEADER, second, first, b""], 2).problems() == []


def test_a_body_that_is_no_json_is_told() -> None:
    line = PIECES[-4]
    reading = Reading([HEADER, PIECES[1], line, b""])
    assert [(problem.line, problem.kind, problem.entry_id) for problem in reading.problems()] == [
        (3, "malformedLine", "bad")
    ]
    assert reading.body(1) == b""
    assert reading.glances[1].who == "user"


@pytest.mark.parametrize("stack", [1000, 4000])
def test_a_body_that_is_too_deep_is_told(stack: int) -> None:
    """However much room the stack has: the daemon sees to 4,000 frames."""
    deep = b'{"type":"custom","id":"d1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","data":%b%b}'
    line = deep % (b"[" * 1500, b"]" * 1500)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(stack)
    try:
        reading = Reading([HEADER, line, b""])
    finally:
        sys.setrecursionlimit(before)
    assert [(problem.line, problem.kind) for problem in reading.problems()] == [(2, "tooDeep")]


def test_glances() -> None:
    reading = read(session_bytes("u1=Go a1(read)=Look t1=found l1(u1)=here c1(u1)=short r1(a1)=tried k1=high"))
    shown = [(glance.who, glance.preview) for glance in reading.glances]
    assert shown[:3] == [("user", "Go"), ("assistant", "Look"), ("toolResult", "found")]
    assert [glance.names for glance in reading.glances[3:]] == ["u1", "u1", "a1", None]
    assert reading.glances[1].calls == (reading.glances[2].answers,)


def test_an_entry_that_is_too_long_keeps_its_place_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 300)
    reading = read(session_bytes("u1*400 a1"))
    assert reading.tree.ids == ["u1", "a1"]
    assert [glance.preview for glance in reading.glances] == [None, "a1"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["\U0001f600", "a", "\u00e9\u4e2d"]), min_size=1, max_size=5), st.booleans())
def test_columns_of_entries_on_one_line(texts: list[str], tail: bool) -> None:
    entries = [
        {"type": "custom", "id": f"d{number}", "parentId": None, "customType": "k", "data": text}
        for number, text in enumerate(texts)
    ]
    line = " " + " ".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    stored = line.encode()
    reading = Reading([HEADER, stored, *([] if tail else [b""])])
    assert len(reading.tree) == len(texts)
    for row in range(len(reading.tree)):
        _, start, stop = reading.span_of(row)
        assert reading.columns[row] == units_before(stored, start)
        assert reading.columns[row] + reading.widths[row] == units_before(stored, stop)
    for at in range(len(line)):
        head = len(line[:at].encode())
        assert reading.place(1, head) == Place(1, units_before(stored, head))


def test_rows_at_places() -> None:
    one, two = session_bytes("u1 a1").split(b"\n")[1:3]
    reading = Reading([HEADER, one + two, b"", b""])
    assert list(reading.rows_on(0)) == list(reading.rows_on(2)) == list(reading.rows_on(9)) == []
    assert list(reading.rows_on(1)) == [0, 1]
    assert [reading.row_at(1, at) for at in (0, len(one) - 1, len(one), 999)] == [0, 0, 1, 1]
    assert reading.row_at(2, 0) == ROOT


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (HEADER, True),
        (b"\xef\xbb\xbf" + HEADER, True),
        (HEADER + b"\r", True),
        (re.sub(rb'"version": 3, ', b"", HEADER), True),
        (b"", True),
        (b" \r", True),
        (b'{"type":"message"}', False),
        (b'{"type":"session"}', False),
        (b"[1]", False),
        (b"words", False),
        (b"null", False),
        (json.dumps({"type": "session", "id": "x" * (1 << 20)}).encode(), False),
    ],
)
def test_what_may_be_a_session(line: bytes, answer: bool) -> None:
    assert is_session(line) is answer


def test_a_text_without_a_header_is_not_read_far() -> None:
    reading = Reading([b"null"] * 1_000_000)
    assert not reading.is_session
    assert len(reading.starts) < 300_000
