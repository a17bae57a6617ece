"""The examples of the documents, to be run as they stand there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def example(document: str, language: str) -> str:
    """The only block of that language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return str(block)


def printed(*command: str | Path, cwd: Path) -> str:
    """What a command writes to stdout and stderr; it must end well."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def sessions(place: Path) -> list[Path]:
    """The session files of a `place` (a fixture of `conftest.py`)."""
    return list((place / "agent" / "sessions").rglob("*.jsonl"))
