"""Expected files, compared byte for byte; `PID_REFRESH_GOLDEN=1` writes them anew."""

import os
from pathlib import Path


def check(expected: Path, text: str) -> None:
    """Holds a text against the file that says what it should be."""
    if os.environ.get("PID_REFRESH_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
