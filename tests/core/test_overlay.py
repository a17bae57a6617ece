"""Planning appends and moves of the leaf: guards, retries, links, and what each refuses."""

import itertools
import json

import pytest
from msgspec import UNSET

from pid.core.appending import read_sent, same_entry
from pid.core.lines import DAMAGED
from pid.core.overlay import Overlay, plan_append, plan_move
from pid.core.tree import ROOT
from pid.errors import (
    DuplicateEntryId,
    EntryNotFound,
    InvalidEntry,
    InvalidParams,
    LeafConflict,
)
from pid.protocol import Placement
from tests.core.test_lines import HEADER, TIME, compact, entry, load

MARKER = {"type": "custom", "id": "m1", "parentId": "u1", "timestamp": TIME, "customType": "pid.leaf"}
STORED = [
    entry("u1"),
    entry("a1", "u1", "assistant"),
    entry("u2", "a1"),
    MARKER,
    entry("x1", "u1"),
]  # u1 has the branches a1 u2 and x1; the leaf is x1


def overlay(entries=STORED, leaf=None):
    data = HEADER + b"".join((one if isinstance(one, bytes) else compact(one)) + b"\n" for one in entries)
    tree, _, _ = load(data)
    row = tree.last if leaf is None else ROOT if leaf == "" else tree.find(leaf)

    def stored(row):
        return b"" if tree.flags[row] & DAMAGED else data[tree.starts[row] : tree.starts[row] + tree.sizes[row]]

    return Overlay(tree, row, stored)


def stamp():
    numbers = itertools.count(1)
    return (lambda: f"n{next(numbers)}", TIME)


def sent(path="entry", **fields):
    value = {"type": "message", "message": {"role": "user", "content": "hi"}} | fields
    return read_sent(compact({key: one for key, one in value.items() if one is not UNSET}), path)


def where(**fields):
    return Placement(session_id="s", **fields)


def append(over, *entries, **fields):
    return plan_append(over, where(**fields), entries or (sent(),), stamp())


def test_an_append_goes_to_the_leaf_and_moves_it():
    over = overlay()
    planned = append(over)
    assert (planned.entry_ids, planned.parent_id, planned.leaf_id) == (("n1",), "x1", "n1")
    assert json.loads(over.lines[0])["parentId"] == "x1"
    assert over.leaf_id == "n1"


def test_a_batch_is_a_chain():
    over = overlay()
    planned = append(over, sent(), sent(id="own"), sent())
    assert planned.entry_ids == ("n1", "own", "n2")
    assert [json.loads(line)["parentId"] for line in over.lines] == ["x1", "n1", "own"]


@pytest.mark.parametrize(("parent", "found"), [(UNSET, "x1"), ("u2", "u2"), ("m1", "u1")])
def test_parents(parent, found):
    assert append(overlay(), parent_id=parent).parent_id == found


def test_a_new_root_must_be_meant():
    with pytest.raises(InvalidParams) as error:
        append(overlay(), parent_id=None)
    assert error.value.details == {"path": "newRoot"}
    assert append(overlay(), parent_id=None, new_root=True).parent_id is None
    assert append(overlay([]), parent_id=None).parent_id is None
    assert append(overlay(leaf="")).parent_id is None


@pytest.mark.parametrize(
    "guard",
    [
        {"expected_leaf_id": "u2"},
        {"expected_leaf_id": None},
        {"expected_leaf_id": "m1"},
        {"expected_ancestor_id": "a1"},
    ],
)
def test_guards_refuse(guard):
    over = overlay()
    with pytest.raises(LeafConflict) as error:
        append(over, **guard)
    assert error.value.details == {"currentLeafId": "x1"}
    assert over.lines == []


@pytest.mark.parametrize(
    "guard",
    [{"expected_leaf_id": "x1"}, {"expected_ancestor_id": "u1"}, {"expected_ancestor_id": "m1"}],
)
def test_guards_let_pass(guard):
    assert append(overlay(), **guard).leaf_id == "n1"


def test_guards_see_what_is_planned():
    over = overlay()
    append(over, sent(id="own"))
    assert append(over, expected_leaf_id="own", expected_ancestor_id="x1").parent_id == "own"


@pytest.mark.parametrize("fields", [{"parent_id": "no"}, {"expected_leaf_id": "no"}, {"expected_ancestor_id": "no"}])
def test_unknown_entries(fields):
    with pytest.raises(EntryNotFound) as error:
        append(overlay(), **fields)
    assert error.value.details == {"entryId": "no"}


