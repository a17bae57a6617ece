"""`require("pid")`, as other plugins use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import Editor

Written = Callable[[str], Path]

CALL = """
local name, arguments = ...
_G.answers = _G.answers or {}
table.insert(arguments, function(err, result) table.insert(_G.answers, { name, err or false, result or false }) end)
require('pid')[name](unpack(arguments, 1, #arguments))
"""


def call(editor: Editor, name: str, *arguments: Any) -> tuple[Any, Any]:
    """The error and the result that the callback got."""
    before = len(editor.lua("return _G.answers or {}"))
    editor.lua(CALL, name, list(arguments))
    answers = editor.until(
        lambda: (found := editor.lua("return _G.answers or {}"))[before:] and found, f"an answer to {name}"
    )
    assert len(answers) == before + 1
    return answers[-1][1], answers[-1][2]


@pytest.fixture
def opened(editor: Editor, session_file: Written) -> Editor:
    err, _ = call(editor, "open", {"path": str(session_file("u1=One a1=Two u2=Three"))})
    assert not err
    return editor


def test_append(opened: Editor) -> None:
    err, result = call(opened, "append", "Four", {})
    assert not err
    assert result["parentId"] == "u2"
    err, result = call(opened, "append", {"type": "custom", "customType": "mine", "data": {"k": 1}}, {"parentId": "u1"})
    assert not err
    assert result["parentId"] == "u1"


def test_set_leaf(opened: Editor) -> None:
    err, result = call(opened, "set_leaf", "a1", {})
    assert (err, result["leafId"]) == (False, "a1")
    err, _ = call(opened, "set_leaf", "nobody", {})
    assert err["code"] == 1002


def test_guards(opened: Editor) -> None:
    err, _ = call(opened, "append", "Five", {"expectedLeafId": "u1"})
    assert (err["code"], err["data"]["currentLeafId"]) == (1003, "u2")


def test_build_context(opened: Editor) -> None:
    err, context = call(opened, "build_context", {"format": "llm"})
    assert not err
    assert [message["role"] for message in context["messages"]] == ["user", "assistant", "user"]


def test_any_request(opened: Editor) -> None:
    err, state = call(opened, "request", "session/getState", {})
    assert (err, state["entryCount"]) == (False, 3)


def test_without_a_session(editor: Editor) -> None:
    err, _ = call(editor, "append", "text", {})
    assert "no session is open" in err["message"]


def test_events(opened: Editor) -> None:
    opened.lua(
        "_G.seen = {}; _G.stop = require('pid').on('change', function(e) table.insert(_G.seen, e.change.leafId) end)"
    )
    _, result = call(opened, "append", "Four", {})
    opened.until(lambda: opened.lua("return _G.seen") == [result["entryId"]], "the event")
    opened.lua("_G.stop()")
    call(opened, "append", "Five", {})
    assert len(opened.lua("return _G.seen")) == 1


def test_a_listener_that_fails_harms_nobody(opened: Editor) -> None:
    opened.lua("require('pid').on('change', function() error('oh') end)")
    err, _ = call(opened, "append", "Four", {})
    assert not err
    opened.tells("oh")


@pytest.mark.parametrize(
    ("session", "text"),
    [
        ({}, ""),
        ({"usage": {"tokens": 84_000, "contextWindow": 200_000, "shouldCompact": False}}, "42% of 200k"),
        ({"usage": {"tokens": 999, "shouldCompact": False}}, "999 tokens"),
        (
            {"usage": {"tokens": 190_000, "contextWindow": 200_000, "shouldCompact": True}},
            "95% of 200k, compaction is due",
        ),
        ({"compaction": {"state": "started"}}, "compacting"),
        ({"compaction": {"state": "progress", "chunk": 2, "chunks": 5}}, "compacting 2/5"),
    ],
)
def test_status_text(editor: Editor, session: dict[str, Any], text: str) -> None:
    assert editor.lua("return require('pid.status').text(...)", session) == text


def test_statusline(editor: Editor, session_file: Written) -> None:
    assert editor.lua("return require('pid').statusline()") == ""


def test_after_a_crash(opened: Editor) -> None:
    """A session without a window is opened again as well, and calls go on."""
    call(opened, "set_leaf", "a1", {})
    opened.kill_daemon()
    err, result = call(opened, "append", "After", {})
    assert (err, result["parentId"]) == (False, "a1")


def test_a_daemon_that_keeps_dying_is_given_up(opened: Editor) -> None:
    opened.lua("require('pid.config').options.cmd = { 'false' }")
    opened.kill_daemon()
    err, _ = call(opened, "append", "After", {})
    assert "the daemon ended" in err["message"]
