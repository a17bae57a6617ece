"""What an append must be: each name once, for of two members with one name nobody knows which one counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.appending import read_sent
from pid.errors import InvalidEntry

REPEATED = {
    b'{"type":"x","id":"a","id":"a"}': "id",
    b'{"type":"x","id":"a","more":1,"id":"b"}': "id",
    b'{"type":"x","more":1,"type":"y"}': "type",
    b'{"type":"x","id":"a","\\u0069d":"b"}': "id",
    b'{"type":"message","message":{"role":"user"},"message":{"role":"assistant"}}': "message",
    b'{"type":"x","a":12345,"a":1}': "a",
    b'{"type":"x","timestamp":"2026-01-01T00:00:00.000Z","timestamp":"2026-01-01T00:00:00.000Z"}': "timestamp",
}


@pytest.mark.parametrize(("raw", "name"), REPEATED.items())
def test_a_member_that_is_given_twice_is_refused(raw: bytes, name: str) -> None:
    with pytest.raises(InvalidEntry) as refused:
        read_sent(raw, "entries[2]")
    assert refused.value.details["path"] == f"entries[2].{name}"


SPACE = st.sampled_from(["", " ", "\n", "\t \r"])
NAMES = st.sampled_from(["id", "a", "\\u0061", "b", 'c\\"', "type ", "\\ud83d\\ude00", "ä", "timestamp"])
VALUES = st.sampled_from(['"x"', "1", "null", '{"a":1,"a":2}', '[",", "}"]', '"\\","'])
MEMBERS = st.lists(st.tuples(SPACE, NAMES, SPACE, SPACE, VALUES, SPACE), max_size=6)
SOUND = {"id": '"x"', "timestamp": '"2026-01-01T00:00:00.000Z"'}


@given(members=MEMBERS)
def test_a_line_names_each_member_once_or_is_refused(members: list[tuple[str, ...]]) -> None:
    texts = ['"type":"x"'] + [f'{a}"{name}"{b}:{c}{SOUND.get(name, value)}{d}' for a, name, b, c, value, d in members]
    raw = ("{" + ",".join(texts) + "}").encode()
    names = [name for name, _ in json.loads(raw, object_pairs_hook=list)]
    if len(set(names)) < len(names):
        with pytest.raises(InvalidEntry):
            read_sent(raw, "entry")
        return
    line = read_sent(raw, "entry").line("i", None, "t")
    stored = json.loads(line, object_pairs_hook=list)
    assert [name for name, _ in stored[:4]] == ["type", "id", "parentId", "timestamp"]
    assert len({name for name, _ in stored}) == len(stored)
    assert stored[4:] == [
        pair for pair in json.loads(raw, object_pairs_hook=list) if pair[0] not in ("type", "id", "timestamp")
    ]
