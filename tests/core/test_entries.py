"""One line to and from bytes."""

import contextlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.entries import (
    NO_TIME,
    DamagedLine,
    EntryHead,
    Kind,
    canonical_ms,
    clean,
    compose,
    depth_of,
    derived_id,
    elements,
    is_clean,
    iso_of,
    kind_of,
    may_be_deeper,
    members,
    name_text,
    read_body,
)

HEAD = EntryHead("message", "a1", "u1", "2026-01-01T00:00:00.000Z")
OWN = '{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:00.000Z"'


@pytest.mark.parametrize(
    ("sent", "present", "stored"),
    [
        ('{"type":"message","n":1.0}', 1, OWN + ',"n":1.0}'),
        ('{"n":12345678901234567890,"type":"message"}', 1, OWN + ',"n":12345678901234567890}'),
        ('{"type":"message"}', 1, OWN + "}"),
        ('{ "type" : "message" , "k" : [ 1 , 2 ] }', 1, OWN + ',"k" : [ 1 , 2 ] }'),
        ('{"id":"zz","timestamp":null,"type":"message","k":"\\u00e9"}', 3, OWN + ',"k":"\\u00e9"}'),
        ('{"k":{"id":"inner"},"id":"zz","type":"message"}', 2, OWN + ',"k":{"id":"inner"}}'),
        ('{"k":1,"k":2,"type":"message"}', 1, OWN + ',"k":1,"k":2}'),
        ('{"type":"message",\n\r"k":"\\n"}', 1, OWN + ',"k":"\\n"}'),
        ('{"k":"\\ud800","type":"message"}', 1, OWN + ',"k":"\\ud800"}'),
    ],
)
def test_a_line_is_the_clients_bytes_behind_our_four_keys(sent, present, stored):
    assert compose(sent.encode(), HEAD, present).decode() == stored


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.floats(allow_nan=False) | st.text(), st.lists)))
def test_composing_keeps_every_value(fields):
    fields = {key: value for key, value in fields.items() if key not in ("type", "id", "parentId", "timestamp")}
    sent = json.dumps({**fields, "type": "message"}, ensure_ascii=False)
    try:
        raw = sent.encode()
    except UnicodeEncodeError:
        raw = json.dumps({**fields, "type": "message"}).encode()
    line = compose(raw, HEAD, 1)
    assert b"\n" not in line
    stored = json.loads(line)
    assert {key: stored.pop(key) for key in ("type", "id", "parentId", "timestamp")} == json.loads(OWN + "}")
    assert stored == json.loads(json.dumps(fields))


@pytest.mark.parametrize(
    ("raw", "out"),
    [
        (b'{"a":"\\ud800"}', b'{"a":"\\ufffd"}'),
        (b'{"a":"\\udc00\\ud83d\\ude00"}', b'{"a":"\\ufffd\\ud83d\\ude00"}'),
        (b'{"a":"\\\\ud800"}', b'{"a":"\\\\ud800"}'),
        (b'{"a":"\xff\xfe\xc3 "}', '{"a":"\ufffd\ufffd\ufffd "}'.encode()),
        (b'{"a":1e999}', b'{"a":1e999}'),
        (b' {"a":1}\r', b' {"a":1}\r'),
    ],
)
def test_what_goes_out_is_valid(raw, out):
    assert clean(raw) == out
    assert clean(out) == out


def test_a_number_of_any_length_is_kept_and_read():
    number = b"9" * 5000
    for raw in (b'{"n":%b,"type":"message"}' % number, b'{"n":-%b.%be-%b,"type":"message"}' % ((number,) * 3)):
        line = compose(raw, HEAD, 1)
        assert line == OWN.encode() + b"," + raw[1:].replace(b',"type":"message"', b"")
        assert read_body(clean(line))["id"] == "a1"


def test_clean_bytes_are_not_copied():
    raw = b'{"a":"b"}'
    assert clean(raw) is raw


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"", "malformedLine"),
        (b'{"a":NaN}', "malformedLine"),
        (b'{"a":01}', "malformedLine"),
        (b'{"a":"\x01"}', "malformedLine"),
        (b'{"a":1}{"b":2}', "malformedLine"),
        (b'{"a":"\\ud8', "malformedLine"),
        (b"[1]", "malformedLine"),
        (b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}", "tooDeep"),
        (b'{"a":' + b'{"b":' * 100_000 + b"1" + b"}" * 100_000 + b"}", "tooDeep"),
    ],
)
def test_damaged_lines(raw, kind):
    with pytest.raises(DamagedLine) as error:
        clean(raw)
    assert error.value.kind == kind


