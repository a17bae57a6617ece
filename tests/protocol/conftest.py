"""Makes `tools/` importable: the generators are run from there, not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
