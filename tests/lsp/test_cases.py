"""Every session file that there is, opened in an editor: what must hold for any of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from pid.core.reading import Reading, is_session
from tests import interop
from tests.interop import FOLDER
from tests.lsp.editor import Editor

CASES = [*sorted(Path(__file__).parents[1].glob("golden/cases/*.jsonl")), *map(interop.case_file, interop.CASES)]


async def test_every_case(editor: Editor) -> None:
    """One daemon for all: none of them leaves it worse than it was."""
    for path in CASES:
        text = path.read_bytes().decode(errors="replace")
        reading = Reading(text.encode().split(b"\n"))
        begins = reading.is_session and is_session(reading.lines[0])
        uri = editor.open(path, text)
        found = await editor.symbols(uri)
        assert bool(found) is begins, path
        if begins:
            lines = text.split("\n")
            _nested(found, lines)
            shown = [entry for part in found[1:] for entry in (part, *(part.children or ()))]
            assert len(shown) + len(found[0].children or ()) == reading.tree.visible_count, path
            assert [one for one in await editor.diagnostics(uri) if not _within(one.range, lines)] == []
            for row in range(len(reading.tree)):
                line, start, _ = reading.span_of(row)
                said, _ = await editor.hover(uri, line, start) or ("", None)
                assert f"`{reading.tree.ids[row]}`" in said, path
                await editor.definition(uri, line, start)
                await editor.references(uri, line, start)
            assert all(fold.start_line < fold.end_line < len(lines) for fold in await editor.folds(uri))
        editor.close(uri)


def _nested(found: list[types.DocumentSymbol], lines: list[str]) -> None:
    for part in found:
        assert part.name
        assert _within(part.range, lines)
        assert part.range.start <= part.selection_range.start <= part.selection_range.end <= part.range.end
        for entry in part.children or ():
            assert part.range.start <= entry.range.start <= entry.range.end <= part.range.end
        _nested(list(part.children or ()), lines)


def _within(where: types.Range, lines: list[str]) -> bool:
    return where.start <= where.end and all(
        at.line < len(lines) and at.character <= len(lines[at.line].encode("utf-16-le")) // 2
        for at in (where.start, where.end)
    )


REAL = FOLDER / "real-session-v1.jsonl"


@pytest.mark.skipif(not REAL.is_file(), reason="there is no real session here (PID_SHARED)")
async def test_the_real_session(editor: Editor) -> None:
    """One of version 1, of 1,019 entries."""
    uri = editor.open(REAL)
    found = await editor.symbols(uri)
    assert len(found) == 89
    assert sum(len(part.children or ()) for part in found) == 930
    assert found[1].name == "/mode"
    assert {one.code for one in await editor.diagnostics(uri)} == {"missingToolResult"}
    said, _ = await editor.hover(uri, 8) or ("", None)
    assert said.startswith("**result of bash** · `b2ed0ae4` · 2025-11-20T23:33:54.592Z · depth 8")
    assert "In the present context" in said
