import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.messages import (
    BRANCH_SENTENCE,
    COMPACTION_SENTENCE,
    agent_messages,
    llm_message,
    ms_of,
    plain_message,
    proven_message,
    stored_message,
    to_llm,
)
from pid.entries import Kind, clean, iso_of, read_body
from tests.trees import START_MS, load, session_bytes, tree_of


def one_entry(line, version=3):
    """A session of one entry, given as JSON text or as a dict without its head."""
    if not isinstance(line, str):
        line = json.dumps({"type": "message", "id": "x1", "parentId": None, "timestamp": iso_of(START_MS + 1)} | line)
    return load(session_bytes("", version) + line.encode() + b"\n")


def messages_of(line, **where):
    loaded = one_entry(line, **where)
    return [bytes(message) for message in agent_messages(loaded.tree, 0, loaded.bodies([0])[0])]


def parsed(line, **where):
    return [read_body(message) for message in messages_of(line, **where)]


HEAD = '{"type":"message","id":"x1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":'


@pytest.mark.parametrize(
    "message",
    [
        '{"role":"user","content":"a"}',
        '{ "role" : "user", "content" : [ ] , "n": 123456789012345678901234567890, "f": 1.0, "t": "\\u00e9" }',
        '{"content":"role last","role":"user"}',
        '{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false}',
        '{"role":"toolResult","content":[],"toolCallId":"c"}',
        '{"role":"assistant","content":"a text"}',
        '{"role":"bashExecution","command":"ls"}',
        '{"role":"custom","customType":"k"}',
        '{"role":"oracle","content":null}',
        '{"role":"user","content":5}',
        '{"content":"no role"}',
        "{}",
        '{"role":"user","content":' + "[" * 990 + "]" * 990 + "}",
    ],
)
def test_where_nothing_changes_the_message_is_its_stored_bytes(message):
    assert messages_of(HEAD + message + "}") == [message.encode()]
    moved = HEAD.replace('"message":', '"x":{"message":null},"message":') + message + ',"y":1}'
    assert messages_of(moved) == [message.encode()]


@pytest.mark.parametrize(
    ("message", "mended"),
    [
        ('{"role":"user","t":1}', '{"role":"user","t":1,"content":[]}'),
        ('{"role":"user","content":null,"t":1.0}', '{"role":"user","content":[],"t":1.0}'),
        ('{"role":"assistant"}', '{"role":"assistant","content":[]}'),
        ('{"content": null,"role":"toolResult"}', '{"content":[],"role":"toolResult"}'),
        ('{"role":"system","content":null}', '{"role":"system","content":""}'),
        ('{"role":"hookMessage","content":"h"}', '{"role":"custom","content":"h"}'),
        ('{"content":"h","role":"hookMessage"}', '{"content":"h","role":"custom"}'),
    ],
)
def test_missing_content_and_an_old_role_are_mended_in_their_place(message, mended):
    assert messages_of(HEAD + message + "}") == [mended.encode()]


@pytest.mark.parametrize("message", ["null", '"a text"', "5", "[]"])
def test_a_message_that_is_no_object_is_none(message):
    assert messages_of(HEAD + message + "}") == []


def test_an_entry_without_a_message_of_its_own_gives_none():
    loaded = tree_of("k1=high o1=p/m d1 l1 n1=x e1(u1)=y q1 z1")
    assert [agent_messages(loaded.tree, row, body) for row, body in enumerate(loaded.bodies(range(8)))] == [[]] * 8


def test_a_custom_message_has_the_fields_that_it_has():
    custom = {"type": "custom_message", "customType": "k", "content": "c", "display": False, "details": {"a": 1}}
    (message,) = parsed(custom)
    assert list(message.items()) == [
        ("role", "custom"),
        ("customType", "k"),
        ("content", "c"),
        ("display", False),
        ("details", {"a": 1}),
        ("timestamp", START_MS + 1),
    ]
    assert parsed({"type": "custom_message", "content": None}) == [
        {"role": "custom", "content": [], "timestamp": START_MS + 1}
    ]


@pytest.mark.parametrize("summary", ["", None, False, 0])
def test_an_empty_branch_summary_gives_no_message(summary):
    assert parsed({"type": "branch_summary", "fromId": "x", "summary": summary}) == []
    assert parsed({"type": "branch_summary", "fromId": "x"}) == []


