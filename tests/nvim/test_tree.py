"""The tree window: keys typed, the screen read back, the file looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.nvim.conftest import Start
from tests.nvim.editor import Editor
from tests.pi import Pi

Written = Callable[[str], Path]

BRANCHES = "u1=Write_the_parser a1 u2=With_regexes a2 | a1 > u3=By_hand a3(read) t3=ok a4=Done"


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def opened(editor: Editor, path: Path) -> Editor:
    editor.command(f"Pid open {path}")
    editor.until(lambda: len(editor.lines()) > 1, "the tree")
    return editor


def test_shape(editor: Editor, session_file: Written) -> None:
    """Stretches are flat; the older branch stands to the right, before the newer one."""
    opened(editor, session_file(BRANCHES))
    assert editor.lines() == [
        "● /proj",
        "● U Write the parser",
        "● A a1",
        "├─○ U With regexes",
        "│ ○ A a2",
        "● U By hand",
        "● A a3",
        "● T tool: ok",
        "◉ A Done",
    ]
    assert "01 Jan" in editor.screen()
    assert editor.line() == "◉ A Done"


def test_leaf_moves(editor: Editor, session_file: Written) -> None:
    path = session_file(BRANCHES)
    opened(editor, path)
    editor.go_to("With regexes")
    editor.keys("<CR>")
    editor.until(lambda: "├─◉ U With regexes" in editor.lines(), "the moved leaf")
    assert "○ U By hand" in editor.lines()
    assert editor.line() == "├─◉ U With regexes"
    assert stored(path)[-1]["customType"] == "pid.leaf"
    editor.keys("gg<CR>")
    editor.until(lambda: editor.lines()[0].startswith("◉"), "the leaf before the first entry")


def test_label(editor: Editor, session_file: Written) -> None:
    path = session_file("u1=One a1=Two")
    opened(editor, path)
    editor.go_to("One")
    editor.keys("lbefore<CR>")
    editor.until(lambda: "● U [before] One" in editor.lines(), "the label")
    editor.keys("l<C-u><CR>")
    editor.until(lambda: "● U One" in editor.lines(), "no label")
    assert [entry.get("label") for entry in stored(path)[-2:]] == ["before", None]


def test_append(editor: Editor, session_file: Written) -> None:
    path = session_file("u1=One")
    opened(editor, path)
    editor.keys("aTwo words<CR>")
    editor.until(lambda: "◉ U Two words" in editor.lines(), "the message")
    assert stored(path)[-1]["message"]["content"] == [{"type": "text", "text": "Two words"}]
    editor.command("new | call setline(1, ['first', 'second']) | 1,2Pid append")
    editor.until(lambda: stored(path)[-1]["message"]["content"][0]["text"] == "first\nsecond", "the lines")


def test_filters(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file("u1=One a1(bash) t1=out l1(u1)=mark a2=Two"))
    assert editor.lines()[1:] == ["● U [mark] One", "● A a1", "● T tool: out", "◉ A Two"]
    assert "without metadata" in editor.screen()
    editor.keys("t")
    assert editor.lines()[1:] == ["● U [mark] One", "● A a1", "◉ A Two"]
    assert "without metadata and tool results" in editor.screen()
    editor.keys("tm")
    assert editor.lines()[1:] == ["● U [mark] One", "● A a1", "● T tool: out", "● L label: mark", "◉ A Two"]


def test_hidden_leaf_shows_at_its_ancestor(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file("u1=One a1=Two l1(u1)=mark"))
    assert editor.lines()[-1] == "◉ A Two"


def test_folds(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file(BRANCHES))
    editor.go_to("a2")
    editor.keys("za")
    assert editor.lines()[3:5] == ["├─▸ U With regexes  +1", "● U By hand"]
    assert "With regexes" in editor.line()
    editor.keys("jaMore<CR>")
    editor.until(lambda: editor.lines()[-1] == "◉ U More", "the new entry")
    assert "├─▸ U With regexes  +1" in editor.lines()
    editor.keys("zR")
    assert "│ ○ A a2" in editor.lines()
    editor.keys("zM")
    assert "│ ○ A a2" not in editor.lines()
    editor.go_to("● A a1")
    editor.keys("zo")
    assert "│ ○ A a2" in editor.lines()


def test_whole_entry(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file("u1 a1(bash)=Reading"))
    editor.keys("K")
    screen = editor.shows("call bash")
    assert "Reading" in screen
    assert "path /a1" in screen
    editor.keys("q")
    editor.until(lambda: "call bash" not in editor.screen(), "the closed float")


def test_help(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file("u1"))
    editor.keys("g?")
    assert "read all anew" in editor.shows("move the leaf here")


def test_cursor_stays_on_its_entry(editor: Editor, session_file: Written, tmp_path: Path) -> None:
    path = session_file("u1=Question " + " ".join(f"a{number}" for number in range(1, 101)))
    opened(editor, path)
    editor.go_to("A a50")
    before = editor.nvim.funcs.winline()
    rows = len(editor.lines())
    editor.lua(
        "require('pid').append({type = 'message', message = {role = 'user', content = 'other'}}, {parentId = 'u1'})"
    )
    editor.until(lambda: len(editor.lines()) == rows + 1, "the branch")
    assert editor.line().endswith("A a50")
    assert editor.nvim.funcs.winline() == before


def test_two_editors_on_one_session(start: Start, session_file: Written) -> None:
    path = session_file("u1=One")
    one, other = opened(start(), path), opened(start(), path)
    one.keys("aFrom one<CR>")
    other.until(lambda: any("From one" in line for line in other.lines()), "what the other wrote")
    other.keys("aFrom the other<CR>")
    one.until(lambda: any("From the other" in line for line in one.lines()), "what the other wrote")
    assert [entry["message"]["content"][0]["text"] for entry in stored(path)[1:]] == [
        "One",
        "From one",
        "From the other",
    ]


def test_foreign_line(editor: Editor, session_file: Written) -> None:
    """A line that another program appends shows without a key."""
    path = session_file("u1=One")
    opened(editor, path)
    message = {"role": "user", "content": "Foreign", "timestamp": 1}
    entry = {
        "type": "message",
        "id": "f1",
        "parentId": "u1",
        "timestamp": "2026-01-01T00:00:05.000Z",
        "message": message,
    }
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    editor.until(lambda: "◉ U Foreign" in editor.lines(), "the foreign line")


def test_the_leaf_of_a_killed_daemon_is_its_own(editor: Editor, session_file: Written) -> None:
    """Another writer branched meanwhile, so the file alone would tell another leaf."""
    path = session_file("u1=One a1=Two")
    opened(editor, path)
    entry = {"type": "message", "id": "f1", "parentId": "u1", "timestamp": "2026-01-01T00:00:05.000Z"}
    entry["message"] = {"role": "user", "content": "Foreign", "timestamp": 1}
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    editor.until(lambda: "○ U Foreign" in editor.lines(), "the foreign branch")
    editor.kill_daemon()
    editor.tells("started again")
    editor.keys("aMine<CR>")
    editor.until(lambda: any("Mine" in line for line in editor.lines()), "the message")
    assert stored(path)[-1]["parentId"] == "a1"


def test_killed_daemon(editor: Editor, session_file: Written) -> None:
    """It is started again, at the leaf that it had, and a request that was under way is answered."""
    path = session_file(BRANCHES)
    opened(editor, path)
    editor.go_to("With regexes")
    editor.keys("<CR>")
    editor.until(lambda: "├─◉ U With regexes" in editor.lines(), "the moved leaf")
    first = editor.daemon_pid()
    editor.kill_daemon()
    editor.keys("aAfter the crash<CR>")
    editor.until(lambda: "│ ◉ U After the crash" in editor.lines(), "the message")
    assert editor.daemon_pid() != first
    assert sum("After the crash" in line for line in path.read_text().splitlines()) == 1
    editor.tells("started again")


def test_dim_is_what_a_compaction_stands_for(editor: Editor, session_file: Written) -> None:
    opened(editor, session_file("u1=Old a1=Older u2=Kept c1(u2)=Summary u3=New"))
    dim = editor.lua(
        """
        local tree = select(2, require('pid.tree').under_cursor())
        return vim.tbl_keys(tree.view.summarised)
        """
    )
    assert sorted(dim) == ["a1", "u1"]


def test_pi_beside_the_editor(editor: Editor, session_file: Written, pi: Pi) -> None:
    """What pi appends shows, and pi reads on at the leaf that was chosen here."""
    path = session_file(BRANCHES)
    session = pi.open(path)
    opened(editor, path)
    session.append([{"role": "user", "content": "From pi", "timestamp": 1_767_225_700_000}])
    editor.until(lambda: editor.lines()[-1] == "◉ U From pi", "what pi wrote")
    editor.go_to("With regexes")
    editor.keys("<CR>")
    editor.until(lambda: "├─◉ U With regexes" in editor.lines(), "the moved leaf")
    editor.keys("aFrom here<CR>")
    editor.until(lambda: "│ ◉ U From here" in editor.lines(), "the message")
    session.close()
    again = pi.open(path)
    assert again.show("branch")[-1] == stored(path)[-1]["id"]
    again.close()
