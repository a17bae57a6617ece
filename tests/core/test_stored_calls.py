"""Files of calls found in a line's bytes: always what the whole line says, whatever stands in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.files import Use, uses_of
from pid.core.messages import stored_message
from pid.core.stored_calls import uses_in_body, uses_in_line
from pid.entries import MAX_DEPTH, DamagedLine, Kind, clean, read_body

CALL = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a.py"}}
WRITE = CALL | {"name": "Write_File"}
SAID_LATER = b'"role":"assistant","content"'
RESULT = {"role": "toolResult", "toolCallId": "c", "toolName": "script", "content": []}


def line(message: object, **more: object) -> bytes:
    head = {"type": "message", "id": "e", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
    return json.dumps({**head, "message": message, **more}).encode()


def said(*blocks: object) -> bytes:
    return line({"role": "assistant", "content": list(blocks)})


def found(raw: bytes) -> list[Use]:
    """What a reader of lines finds: in the bytes, or the whole way where they are unusual."""
    if (uses := uses_in_line(raw)) is not None:
        return uses
    try:
        return uses_in_body(Kind.ASSISTANT, clean(raw))
    except DamagedLine:
        return []


def expected(raw: bytes) -> list[Use]:
    """What the message that the line gives says, parsed as a whole."""
    try:
        message = stored_message(Kind.ASSISTANT, clean(raw))
    except DamagedLine:
        return []
    return [] if message is None else uses_of(read_body(bytes(message)))


def deep(levels: int) -> bytes:
    return said(CALL)[:-1] + b',"deep":' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize(
    ("raw", "uses"),
    [
        (said(CALL), [("read", "a.py")]),
        (said({"type": "text", "text": "t"}, CALL, WRITE), [("read", "a.py"), ("modified", "a.py")]),
        (said({**CALL, "arguments": {"filename": "b", "command": "view"}, "name": "edit"}), [("read", "b")]),
        (said({**CALL, "name": "apply_patch", "arguments": {"input": "*** Add File: n\n"}}), [("modified", "n")]),
        (line(RESULT | {"nestedCalls": {"calls": [CALL]}}), [("read", "a.py")]),
        (said(CALL).replace(b"toolCall", rb"t\u006folCall"), [("read", "a.py")]),
        (line(RESULT | {"nestedCalls": {"calls": [CALL]}}).replace(b"nestedC", rb"nested\u0043"), [("read", "a.py")]),
        (said(CALL).replace(b'"path"', rb'"p\u0061th"'), [("read", "a.py")]),
        (said(CALL).replace(b"a.py", b"a\xff"), [("read", "a\ufffd")]),
        (said(CALL).replace(b"a.py", rb"a\ud800"), [("read", "a\ufffd")]),
        (said(CALL, {"type": "text", "text": "x"}).replace(b'"x"', b'"\xff"'), [("read", "a.py")]),
        (said(CALL, {"type": "text", "text": 7}).replace(b"7", b"1e999"), [("read", "a.py")]),
        (said(CALL, {"type": "text", "text": 7}).replace(b"7", b"NaN"), []),
        (said(CALL, 7, None, "text", [CALL]), [("read", "a.py")]),
        (line({"role": "user", "content": [CALL]}), []),
        (line({"role": "user", "content": [CALL]}).replace(b'"content"', SAID_LATER), [("read", "a.py")]),
        (line({"role": "assistant", "content": CALL}), []),
        (line({"role": "assistant"}), []),
        (line({"role": "toolResult", "content": [CALL]}), []),
        (line("text"), []),
        (line(None), []),
        (line({"role": "assistant", "content": [CALL]}, x=1)[:-1] + b',"message":null}', []),
        (deep(MAX_DEPTH - 1), [("read", "a.py")]),
        (deep(MAX_DEPTH), []),
        (said(CALL)[:-1], []),
        (said(CALL) + b" x", []),
        (b"", []),
    ],
)  # fmt: skip
def test_what_a_line_names(raw: bytes, uses: list[Use]) -> None:
    assert expected(raw) == uses
    assert found(raw) == uses


def test_an_ordinary_line_takes_one_pass() -> None:
    assert uses_in_line(said({"type": "text", "text": "é"}, CALL)) == [("read", "a.py")]
    assert uses_in_line(line(RESULT)) == []


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
NAMES = st.sampled_from(["read", "Edit", "str_replace_editor", "apply-patch", "bash", "", 7])
KEYS = st.sampled_from(["path", "file_path", "filePath", "filename", "command", "input", "other"])
PATHS = st.one_of(SCALARS, st.sampled_from(["a", "view", "*** Update File: p\n*** Move to: q"]))
CALLS = st.fixed_dictionaries(
    {"type": st.sampled_from(["toolCall", "text"])},
    optional={"name": NAMES, "arguments": st.one_of(SCALARS, st.dictionaries(KEYS, PATHS, max_size=4))},
)
CONTENTS = st.one_of(SCALARS, CALLS, st.lists(st.one_of(CALLS, SCALARS), max_size=4))
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "assistant", "toolResult", "user", None])},
    optional={"content": CONTENTS, "nestedCalls": st.fixed_dictionaries({"calls": CONTENTS})},
)


@given(MESSAGES, st.randoms(use_true_random=False), st.integers(0, 3))
def test_it_is_what_the_whole_line_says(message: object, random: object, changes: int) -> None:
    raw = bytearray(line(message))
    for _ in range(changes):
        raw[random.randrange(len(raw))] = random.choice(b'"\\{}[],:u0\xff\xc3t ')  # type: ignore[attr-defined]
    assert found(bytes(raw)) == expected(bytes(raw))
