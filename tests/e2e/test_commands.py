"""The commands for people, as real processes that start real daemons."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from pid.protocol import ContextResult, Problem, TreeResult
from tests.e2e.terminal import COMMAND, ENV, ROOT, pid, pid_in_terminal

SAMPLE = ROOT / "pid/data/sample-session.jsonl"
ENTRIES = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()[1:]]
LEAF = ENTRIES[-1]["id"]
HEADER = '{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/proj"}\n'
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def entry(number: int, text: str) -> str:
    parent = None if number == 0 else f"{number - 1:08x}"
    message = {"role": "user", "content": text, "timestamp": 1767225600000}
    timestamp = "2026-01-01T00:00:00.000Z"
    fields = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": timestamp, "message": message}
    return json.dumps(fields) + "\n"


@pytest.fixture
def long_session(tmp_path: Path) -> Path:
    """A chain of 10,000 entries: more than any pipe holds, deeper than any recursion."""
    path = tmp_path / "long.jsonl"
    path.write_text(HEADER + "".join(entry(number, "x" * 60) for number in range(10_000)))
    return path


def test_tree_names_every_entry_and_the_leaf() -> None:
    lines = pid("tree", SAMPLE).stdout.splitlines()
    assert lines[0] == "Rounding and a slow import in tally"
    assert lines[2] == "103 entries · 3 branches · version 3 · /home/sam/code/tally"
    drawn = [line.split(maxsplit=1) for line in lines[4:]]
    assert sorted(entry_id for entry_id, _ in drawn) == sorted(entry["id"] for entry in ENTRIES)
    assert [entry_id for entry_id, rest in drawn if "◀ leaf" in rest] == [LEAF]
    assert sum("├─" in line for line in lines) == 2
    assert "\x1b" not in "".join(lines)


def test_a_short_tree_keeps_questions_labels_and_branches() -> None:
    lines = pid("tree", "--short", SAMPLE).stdout.splitlines()[4:]
    told = "\n".join(lines)
    assert len(lines) < 50
    folded = sum(int(count) for count in re.findall(r"┊ (\d+) more", told))
    assert folded + sum("┊" not in line for line in lines) == len(ENTRIES)
    users = [entry["id"] for entry in ENTRIES if entry.get("message", {}).get("role") == "user"]
    assert all(user in told for user in users)
    assert all(f"[{entry['label']}]" in told for entry in ENTRIES if entry["type"] == "label")


def test_json_is_what_the_wire_says() -> None:
    tree = msgspec.json.decode(pid("tree", "--json", SAMPLE).stdout, type=TreeResult)
    assert [node.id for node in tree.nodes] == [entry["id"] for entry in ENTRIES]
    assert tree.leaf_id == LEAF
    context = msgspec.json.decode(pid("context", "--json", SAMPLE).stdout, type=ContextResult)
    assert context.leaf_id == LEAF
    assert len(context.messages or []) == len(context.entry_ids) == 56


def test_context_shows_what_the_model_sees() -> None:
    told = pid("context", SAMPLE).stdout
    assert told.startswith(f"56 messages · leaf {LEAF} · anthropic/claude-opus-4-5 · thinking high\n")
    assert "## Goal" in told
    assert "→ bash {" in told
    assert "(A profile: store.insert takes 65 %" in told
    assert "Then store integer cents" not in told


def test_context_at_another_leaf_and_in_the_other_form() -> None:
    aborted = next(entry for entry in ENTRIES if entry.get("message", {}).get("stopReason") == "aborted")
    told = pid("context", "--format", "agent", "--leaf", aborted["id"], SAMPLE).stdout
    assert "▪ system" in told
    assert "Then store integer cents" in told
    assert "✗ The request was stopped by the user" in told


def test_doctor_says_line_and_kind_as_compilers_do(tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    text = HEADER + entry(0, "a") + "not JSON\n" + entry(1, "b")[:-20] + "\n" + entry(2, "not UTF-8: é")
    path.write_bytes(text.replace("\\u00e9", "é").encode("latin-1"))
    done = pid("doctor", path, SAMPLE, code=1)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{path}:3: malformedLine: ")
    assert lines[1].startswith(f"{path}:4: malformedLine: ")
    assert lines[2].startswith(f"{path}:5: invalidUtf8: ")
    assert lines[3:] == [f"{path}: 3 entries, 3 problems", f"{SAMPLE}: 103 entries, no problems"]
    assert done.stderr == ""
    findings = json.loads(pid("doctor", "--json", path, code=1).stdout)
    problems = msgspec.convert(findings[0]["problems"], list[Problem])
    assert [problem.line for problem in problems] == [3, 4, 5]
    assert [problem.kind for problem in problems] == ["malformedLine", "malformedLine", "invalidUtf8"]


def test_doctor_goes_on_after_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    done = pid("doctor", tmp_path / "none", SAMPLE, code=2)
    assert done.stdout == f"{SAMPLE}: 103 entries, no problems\n"
    assert done.stderr == f"pid doctor: There is no file {tmp_path}/none.\n"


@pytest.mark.parametrize("command", ["tree", "context", "doctor"])
@pytest.mark.parametrize("what", ["missing", "directory", "empty", "text", "pipe", "odd name"])
def test_what_is_no_session_is_one_clear_line(tmp_path: Path, command: str, what: str) -> None:
    path = tmp_path / "it"
    if what == "directory":
        path.mkdir()
    elif what == "empty":
        path.touch()
    elif what == "text":
        path.write_text("Dear diary,\nnothing happened.\n")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "odd name":
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    done = pid(command, path, code=2)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(f"pid {command}: ")


def test_an_unknown_leaf_is_one_clear_line() -> None:
    done = pid("context", "--leaf", "nope", SAMPLE, code=2)
    assert done.stderr == "pid context: There is no entry 'nope' in this session.\n"


@pytest.mark.parametrize("command", ["tree", "context"])
def test_a_closed_pipe_is_no_error(long_session: Path, command: str) -> None:
    with subprocess.Popen(
        [*COMMAND, command, long_session], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV
    ) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


@pytest.mark.parametrize("command", ["tree", "doctor"])
def test_a_full_disk_is_one_clear_line(long_session: Path, command: str) -> None:
    """Also where all of it would fit into a buffer, and only the end of the program writes it."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, command, long_session], stdout=full, stderr=subprocess.PIPE, env=ENV)
    assert done.returncode == 2
    assert done.stderr.decode() == f"pid {command}: the output cannot be written: No space left on device\n"


