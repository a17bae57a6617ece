import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.context import TAIL_TOKENS, entries_in_effect, messages_in_effect
from pid.core.tree import ROOT
from pid.entries import read_body
from tests.trees import load, session_bytes, tree_of, words


def effect_of(loaded, leaf=None):
    row = loaded.tree.last if leaf is None else loaded.row(leaf)
    return entries_in_effect(loaded.tree, row, loaded.bodies)


def in_effect(text, leaf=None):
    """The ids of the entries in effect, in the order of the context."""
    loaded = tree_of(text)
    return " ".join(loaded.ids(effect_of(loaded, leaf).rows))


def context_of(loaded, leaf=None):
    """The messages at a leaf as role and text, and all warnings."""
    effect = effect_of(loaded, leaf)
    warnings = list(effect.warnings)
    rows = effect.rows
    messages = messages_in_effect(loaded.tree, effect, rows, loaded.bodies(rows), warnings)
    return [said(read_body(bytes(message))) for _, message in messages], warned(warnings)


def said(message):
    content = message.get("content", message.get("summary", message.get("output")))
    text = content if isinstance(content, str) else " ".join(block.get("text", "") for block in content)
    return f"{message['role']}:{text}"


def warned(warnings):
    return [f"{warning.kind} {warning.entry_id}" for warning in warnings]


@pytest.mark.parametrize(
    ("text", "leaf", "ids"),
    [
        ("u1 a1 u2", None, "u1 a1 u2"),
        ("u1 a1 | a1 > u2 a2", "u2", "u1 a1 u2"),
        ("u1 a1 u2 c1(u2) u3", None, "c1 u2 u3"),
        ("u1 a1 u2 c1(u2) u3", "u2", "u1 a1 u2"),  # before a compaction: the full history
        ("u1 a1 u2 c1(u2)", None, "c1 u2"),
        ("u1 c1(c1) u2", None, "c1 u2"),  # its own id: it keeps none
        ("u1 c1(u2) u2", None, "c1 u2"),  # an entry behind it: none either
        ("u1 u2 c1(u2) u3 c2(u2) u4", None, "c2 u2 c1 u3 u4"),  # the last one wins
        ("u1 u2 c1(u2) u3 c2(u2) u4", "u3", "c1 u2 u3"),
        ("s1 u1 s2 u2 c1(u1) s3 u3", None, "c1 u1 u2 s3 u3"),  # no system messages from the kept range
        ("u1 l1(u1) k1 d1 z1", None, "u1 l1 k1 d1 z1"),
        ("u1 a1 u2 | a1 > p1", None, "u1 a1"),  # a marker is not there
        ("u1 a1 u2 | a1 > p1 u3", None, "u1 a1 u3"),
        ("u1 a1 | a1 > p1 u3 c1(p1) u4", None, "c1 u3 u4"),  # as first kept: what follows it
        ("u1 a1 | p1 u3 c1(p1) u4", None, "c1 u3 u4"),
    ],
)
def test_the_entries_in_effect(text, leaf, ids):
    assert in_effect(text, leaf) == ids


def test_before_the_first_entry_nothing_is_in_effect():
    loaded = tree_of("k1=high u1 a1")
    effect = entries_in_effect(loaded.tree, ROOT, loaded.bodies)
    assert (list(effect.rows), effect.compaction, effect.model, effect.thinking_level) == ([], ROOT, None, "off")
    assert (effect.warnings, loaded.asked) == ((), [])


# A compaction that lost what it kept

LONG = "u1*40000 a1*40000 u2*32000 a2*32000"  # 10,000 and 8,000 tokens each


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (f"{LONG} c1(gone) u3", "c1 a1 u2 a2 u3"),
        (f"{LONG} c1 u3", "c1 a1 u2 a2 u3"),  # it names none
        (f"{LONG} | o1 | a2 > c1(o1) u3", "c1 a1 u2 a2 u3"),  # off the path
        ("u1 a1 c1(gone) u2", "c1 u1 a1 u2"),  # all of it is less
        ("u1*90000 a1(ls) t1*90000 c1(gone) u2", "c1 a1 t1 u2"),  # not in front of a result
        ("u1 a1*90000 l1(u1) k1 u2 c1(gone) u3", "c1 a1 l1 k1 u2 u3"),
        ("u1 u2 l1(u1) a2*90000 c1(gone) u3", "c1 l1 a2 u3"),  # back over entries without messages
        ("u1*40000 s1*90000 a1*50000 u2 c1(gone) u3", "c1 u1 a1 u2 u3"),  # what is not kept does not count
        ("u1 c1(u1)*90000 u2 c2(gone) u3", "c2 u1 c1 u2 u3"),
        ("u1*90000 !a1 u2 c1(gone) u3", "c1 u1 a1 u2 u3"),
    ],
)
def test_a_compaction_that_names_no_entry_of_its_path_keeps_the_newest_20_000_tokens_and_warns(text, ids):
    loaded = tree_of(text)
    effect = effect_of(loaded)
    assert " ".join(loaded.ids(effect.rows)) == ids
    assert warned(effect.warnings) == [f"missingFirstKept {ids.split()[0]}"]