def test_a_branch_summary_names_no_marker_as_the_leaf_that_was_left():
    loaded = tree_of("u1 p1 | p2 | r1(p1)=went | r2(p2)=went | r3(gone)=went")
    rows = [loaded.row(name) for name in ("r1", "r2", "r3")]
    messages = [agent_messages(loaded.tree, row, body) for row, body in zip(rows, loaded.bodies(rows), strict=True)]
    assert [read_body(bytes(message))["fromId"] for (message,) in messages] == ["u1", "root", "gone"]


def test_a_compaction_gives_its_system_message_and_its_summary():
    system = {"role": "system", "content": "S", "sections": {"a": None}}
    entry = {"type": "compaction", "summary": "sum", "tokensBefore": 9, "details": {}, "systemMessage": system}
    assert parsed(entry) == [
        system,
        {"role": "compactionSummary", "summary": "sum", "tokensBefore": 9, "timestamp": START_MS + 1},
    ]
    assert parsed({"type": "compaction", "systemMessage": "S"}) == [
        {"role": "compactionSummary", "summary": "", "tokensBefore": 0, "timestamp": START_MS + 1}
    ]


# Times


@pytest.mark.parametrize(
    ("timestamp", "ms"),
    [
        ("2026-01-01T00:00:01.000Z", START_MS + 1000),
        ("2026-01-01T00:00:01Z", START_MS + 1000),
        ("2026-01-01T00:00:01.5Z", START_MS + 1500),
        ("2026-01-01T00:00:01.123999Z", START_MS + 1123),
        ("2026-01-01T02:00:01.000+02:00", START_MS + 1000),
        ("2026-01-01", START_MS),
        ("2026-01-01T00:00:01", START_MS + 1000),  # UTC: the core knows no local time
        ("1960-01-01T00:00:00.000Z", -315_619_200_000),
        (5, 5),
        (5.9, 5),
        (None, 0),
        ("soon", None),
        ("", None),
        (float("inf"), None),
        ("2026-13-01T00:00:00.000Z", None),
    ],
)
def test_a_timestamp_however_written_becomes_milliseconds(timestamp, ms):
    assert ms_of(timestamp) == ms


@given(st.text() | st.floats() | st.integers())
def test_no_timestamp_raises(timestamp):
    assert ms_of(timestamp) is None or isinstance(ms_of(timestamp), int)


@pytest.mark.parametrize("timestamp", ["2026-01-01T00:00:01.5Z", "soon", None, 7])
def test_an_unusual_timestamp_of_an_entry_is_read_too(timestamp):
    (message,) = parsed({"type": "custom_message", "content": "c", "timestamp": timestamp})
    assert message["timestamp"] == ms_of(timestamp)


def test_an_entry_without_a_timestamp_has_no_time():
    (message,) = parsed('{"type":"custom_message","id":"x1","parentId":null,"content":"c"}')
    assert message["timestamp"] is None


# For the model


def llm(entry):
    loaded = one_entry(entry)
    (message,) = agent_messages(loaded.tree, 0, loaded.bodies([0])[0])
    found = llm_message(loaded.tree.kinds[0], message)
    assert (found and read_body(bytes(found))) == to_llm(read_body(bytes(message)))
    return found and read_body(bytes(found))


@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "system"])
def test_what_the_model_knows_passes_as_it_is(role):
    message = {"role": role, "content": "c", "more": 1}
    assert llm({"message": message}) == message


@pytest.mark.parametrize(
    "message", [{"role": "oracle", "content": "c"}, {"content": "c"}, {"role": None}, {"role": ["user"]}]
)
def test_an_unknown_role_is_left_out(message):
    assert llm({"message": message}) is None


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("text", [{"type": "text", "text": "text"}]),
        ([{"type": "x", "n": 1}], [{"type": "x", "n": 1}]),
        (None, []),
        (5, []),
    ],
)
def test_a_custom_message_becomes_a_user_message(content, shown):
    assert llm({"message": {"role": "custom", "content": content, "timestamp": 5}}) == {
        "role": "user",
        "content": shown,
        "timestamp": 5,
    }


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"type": "compaction", "summary": "S"}, COMPACTION_SENTENCE),
        ({"type": "branch_summary", "summary": "S"}, BRANCH_SENTENCE),
    ],
)
def test_a_summary_becomes_a_user_message_with_the_summary_in_tags(entry, sentence):
    text = f"{sentence}\n\n<summary>\nS\n</summary>"
    content = [{"type": "text", "text": text}]
    assert llm(entry) == {"role": "user", "content": content, "timestamp": START_MS + 1}


