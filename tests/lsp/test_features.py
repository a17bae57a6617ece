"""LSP's features on session files, asked for as Neovim and VS Code do, of the real daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.lsp.editor import Editor, place
from tests.trees import session_bytes

TREE = "u1=Fix_it a1(read)=Look t1=found a2=Done l1(u1)=start | a1 > u2=Again a3"
EMOJI = "\U0001f600"
BOTH = pytest.mark.parametrize("editor", ["neovim", "visual_studio_code"], indirect=True)


def session_text(tree: str) -> str:
    """The session of a tree with its characters as they are, where `session_bytes` escapes them."""
    return session_bytes(tree).decode().replace("\\ud83d\\ude00", EMOJI)


def stretch(text: str, where: types.Range) -> str:
    """What stands there."""
    assert where.start.line == where.end.line
    units = text.split("\n")[where.start.line].encode("utf-16-le")
    return units[2 * where.start.character : 2 * where.end.character].decode("utf-16-le")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


@BOTH
async def test_what_is_offered(editor: Editor) -> None:
    offers = editor.offers
    assert offers.position_encoding == "utf-16"
    assert offers.text_document_sync == types.TextDocumentSyncOptions(
        open_close=True, change=types.TextDocumentSyncKind.Incremental, save=False
    )
    assert offers.execute_command_provider == types.ExecuteCommandOptions(commands=("pid.moveLeafHere",))
    assert all(
        getattr(offers, f"{name}_provider")
        for name in (
            "document_symbol",
            "folding_range",
            "workspace_symbol",
            "hover",
            "definition",
            "references",
            "code_lens",
        )
    )


@BOTH
async def test_outline(editor: Editor) -> None:
    uri = editor.open(editor.written(session_bytes(TREE)))
    found = await editor.symbols(uri)
    assert [(part.name, [entry.name for entry in part.children or ()]) for part in found] == [
        ("s-0001", []),
        ("[start] Fix it", ["assistant: Look", "result of tool: found", "assistant: Done", "label: start"]),
        ("Again", ["assistant: a3"]),
    ]
    assert [part.detail for part in found] == ["/proj", "u1 · 5 entries", "u2 · 2 entries · from a1"]
    assert (found[1].range.start, found[1].range.end.line) == (place(1, 0), 5)
    assert [(fold.start_line, fold.end_line) for fold in await editor.folds(uri)] == [(1, 5), (6, 7)]


@pytest.mark.parametrize("editor", ["plain"], indirect=True)
async def test_outline_for_an_editor_that_knows_no_symbols_in_symbols(editor: Editor) -> None:
    uri = editor.open(editor.written(session_bytes("u1=One a1=Two")))
    params = types.DocumentSymbolParams(text_document=types.TextDocumentIdentifier(uri=uri))
    found = await editor.client.text_document_document_symbol_async(params)
    assert [(one.name, one.container_name, one.location.range.start.line) for one in found or ()] == [  # type: ignore[union-attr]
        ("s-0001", None, 0),
        ("One", None, 1),
        ("assistant: Two", "One", 2),
    ]


async def test_hover(editor: Editor) -> None:
    uri = editor.open(editor.written(session_bytes(TREE)))
    said, where = await editor.hover(uri, 3) or ("", None)
    assert said.startswith("**result of tool** · `t1` · 2026-01-01T00:00:03.000Z · depth 3 · about ")
    assert "Not in the present context: on another branch" in said
    assert said.endswith("```\nfound\n```")
    assert where == types.Range(place(3, 0), place(3, len(session_bytes(TREE).split(b"\n")[3])))
    line = session_bytes(TREE).split(b"\n")[6].decode()
    at = line.index('"a1"')
    said, where = await editor.hover(uri, 6, at + 2) or ("", None)
    assert said.startswith("**assistant** · `a1`")
    assert where == types.Range(place(6, at), place(6, at + 4))
    assert (await editor.hover(uri, 0) or ("",))[0].startswith("**session** · `s-0001` · version 3")
    assert await editor.hover(uri, 8) is None
    assert await editor.hover(uri, 99) is None


async def test_hover_follows_the_leaf_of_the_open_session(editor: Editor) -> None:
    path = editor.written(session_bytes(TREE))
    uri = editor.open(path)
    state = await editor.ask("session/open", {"path": str(path)})
    await editor.ask("session/setLeaf", {"sessionId": state.sessionId, "entryId": "t1"})
    assert "The leaf, in the present context" in (await editor.hover(uri, 3) or ("",))[0]
    await editor.ask("session/setLeaf", {"sessionId": state.sessionId, "entryId": None})
    assert "Not in the present context: on another branch" in (await editor.hover(uri, 1) or ("",))[0]


async def test_links(editor: Editor) -> None:
    text = session_bytes(TREE)
    uri = editor.open(editor.written(text))
    at = [line.find(b'"id":') + 5 for line in text.split(b"\n")]
    assert await editor.definition(uri, 5) == (1, at[1])
    assert await editor.definition(uri, 6) == (2, at[2])
    assert await editor.definition(uri, 1) is None
    call = text.split(b"\n")[3].index(b'"toolCallId"')
    assert await editor.definition(uri, 3, call + 2) == (2, at[2])
    assert await editor.references(uri, 2) == [3, 6]
    assert await editor.references(uri, 1, itself=True) == [1, 2, 5]


async def test_search(editor: Editor) -> None:
    shown = editor.open(editor.written(session_bytes(TREE)))
    other = editor.written(
        session_bytes("u1=Hello a1=World l1(a1)=greeting n1=Other").replace(b"s-0001", b"s-0002"), "o.jsonl"
    )
    assert await editor.search("fix") == [("[start] Fix it", shown, 1)]
    assert await editor.search("hello") == []
    await editor.ask("session/open", {"path": str(other)})
    assert await editor.search("hello") == [("Hello", other.as_uri(), 1)]
    assert await editor.search("GREET") == [("[greeting] World", other.as_uri(), 2)]
    assert await editor.search("other") == [("Other", other.as_uri(), 0)]
    editor.close(shown)
    assert await editor.search("fix") == []


# Problems


@BOTH
async def test_problems(editor: Editor) -> None:
    text = session_text(f"u1={EMOJI} a1(read) u2 | gone > u3={EMOJI} l1(away)=x !a3") + "words\n"
    text = text.replace('"type":"label"', f'"z":"{EMOJI}","type":"label"')
    uri = editor.open(editor.written(text.encode()))
    found = await editor.diagnostics(uri)
    assert [(one.code, one.severity, one.range.start.line) for one in found] == [
        ("missingParent", types.DiagnosticSeverity.Warning, 4),
        ("danglingTarget", types.DiagnosticSeverity.Warning, 5),
        ("malformedLine", types.DiagnosticSeverity.Error, 6),
        ("malformedLine", types.DiagnosticSeverity.Error, 7),
        ("missingToolResult", types.DiagnosticSeverity.Hint, 2),
    ]
    assert [stretch(text, one.range) for one in found[:2]] == ['"gone"', '"away"']
    for one in found:
        assert one.source == "pid"
        assert one.code_description
        link = urlsplit(one.code_description.href)
        text = Path(unquote(link.path)).read_text()
        assert link.fragment in {line.removeprefix("#### ").lower() for line in text.splitlines()}


async def test_problems_follow_edits_and_end_with_the_session(editor: Editor) -> None:
    path = editor.written(session_bytes("u1 a1"))
    uri = editor.open(path)
    assert await editor.diagnostics(uri) == []
    editor.change(uri, (place(1, 0), place(1, 1), "x"))
    assert [one.code for one in await editor.diagnostics(uri)] == ["malformedLine", "missingParent"]
    editor.change(uri, (place(1, 0), place(1, 1), "{"))
    assert await editor.diagnostics(uri) == []
    editor.change(uri, (place(3, 0), place(3, 0), "words\n"))
    assert [one.code for one in await editor.diagnostics(uri)] == ["malformedLine"]
    editor.change(uri, (place(0, 0), place(0, 1), ""))
    assert await editor.diagnostics(uri) == []
    assert path.read_bytes() == session_bytes("u1 a1")


# Texts


async def test_an_unsaved_document_is_read_as_it_stands(editor: Editor) -> None:
    """Several changes in one message are each of what the one before it left; a whole text may come too."""
    path = editor.written(session_bytes("u1=One a1"))
    uri = editor.open(path)
    lines = session_text(f"u1=Two a1 u2=Tr{EMOJI}ee").split("\n")
    editor.change(uri, (place(3, 0), place(3, 0), lines[3] + "\n"), (place(1, 0), place(2, 0), lines[1] + "\n"))
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "Two", f"Tr{EMOJI}ee"]
    column = lines[3].index(EMOJI)
    editor.change(
        uri, (place(3, column), place(3, column + 2), "oi"), (place(3, column + 2), place(3, column + 4), "s")
    )
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "Two", "Trois"]
    editor.change(uri, session_bytes("u9=Whole").decode())
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "Whole"]
    assert path.read_bytes() == session_bytes("u1=One a1")


async def test_growth(editor: Editor) -> None:
    """As an agent appends: at the end, line by line, the last one in two parts."""
    lines = session_bytes(TREE).decode().split("\n")
    uri = editor.open(editor.written(session_bytes("")))
    for number, line in enumerate(lines[1:-1], 1):
        editor.change(uri, (place(number, 0), place(number, 0), line[:50]))
        assert [one.code for one in await editor.diagnostics(uri)][:1] == ["tornLine"]
        editor.change(uri, (place(number, 50), place(number, 50), line[50:] + "\n"))
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "[start] Fix it", "Again"]
    assert await editor.diagnostics(uri) == []


async def test_a_document_that_is_loaded_again(editor: Editor) -> None:
    """Neovim closes and opens it; problems come again."""
    path = editor.written(session_bytes("u1=One"))
    uri = editor.open(path)
    assert len(await editor.symbols(uri)) == 2
    editor.close(uri)
    editor.open(path, session_bytes("u1=One a1 u2=Two").decode() + "words\n")
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "One", "Two"]
    assert [one.code for one in await editor.diagnostics(uri)] == ["malformedLine"]
    editor.close(uri)
    await until(lambda: not editor.told[uri].diagnostics)
    assert await editor.symbols(uri) == []


async def test_line_separators_end_no_line(editor: Editor) -> None:
    odd = "a\u2028b\u2029c\u0085d\x0b\x0ce"
    text = session_bytes("u1=One u2=Two").decode().replace("One", odd.replace("\x0b\x0c", ""))
    uri = editor.open(editor.written(b""), text)
    found = await editor.symbols(uri)
    assert [part.range.start.line for part in found] == [0, 1, 2]
    assert found[1].range.end == place(1, len(text.split("\n")[1]))
    assert (await editor.hover(uri, 2) or ("",))[0].startswith("**user** · `u2`")


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
async def test_line_endings_of_windows(editor: Editor, ending: str) -> None:
    text = session_bytes("u1=One | gone > u2").decode().replace("\n", ending)
    uri = editor.open(editor.written(text.encode()))
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "One", "u2"]
    (found,) = await editor.diagnostics(uri)
    assert text.split(ending)[2][found.range.start.character : found.range.end.character] == '"gone"'
    editor.change(uri, (place(2, 0), place(3, 0), ""))
    assert await editor.diagnostics(uri) == []


@pytest.mark.parametrize("version", [1, 2])
async def test_old_versions(editor: Editor, version: int) -> None:
    entries = [json.loads(line) for line in session_bytes("u1=One a1 u2=Two").split(b"\n")[:-1]]
    del entries[0]["version"]
    if version == 2:
        entries[0]["version"] = 2
    for entry in entries[1:] if version == 1 else ():
        del entry["id"], entry["parentId"]
    path = editor.written("".join(json.dumps(entry) + "\n" for entry in entries).encode())
    uri = editor.open(path)
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "One", "Two"]
    assert await editor.definition(uri, 3) == (2, 0 if version == 1 else entries_id_column(entries[2]))
    assert await editor.diagnostics(uri) == []
    state = await editor.ask("session/open", {"path": str(path)})
    assert len(await editor.lenses(uri)) == 2
    assert state.version == version


def entries_id_column(entry: dict[str, object]) -> int:
    return json.dumps(entry).index('"id": ') + len('"id": ')


async def test_an_empty_document_may_become_a_session(editor: Editor) -> None:
    uri = editor.open(editor.written(b""))
    assert await editor.symbols(uri) == []
    assert await editor.hover(uri, 0) is None
    editor.change(uri, (place(0, 0), place(0, 0), session_bytes("u1=One").decode()))
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "One"]


@pytest.mark.parametrize("text", ['{"type":"message"}\n', "words\n" * 1000, "[1]\n", '{"type":"session"}\n{"a":1}\n'])
async def test_what_is_no_session_is_told_nothing_of(editor: Editor, text: str) -> None:
    uri = editor.open(editor.written(b"", "other.jsonl"), text)
    assert (
        await editor.symbols(uri)
        == await editor.folds(uri)
        == await editor.lenses(uri)
        == await editor.search("")
        == []
    )
    assert await editor.hover(uri, 0) is await editor.definition(uri, 0) is None
    editor.change(uri, (place(0, 0), place(0, 0), "x"))
    assert await editor.symbols(uri) == []
    session = editor.open(editor.written(session_bytes("u1") + b"words\n"))
    assert len(await editor.diagnostics(session)) == 1
    assert uri not in editor.told
    editor.change(uri, session_bytes("u1=One").decode())
    assert len(await editor.symbols(uri)) == 2


async def test_a_huge_line(editor: Editor) -> None:
    """An image of 20 MB, more than is looked at: its entry has its place, and the others all that they always have."""
    image = {"type": "image", "data": "A" * (20 << 20), "mimeType": "image/png"}
    lines = session_bytes("u1=One u2 a1=Done").decode().split("\n")
    entry = json.loads(lines[2])
    entry["message"]["content"] = [image]
    lines[2] = json.dumps(entry, separators=(",", ":"))
    uri = editor.open(editor.written(b""), "\n".join(lines))
    assert [part.name for part in await editor.symbols(uri)] == ["s-0001", "One", "(no text)"]
    assert "too long to be shown here" in (await editor.hover(uri, 2, 5) or ("",))[0]
    assert await editor.definition(uri, 3) == (2, 23)
    assert await editor.diagnostics(uri) == []


async def test_a_document_that_is_not_open(editor: Editor) -> None:
    uri = (editor.folder / "none.jsonl").as_uri()
    editor.change(uri, (place(0, 0), place(0, 0), "x"))
    editor.close(uri)
    assert await editor.symbols(uri) == []
    assert await editor.hover("untitled:one", 0) is None


# The leaf


@BOTH
async def test_lenses_move_the_leaf(editor: Editor) -> None:
    path = editor.written(session_bytes(TREE))
    uri = editor.open(path)
    assert await editor.lenses(uri) == []
    state = await editor.ask("session/open", {"path": str(path)})
    assert state.leafId == "a3"
    found = await editor.lenses(uri)
    assert [lens.range.start for lens in found] == [place(1, 0), place(2, 0), place(4, 0), place(6, 0)]
    command = found[1].command
    assert command
    assert command.title == "Move the leaf here (assistant)"
    moved = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
    )
    assert (moved["leafId"] if isinstance(moved, dict) else moved.leafId) == "a1"
    assert json.loads(path.read_bytes().split(b"\n")[-2])["customType"] == "pid.leaf"
    assert [lens.range.start.line for lens in await editor.lenses(uri)] == [1, 4, 6, 7]
    if editor.client.capabilities.workspace.code_lens:
        await until(lambda: editor.refreshed > 0)
    await editor.ask("session/close", {"sessionId": state.sessionId})
    assert await editor.lenses(uri) == []


async def test_a_lens_only_where_the_session_has_the_entry(editor: Editor) -> None:
    path = editor.written(session_bytes("u1 a1"))
    uri = editor.open(path, session_bytes("u1 a1 u2 a2").decode())
    await editor.ask("session/open", {"path": str(path)})
    assert [lens.range.start.line for lens in await editor.lenses(uri)] == [1]


@pytest.mark.parametrize(
    ("command", "arguments", "code"),
    [
        ("pid.other", [], -32602),
        ("pid.moveLeafHere", [], -32602),
        ("pid.moveLeafHere", [{"sessionId": "s"}], -32602),
        ("pid.moveLeafHere", [{"sessionId": "s", "entryId": "e"}], 1001),
    ],
)
async def test_a_command_that_cannot_be_done(editor: Editor, command: str, arguments: list[object], code: int) -> None:
    with pytest.raises(JsonRpcException) as caught:
        await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=command, arguments=arguments)
        )
    assert caught.value.code == code
