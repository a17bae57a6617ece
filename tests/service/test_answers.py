"""The answers about one session: pages, cursors, orders, and what they tell of damage."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.tree import ROOT
from pid.errors import EntryNotFound, InvalidCursor
from pid.protocol import BranchParams, ContextParams, EntriesParams, TreeParams
from pid.service import answers, answers_tree, pages
from tests.service.daemon import append, make_store, move, open_path
from tests.trees import session_bytes

pytestmark = pytest.mark.anyio


async def opened(tmp_path, text, data=None):
    """A session of a tree written as text, from a real file; and the store's resident."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(text) if data is None else data)
    return await open_path(make_store(tmp_path, prefix="new-"), path)


def sent(result):
    """An answer as a client gets it."""
    return msgspec.json.decode(msgspec.json.encode(result), type=type(result))


async def tree(session, **params):
    return sent(await answers_tree.get_tree(session, TreeParams(session_id="s", **params)))


async def branch(session, **params):
    return sent(await answers.get_branch(session, BranchParams(session_id="s", **params)))


async def entries(session, **params):
    return sent(await answers.get_entries(session, EntriesParams(session_id="s", **params)))


async def context(session, **params):
    return sent(await answers.build_context(session, ContextParams(session_id="s", **params)))


async def all_pages(call, session, **params):
    """Every page of an answer; the cursor of each leads to the next."""
    found = [await call(session, **params)]
    while found[-1].next_cursor:
        found.append(await call(session, cursor=found[-1].next_cursor, **params))
    return found


def ids(result):
    return " ".join(node.id for node in result.nodes)


# The order of the tree


@pytest.mark.parametrize(
    ("text", "order", "roots"),
    [
        ("u1 a1 | u1 > u2", "u1 a1 u2", "u1"),
        ("u2 > u1 | u2", "u2 u1", "u2"),  # a child that stands before its parent
        ("u3 > u1 | u3 > u2 | u3 a3", "u3 u1 u2 a3", "u3"),
        ("u2 > u1 | u3 > u2 | u3", "u3 u2 u1", "u3"),
        ("u9 > u1 a1 | u2 | u9", "u2 u9 u1 a1", "u2 u9"),  # with what hangs on it
        ("gone > u1 a1", "u1 a1", "u1"),
        ("a1 > u1 a1", "u1 a1", "u1"),
        ("u1 p1 a1 | p2 u2", "u1 a1 u2", "u1 u2"),  # no marker
        ("u1 a1 | u1 > a1", "u1 a1", "u1"),  # of one id the last
        ("", "", ""),
    ],
)
async def test_a_parent_stands_before_its_children_else_the_order_is_the_files(tmp_path, text, order, roots):
    session = (await opened(tmp_path, text)).session
    for content in ("none", "preview", "full"):
        result = await tree(session, content=content)
        assert (ids(result), " ".join(result.roots)) == (order, roots)
        for limit in (1, 2):
            parts = await all_pages(tree, session, content=content, limit=limit)
            assert " ".join(filter(None, map(ids, parts))) == order
            assert all(len(part.nodes) <= limit for part in parts)


@st.composite
def parent_rows(draw):
    """Parents of rows without a cycle: each row is rooted in an order of its own."""
    count = draw(st.integers(0, 30))
    rank = draw(st.permutations(range(count)))
    parents = [ROOT] * count
    for row in range(count):
        above = [other for other in range(count) if rank[other] < rank[row]]
        parents[row] = draw(st.sampled_from([ROOT, *above]))
    return parents


@given(parent_rows())
def test_parents_first_keeps_every_row_and_moves_only_those_that_must(parents):
    order = answers_tree.parents_first(parents, len(parents))
    assert sorted(order) == list(range(len(parents)))
    places = {row: place for place, row in enumerate(order)}
    assert all(parent == ROOT or places[parent] < places[row] for row, parent in enumerate(parents))
    if all(parent < row for row, parent in enumerate(parents)):
        assert order == list(range(len(parents)))


def test_a_chain_written_backwards_is_put_in_order_without_recursion():
    count = 100_000
    parents = [*range(1, count), ROOT]
    assert answers_tree.parents_first(parents, count) == list(range(count - 1, -1, -1))


# What nodes carry


