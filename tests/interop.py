"""The interop files that a workspace may keep beside the repository (`PID_SHARED`, else `../shared`): session
files, and what pi 1.6.0 answers for each. A clone without them is complete; tests that read them skip.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("PID_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "interop"
CASES = sorted(path.stem for path in (FOLDER / "cases").glob("*.jsonl"))


def case_file(case: str) -> Path:
    """Never to be opened by pi where it lies: pi writes when it opens."""
    return FOLDER / "cases" / f"{case}.jsonl"


def expected(case: str) -> Any:
    """What pi 1.6.0 answered; a part that hung or failed is `{"error": …, "detail": …}`."""
    return json.loads((FOLDER / "expected" / f"{case}.json").read_text(encoding="utf-8"))