def test_without_an_output_nothing_breaks() -> None:
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *COMMAND, "tree", SAMPLE], stderr=subprocess.PIPE, env=ENV)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_output_without_these_signs_gets_others() -> None:
    told = pid("tree", SAMPLE, env={"PYTHONIOENCODING": "ascii"}).stdout
    assert told.isascii()
    assert "|-* user" in told
    tree = pid("tree", "--json", SAMPLE, env={"PYTHONIOENCODING": "ascii"}, encoding="utf-8").stdout
    assert "Café Grün" in json.dumps(json.loads(tree), ensure_ascii=False)


def test_interrupted(long_session: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "tree", long_session], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(30) in (0, 130)


def test_a_terminal_gets_colours_and_lines_that_fit() -> None:
    sent = pid_in_terminal("tree", SAMPLE)
    assert ESCAPE.search(sent)
    lines = ESCAPE.sub(b"", sent).decode().split("\r\n")
    assert max(map(len, lines)) == 80
    assert sum(line.endswith("…") for line in lines) > 20
    assert sum(LEAF in line for line in lines) == 1


def test_a_terminal_is_sent_no_control_characters_of_the_session(tmp_path: Path) -> None:
    evil = "\x1b]0;pwned\x07 \x1b[2J \x9b31m \u202e txet \r over"
    name = {"type": "session_info", "id": "n1", "parentId": "00000000", "timestamp": "\x1b[31m", "name": evil}
    path = tmp_path / "evil.jsonl"
    path.write_text(HEADER + entry(0, evil) + json.dumps(name) + "\n")
    for command in ("tree", "context"):
        for sent in (pid_in_terminal(command, path), pid(command, path).stdout.encode()):
            assert not CONTROL.search(ESCAPE.sub(b"", sent).decode().replace("\r\n", "\n"))
            assert b"\x1b[2J" not in sent
    sent = pid_in_terminal("tree", "--json", path)
    assert not CONTROL.search(sent.decode().replace("\r\n", "\n"))
    assert json.loads(sent)["nodes"][0]["preview"].endswith("over")


