"""What is pure: the model, the layout, lines and their colours, times, Markdown. One Neovim runs the Lua."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import Editor
from tests.nvim.find import binary
from tests.trees import Word, words

ROLES = {"u": "user", "a": "assistant", "t": "toolResult", "b": "bashExecution"}
TYPES = {"c": "compaction", "r": "branch_summary", "l": "label", "d": "custom", "n": "session_info"}

DRAW = """
local text, leaf, folded, hide = ...
local Model, layout, render = require('pid.model'), require('pid.layout'), require('pid.render')
local model = Model.new(function(node) return hide[node.role or node.type] or false end)
model:take({ nodes = vim.json.decode(text, { luanil = { object = true } }), leafId = leaf, revision = 1, epoch = 'e' })
local rows = layout.rows(model.children, folded)
local view = {
  model = model, path = model:path(leaf), leaf = model.shown[leaf] or '', summarised = model:summarised(),
  icons = require('pid.config').options.tree.icons, title = 'top', texts = {},
}
local lines, spans = {}, {}
for index = 1, #rows.ids do
  lines[index] = render.text(rows, index, view)
  spans[index] = render.spans(rows, index, view)
end
return { lines, spans }
"""


@pytest.fixture(scope="module")
def lua(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    if binary() is None:
        pytest.skip("there is no nvim: pip install '.[test]', or set PID_NVIM")
    home: Path = tmp_path_factory.mktemp("lua")
    editor = Editor(home, home)
    yield editor
    editor.stop()


def node(word: Word) -> dict[str, Any]:
    """What the daemon would say of an entry."""
    role = ROLES.get(word.letter)
    entry_type = "message" if role else TYPES.get(word.letter, "future_thing")
    found: dict[str, Any] = {"id": word.id, "parentId": word.parent_id, "type": entry_type, "preview": word.text}
    found["timestamp"] = f"2026-01-01T00:00:{word.number:02d}.000Z"
    about = {"c": "firstKeptEntryId", "r": "fromId", "l": "targetId", "t": "toolName"}.get(word.letter)
    found |= {"role": role} if role else {}
    found |= {about: word.about} if about and word.about else {}
    return found | ({"damaged": True} if word.damaged else {})


def drawn(
    lua: Editor, nodes: list[dict[str, Any]], leaf: str, folded: tuple[str, ...] = (), hide: tuple[str, ...] = ()
) -> Any:
    return lua.lua(
        DRAW,
        json.dumps(nodes),
        leaf,
        dict.fromkeys(folded, True) or {"": False},
        dict.fromkeys(hide, True) or {"": False},
    )


def lines(lua: Editor, text: str, leaf: str, **more: tuple[str, ...]) -> list[str]:
    [top, *rest] = drawn(lua, [node(word) for word in words(text)], leaf, **more)[0]
    assert top.endswith("top")
    return list(rest)


@pytest.mark.parametrize(
    ("text", "leaf", "expected"),
    [
        ("u1 a1 u2", "u2", ["● U u1", "● A a1", "◉ U u2"]),
        ("u1 a1 u2", "a1", ["● U u1", "◉ A a1", "○ U u2"]),
        ("u1 a1 a2 | u1 > b1 b2", "b2", ["● U u1", "├─○ A a1", "│ ○ A a2", "● ! b1", "◉ ! b2"]),
        (
            "u1 a1 | u1 > a2 | u1 > a3 a4",
            "a1",
            ["● U u1", "├─◉ A a1", "├─○ A a2", "○ A a3", "○ A a4"],
        ),
        ("u1 a1 | a1 > u2 | a1 > u3 | u1 > a4", "u2", ["● U u1", "├─● A a1", "│ ├─◉ U u2", "│ ○ U u3", "○ A a4"]),
        ("u1 | u2 a2", "a2", ["├─○ U u1", "● U u2", "◉ A a2"]),
        ("u1 !a1 u2", "u2", ["● U u1", "● A a1", "◉ U u2"]),
        ("u1 !a1 | u1 > u2", "u2", ["● U u1", "├─✗ A a1", "◉ U u2"]),
        ("u1 z1=new", "z1", ["● U u1", "◉ · future_thing: new"]),
    ],
)
def test_layout(lua: Editor, text: str, leaf: str, expected: list[str]) -> None:
    assert lines(lua, text, leaf) == expected


def test_no_row_moves_with_the_leaf(lua: Editor) -> None:
    text = "u1 a1 u2 | a1 > u3 a3 | u1 > a4"
    shapes = [
        [line.translate({ord(mark): "*" for mark in "◉●○"}) for line in lines(lua, text, leaf)]
        for leaf in ("u2", "a3", "a4")
    ]
    assert shapes[0] == shapes[1] == shapes[2]


def test_what_hangs_on_hidden_entries(lua: Editor) -> None:
    text = "u1 l1 a1 | l1 > a2 | u1 > a3"
    assert lines(lua, text, "a1", hide=("label",)) == ["● U u1", "├─◉ A a1", "├─○ A a2", "○ A a3"]


def test_folded(lua: Editor) -> None:
    text = "u1 a1 u2 a2 | u1 > a3"
    assert lines(lua, text, "a3", folded=("a1",)) == ["● U u1", "├─▸ A a1  +2", "◉ A a3"]


def test_a_folded_head_without_more_stays(lua: Editor) -> None:
    assert lines(lua, "u1 a1 | u1 > a2", "a2", folded=("a1",)) == ["● U u1", "├─○ A a1", "◉ A a2"]


def test_siblings_stand_by_time(lua: Editor) -> None:
    nodes = [node(word) for word in words("u1 a1 | u1 > a2 | u1 > a3")]
    nodes[1]["timestamp"], nodes[3]["timestamp"] = nodes[3]["timestamp"], nodes[1]["timestamp"]
    assert drawn(lua, nodes, "a1")[0][1:] == ["● U u1", "├─○ A a3", "├─○ A a2", "◉ A a1"]


def test_deep_branches_cost_no_width(lua: Editor) -> None:
    """3,000 branches inside each other: no line grows beyond what fits, and nothing recurses."""
    nodes = [node(word) for word in words("u1 a1")]
    for n in range(2, 3002):
        parent = f"a{n - 1}"
        for role in ("assistant", "user"):
            child = {"id": f"{role[0]}{n}", "parentId": parent, "type": "message", "role": role}
            nodes.append({**child, "timestamp": f"{len(nodes):08d}"})
    found = drawn(lua, nodes, "u2")[0]
    assert len(found) == len(nodes) + 1
    assert max(map(len, found)) < 60


def test_colours(lua: Editor) -> None:
    """Each part has its group; what a compaction stands for is dim."""
    found, spans = drawn(lua, [node(word) for word in words("u1=Old u2=Kept c1(u2)=Sum | u1 > a1=Aside")], "c1")
    groups = {line.split()[-1]: [group for _, _, group in row] for line, row in zip(found, spans, strict=True)}
    assert groups["Old"] == ["PidPath", "PidSummarised", "PidSummarised"]
    assert groups["Kept"] == ["PidGraph", "PidPath", "PidUser", "PidUser"]
    assert groups["Sum"][-1] == "PidSummary"
    assert groups["Aside"] == ["PidGraph", "PidAssistant", "PidAssistant"]
    for line, row in zip(found, spans, strict=True):
        assert [start for start, _, _ in row] == sorted(start for start, _, _ in row)
        assert row[-1][1] == len(line.encode())


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("1970-01-01T00:00:00.000Z", 0),
        ("2026-01-31T12:00:01.250Z", 1769860801),
        ("2024-02-29T23:59:59.999Z", 1709251199),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times(lua: Editor, timestamp: str, seconds: int | None) -> None:
    assert lua.lua("return require('pid.render').seconds(...)", timestamp) == seconds


MARKDOWN = "return require('pid.markdown').entry(vim.json.decode(..., { luanil = { object = true } }))"


def markdown(lua: Editor, entry: dict[str, Any]) -> list[str]:
    return list(lua.lua(MARKDOWN, json.dumps(entry)))


def message(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": fields}


def test_calls_and_results_are_readable(lua: Editor) -> None:
    call = {
        "type": "toolCall",
        "id": "c",
        "name": "edit",
        "arguments": {"path": "/a", "text": "x\ny", "more": {"k": [1, None]}},
    }
    assert markdown(lua, message(role="assistant", content=[{"type": "text", "text": "Now."}, call])) == [
        "Now.",
        "",
        "**call** `edit`",
        "- **more**",
        "```json",
        "{",
        '  "k": [',
        "    1,",
        "    null",
        "  ]",
        "}",
        "```",
        "- **path** `/a`",
        "- **text**",
        "```",
        "x",
        "y",
        "```",
    ]
    result = message(role="toolResult", toolName="edit", isError=True, content=[{"type": "text", "text": "a ``` b"}])
    assert markdown(lua, result) == ["**failed** `edit`", "````", "a ``` b", "````"]


@pytest.mark.parametrize(
    "content", [None, "text", [], [None], [{"type": "new"}], [{"type": "toolCall", "arguments": None}], 7, {"a": 1}]
)
@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "bashExecution", "custom", "new", None])
def test_any_message_can_be_shown(lua: Editor, role: str | None, content: Any) -> None:
    """Real files hold such things."""
    assert markdown(lua, message(role=role, content=content))
    assert markdown(lua, {"type": "message", "message": None}) == ["(no message)"]


def test_unknown_entries_show_as_json(lua: Editor) -> None:
    assert markdown(lua, {"type": "future", "n": 1}) == ["```json", "{", '  "n": 1,', '  "type": "future"', "}", "```"]


def test_plain(lua: Editor) -> None:
    """Null fields go, nulls in lists stay, to any depth."""
    code = "return vim.json.encode(require('pid.plain').plain(vim.json.decode(...)))"
    assert json.loads(lua.lua(code, '{"a":null,"b":[null,{"c":null,"d":1}],"e":[1,null]}')) == {
        "b": [None, {"d": 1}],
        "e": [1, None],
    }
