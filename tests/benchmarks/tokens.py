"""Token estimates against what providers reported: `python -m tests.benchmarks.tokens [FILE...]`.

A gap is what stands between two calls of a model; what it took follows from the two reports. Without a file it
reads the real session beside the repository. Each estimator is also shown as it corrects itself: at each gap with
what the gaps before it showed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from pid.adapters.tokenizer import count_texts
from pid.core.context import entries_in_effect
from pid.core.speech import Estimator, Speech, speech_of
from pid.core.tokens import TextsCounter, calibration_for
from pid.core.usage import Gap, corrected, reported_gaps
from tests.interop import FOLDER
from tests.trees import load

REAL = FOLDER / "real-session-v1.jsonl"


def speech_at_leaf(path: Path, count: TextsCounter | None = None) -> Speech:
    """What the entries in effect say after the last entry of a session file."""
    session = load(path.read_bytes())
    effect = entries_in_effect(session.tree, session.tree.last, session.bodies)
    return speech_of(session.tree, effect, session.bodies, count=count)


def gaps_of(speech: Speech) -> list[Gap]:
    """Every gap that took something, oldest first."""
    gaps = reported_gaps(speech, most_gaps=len(speech), most_entries=len(speech))
    return [gap for gap in reversed(gaps) if gap.tokens > 0 and gap.size.messages]


def errors(gaps: Iterable[Gap], guesses: Iterable[float]) -> tuple[float, float, float]:
    """The median relative error, what nine of ten gaps lie within, and the bias of the sum."""
    pairs = [(gap.tokens, guess) for gap, guess in zip(gaps, guesses, strict=True)]
    relative = sorted(abs(guess - true) / true for true, guess in pairs)
    bias = sum(guess for _, guess in pairs) / sum(true for true, _ in pairs) - 1
    return median(relative), relative[len(relative) * 9 // 10], bias


def learning(gaps: Sequence[Gap]) -> list[float]:
    """Each gap by the calibration that the 32 gaps before it corrected."""
    base = calibration_for(gaps[0].model)
    return [
        float(corrected(base, gaps[max(0, at - 32) : at], gap.model).tokens(gap.size)) for at, gap in enumerate(gaps)
    ]


def table(path: Path) -> list[tuple[str, float, float, float]]:
    """A row for each estimator: its name, and `errors`."""
    rows = []
    for name, count in (("o200k", counted), ("guess", None)):
        speech = speech_at_leaf(path, count)
        gaps = gaps_of(speech)
        calibration = calibration_for(gaps[0].model)
        rows.append((f"calibrated, {name}", *errors(gaps, (calibration.tokens(gap.size) for gap in gaps))))
        rows.append((f"calibrated, {name}, corrected", *errors(gaps, learning(gaps))))
    by_chars4 = (sum(Estimator().entry(speech, speech[place]) for place in gap.places) for gap in gaps)
    return [*rows, ("characters / 4", *errors(gaps, by_chars4))]


def counted(texts: Sequence[str]) -> list[int]:
    found = count_texts(texts)
    assert found is not None  # the tokenizer's data ship with the package
    return found


def main() -> None:
    for path in map(Path, sys.argv[1:] or [str(REAL)]):
        print(path.name)
        for name, middle, ninety, bias in table(path):
            print(f"  {name:30} median {middle:6.1%}   90 % within {ninety:6.1%}   bias {bias:+6.1%}")


if __name__ == "__main__":
    main()
