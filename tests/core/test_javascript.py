"""What JavaScript says of the same values, seen in Node 24."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.javascript import json_text, ordered_keys, utf16_head, utf16_length
from pid.entries import read_body

PRINTED = [
    ("1.0", "1"),
    ("-0.0", "0"),
    ("0.1", "0.1"),
    ("1e20", "100000000000000000000"),
    ("1e21", "1e+21"),
    ("-1.5e300", "-1.5e+300"),
    ("0.000001", "0.000001"),
    ("1e-7", "1e-7"),
    ("-1.25e-7", "-1.25e-7"),
    ("5e-324", "5e-324"),
    ("9007199254740993", "9007199254740992"),
    ("12345678901234567890", "12345678901234567000"),
    ("1e400", "null"),
    ('"a\\u0001\\b\\t\\"\\\\/\\u007f\\u2028é😀"', '"a\\u0001\\b\\t\\"\\\\/\x7f\u2028é😀"'),
    ('{"b":1,"10":2,"9":3,"01":4,"4294967295":5,"4294967294":6}', None),
    ('{"path":"a b","old":"\\"é\\n"}', '{"path":"a b","old":"\\"é\\n"}'),
    ('{"b":"x","10":"y","9":"z"}', '{"9":"z","10":"y","b":"x"}'),
    ('[{"a":[]},{},[[null,true,false]]]', '[{"a":[]},{},[[null,true,false]]]'),
]


@pytest.mark.parametrize(("stored", "printed"), PRINTED)
def test_values_print_as_json_stringify_prints_them(stored: str, printed: str | None) -> None:
    value = read_body(b'{"v":%b}' % stored.encode())["v"]
    assert json_text(value) == (printed or '{"9":3,"10":2,"4294967294":6,"b":1,"01":4,"4294967295":5}')


def test_depth_costs_no_recursion() -> None:
    value: Any = "core"
    for _ in range(5_000):
        value = [{"in": value}]
    assert json_text(value).endswith('"core"' + "}]" * 5_000)


def test_indices_come_first_in_their_own_order() -> None:
    assert ordered_keys({"x": 0, "2": 0, "10": 0, "1": 0}) == ["1", "2", "10", "x"]
    assert ordered_keys({"x": 0, "²": 0, "-1": 0, "9" * 40: 0}) == ["x", "²", "-1", "9" * 40]


@pytest.mark.parametrize(
    ("text", "units", "head"),
    [("abc", 2, "ab"), ("abc", 3, "abc"), ("a😀b", 2, "a"), ("a😀b", 3, "a😀"), ("😀", 1, ""), ("", 0, "")],
)
def test_a_head_keeps_pairs_whole(text: str, units: int, head: str) -> None:
    assert utf16_head(text, units) == head


@given(st.text(), st.integers(0, 40))
def test_a_head_is_a_prefix_as_long_as_may_be(text: str, units: int) -> None:
    head = utf16_head(text, units)
    assert text.startswith(head)
    assert utf16_length(head) <= units
    assert head == text or utf16_length(text[: len(head) + 1]) > units