def test_of_a_lost_tail_no_more_is_read_than_is_kept():
    loaded = tree_of(" ".join(f"u{n}*4000" for n in range(100)) + " c1(gone)")
    effect = effect_of(loaded)
    assert len(effect.rows) == 1 + TAIL_TOKENS // 1000
    assert set(loaded.asked) == set(effect.rows)


# Only what is needed is read


def test_a_long_path_costs_the_bodies_that_the_answer_hangs_on():
    loaded = tree_of("k1=low o1=p/m u1 a1 k2=high u2 a2 u3 c1(u3) u4 e1(u4)=x l1(u1) u5")
    effect = effect_of(loaded)
    assert sorted(set(loaded.ids(loaded.asked))) == ["a2", "c1", "e1", "k2"]
    assert (effect.thinking_level, effect.model.model_id) == ("high", "m1")


def test_a_chain_of_100_000_entries_is_no_deeper_than_one_of_ten():
    line = '{"type":"usage","id":"q%d","parentId":"q%d","timestamp":"2026-01-01T00:00:01.000Z"}'
    loaded = load(session_bytes("q0") + "".join(f"{line % (n, n - 1)}\n" for n in range(1, 100_000)).encode())
    effect = effect_of(loaded)
    assert (len(effect.rows), loaded.asked) == (100_000, [])


# The thinking level and the model


@pytest.mark.parametrize(
    ("text", "level", "model"),
    [
        ("u1", "off", None),
        ("k1=high u1 k2=low", "low", None),
        ("o1=p/x u1 a1", "off", "anthropic/m1"),  # an answer sets the model too
        ("u1 a1 o1=p/x", "off", "p/x"),
        ("k1=high o1=p/x u1 c1(c1) u2", "high", "p/x"),  # from the whole path
        ("k1=high | k2=low", "low", None),  # of this path alone
        ("o1=p/x o2=nonsense", "off", "p/x"),  # the last that names one
        ("k1=high !k2=low o1=p/x !a1", "high", "p/x"),
    ],
)
def test_the_last_change_on_the_path_wins(text, level, model):
    loaded = tree_of(text)
    effect = entries_in_effect(loaded.tree, len(loaded.tree) - 1, loaded.bodies)
    found = effect.model and f"{effect.model.provider}/{effect.model.model_id}"
    assert (effect.thinking_level, found) == (level, model)


def test_an_older_compaction_in_the_kept_range_gives_no_message():
    messages = ["compactionSummary:c2", "user:u2", "user:u3", "user:u4"]
    assert context_of(tree_of("u1 u2 c1(u2) u3 c2(u2) u4")) == (messages, [])


# Edits


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("u1 e1(u1)=new", ["user:new"]),
        ("u1 e1(u1)=new e2(u1)=newest", ["user:newest"]),
        ("u1 u2 e1(u1)", ["user:u2"]),  # null leaves it out
        ("u1 e1(u1) e2(u1)=back", ["user:back"]),
        ("e1(u1)=early u1", ["user:early"]),
        ("u1 | u2 e1(u1)=elsewhere", ["user:u2"]),
        ("u1 a1 e1(a1)=text", ["user:u1", "assistant:text"]),
        ("u1 e1(u1)=before u2 c1(u2) u3", ["compactionSummary:c1", "user:u2", "user:u3"]),
        ("u1 u2 c1(u2) e1(u2)=after", ["compactionSummary:c1", "user:after"]),
        ("u1 u2 e1(u2)=kept c1(u1)", ["compactionSummary:c1", "user:u1", "user:kept"]),
        ("u1 u2 e1(u1)=lost u3 c1(u3)", ["compactionSummary:c1", "user:u3"]),
        ("u1 c1(u1) e1(c1)=never", ["compactionSummary:c1", "user:u1"]),  # a summary has no content
        ("u1 c1(u1) e1(c1)", ["user:u1"]),
        ("x1 m1 r1=went e1(x1)=X e2(m1)=M e3(r1)=R", ["custom:X", "custom:M", "branchSummary:went"]),
        ("u1 d1 e1(d1)=silent", ["user:u1"]),
    ],
)
def test_the_last_edit_in_effect_changes_the_content_of_its_target(text, messages):
    assert context_of(tree_of(text)) == (messages, [])


