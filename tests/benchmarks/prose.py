"""Text for generated sessions: plausible lines of talk, code and tool output, already in JSON's escaped form.

A text is one slice of a blob that was escaped once, cut where a line begins: no escape is cut in two, and a
session of 245 MB takes seconds. Some words are outside ASCII, as in real sessions.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from itertools import accumulate
from random import Random

WORDS = """
the a to of in session entry leaf branch parser token cache reader writer index line file test value error
return result because after before which should would looks fails passes rename extract handle keep check
naïve café Überprüfung → … “quoted” 日本語 проверка
""".split()  # noqa: SIM905
CODE = (
    'def {0}(self, {1}: str) -> "{2}":',
    "\tif ({0} !== null && {1}.length > {2}) {{",
    "    raise ValueError(f\"no {0} in '{1}' at {2}\")",
    "-  const {0} = await {1}({2});",
    "+  const {0} = await {1}({2}, {{ retries: 3 }});",
    "src/{0}/{1}.ts:{2}: note: C:\\\\{0}\\\\{1}",
    "ok {2} - {0} {1} ... 0.0{2}s",
)
LINES = 6000


class Prose:
    """A blob of escaped lines, the same for the same seed."""

    def __init__(self, rng: Random) -> None:
        escaped = [json.dumps(_line(rng) + "\n", ensure_ascii=False)[1:-1] for _ in range(LINES)]
        self._blob = "".join(escaped)
        self._starts = list(accumulate(map(len, escaped), initial=0))

    def take(self, rng: Random, size: int) -> str:
        """About `size` characters: whole lines, at least one, and no more than half of the blob."""
        start = self._starts[int(rng.random() * LINES / 2)]
        end = self._starts[bisect_left(self._starts, start + min(size, len(self._blob) // 2))]
        return self._blob[start:end]


def _line(rng: Random) -> str:
    if rng.random() < 0.5:
        return " ".join(rng.choices(WORDS, k=rng.randint(4, 14)))
    return rng.choice(CODE).format(rng.choice(WORDS), rng.choice(WORDS), rng.randint(1, 99))
