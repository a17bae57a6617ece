"""From places in a session's text to entries, and from entries to those that name them."""

import json

import pytest

from pid.core.fields import fault_at, named_at, value_span
from pid.core.links import id_span, meant_at, named_entry, naming
from pid.core.pairs import Call, pairs_of
from pid.core.reading import Reading
from pid.core.tree import ROOT
from tests.trees import session_bytes

TREE = "u1 a1(read) t1 l1(u1)=here c1(a1)=short e1(t1) | u1 > r1(t1)=tried u2 p1 u3"


@pytest.fixture
def reading() -> Reading:
    return Reading(session_bytes(TREE).split(b"\n"))


def leads(reading: Reading, entry_id: str, text: str = "", inside: int = 1) -> str | None:
    """Where a place in an entry's line leads: the start of the entry, or behind the start of a text in it."""
    line, start, _ = reading.span_of(reading.tree.rows[entry_id])
    at = reading.lines[line].index(text.encode(), start) + inside if text else start
    row = meant_at(reading, pairs_of(reading), line, at)
    return None if row == ROOT else reading.tree.ids[row]


def test_definition_by_kind(reading: Reading) -> None:
    assert {entry_id: leads(reading, entry_id) for entry_id in reading.tree.ids} == {
        "u1": None,
        "a1": "u1",
        "t1": "a1",
        "l1": "u1",
        "c1": "a1",
        "e1": "t1",
        "r1": "u1",
        "u2": "r1",
        "p1": "u2",
        "u3": "u2",
    }


def test_definition_on_an_id(reading: Reading) -> None:
    assert leads(reading, "l1", '"parentId":"t1"', 12) == "t1"
    assert leads(reading, "l1", '"targetId":"u1"', 12) == "u1"
    assert leads(reading, "c1", '"firstKeptEntryId":"a1"', 20) == "a1"
    assert leads(reading, "r1", '"fromId":"t1"', 10) == "t1"
    assert leads(reading, "r1", '"id":"r1"', 6) == "r1"


def test_definition_between_a_call_and_its_result(reading: Reading) -> None:
    assert leads(reading, "a1", '"id":"call-a1"', 7) == "t1"
    assert leads(reading, "t1", '"toolCallId":"call-a1"', 15) == "a1"


def test_references(reading: Reading) -> None:
    def naming_ids(entry_id: str) -> list[str]:
        return [reading.tree.ids[row] for row in naming(reading, pairs_of(reading), reading.tree.rows[entry_id])]

    assert naming_ids("u1") == ["a1", "l1", "r1"]
    assert naming_ids("a1") == ["t1", "c1"]
    assert naming_ids("t1") == ["l1", "e1", "r1"]
    assert naming_ids("u2") == ["u3"]
    assert naming_ids("u3") == []


def test_version_1_names_by_index() -> None:
    header = b'{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}'
    user = b'{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"one"}}'
    compaction = (
        b'{"type":"compaction","timestamp":"2026-01-01T00:00:00.000Z","summary":"s",'
        b'"firstKeptEntryIndex":1,"tokensBefore":9}'
    )
    reading = Reading([header, user, user, compaction, b""])
    at = compaction.index(b":1,") + 1
    assert named_entry(reading, 3, at) is not None
    assert meant_at(reading, pairs_of(reading), 3, at) == 0
    assert meant_at(reading, pairs_of(reading), 3, 0) == 0
    assert meant_at(reading, pairs_of(reading), 2, 0) == 0
    assert naming(reading, pairs_of(reading), 0) == [1, 2]


def test_an_id_is_shown_where_it_stands_at_the_head(reading: Reading) -> None:
    line, start, stop = id_span(reading, 0)
    assert (line, reading.lines[line][start:stop]) == (1, b'"u1"')
    text = b'{"message":{"role":"user","content":"%b"},"type":"message","id":"x","parentId":null}' % (b"y" * 300)
    assert id_span(Reading([reading.lines[0], text, b""]), 0) == (1, 0, 0)


# Fields


@pytest.mark.parametrize("spaces", [False, True])
def test_the_bytes_of_a_value(spaces: bool) -> None:
    entry = {"a": {"id": "inner"}, "é": "\u2028", "id": 'x"y', "n": 10**400, "last": [1, {"z": 2}]}
    raw = json.dumps(entry, ensure_ascii=False, separators=(" , ", " : ") if spaces else (",", ":")).encode()
    line = b"junk " + raw
    for key in ("a", "id", "last"):
        start, stop = value_span(line, 5, len(line), key) or (0, 0)
        assert json.loads(line[start:stop]) == entry[key]
    assert value_span(line, 5, len(line), "z") is None
    assert value_span(b"{}", 0, 2, "a") is value_span(b"", 0, 0, "a") is value_span(b"[1]", 0, 3, "a") is None
    assert value_span(b'{"id":"x","torn', 0, 15, "id") == (6, 9)


def test_where_json_stops() -> None:
    assert fault_at(b'..{"a":1,}', 2, 10) == 9
    assert fault_at(b'{"a":"torn', 0, 10) == 5
    assert fault_at(b'{"a":1}', 0, 7) == 0
    assert fault_at(b"[" * 100_000, 0, 100_000) == 0


def test_fields_that_name() -> None:
    line = b'{"id":"a","parentId": "b","targetId":7,"text":"\\"parentId\\":\\"c\\""}'
    assert [named_at(line, line.index(mark)) for mark in (b'a"', b'b"', b"7", b"c\\")] == [
        ("id", "a", 6, 9),
        ("parentId", "b", 22, 25),
        ("targetId", "7", 37, 38),
        None,
    ]
    assert named_at(line, 9) is None
    assert named_at(b'{"id":"' + b"x" * 5000 + b'"}', 8) is None


# Pairs


def test_results_answer_the_nearest_call_above_them() -> None:
    """Ids may come again: in a later turn, and on another branch."""
    text = session_bytes("u1 a1(read) t1 u2 a2(read) t2 | a1 > t3").replace(b"call-a2", b"call-a1")
    pairs = pairs_of(Reading(text.split(b"\n")))
    assert pairs.results == {Call(1, "call-a1"): 2, Call(4, "call-a1"): 5}
    assert pairs.unanswered == []
    assert pairs.orphans == []


def test_calls_without_results_and_results_without_calls() -> None:
    text = session_bytes("u1 a1(read) u2 a2(read) a3 t3 | u1 > t4").replace(
        b'"toolCallId":null', b'"toolCallId":"lost"'
    )
    pairs = pairs_of(Reading(text.split(b"\n")))
    assert pairs.unanswered == [Call(1, "call-a1")]
    assert pairs.orphans == [6]
    assert pairs.results == {Call(3, "call-a2"): 5}


def test_pairs_of_a_chain_that_stands_backwards_are_linear() -> None:
    """Each child before its parent: 20,000 entries would take minutes if each looked up its whole path."""
    lines = session_bytes(" ".join(f"t{number}" for number in range(1, 20_001))).split(b"\n")
    assert len(pairs_of(Reading([lines[0], *reversed(lines[1:-1]), b""])).orphans) == 0