async def test_content_says_how_much_of_an_entry_comes_along(tmp_path):
    session = (await opened(tmp_path, "u1=hello a1(ls) !t1 u2")).session
    none, shown, full = [(await tree(session, content=content)).nodes for content in ("none", "preview", "full")]
    assert [node.preview for node in none] == [None] * 4
    assert [node.preview for node in shown] == [node.preview for node in full] == ["hello", "a1", None, "u2"]
    assert [node.stop_reason for node in none] == [None, "toolUse", None, None]
    stored = session_bytes("u1=hello a1(ls) !t1 u2").splitlines()[1:]
    carried = [None if node.entry is msgspec.UNSET else bytes(node.entry) for node in full]
    assert carried == [stored[0], stored[1], None, stored[3]]
    assert [node.damaged for node in shown] == [None, None, True, None]


async def test_a_body_that_is_damaged_behind_its_head_shows_so_once_it_is_proven(tmp_path):
    data = session_bytes("u1 a1 u2").replace(b'"stopReason":"stop"', b'"stopReason":"stop')
    told = []
    resident = await opened(tmp_path, "", data)
    session = resident.session
    session.tell = lambda *problems: told.extend(problems)
    assert [node.damaged for node in (await tree(session)).nodes] == [None, True, None]
    assert [(problem.kind, problem.entry_id, problem.line) for problem in told] == [("malformedLine", "a1", 3)]
    result = await context(session)
    assert [json.loads(bytes(message))["role"] for message in result.messages] == ["user", "user"]
    assert [(warning.kind, warning.entry_id) for warning in result.warnings] == [("damagedEntry", "a1")]
    listed = await entries(session)
    assert [bytes(entry)[:8] for entry in listed.entries] == [b'{"type":', b"null", b'{"type":']


async def test_what_goes_out_has_no_invalid_utf8_and_no_lone_surrogate(tmp_path):
    data = session_bytes("u1=one u2=two").replace(b'"one"', b'"\xffne"').replace(b'"two"', b'"\\ud83dwo"')
    session = (await opened(tmp_path, "", data)).session
    assert [node.preview for node in (await tree(session)).nodes] == ["�ne", "�wo"]
    texts = [json.loads(bytes(message))["content"][0]["text"] for message in (await context(session)).messages]
    assert texts == ["�ne", "�wo"]


# Types


@pytest.mark.parametrize(
    ("types", "shown", "leaf"),
    [
        (["message"], "u1< a1<u1 u2<a1 u3<u1", "u3"),
        (["label"], "l1< l2<l1", "l1"),
        (["message", "label"], "u1< l1<u1 a1<l1 l2<a1 u2<l2 u3<l1", "u3"),
        (["future_thing"], "z1<", "z1"),
        (["compaction"], "", None),
        ([], "", None),
    ],
)
async def test_types_leave_the_rest_out_and_say_what_is_visibly_above(tmp_path, types, shown, leaf):
    session = (await opened(tmp_path, "u1 l1(u1) a1 l2(u1) u2 | l1 > z1 n1 u3")).session
    result = await tree(session, types=types)
    assert " ".join(f"{node.id}<{node.visible_parent_id or ''}" for node in result.nodes) == shown
    assert result.visible_leaf_id == leaf
    assert [node.parent_id for node in result.nodes if node.id == "u3"] in ([], ["n1"])
    parts = await all_pages(tree, session, types=types, limit=1)
    assert " ".join(f"{node.id}<{node.visible_parent_id or ''}" for part in parts for node in part.nodes) == shown


async def test_without_types_no_node_has_a_visible_parent(tmp_path):
    result = await tree((await opened(tmp_path, "u1 a1")).session)
    assert {node.visible_parent_id for node in result.nodes} == {result.visible_leaf_id} == {msgspec.UNSET}


# Since


async def test_since_gives_what_was_added_or_looks_different(tmp_path):
    resident = await opened(tmp_path, "u1 a1")
    session = resident.session
    await append(resident, {"type": "label", "targetId": "u1", "label": "here"})
    first = session.revision
    await append(resident)
    assert ids(await tree(session, since=0, epoch=session.epoch)) == "u1 new-e1 new-e2"
    assert ids(await tree(session, since=first, epoch=session.epoch)) == "new-e2"
    assert ids(await tree(session, since=session.revision, epoch=session.epoch)) == ""
    parts = await all_pages(tree, session, since=0, epoch=session.epoch, limit=1)
    assert [ids(part) for part in parts] == ["u1", "new-e1", "new-e2"]


@pytest.mark.parametrize(("since", "epoch"), [(1, None), (0, "another"), (7, None)])
async def test_a_since_of_the_future_or_of_another_epoch_is_refused(tmp_path, since, epoch):
    session = (await opened(tmp_path, "u1")).session
    with pytest.raises(InvalidCursor):
        await tree(session, since=since, epoch=epoch or session.epoch)


# Branches and entries


