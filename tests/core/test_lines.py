"""Finding entries in bytes: the fast path, every unusual line, and slices of any size."""

import hashlib
import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.lines import DAMAGED, Scanner
from pid.core.tree import Tree
from pid.entries import NO_TIME, Kind

HEADER = b'{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'
TIME = "2026-01-01T00:00:01.000Z"


def entry(entry_id, parent_id=None, role="user", **fields):
    message = {"role": role, "content": "x"}
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent_id,
        "timestamp": TIME,
        "message": message,
        **fields,
    }


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def load(data, slices=None):
    """The tree of a file's bytes, read in slices that end at the given places (each after a line break)."""
    tree = Tree()
    scanner = Scanner(tree.rows)
    end = data.rfind(b"\n") + 1
    start = 0
    for stop in [*(slices or []), end]:
        view = bytearray(data[start:stop])
        tree.extend(scanner.scan(view, len(view), start))
        start = stop
    if end < len(data) and (batch := scanner.scan_tail(data[end:], end)):
        tree.extend(batch)
    return tree, tree.settle(), scanner


def shape(tree):
    return [
        (tree.ids[row], tree.id_of(tree.parents[row]), tree.kinds[row], tree.times[row], tree.flags[row])
        for row in range(len(tree))
    ]


def test_lines_as_pi_writes_and_migrates_them_take_the_fast_path(monkeypatch):
    monkeypatch.setattr("pid.core.lines.pieces", lambda line: pytest.fail(f"parsed {line!r}"))
    written = compact(entry("a1", "u1", "assistant"))
    migrated = compact(
        {"type": "message", "timestamp": TIME, "message": {"role": "user"}, "id": "u1", "parentId": None}
    )
    tree = Tree()
    scanner = Scanner(tree.rows)
    scanner.header, scanner.version = {}, 3
    data = migrated + b"\n" + written + b"\r\n"
    tree.extend(scanner.scan(data, len(data), 100))
    tree.settle()
    assert tree.ids == ["u1", "a1"]
    assert list(tree.kinds) == [Kind.USER, Kind.ASSISTANT]
    assert list(tree.starts) == [100, 101 + len(migrated)]
    assert list(tree.sizes) == [len(migrated), len(written)]


@pytest.mark.parametrize(
    ("line", "ids", "problems"),
    [
        (b"", [], []),
        (b" \t\r", [], []),
        (b"42", [], ["notAnObject"]),
        (b'"a string"', [], ["notAnObject"]),
        (b"\x00\x00\x00", [], ["nulBytes"]),
        (b"\x00\x00" + compact(entry("b")), ["b"], ["nulBytes"]),
        (compact(entry("b")) + b"\x00", ["b"], ["nulBytes"]),
        (b"\xef\xbb\xbf" + compact(entry("b")), ["b"], ["byteOrderMark"]),
        (compact(entry("b")) + compact(entry("c", "b")), ["b", "c"], []),
        (compact(entry("b")) + b" \x00 " + compact(entry("c")), ["b", "c"], ["nulBytes"]),
        (compact(entry("b"))[:-20] + compact(entry("c", "b")), ["b!", "c"], ["malformedLine"]),
        (compact(entry("b"))[:30] + compact(entry("c")), ["c"], ["malformedLine"]),
        (
            compact(entry("b", message={"role": "user", "content": [{"type": "toolCall", "id": "x"}]}))[:-4],
            ["b!"],
            ["malformedLine"],
        ),
        (b'{"type":"message","id":"b"', [], ["malformedLine"]),
        (b'{"id":"b","parentId":null,"type":"message","message":{"role":"user"}', ["b!"], ["malformedLine"]),
        (
            b'{"type":"message","timestamp":"%s","message":{"role":"us\x01er"},"id":"b","parentId":null}'
            % TIME.encode(),
            ["b!"],
            ["malformedLine"],
        ),
        (compact({**entry("b"), "id": 7}), ["7"], []),
        (compact({"type": "session", "id": "again", "parentId": None}), [], ["duplicateHeader"]),
        (json.dumps(entry("b")).encode(), ["b"], []),
        (compact(entry("b", details={"parentId": "no entry", "id": "z"})), ["b"], []),
        (
            b'{"type":"x","id":"b","parentId":null,"timestamp":"'
            + TIME.encode()
            + b'","d":'
            + b"[" * 5000
            + b"]" * 5000
            + b"}",
            ["b"],
            [],
        ),
        (b'{"id":"b","parentId":null,"d":' + b"[" * 5000 + b"]" * 5000 + b"}", ["b!"], ["tooDeep"]),
    ],
)
def test_unusual_lines(line, ids, problems):
    before, after = compact(entry("first")), compact(entry("last", "first"))
    tree, change, _ = load(HEADER + b"\n".join((before, line, after)) + b"\n")
    found = [name + "!" * bool(flag & DAMAGED) for name, flag in zip(tree.ids, tree.flags, strict=True)]
    assert found == ["first", *ids, "last"]
    assert [(problem.line, problem.kind) for problem in change.problems] == [(3, kind) for kind in problems]
    if ids and not ids[0].endswith("!"):
        start, size = tree.starts[1], tree.sizes[1]
        data = HEADER + b"\n".join((before, line, after))
        assert data[start : start + 1] == b"{"
        assert data[start + size - 1 : start + size] == b"}"


