import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.splice import _split, joined, members, value_of, with_member, without_image_data

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12)
objects = st.dictionaries(texts, values)
layouts = st.sampled_from([(",", ":"), (", ", ": "), (" , ", "\t:\n")])


@given(objects, layouts)
def test_an_object_taken_apart_and_joined_says_the_same(value, layout):
    raw = json.dumps(value, separators=layout).encode()
    parts = members(raw)
    assert {key: json.loads(bytes(part)) for key, part in parts.items()} == value
    assert json.loads(joined(parts)) == value
    assert list(parts) == list(value)


@given(objects, layouts)
def test_members_are_found_without_recursion_too(value, layout):
    raw = json.dumps(value, separators=layout).encode()
    assert {json.loads(key): json.loads(part) for key, part in _split(raw)} == value


def test_a_member_is_set_in_its_place_and_no_other_byte_changes():
    raw = b'{"a": 1.0, "b":"\\u00e9", "n":123456789012345678901234567890}'
    assert with_member(raw, "b", b"[]") == b'{"a":1.0,"b":[],"n":123456789012345678901234567890}'
    assert with_member(raw, "c", b"{}") == b'{"a":1.0,"b":"\\u00e9","n":123456789012345678901234567890,"c":{}}'


def test_of_a_repeated_key_the_last_value_counts():
    parts = members(b'{"a":1,"b":2,"a":3}')
    assert {key: value_of(part) for key, part in parts.items()} == {"a": 3, "b": 2}


def test_an_object_deeper_than_the_stack_is_taken_apart():
    deep = b"[" * 990 + b"]" * 990
    parts = members(b'{"x":{"y":' + deep + b'},"content":null}')
    assert bytes(parts["x"]) == b'{"y":' + deep + b"}"
    assert value_of(parts["content"]) is None


@pytest.mark.parametrize(("raw", "value"), [(b"null", None), (b'"a\\n"', "a\n"), (b"1e999", float("inf")), (b"-0", 0)])
def test_a_scalar_is_parsed(raw, value):
    assert value_of(raw) == value


IMAGE = '{"type":"image","data":"QUJD","mimeType":"image/png"}'


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (IMAGE, IMAGE.replace("QUJD", "")),
        ('[{"data": "QUJD", "type": "image"},1]', '[{"data": "", "type": "image"},1]'),
        ('{"a":[{"b":' + IMAGE + "}]}", '{"a":[{"b":' + IMAGE.replace("QUJD", "") + "}]}"),
        ('{"type":"text","data":"QUJD"}', '{"type":"text","data":"QUJD"}'),
        (json.dumps({"text": IMAGE}), json.dumps({"text": IMAGE})),  # a text that looks like one
        (json.dumps({"text": "{" + IMAGE + '"'}), json.dumps({"text": "{" + IMAGE + '"'})),
        (json.dumps({"text": '\\"{\\'}) + IMAGE, json.dumps({"text": '\\"{\\'}) + IMAGE.replace("QUJD", "")),
    ],
)
def test_the_data_of_images_is_left_out_and_nothing_else(raw, shown):
    assert without_image_data(raw.encode()).decode() == shown


@given(values)
def test_what_holds_no_image_is_left_as_it_is(value):
    raw = json.dumps([value, {"type": "image"}]).encode()
    assert json.loads(without_image_data(raw)) == [value, {"type": "image"}]
