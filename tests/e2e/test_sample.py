"""The sample session: made by its generator, of every kind of entry, and pi opens it."""

import shutil
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import orjson

from tests.pi import Pi

SAMPLE = Path(str(files("pid") / "data/sample-session.jsonl"))
TOOLS = Path(__file__).parents[2] / "tools"


def test_the_file_is_what_the_generator_writes() -> None:
    show = "import sys, make_sample_session; sys.stdout.buffer.write(make_sample_session.text().encode())"
    made = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True, cwd=TOOLS)
    assert made.stdout == SAMPLE.read_bytes()


def test_it_has_what_a_session_can_have() -> None:
    header, *entries = map(orjson.loads, SAMPLE.read_bytes().splitlines())
    assert header["version"] == 3
    assert 80 <= len(entries) <= 120
    assert {entry["type"] for entry in entries} >= {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "context_edit",
    }
    roles = Counter(entry["message"]["role"] for entry in entries if entry["type"] == "message")
    assert roles.keys() == {"system", "user", "assistant", "toolResult", "bashExecution"}
    children = Counter(entry["parentId"] for entry in entries)
    assert sum(count > 1 for count in children.values()) == 2
    reasons = {entry["message"].get("stopReason") for entry in entries if entry["type"] == "message"}
    assert reasons >= {"stop", "toolUse", "aborted", "error"}


def test_pi_opens_it(pi: Pi, tmp_path: Path) -> None:
    copy = tmp_path / "sample.jsonl"
    shutil.copy(SAMPLE, copy)
    session = pi.open(copy)
    view = session.view()
    session.close()
    last = orjson.loads(SAMPLE.read_bytes().splitlines()[-1])
    assert copy.read_bytes() == SAMPLE.read_bytes()
    assert view["leafId"] == last["id"]
    assert view["sessionName"] == "Rounding and a slow import in tally"
    assert sorted(view["labels"].values()) == ["cause found", "changelog", "rounding fixed"]
    roles = Counter(message["role"] for message in view["llm"])
    assert roles == {"user": 6, "assistant": 27, "toolResult": 23}
