"""Writes `pid/data/sample-session.jsonl`: the story of `sample_story`, the same bytes at every run."""

from datetime import UTC, datetime
from pathlib import Path

from sample_story import tell
from sample_writer import Writer

TARGET = Path(__file__).resolve().parents[1] / "pid/data/sample-session.jsonl"
BEGAN = datetime(2025, 3, 4, 9, 12, 7, 412_000, tzinfo=UTC)
SESSION_ID = "0195606d-3ff4-7c1e-9b42-5d6f0a7e3c18"  # a UUIDv7 of that moment


def text() -> str:
    writer = Writer("/home/sam/code/tally", BEGAN, SESSION_ID)
    tell(writer)
    return writer.text()


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"{TARGET}: {text().count(chr(10)) - 1} entries")
