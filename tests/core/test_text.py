"""Texts of documents: lines at line feeds alone, columns in UTF-16 units, edits, and texts out of JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core import text as module
from pid.core.text import Place, Stretch, byte_at, edited, end_of, first_difference, head_line, read_lines, units_before

ODD = 'a\u00e9\u4e2d\U0001f600\u2028\u0085\r\\"\n'
texts = st.text(st.sampled_from(ODD), max_size=40)
lines = texts.map(lambda text: text.encode().split(b"\n"))


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@settings(deadline=None)
@given(st.text(st.sampled_from(ODD[:-1]), max_size=20), st.integers(0, 20))
def test_a_column_is_utf16_units(line: str, cut: int) -> None:
    head, stored = line[:cut], line.encode()
    assert units_before(stored, len(head.encode())) == units(head)
    assert byte_at(stored, units(head)) == len(head.encode())


def test_a_column_inside_a_pair_is_the_start_of_its_character() -> None:
    assert [byte_at("a\U0001f600b".encode(), column) for column in range(6)] == [0, 1, 1, 5, 6, 6]


def test_only_a_line_feed_ends_a_line() -> None:
    assert read_lines(json.dumps("a\u2028b\u2029c\u0085d\x0be\rf\ng").encode()) == [
        "a\u2028b\u2029c\u0085d\x0be\rf".encode(),
        b"g",
    ]


@settings(deadline=None)
@given(texts, st.integers(0, 60), st.integers(0, 60), texts)
def test_an_edit_is_that_of_the_text(old: str, start: int, size: int, new: str) -> None:
    """Places are those of LSP, computed here on the whole text."""
    start, stop = min(start, len(old)), min(start + size, len(old))

    def place(at: int) -> Place:
        head = old[:at].split("\n")
        return Place(len(head) - 1, units(head[-1]))

    found = edited(old.encode().split(b"\n"), Stretch(place(start), place(stop)), new.encode().split(b"\n"))
    assert b"\n".join(found).decode() == old[:start] + new + old[stop:]


def test_places_behind_the_end_are_the_end() -> None:
    old = [b"one", b"two"]
    assert edited(old, Stretch(Place(7, 3), Place(9, 0)), [b"", b"three"]) == [b"one", b"two", b"three"]
    assert edited(old, Stretch(Place(0, 99), Place(0, 100)), [b"!"]) == [b"one!", b"two"]
    assert edited(old, Stretch(Place(1, 2), Place(0, 1)), [b"x"]) == [b"one", b"twxo"]
    assert old == [b"one", b"two"]
    assert end_of(["\U0001f600".encode()]) == Place(0, 2)


def test_the_first_difference() -> None:
    assert first_difference([b"a", b"b"], [b"a", b"c"]) == 1
    assert first_difference([b"a"], [b"a", b"c"]) == 1
    assert first_difference([b"a", b"b", b"c"], [b"x", b"b", b"d"], 1) == 2


@settings(deadline=None)
@given(st.text(st.sampled_from(ODD), max_size=300), st.booleans(), st.integers(1, 40))
def test_a_text_is_read_in_slices_as_in_one(text: str, ascii_only: bool, size: int) -> None:
    raw = json.dumps(text, ensure_ascii=ascii_only).encode()
    old, module._SLICE = module._SLICE, size
    try:
        assert read_lines(raw) == text.encode().split(b"\n")
        assert text.encode().startswith(head_line(raw))
    finally:
        module._SLICE = old


def test_a_lone_surrogate_is_read_as_one_unit() -> None:
    assert read_lines(rb'"a\ud83d\nb"') == ["a\ufffd".encode(), b"b"]


@pytest.mark.parametrize("raw", [b"5", b"null", b'"', b"{}"])
def test_no_text(raw: bytes) -> None:
    with pytest.raises(ValueError, match="string"):
        read_lines(raw)