def test_wide_characters_fit_too(tmp_path: Path) -> None:
    path = tmp_path / "wide.jsonl"
    path.write_text(HEADER + entry(0, "漢字" * 50))
    line = ESCAPE.sub(b"", pid_in_terminal("tree", path)).decode().splitlines()[-1]
    cells = sum(2 if char > "\u2e80" else 1 for char in line)
    assert cells in (79, 80)


def test_text_is_wrapped_below_its_indent(tmp_path: Path) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text(HEADER + entry(0, "word " * 40))
    lines = ESCAPE.sub(b"", pid_in_terminal("context", path)).decode().split("\r\n")
    wrapped = [line for line in lines if "word" in line]
    assert len(wrapped) == 3
    assert all(line.startswith("  word") and len(line) <= 80 for line in wrapped)


def test_a_long_session_is_no_deeper_than_a_short_one(long_session: Path) -> None:
    assert len(pid("tree", long_session).stdout.splitlines()) == 10_004
    assert pid_in_terminal("tree", long_session).count(b"\n") == 10_004


def test_looking_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    first = {"type": "session", "id": "s-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/proj"}
    message = {"role": "user", "content": "from version 1, without a last line break"}
    second = {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "message": message}
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}")
    os.utime(path, ns=(1, 1))
    for command in ("tree", "context", "doctor"):
        pid(command, path, cwd=tmp_path)
    assert path.stat().st_mtime_ns == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_lies_in_the_working_directory_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "pid.py").write_text("raise SystemExit('a trap')")
    (tmp_path / "msgspec.py").write_text("raise SystemExit('a trap')")
    done = subprocess.run(
        [COMMAND[0], "-P", *COMMAND[1:], "doctor", SAMPLE], capture_output=True, text=True, cwd=tmp_path, env=ENV
    )
    assert done.stdout == f"{SAMPLE}: 103 entries, no problems\n", done.stderr


def test_the_demo_holds(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path)}
    told = pid("demo", env=env).stdout
    assert re.search(r"All \d+ checks held", told)
    steps = json.loads(pid("demo", "--json", env=env).stdout)
    checks = [check for step in steps for check in step["checks"]]
    assert len(checks) > 10
    assert all(check["held"] for check in checks)
    assert {exchange["method"] for step in steps for exchange in step["exchanges"]} >= {
        "initialize",
        "session/open",
        "session/getTree",
        "session/setLeaf",
        "session/append",
        "session/buildContext",
        "session/close",
        "session/getEntries",
    }
    assert list(tmp_path.iterdir()) == []


def test_a_payload_shows_its_system_prompt_its_tools_and_what_was_mended(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be brief.", "toolsAdded": [{"name": "read"}, {"name": "bash"}]}
    path = tmp_path / "s.jsonl"
    lines = [{"type": "message", "id": "s1", "message": system}, {"type": "message", "id": "a1", "parentId": "s1",
             "message": {"role": "assistant", "content": "Hello."}}]  # fmt: skip
    path.write_text(HEADER + "".join(json.dumps(line) + "\n" for line in lines))
    told = pid("context", "--format", "anthropic", path).stdout
    assert "▪ system\n  Be brief.\n  tools: read, bash\n" in told
    assert "\nfirstMessage a1: " in told
    payload = json.loads(pid("context", "--format", "anthropic", "--json", path).stdout)["payload"]
    assert (payload["system"], [tool["name"] for tool in payload["tools"]]) == ("Be brief.", ["read", "bash"])


@pytest.mark.parametrize("command", ["tree", "context", "doctor"])
def test_what_is_nested_as_deep_as_files_may_be_is_shown(tmp_path: Path, command: str) -> None:
    deep = "[" * 996 + "]" * 996
    path = tmp_path / "deep.jsonl"
    path.write_text(f'{HEADER}{{"type":"message","id":"u1","message":{{"role":"user","content":[{deep}]}}}}\n')
    assert pid(command, path).stderr == ""
    assert pid(command, "--json", path).stdout.startswith(("{", "["))


def test_a_payload_is_shown_block_by_block() -> None:
    done = pid("context", "--format", "anthropic", str(SAMPLE))
    assert done.returncode == 0, done.stderr
    assert "● user" in done.stdout
    assert "→ edit" in done.stdout
    assert "← " in done.stdout
