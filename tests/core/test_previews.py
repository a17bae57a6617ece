import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from pid.core.nodes import damaged_line, node_of
from pid.core.previews import _text_line, one_line, preview, read_line
from pid.entries import DamagedLine, Kind
from pid.protocol import PREVIEW_CODE_POINTS
from tests.trees import load, session_bytes, tree_of

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from('a é中😀\\"\n\t\x1b /')).map(
    lambda text: text * 40
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n  b\t\tc ", "a b c"),
        ("", None),
        (" \n\u2028\u00a0\x85 ", None),
        ("x" * 200, "x" * 120),
        ("中" * 200, "中" * 120),
        (" " * 5000 + "late", "late"),
        ("a" + " " * 5000 + "b", "a b"),
        ("\x1b[31mred\x1b[0m\x00\u202eabc", "[31mred [0m abc"),
        ("x" * 119 + " y", "x" * 119),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),
    ],
)
def test_a_preview_is_one_line_of_at_most_120_code_points(text, line):
    assert one_line(text) == line


@given(texts)
def test_no_text_makes_more_than_a_line(text):
    line = one_line(text)
    assert line is None or (0 < len(line) <= PREVIEW_CODE_POINTS and line.splitlines() == [line] == [line.strip()])


words = st.lists(
    st.sampled_from(
        ["a", "word", "\u00e9t\u00e9", "\u4e2d", "\U0001f600", "C:\\\\x", '"', " ", "\n", "\n\t", "    ", "\r\n"]
    )
)


@given(
    words.map(lambda some: "".join(some * 12)),
    st.sampled_from(["", "\xa0", "\u2028", "\x85", "\x1f", "\u3000"]),
    st.booleans(),
)
def test_a_preview_is_the_words_of_the_text(text, odd, ascii_only):
    text += odd + text
    line = " ".join(text.split())[:PREVIEW_CODE_POINTS].rstrip() or None
    assert one_line(text) == line
    assert said(Kind.USER, [{"type": "text", "text": text}], ascii_only=ascii_only) == line


@pytest.mark.parametrize("first", ["", "."])
@pytest.mark.parametrize("letter", ["a", "é", "中", "😀", '"', "\\\\"])
def test_a_text_that_ends_where_a_look_at_it_does(letter, first):
    for count in range(40, 260):
        text = first + letter * count
        assert said(Kind.USER, [{"type": "text", "text": text}], ascii_only=False) == text[:PREVIEW_CODE_POINTS]


@given(texts, st.booleans())
def test_the_beginning_of_a_json_string_tells_what_the_whole_does(text, ascii_only):
    raw = Raw(json.dumps(text, ensure_ascii=ascii_only).encode())
    assert (_text_line(raw)[:PREVIEW_CODE_POINTS].rstrip() or None) == one_line(text)


def shown(kind, /, ascii_only=True, **fields):
    return preview(kind, read_line(json.dumps(fields, ensure_ascii=ascii_only).encode()))


def said(kind, content, /, ascii_only=True, **fields):
    return shown(kind, ascii_only=ascii_only, message={"content": content} | fields)


TEXT = {"type": "text", "text": "words"}
THOUGHT = {"type": "thinking", "thinking": "a thought", "thinkingSignature": "s"}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def call(name="bash", **arguments):
    return {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("plain\ntext", "plain text"),
        ([TEXT], "words"),
        ([THOUGHT, TEXT, call()], "words"),
        ([{"type": "text", "text": " \n"}, TEXT], "words"),
        ([THOUGHT, call(command="ls -l")], "bash ls -l"),
        ([call(command="ls"), call("read", limit=3, path="/a"), TEXT], "bash ls, read /a"),
        ([call("odd", flavour="sweet", depth=2)], "odd sweet"),
        ([call("none")], "none"),
        (
            [call() | {"arguments": None}, call() | {"arguments": "ls"}, call() | {"arguments": ["ls"]}],
            "bash, bash, bash",
        ),
        ([THOUGHT], "a thought"),
        ([IMAGE], "[image/png]"),
        ([IMAGE, TEXT], "words"),
        ([{"type": "image"}], "[image]"),
        ([], None),
        (None, None),
        (5, None),
        (["words", 7, None, TEXT], "words"),
        ([{"type": 5, "text": "no"}, {"type": "text", "text": 5}, TEXT], "words"),
        ([{"text": "untyped"}], None),
    ],
)
def test_content_says_its_first_text_or_its_calls(content, line):
    assert said(Kind.ASSISTANT, content) == line
    assert said(Kind.USER, content) == line


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        (Kind.ASSISTANT, {"message": {"content": [], "errorMessage": "overloaded\n"}}, "overloaded"),
        (Kind.BASH, {"message": {"command": "ls\n-l"}}, "$ ls -l"),
        (Kind.THINKING_LEVEL_CHANGE, {"thinkingLevel": "high"}, "high"),
        (Kind.MODEL_CHANGE, {"provider": "p", "modelId": "m"}, "p/m"),
        (Kind.MODEL_CHANGE, {"modelId": "m"}, "m"),
        (Kind.COMPACTION, {"summary": "## Goal\nx"}, "## Goal x"),
        (Kind.BRANCH_SUMMARY, {"summary": "went"}, "went"),
        (Kind.CUSTOM, {"data": "a text"}, "a text"),
        (Kind.CUSTOM, {"data": {"n": 1}}, '{"n": 1}'),
        (Kind.CUSTOM, {}, None),
        (Kind.CUSTOM_MESSAGE, {"content": "note"}, "note"),
        (Kind.LABEL, {"label": "here"}, "here"),
        (Kind.LABEL, {}, None),
        (Kind.SESSION_INFO, {"name": "a\nb"}, "a b"),
        (Kind.CONTEXT_EDIT, {"replacement": None}, "left out"),
        (Kind.CONTEXT_EDIT, {"replacement": {"content": [TEXT]}}, "words"),
        (Kind.CONTEXT_EDIT, {}, None),
        (Kind.USAGE, {"kind": "cache", "provider": "p", "model": "m"}, "cache p/m"),
        (Kind.OTHER, {"text": "?"}, None),
        (Kind.USER, {"message": None}, None),
        (Kind.USER, {"message": "text"}, None),
        (Kind.COMPACTION, {"summary": 5, "message": []}, None),
    ],
)
def test_every_kind_says_something_of_its_own(kind, fields, line):
    assert shown(kind, **fields) == line


