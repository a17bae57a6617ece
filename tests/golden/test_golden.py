"""The project's own session files: what the daemon says about each stands in `expected/`, and agrees with pi.

`pytest tests/golden --refresh` writes the expected files anew; read the difference before you commit it.
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.golden.differences import by_place, different, renamed
from tests.golden.table import OWN_DIFFERENCES
from tests.golden.view import view
from tests.pi import PARTS, Pi, PiError, PiHung
from tests.service.daemon import make_store

HERE = Path(__file__).parent
WALKS_THE_PATH = {"branch", "context", "contextEntries", "llm"}
CASES = sorted(path.stem for path in (HERE / "cases").glob("*.jsonl"))


def case_file(case):
    return HERE / "cases" / f"{case}.jsonl"


def expected_file(case):
    return HERE / "expected" / f"{case}.json"


async def seen(case, directory):
    store = make_store(directory)
    try:
        return await view(store, case_file(case))
    finally:
        await store.close_all()


@pytest.mark.anyio
@pytest.mark.parametrize("case", CASES)
async def test_a_case_is_answered_as_expected(case, tmp_path, refresh):
    answer = await seen(case, tmp_path)
    if refresh:
        expected_file(case).write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert answer == json.loads(expected_file(case).read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_answered_as_pi_answers_it(case, tmp_path, pi):
    ours = json.loads(expected_file(case).read_text(encoding="utf-8"))
    pis = of_pi(pi, Path(shutil.copy(case_file(case), tmp_path)))
    if ours.get("version") == 1:
        ours = renamed(ours, by_place(ours["previews"]))
        pis = renamed(pis, by_place(pis["ids"]))
    expected = OWN_DIFFERENCES[case].names if case in OWN_DIFFERENCES else set()
    assert different(ours, pis).keys() == expected


def of_pi(pi: Pi, path: Path):
    """pi's answers about a file; a part at which it raises, or hangs, is an error, and so are those behind a hang."""
    try:
        ids = [entry["id"] for entry in pi.open(path).show("entries") if isinstance(entry, dict) and "id" in entry]
    except PiError:
        return {"opens": False} | {part: {"error": "refused"} for part in PARTS}
    answers = {"opens": True, "ids": ids}
    for part in sorted(PARTS, key=WALKS_THE_PATH.__contains__):
        try:
            answers[part] = pi.open(path).show(part)
        except PiError as error:
            answers[part] = {"error": str(error)}
        except PiHung:
            return answers | {left: {"error": "hung"} for left in PARTS if left not in answers}
    return answers


def test_every_difference_is_of_a_case_that_is_there():
    assert OWN_DIFFERENCES.keys() <= set(CASES)