async def test_a_branch_is_the_path_to_an_entry_from_either_end(tmp_path):
    resident = await opened(tmp_path, "u1 a1 u2 | a1 > u3 p1")
    session = resident.session
    assert (await branch(session)).entry_ids == ["u1", "a1", "u3"]
    assert (await branch(session, entry_id="u2")).entry_ids == ["u1", "a1", "u2"]
    assert (await branch(session, entry_id="p1", direction="leafFirst")).entry_ids == ["u3", "a1", "u1"]
    assert (await branch(session, entry_id="u2")).parent_ids == [None, "u1", "a1"]
    await move(resident, None)
    assert (await branch(session)).entry_ids == []
    with pytest.raises(EntryNotFound):
        await branch(session, entry_id="gone")


@pytest.mark.parametrize("direction", ["rootFirst", "leafFirst"])
async def test_the_pages_of_a_branch_show_the_leaf_that_the_first_one_showed(tmp_path, direction):
    resident = await opened(tmp_path, "u1 a1 u2")
    first = await branch(resident.session, direction=direction, limit=2)
    await append(resident)
    second = await branch(resident.session, direction=direction, limit=2, cursor=first.next_cursor)
    assert sorted(first.entry_ids + second.entry_ids) == ["a1", "u1", "u2"]
    assert (second.leaf_id, second.revision, second.next_cursor) == ("u2", first.revision, None)


async def test_entries_are_given_by_id_or_in_the_order_of_the_file(tmp_path):
    session = (await opened(tmp_path, "u1 a1 p1 u2 | u1 > u3 p2")).session
    assert (await entries(session)).entry_ids == ["u1", "a1", "u2", "u3"]
    assert (await entries(session, after="a1")).entry_ids == ["u2", "u3"]
    assert (await entries(session, after="p1")).entry_ids == ["u2", "u3"]
    assert (await entries(session, ids=["u3", "u1", "p2"])).entry_ids == ["u3", "u1", "u3"]
    assert (await entries(session, ids=[])).entry_ids == []
    for params in ({"ids": ["u1", "gone"]}, {"after": "gone"}):
        with pytest.raises(EntryNotFound):
            await entries(session, **params)


async def test_a_marker_before_the_first_entry_is_no_entry(tmp_path):
    session = (await opened(tmp_path, "u1 | p1")).session
    with pytest.raises(EntryNotFound):
        await entries(session, ids=["p1"])
    assert (await branch(session)).entry_ids == []


async def test_the_last_page_of_entries_is_not_followed_by_hidden_ones(tmp_path):
    session = (await opened(tmp_path, "p1 u1 a1 p2 p3")).session
    first = await entries(session, limit=2)
    assert (first.entry_ids, first.next_cursor) == (["u1", "a1"], None)
    assert [part.entry_ids for part in await all_pages(entries, session, limit=1)] == [["u1"], ["a1"]]


async def test_a_page_ends_before_it_grows_too_large_but_has_an_entry(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 3000)
    session = (await opened(tmp_path, "u1 a1*1500 u2*9000 a2 u3")).session
    assert [part.entry_ids for part in await all_pages(entries, session)] == [["u1", "a1"], ["u2"], ["a2", "u3"]]
    monkeypatch.setattr(answers_tree, "MAX_PAGE_BYTES", 450)
    assert [len(part.nodes) for part in await all_pages(tree, session)] == [2, 2, 1]


async def test_the_data_of_images_can_be_left_out(tmp_path):
    image = b'{"type":"image","data":"QUJD","mimeType":"image/png"}'
    data = session_bytes("u1 u2").replace(b'{"type":"text","text":"u2"}', image)
    session = (await opened(tmp_path, "", data)).session
    for call in (branch, entries):
        whole, lean = await call(session), await call(session, omit=("imageData", "dreams"))
        assert bytes(lean.entries[0]) == bytes(whole.entries[0])
        assert bytes(lean.entries[1]) == bytes(whole.entries[1]).replace(b"QUJD", b"")


# Cursors


async def test_a_cursor_is_bound_to_its_call(tmp_path):
    session = (await opened(tmp_path, "u1 a1 u2")).session
    cursor = (await branch(session, limit=1)).next_cursor
    assert (await branch(session, limit=2, cursor=cursor)).entry_ids == ["a1", "u2"]
    for call, params in (
        (entries, {}),
        (tree, {}),
        (branch, {"direction": "leafFirst"}),
        (branch, {"entry_id": "u2"}),
        (branch, {"omit": ("imageData",)}),
    ):
        with pytest.raises(InvalidCursor):
            await call(session, cursor=cursor, **params)