def test_a_retry_writes_nothing_and_meets_no_guard():
    over = overlay([*STORED, entry("y1", "x1", n=12345678901234567890)])
    again = sent(id="y1", message={"role": "user", "content": "x"}, n=12345678901234567890)
    planned = append(over, again, expected_leaf_id="u2")
    assert planned.duplicate
    assert (planned.entry_ids, planned.parent_id, planned.leaf_id) == (("y1",), "x1", "y1")
    assert over.lines == []


@pytest.mark.parametrize(
    ("fields", "placed"),
    [
        ({"message": {"role": "user", "content": "other"}}, {}),
        ({"more": 1}, {}),
        ({"timestamp": "2026-01-01T00:00:09.000Z"}, {}),
        ({"message": {"role": "user", "content": True}}, {}),
        ({}, {"parent_id": "u2"}),
        ({}, {"parent_id": None}),
    ],
)
def test_the_same_id_with_another_content(fields, placed):
    value = {"id": "x1", "message": {"role": "user", "content": "x"}} | fields
    with pytest.raises(DuplicateEntryId):
        append(overlay(), sent(**value), **placed)


def test_a_batch_cut_by_a_crash_is_completed():
    over = overlay([*STORED, entry("y1", "x1")])
    batch = [sent(id=name, message={"role": "user", "content": "x"}) for name in ("y1", "y2", "y3")]
    planned = append(over, *batch, expected_leaf_id="x1")
    assert not planned.duplicate
    assert planned.entry_ids == ("y1", "y2", "y3")
    assert [json.loads(line)["parentId"] for line in over.lines] == ["y1", "y2"]


def test_a_retry_is_found_among_the_planned():
    over = overlay()
    append(over, sent(id="own"))
    assert append(over, sent(id="own")).duplicate
    with pytest.raises(DuplicateEntryId):
        append(over, sent(id="own", more=1))
    assert len(over.lines) == 1


def test_the_retry_of_a_torn_append_is_written():
    torn = compact(entry("y1", "x1"))[:-5]
    over = overlay([*STORED, torn], leaf="x1")
    planned = append(over, sent(id="y1"))
    assert (planned.duplicate, planned.parent_id, len(over.lines)) == (False, "x1", 1)


def test_a_markers_id_is_taken():
    with pytest.raises(DuplicateEntryId):
        append(overlay(), sent(id="m1"))


def test_a_batch_fails_whole():
    over = overlay()
    label = sent(type="label", message=UNSET, targetId="no", label="L")
    with pytest.raises(InvalidEntry) as error:
        append(over, sent(id="one"), sent(id="two"), label)
    assert error.value.details == {"path": "entries[2].targetId"}
    assert (over.lines, over.leaf_id, over.knows("one")) == ([], "x1", False)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"type": "label", "targetId": "no"}, "entry.targetId"),
        ({"type": "context_edit", "targetId": "u2", "replacement": None}, "entry.targetId"),
        ({"type": "compaction", "firstKeptEntryId": "u2"}, "entry.firstKeptEntryId"),
        ({"type": "compaction", "firstKeptEntryId": "no"}, "entry.firstKeptEntryId"),
    ],
)
def test_links_off_the_path(fields, path):
    with pytest.raises(InvalidEntry) as error:
        append(overlay(), sent(message=UNSET, **fields))
    assert error.value.details == {"path": path}


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "label", "targetId": "u2"},
        {"type": "context_edit", "targetId": "u1", "replacement": None},
        {"type": "compaction", "firstKeptEntryId": "u1"},
        {"type": "future", "anything": [1]},
        {"type": "message", "message": {"role": "unheard-of"}},
    ],
)
def test_what_passes(fields):
    assert append(overlay(), sent(**({"message": UNSET} | fields))).leaf_id == "n1"


