"""What is told about a document: each problem at its bytes."""

import json
from pathlib import Path

import pytest

from pid.core import diagnosis
from pid.core.diagnosis import HINTS, findings
from pid.core.pairs import pairs_of
from pid.core.reading import Reading
from pid.core.text import byte_at, end_of
from pid.protocol.base import PROBLEM_KINDS
from tests import interop
from tests.trees import session_bytes

OF_FILES_ALONE = {"noLocks", "invalidUtf8"}
"""Problems that no text in an editor has."""
CASES = sorted(Path(__file__).parents[1].glob("golden/cases/*.jsonl"))
FILES = [*(case.read_bytes() for case in CASES), *(interop.case_file(case).read_bytes() for case in interop.CASES)]


def told(text: bytes) -> list[tuple[str, int, str]]:
    """Kind, line and the text of each stretch."""
    reading = Reading(text.split(b"\n"))
    found = []
    for finding in findings(reading, pairs_of(reading)):
        (line, start), (last, stop) = finding.where
        assert line == last
        stored = reading.lines[line]
        found.append((finding.kind, line, stored[byte_at(stored, start) : byte_at(stored, stop)].decode()))
    return found


def changed(tree: str, *changes: tuple[str, str]) -> bytes:
    text = session_bytes(tree)
    for old, new in changes:
        assert old.encode() in text
        text = text.replace(old.encode(), new.encode(), 1)
    return text


def test_a_sound_session_has_nothing_to_tell() -> None:
    assert told(session_bytes("u1 a1(read) t1 l1(u1)=x c1(u1)=y e1(a1) r1(u1)=z")) == []


def test_links_are_told_at_the_id() -> None:
    assert told(session_bytes("u1 | gone > u2 l1(lost)=x c1(away)=y")) == [
        ("missingParent", 2, '"gone"'),
        ("danglingTarget", 3, '"lost"'),
        ("missingFirstKept", 4, '"away"'),
    ]
    assert told(session_bytes("u2 > u1 | u1 > u2")) == [("cycle", 2, '"u1"')]
    assert told(session_bytes("u1=One a1 | a1 > u1=Two"))[0] == ("duplicateId", 3, '"u1"')
    assert told(changed("u1 u2", ('"id":"u2",', ""))) == [
        ("missingId", 2, session_bytes("u1 u2").split(b"\n")[2].decode().replace('"id":"u2",', ""))
    ]


def test_damage_is_told_where_reading_fails() -> None:
    assert told(changed("u1=Hello", ('"Hello"}', '"Hello",}')))[0][:2] == ("malformedLine", 1)
    unclosed = changed("u1=\U0001f600Hello u2", ('Hello"', "Hello"))
    assert told(unclosed)[0][2].startswith('timestamp":1767225601000')
    assert told(session_bytes("u1") + b"words\n") == [("malformedLine", 2, "words")]
    assert told(session_bytes("u1") + b"[1,2]\n") == [("notAnObject", 2, "[1,2]")]
    assert told(session_bytes("u1") + b'  {"type":"messa') == [("tornLine", 2, '"messa')]
    assert told(session_bytes("u1") + b"\0\0\n")[0][:2] == ("nulBytes", 2)
    assert told(session_bytes("u1") + b"[" * 2000 + b"\n")[0][:2] == ("malformedLine", 2)


def test_two_on_a_line_are_told_each_at_its_own_place() -> None:
    one, two = (line.decode() for line in session_bytes("u1 | gone > u2").split(b"\n")[1:3])
    header = session_bytes("").decode()
    assert told(f"{header}{one}{two}\n".encode()) == [("missingParent", 1, '"gone"')]
    torn = one[:-9]
    found = told(f"{header}{torn}{two}\n".encode())
    assert ("missingParent", 1, '"gone"') in found
    assert [kind for kind, *_ in found].count("malformedLine") == 1


def test_unpaired_calls_and_results_are_hints_at_their_ids() -> None:
    lost = changed("u1 a1(read) u2 t2", ('"toolCallId":"call-a1"', '"toolCallId":"lost"'))
    assert told(lost) == [("missingToolResult", 2, '"call-a1"'), ("orphanToolResult", 4, '"lost"')]


def test_columns_are_utf16_units() -> None:
    text = changed("u1=x l1(gone)=y", ('"type":"label"', '"z":"\U0001f600\u2028\U0001f600","type":"label"'))
    reading = Reading(text.split(b"\n"))
    (found,) = findings(reading, pairs_of(reading))
    line = text.split(b"\n")[2].decode()
    assert found.where.start.column == len(line[: line.index('"gone"')].encode("utf-16-le")) // 2


def test_there_are_no_more_than_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "MOST_FINDINGS", 3)
    found = told(session_bytes("u1") + b"words\n" * 10)
    assert len(found) == 4
    reading = Reading((session_bytes("u1") + b"words\n" * 10).split(b"\n"))
    assert findings(reading, pairs_of(reading))[-1].message.startswith("There are 7 more")


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_every_problem_of_every_case_has_its_place(data: bytes) -> None:
    reading = Reading(data.decode(errors="replace").encode().split(b"\n"))
    if not reading.is_session:
        return
    found = findings(reading, pairs_of(reading))
    assert [finding.kind for finding in found if finding.kind not in HINTS] == [
        problem.kind for problem in reading.problems()
    ]
    for finding in found:
        assert finding.kind in PROBLEM_KINDS.keys() | HINTS.keys()
        assert finding.where.start < finding.where.stop <= end_of(reading.lines)
        (line, start), (last, _) = finding.where
        assert line == last
        assert start < max(len(reading.lines[line].decode()), 1)


def test_every_kind_has_a_section_in_the_protocol() -> None:
    headings = (Path(__file__).parents[2] / "protocol.md").read_text().splitlines()
    kinds = (PROBLEM_KINDS.keys() - OF_FILES_ALONE) | HINTS.keys()
    assert [kind for kind in sorted(kinds) if f"#### {kind}" not in headings] == []


def test_a_line_that_is_too_long_to_be_taken_apart_is_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_MOST_TAKEN_APART", 10)
    line = json.dumps({"a": "x" * 100})[:-1]
    assert told(session_bytes("u1") + f"{line}\n".encode()) == [("malformedLine", 2, line)]