async def test_a_cursor_ends_with_its_epoch(tmp_path):
    resident = await opened(tmp_path, "u1 a1")
    cursor = (await tree(resident.session, limit=1)).next_cursor
    again = await open_path(make_store(tmp_path), resident.session.journal.path)
    with pytest.raises(InvalidCursor):
        await tree(again.session, limit=1, cursor=cursor)


@given(forged=st.text() | st.binary().map(lambda raw: raw.hex()))
async def test_no_made_up_cursor_raises_anything_else(forged, tmp_path_factory):
    session = (await opened(tmp_path_factory.mktemp("s"), "u1 a1")).session
    with pytest.raises(InvalidCursor):
        await tree(session, cursor=forged)


@pytest.mark.parametrize(
    "fields",
    [
        {"place": -1},
        {"rows": 3},
        {"rows": -1},
        {"leaf": 2},
        {"leaf": -2},
        {"revision": 1},
        {"revision": -1},
    ],
)
async def test_no_cursor_reaches_outside_of_the_session(tmp_path, fields):
    session = (await opened(tmp_path, "u1 a1")).session
    params = TreeParams(session_id="s")
    page = pages.begin(session, params, None)
    forged = msgspec.structs.replace(page, **fields)
    with pytest.raises(InvalidCursor):
        await tree(session, cursor=pages.cursor_at(forged, params, forged.place))


async def test_no_cursor_climbs_from_outside_of_the_session(tmp_path):
    session = (await opened(tmp_path, "u1 a1 u2")).session
    params = BranchParams(session_id="s", direction="leafFirst")
    page = pages.begin(session, params, None)
    with pytest.raises(InvalidCursor):
        await branch(session, direction="leafFirst", cursor=pages.cursor_at(page, params, page.rows + 1))


async def test_the_pages_of_a_branch_from_the_leaf_climb_past_hidden_entries(tmp_path):
    session = (await opened(tmp_path, "u1 a1 p1 u2 | u2 > a2")).session
    found = await all_pages(branch, session, direction="leafFirst", limit=1)
    assert [part.entry_ids for part in found] == [["a2"], ["u2"], ["a1"], ["u1"]]


async def test_the_pages_of_a_tree_show_the_revision_of_the_first(tmp_path):
    resident = await opened(tmp_path, "u1 a1 u2")
    first = await tree(resident.session, limit=2)
    await append(resident)
    second = await tree(resident.session, limit=2, cursor=first.next_cursor)
    assert (ids(second), second.revision, second.leaf_id, second.next_cursor) == ("u2", first.revision, "u2", None)
    since = await tree(resident.session, since=second.revision, epoch=second.epoch)
    assert ids(since) == "new-e1"


# Contexts


async def test_the_messages_of_a_context_name_their_entries(tmp_path):
    session = (await opened(tmp_path, "u1 a1 l1(u1) u2 c1(u2) b1 u3 z1")).session
    result = await context(session)
    assert result.entry_ids == [["c1"], ["u2"], ["b1"], ["u3"]]
    assert (result.leaf_id, result.thinking_level, result.model.model_id) == ("z1", "off", "m1")
    roles = [json.loads(bytes(message))["role"] for message in result.messages]
    assert roles == ["compactionSummary", "user", "bashExecution", "user"]
    llm = await context(session, format="llm")
    assert (llm.entry_ids, {json.loads(bytes(message))["role"] for message in llm.messages}) == (
        result.entry_ids,
        {"user"},
    )


async def test_a_context_is_of_the_leaf_unless_another_is_named(tmp_path):
    resident = await opened(tmp_path, "u1 a1 u2")
    session = resident.session
    await move(resident, "a1")
    assert (await context(session)).entry_ids == [["u1"], ["a1"]]
    assert (await context(session, leaf_id="u2")).entry_ids == [["u1"], ["a1"], ["u2"]]
    empty = await context(session, leaf_id=None)
    assert (empty.messages, empty.leaf_id, empty.entry_ids) == ([], None, [])
    with pytest.raises(EntryNotFound):
        await context(session, leaf_id="gone")


# Slices


@given(st.lists(st.integers(0, 3_000_000), max_size=1500))
def test_slices_hold_every_row_once_and_no_more_than_they_should(sizes):
    class Sized:
        def __init__(self, sizes):
            self.sizes = sizes

    rows = range(len(sizes))
    parts = list(pages.slices(Sized(sizes), rows))
    assert [row for part in parts for row in part] == list(rows)
    for part in parts:
        assert len(part) == 1 or (
            len(part) <= pages.SLICE_ROWS and sum(sizes[row] for row in part) <= pages.SLICE_BYTES
        )