def test_missing_ids_are_derived_and_told():
    nameless = {key: value for key, value in entry("b", "first").items() if key != "id"}
    data = HEADER + compact(entry("first")) + b"\n" + compact(nameless) + b"\n"
    (tree, change, _), (again, _, _) = load(data), load(data)
    assert tree.ids == again.ids
    assert [problem.kind for problem in change.problems] == ["missingId"]
    assert tree.path(1) == [0, 1]


def test_version_one_is_linear_with_the_same_ids_at_every_opening():
    lines = [{"type": "message", "timestamp": TIME, "message": {"role": "user"}} for _ in range(300)]
    header = b'{"type":"session","id":"s-1","timestamp":"%s","cwd":"/p"}\n' % TIME.encode()
    data = header + b"".join(compact(line) + b"\n" for line in lines)
    (tree, change, scanner), (again, _, _) = load(data), load(data, [data.index(b"\n", 9000) + 1])
    assert scanner.version == 1
    assert shape(tree) == shape(again)
    assert tree.path(299) == list(range(300))
    assert change.problems == []


def test_derived_ids_that_meet_are_the_same_in_any_slicing(monkeypatch):
    sha256 = hashlib.sha256
    few = lambda seed: SimpleNamespace(hexdigest=lambda: sha256(seed).hexdigest()[:1] * 8)  # noqa: E731
    monkeypatch.setattr(hashlib, "sha256", few)
    raw = HEADER + b"{}\n" * 12
    ids = [load(raw, [cut])[0].ids for cut in range(len(HEADER), len(raw), 3)]
    assert len(set(ids[0])) == 12
    assert ids == ids[:1] * len(ids)


@pytest.mark.parametrize(
    ("head", "foreign"),
    [
        (b"", False),
        (b"null\n" + HEADER, False),
        (b"\n\xef\xbb\xbf" + HEADER, False),
        (compact(entry("u1")) + b"\n", True),
        (b'{"type":"session","version":3}\n', True),
        (b'{"type":"session","id":""}\n', True),
    ],
)
def test_the_header_comes_first(head, foreign):
    _, _, scanner = load(head)
    assert scanner.foreign is foreign


@pytest.mark.parametrize(
    ("version", "read"), [("null", 1), ("1", 1), ("2", 2), ("3", 3), ("99", 99), ('"3"', 3), ("0", 3)]
)
def test_versions(version, read):
    _, _, scanner = load(b'{"type":"session","id":"s","version":%s}\n' % version.encode())
    assert scanner.version == read


def test_the_tail_counts_only_when_it_is_whole():
    data = HEADER + compact(entry("u1"))
    tree, _, _ = load(data)
    assert tree.ids == ["u1"]
    for cut in range(len(HEADER) + 1, len(data)):
        tree, _, _ = load(data[:cut])
        assert tree.ids == []


def test_a_long_number_damages_no_line():
    label = b'{"type":"label","id":"l1","parentId":null,"timestamp":"%b","targetId":"l1","label":"L","n":%b}'
    tree, change, _ = load(HEADER + label % (TIME.encode(), b"9" * 5000) + b"\n")
    assert (tree.label_of(0), change.problems) == ("L", [])
    torn = b'{"type":"x","n":%b,"t' % (b"9" * 5000)
    tree, _, _ = load(HEADER + torn + compact(entry("u1")) + b"\n")
    assert tree.ids == ["u1"]


def test_an_hostile_line_costs_linear_work():
    line = b'{"type":"' * 20_000
    tree, change, _ = load(HEADER + line + b"\n" + compact(entry("u1")) + b"\n")
    assert tree.ids == ["u1"]
    assert [problem.kind for problem in change.problems] == ["malformedLine"]


LINES = st.lists(
    st.sampled_from(
        [
            compact(entry("u1")),
            compact(entry("a1", "u1", "assistant")),
            compact(entry("f1", "later")),
            compact(entry("later", "a1")),
            compact(entry("u1", "a1")),
            compact(entry("x", "x")),
            compact({"type": "label", "id": "l1", "parentId": "u1", "targetId": "u1", "label": "L"}),
            compact({"type": "custom", "id": "m1", "parentId": "u1", "timestamp": TIME, "customType": "pid.leaf"}),
            compact(entry("n1", "m1")),
            compact(entry("t"))[:-9] + compact(entry("g", "t")),
            compact(entry("p")) + compact(entry("q", "p")),
            b"garbage",
            b"",
            b"\x00\x00",
        ]
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(LINES, st.data())
def test_any_slicing_gives_the_same_tree(lines, data):
    raw = HEADER + b"".join(line + b"\n" for line in lines)
    breaks = [index + 1 for index, byte in enumerate(raw) if byte == 10]
    cuts = sorted(data.draw(st.sets(st.sampled_from(breaks))))
    whole, change, _ = load(raw)
    sliced, other, _ = load(raw, cuts)
    assert shape(whole) == shape(sliced)
    assert change.problems == other.problems
    for row in range(len(whole)):
        assert len(whole.path(row)) <= len(whole)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_to_their_end(noise):
    tree, _, _ = load(HEADER + compact(entry("u1")) + b"\n" + noise + b"\n" + compact(entry("last")) + b"\n")
    assert tree.ids[0] == "u1"
    assert "last" in tree.rows


def test_times_that_are_not_canonical():
    tree, _, _ = load(HEADER + compact({**entry("u1"), "timestamp": "2026-01-01"}) + b"\n")
    assert list(tree.times) == [NO_TIME]