def bash(**fields):
    found = llm({"message": {"role": "bashExecution", "command": "make", "output": "out"} | fields})
    return found and found["content"][0]["text"]


def test_a_bash_execution_becomes_a_user_message():
    assert bash() == "I ran this command: \n\n```\nmake\n```\n\nIts output: \n\n```\nout\n```"
    assert bash(output="").endswith("It printed nothing.")
    assert bash(exitCode=0) == bash()
    assert bash(exitCode=2).endswith("It failed with exit code 2.")
    assert bash(cancelled=True, exitCode=2).endswith("I stopped it before it was done.")
    assert bash(truncated=True, fullOutputPath="/o").endswith("The output is cut; all of it is in /o.")
    assert bash(truncated=True).endswith("The output is cut.")
    assert bash(excludeFromContext=True) is None
    assert bash(command=None, output=5) == "I ran this command: \n\n```\n\n```\n\nIt printed nothing."


def test_no_output_ends_its_own_fence():
    assert "\n`````\na\n````\nb\n`````" in bash(output="a\n````\nb")


FIELDS = st.sampled_from(
    ["role", "command", "output", "content", "summary", "exitCode", "timestamp", "excludeFromContext"]
)
ROLES = st.sampled_from(["user", "bashExecution", "custom", "branchSummary", "compactionSummary", "oracle"])
ODD = (
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.none()) | st.dictionaries(st.text(), st.none())
)


@given(st.dictionaries(FIELDS, ROLES | ODD))
def test_no_shape_of_a_message_raises(message):
    found = to_llm(message)
    assert found is None or found["role"] in {"user", "assistant", "toolResult", "system"}


# Plain lines


PLAIN = [
    '{"role":"user","content":"a"}',
    '{"role":"user","content":"a\\\\","timestamp":1}',
    '{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"}"}],"isError":false}',
    '{"role":"assistant","content":[],"usage":{"input":1}}',
    '{"role":"user","content":"\\u00e4 \u00e4","n":123456789012345678901234567890}',
]
NOT_PLAIN = [
    '{"role":"user","content":"a"},"more":{"a":1}',  # another member behind the message
    '{"role":"user","content":"a"},"message":{"role":"user","content":"b"}',
    '{"role":"user","content":null}',
    '{"role":"user","text":"a"}',
    '{"role":"bashExecution","command":"ls"}',
    '{"content":"role last","role":"user"}',
    '{"role":"user","content":"a"} ',
    '{"role":"user","content":"a"}}',
    '{"role":"user","content":"a',
    '{"role":"user","content":"\\ud800"}',
    '{"role":"user","content":' + "[" * 999 + "]" * 999 + "}",
]


@pytest.mark.parametrize("message", PLAIN)
def test_a_plain_line_gives_the_rest_of_it(message):
    line = f"{HEAD}{message}}}".encode()
    for before, behind in ((b"", b""), (line + b"\n", b"\n" + line), (b"}}", b"}}")):
        place = len(before), len(before) + len(line)
        assert proven_message(before + line + behind, *place) == message.encode()
        assert plain_message(before + line + behind, *place) == message.encode()


@pytest.mark.parametrize("message", NOT_PLAIN)
def test_what_only_looks_plain(message):
    line = f"{HEAD}{message}}}".encode()
    assert proven_message(line, 0, len(line)) is None
    assert proven_message(line + b"}}", 0, len(line)) is None


def test_the_deepest_plain_line():
    line = (HEAD + '{"role":"user","content":' + "[" * 998 + "]" * 998 + "}}").encode()
    assert proven_message(line, 0, len(line)) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "message"]), inner),
    max_leaves=6,
)


@given(
    st.sampled_from(["user", "assistant", "toolResult", "system"]),
    st.dictionaries(st.sampled_from(["content", "role", "message", "timestamp"]), json_values),
    st.dictionaries(st.sampled_from(["message", "more"]), json_values),
    st.sampled_from(["", "}", "{", ",", " "]),
)
def test_a_plain_line_is_sound_and_gives_the_stored_message(role, fields, behind, torn):
    message = json.dumps({"role": role, "content": "x"} | fields, separators=(",", ":"))
    line = (
        HEAD + message + "".join(f",{json.dumps(key)}:{json.dumps(behind[key])}" for key in behind) + torn + "}"
    ).encode()
    found = proven_message(line, 0, len(line))
    if found is not None:
        assert clean(line) is line
        assert found == plain_message(line, 0, len(line)) == bytes(stored_message(Kind.USER, line) or b"")