def test_a_compaction_that_keeps_none_names_itself():
    over = overlay()
    compaction = sent(type="compaction", message=UNSET, summary="S", firstKeptEntryId=None)
    planned = append(over, compaction)
    stored = json.loads(over.lines[0])
    assert stored["firstKeptEntryId"] == stored["id"] == planned.leaf_id
    assert same_entry(compaction, over.lines[0])


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"type": "session"}, "entry.type"),
        ({"type": "custom", "customType": "pid.leaf"}, "entry.customType"),
        ({"type": "message"}, "entry.message.role"),
        ({"type": "message", "message": "text"}, "entry.message.role"),
        ({"type": "message", "message": {"role": ""}}, "entry.message.role"),
        ({"type": "message", "message": {"role": 5}}, "entry.message.role"),
        ({"type": "label"}, "entry.targetId"),
        ({"type": "message", "message": {"role": "user"}, "parentId": "u1"}, "entry.parentId"),
    ],
)
def test_entries_that_the_rules_refuse(raw, path):
    with pytest.raises(InvalidEntry) as error:
        read_sent(compact(raw), "entry")
    assert error.value.details == {"path": path}


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({}, "entry.type"),
        ({"type": 5}, "entry.type"),
        ({"type": "x", "id": "a b"}, "entry.id"),
        ({"type": "x", "id": "a\n"}, "entry.id"),
        ({"type": "x", "timestamp": "now"}, "entry.timestamp"),
    ],
)
def test_entries_without_a_sound_form(raw, path):
    with pytest.raises(InvalidParams) as error:
        read_sent(compact(raw), "entry")
    assert error.value.details == {"path": path}


def test_an_entry_that_is_nested_too_deeply():
    raw = b'{"type":"x","d":' + b"[" * 1500 + b"]" * 1500 + b"}"
    with pytest.raises((InvalidEntry, InvalidParams)):
        read_sent(raw, "entry")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": True}, {"n": 1}, False),
        ({"n": 10**30}, {"n": 10**30 + 1}, False),
        ({"n": [{"a": None}]}, {"n": [{"a": None}]}, True),
        ({"n": None}, {}, False),
    ],
)
def test_entries_are_compared_as_json_values(one, other, same):
    entry_sent = read_sent(compact({"type": "t"} | one), "entry")
    assert same_entry(entry_sent, compact({"type": "t", "id": "a"} | other)) is same


@pytest.mark.parametrize("number", ["9" * 5000, "1e" + "9" * 20, "-0." + "9" * 5000])
def test_a_number_of_any_length_is_compared(number):
    raw = f'{{"n":{number},"type":"t"}}'.encode()
    entry_sent = read_sent(raw, "entry")
    assert same_entry(entry_sent, entry_sent.line("a", None, TIME))
    assert not same_entry(entry_sent, b'{"n":1,"type":"t"}')


@pytest.mark.parametrize(
    "entry_sent",
    [
        {"type": "session_info", "name": "cut \ud83d"},
        {"type": "label", "targetId": "u1", "label": "cut \ud83d"},
        {"type": "message", "message": {"role": "user", "content": "cut \ud83d"}},
        {"type": "custom", "customType": "x", "cut \ud83d": ["\udc00"]},
    ],
)
def test_half_of_a_surrogate_pair_is_stored_as_it_came(entry_sent):
    raw = json.dumps(entry_sent).encode()
    over = overlay()
    plan_append(over, where(), [read_sent(raw, "entry")], stamp())
    assert json.loads(over.lines[0]).items() >= entry_sent.items()


def test_a_long_number_is_no_target():
    with pytest.raises(InvalidEntry):
        read_sent(b'{"type":"label","targetId":%b}' % (b"9" * 5000), "entry")


def test_a_move_writes_a_marker_under_its_target():
    over = overlay()
    planned = plan_move(over, "a1", UNSET, stamp())
    assert (planned.previous_leaf_id, planned.leaf_id, over.leaf_id) == ("x1", "a1", "a1")
    assert json.loads(over.lines[0]) == {**MARKER, "id": "n1", "parentId": "a1"}
    assert append(over).parent_id == "a1"


def test_moves_before_the_first_entry_and_to_markers():
    over = overlay()
    assert plan_move(over, None, UNSET, stamp()).leaf_id is None
    assert json.loads(over.lines[0])["parentId"] is None
    assert plan_move(over, "m1", UNSET, stamp()).leaf_id == "u1"


def test_a_move_to_where_the_leaf_is_writes_nothing():
    over = overlay()
    planned = plan_move(over, "x1", "x1", stamp())
    assert (planned.writes, over.lines) == ((), [])


def test_moves_are_guarded():
    with pytest.raises(LeafConflict):
        plan_move(overlay(), "a1", "u2", stamp())
    with pytest.raises(EntryNotFound):
        plan_move(overlay(), "no", UNSET, stamp())