odd = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.lists(st.text())
    | st.dictionaries(st.text(), st.text())
)
NAMES = st.sampled_from(
    ["type", "timestamp", "message", "content", "replacement", "summary", "targetId", "label", "name", "data", "text"]
)


@given(st.dictionaries(NAMES, odd | st.dictionaries(NAMES, odd | st.lists(st.dictionaries(NAMES, odd)))))
def test_no_shape_of_an_entry_raises(fields):
    line = read_line(json.dumps(fields).encode())
    for kind in Kind:
        text = preview(kind, line)
        assert text is None or len(text) <= PREVIEW_CODE_POINTS


def test_what_is_deeper_than_the_stack_is_read_too():
    deep = '{"a":' * 900 + "1" + "}" * 900
    calls = f'[{{"type":"toolCall","name":"n","arguments":{{"path":"/p","x":{deep}}}}}]'
    assert preview(Kind.ASSISTANT, read_line(f'{{"message":{{"content":{calls}}}}}'.encode())) == "n /p"


@pytest.mark.parametrize(
    "raw", [b'{"message":{"content":[{"type":"text","text":"\xff"}]}}', b'{"a":', b'{"label":"\\ud800"}']
)
def test_what_is_no_clean_json_is_told_to_be_proven(raw):
    with pytest.raises((ValueError, DamagedLine)):
        preview(Kind.USER, read_line(raw))


# Nodes


def node(loaded, entry_id):
    row = loaded.tree.rows[entry_id]
    return node_of(loaded.tree, row, read_line(loaded.stored(row)))


def fields_of(loaded, entry_id):
    found = {name: getattr(node(loaded, entry_id), name) for name in node(loaded, entry_id).__struct_fields__}
    absent = (None, Ellipsis)
    return {
        k: v for k, v in found.items() if v not in absent and k not in ("id", "timestamp", "visible_parent_id", "entry")
    }


@pytest.mark.parametrize(
    ("entry_id", "fields"),
    [
        ("u1", {"type": "message", "role": "user", "label": "here", "preview": "u1"}),
        ("a1", {"type": "message", "role": "assistant", "parent_id": "u1", "preview": "a1", "stop_reason": "toolUse"}),
        (
            "t1",
            {
                "type": "message",
                "role": "toolResult",
                "parent_id": "a1",
                "preview": "t1",
                "tool_name": "tool",
                "is_error": False,
            },
        ),
        ("m1", {"type": "message", "role": "custom", "parent_id": "t1", "preview": "m1", "custom_type": "k"}),
        ("x1", {"type": "custom_message", "parent_id": "m1", "preview": "x1", "custom_type": "k"}),
        ("l1", {"type": "label", "parent_id": "x1", "preview": "here", "target_id": "u1"}),
        ("c1", {"type": "compaction", "parent_id": "l1", "preview": "c1", "first_kept_entry_id": "u1"}),
        ("r1", {"type": "branch_summary", "parent_id": "c1", "preview": "r1", "from_id": "a1"}),  # a marker under a1
        ("z1", {"type": "future_thing", "parent_id": "r1"}),
        ("l2", {"type": "label", "parent_id": "z1", "target_id": "gone"}),
    ],
)
def test_a_node_has_the_fields_of_its_type(entry_id, fields):
    loaded = tree_of("u1 a1(ls) t1 | a1 > p1 | t1 > m1 x1 l1(u1)=here c1(u1) r1(p1) z1 l2(gone)=")
    assert fields_of(loaded, entry_id) == fields


def test_a_node_keeps_its_time_as_it_is_stored():
    data = (
        session_bytes("x1 x2 x3")
        .replace(b"2026-01-01T00:00:02.000Z", b"yesterday")
        .replace(b'"2026-01-01T00:00:03.000Z"', b"5")
    )
    loaded = load(data)
    assert [node(loaded, name).timestamp for name in ("x1", "x2", "x3")] == [
        "2026-01-01T00:00:01.000Z",
        "yesterday",
        None,
    ]


def test_the_head_of_a_damaged_line_tells_its_type_and_time():
    loaded = tree_of("u1 !c1(u1) !z1")
    lines = [damaged_line(loaded.stored(row)) for row in range(1, 3)]
    nodes = [node_of(loaded.tree, row, line) for row, line in enumerate(lines, 1)]
    assert [(found.type, found.timestamp, found.damaged) for found in nodes] == [
        ("compaction", "2026-01-01T00:00:02.000Z", True),
        ("future_thing", "2026-01-01T00:00:03.000Z", True),
    ]
    assert damaged_line(b'{"id":"x","parentId":').type is None