def test_a_depth_of_exactly_1000_is_valid():
    raw = b'{"a":' + b"[" * 999 + b"]" * 999 + b"}"
    assert clean(raw) is raw


def test_a_larger_python_stack_makes_no_deeper_line_valid():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)
    try:
        with pytest.raises(DamagedLine) as caught:
            clean(b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}")
    finally:
        sys.setrecursionlimit(limit)
    assert caught.value.kind == "tooDeep"


@pytest.mark.parametrize("depth", [2, 3, 999, 1000])
def test_no_depth_goes_unseen(depth):
    arrays, objects = b"[" * depth + b"]" * depth, b'{"":' * (depth - 1) + b"{}" + b"}" * (depth - 1)
    assert all(depth_of(raw) == depth for raw in (arrays, objects))
    assert all(may_be_deeper(raw, depth - 1) and not may_be_deeper(raw, depth) for raw in (arrays, objects))


@pytest.mark.parametrize(
    ("raw", "sound"),
    [
        (b'{"a":"b"}', True),
        ('{"a":"\u00e9\u4e2d"}'.encode(), True),
        (b'{"a":"\\ud83d\\ude00"}', True),
        (b'{"a":"' + b"[" * 3000 + b'"}', True),
        (b'{"a":' + b"[" * 999 + b"]" * 999 + b"}", True),
        (b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}", False),
        (b'{"a":"\xff"}', False),
        (b'{"a":"\\ud83d"}', False),
        (b'{"a":"b}', False),
        (b'{"a":1}}', False),
        (b"[]", False),
    ],
)
@pytest.mark.parametrize("stack", [1000, 4000])
def test_what_is_clean_goes_out_as_it_stands(raw, sound, stack):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, stack))
    try:
        assert is_clean(raw, 1000) == sound
        with contextlib.suppress(DamagedLine):
            assert (clean(raw) is raw) == sound
    finally:
        sys.setrecursionlimit(limit)


def test_brackets_in_strings_are_no_depth():
    raw = json.dumps({"a": "[{" * 5000, "b": '\\"[' * 2000}).encode()
    assert clean(raw) is raw


def test_reading_takes_what_javascript_takes():
    assert read_body(b'{"a":1e999}') == {"a": float("inf")}
    assert read_body(b'{"a":"\\ud800"}') == {"a": "\ufffd"}
    with pytest.raises(DamagedLine, match="not an object"):
        read_body(b"[]")


def test_members_and_elements_keep_their_texts():
    text = '{ "a" : [1, {"b":2}] ,"c":"x\\"}", "a":1.50 }'
    assert list(members(text)) == [("a", '"a"', '[1, {"b":2}]'), ("c", '"c"', '"x\\"}"'), ("a", '"a"', "1.50")]
    assert list(elements(' [1.0, "]", {"a":[]} ,[] ]')) == ["1.0", '"]"', '{"a":[]}', "[]"]
    assert list(members("{}")) == list(elements("[]")) == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "message", "message": {"role": "toolResult"}}, Kind.TOOL_RESULT),
        ({"type": "message", "message": {"role": "hookMessage"}}, Kind.CUSTOM_ROLE),
        ({"type": "message", "message": {"role": ["user"]}}, Kind.MESSAGE),
        ({"type": "message", "message": None}, Kind.MESSAGE),
        ({"type": "message"}, Kind.MESSAGE),
        ({"type": "custom", "customType": "pid.leaf"}, Kind.LEAF_MARKER),
        ({"type": "custom", "customType": "other"}, Kind.CUSTOM),
        ({"type": ["message"]}, Kind.OTHER),
        ({"type": "future"}, Kind.OTHER),
        ({}, Kind.OTHER),
    ],
)
def test_kinds(body, kind):
    assert kind_of(body) is kind


@given(st.integers(min_value=-62135596800000, max_value=253402300799999))
def test_times_survive(ms):
    assert canonical_ms(iso_of(ms)) == ms


@pytest.mark.parametrize(
    "text", [None, 5, "", "2026-01-01", "2026-02-30T00:00:00.000Z", "2026-01-01T00:00:60.000Z", "2026-01-01T00:00:00Z"]
)
def test_other_times_are_not_canonical(text):
    assert canonical_ms(text) == NO_TIME


def test_derived_ids_are_stable_and_distinct():
    first = derived_id("session", "2", frozenset())
    assert first == derived_id("session", "2", frozenset())
    second = derived_id("session", "2", {first})
    assert second != first
    assert len(second) == 8


@pytest.mark.parametrize(
    ("name", "shown"), [(" a\r\nb ", "a b"), ("a\rb\nc", "a b c"), ("", None), (" \n", None), (None, None), (3, None)]
)
def test_names(name, shown):
    assert name_text(name) == shown