def test_a_text_for_blocks_becomes_one_block_and_the_rest_of_the_message_stays():
    loaded = tree_of("u1 a1(ls) t1 e1(u1)=U e2(a1)=A e3(t1)=T")
    effect = effect_of(loaded)
    found = messages_in_effect(loaded.tree, effect, effect.rows, loaded.bodies(effect.rows), [])
    messages = [read_body(bytes(message)) for _, message in found]
    block = {"type": "text", "text": ""}
    assert [message["content"] for message in messages] == ["U", [block | {"text": "A"}], [block | {"text": "T"}]]
    assert list(messages[2]) == ["role", "toolCallId", "toolName", "content", "isError", "timestamp"]


def test_an_edit_that_says_nothing_usable_changes_nothing_and_warns():
    for replacement in (b'"replacement":{"content":5}', b'"replacement":"new"', b'"other":1', b'"replacement":{}'):
        data = session_bytes("u1 e1(u1)=new e2(u1)=NEW").replace(b'"replacement":{"content":"NEW"}', replacement)
        assert context_of(load(data)) == (["user:new"], ["invalidEdit e2"])


# Warnings


@pytest.mark.parametrize(
    ("text", "messages", "warnings"),
    [
        ("u1 | gone > u2 a2", ["user:u2", "assistant:a2"], ["missingParent u2"]),
        ("u1 | gone > u2 a2 | u1 > u3", ["user:u1", "user:u3"], []),
        ("a1 > u1 a1", ["user:u1", "assistant:a1"], ["cycle u1"]),
        ("u1 | u2 > u2 u3", ["user:u2", "user:u3"], ["cycle u2"]),
        ("u1 !a1 u2", ["user:u1", "user:u2"], ["damagedEntry a1"]),
        ("u1 !a1 u2 c1(u2) u3", ["compactionSummary:c1", "user:u2", "user:u3"], []),  # it is summarised
        ("u1 !c1(u1) u2", ["user:u1", "user:u2"], ["damagedEntry c1"]),
        ("u1 c1(c1) !c2(c2) u2", ["compactionSummary:c1", "user:u2"], ["damagedEntry c2"]),
    ],
)
def test_what_is_wrong_on_the_path_is_told(text, messages, warnings):
    assert context_of(tree_of(text)) == (messages, warnings)


def test_a_message_entry_without_a_message_gives_none_and_warns():
    data = session_bytes("u1 u2").replace(
        b'"message":{"role":"user","content":[{"type":"text","text":"u2"}]', b'"m":{"a":1'
    )
    assert context_of(load(data)) == (["user:u1"], ["missingMessage u2"])


def test_a_compaction_whose_body_turns_out_to_be_damaged_is_passed_over():
    loaded = tree_of("u1 c1(c1) u2 c2(c2) u3")
    lost = loaded.row("c2")
    effect = entries_in_effect(
        loaded.tree, loaded.tree.last, lambda rows: [b"" if row == lost else loaded.bodies([row])[0] for row in rows]
    )
    assert loaded.ids(effect.rows) == ["c1", "u2", "c2", "u3"]


# The context depends on the path alone

LETTERS = st.sampled_from(["u", "a", "a(ls)", "t", "b", "m", "s", "x", "r", "c", "d", "e", "l", "n", "k", "z", "q"])


@st.composite
def grown(draw):
    """A tree written as text: each entry hangs on an earlier one, or is a root; abouts name any entry at all."""
    count = draw(st.integers(1, 14))
    ids, parts = [], []
    for number in range(count):
        letter, *call = draw(LETTERS).partition("(")
        entry_id = f"{letter}{number}"
        about = "".join(call) or (f"({draw(st.sampled_from([*ids, entry_id, 'gone']))})" if letter in "cel" else "")
        parent = draw(st.sampled_from([None, *ids]))
        size = draw(st.sampled_from(["", "", "*50000"]))
        parts.append(f"| {parent} > {entry_id}{about}{size}" if parent else f"| {entry_id}{about}{size}")
        ids.append(entry_id)
    return " ".join(parts), draw(st.sampled_from(ids))


@given(grown())
def test_context_depends_on_the_path_alone(tree_and_leaf):
    text, leaf = tree_and_leaf
    whole = tree_of(text)
    on_path = {whole.tree.ids[row] for row in whole.tree.path(whole.row(leaf))}
    lines = session_bytes(text).splitlines(keepends=True)
    alone = load(
        b"".join([lines[0], *(line for line, word in zip(lines[1:], words(text), strict=True) if word.id in on_path)])
    )
    assert context_of(alone, leaf) == context_of(whole, leaf)
