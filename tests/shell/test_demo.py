"""The demo's own promise: it succeeds only if every check held."""

import io
import json
from argparse import Namespace

import pytest

from pid.shell import demo
from pid.shell.demo import Demo
from pid.shell.screen import Screen

pytestmark = pytest.mark.anyio


async def fine(demo: Demo) -> None:
    demo.step("This works.")
    demo.check("it does", True)


async def wrong(demo: Demo) -> None:
    demo.step("This does not.")
    demo.check("it does not", False)
    demo.check("the rest is fine", True)


@pytest.mark.parametrize(
    ("steps", "code", "told"),
    [((fine,), 0, "All 1 checks held"), ((fine, wrong), 1, "1 of 3 checks failed"), ((), 1, "nothing was checked")],
)
async def test_every_check_counts(monkeypatch: pytest.MonkeyPatch, steps: tuple, code: int, told: str) -> None:
    monkeypatch.setattr(demo, "STEPS", steps)
    out = io.StringIO()
    assert await demo.demonstrate(Namespace(json=False), Screen("pid demo: ", out, None)) == code
    assert told in out.getvalue()
    assert ("✗ it does not" in out.getvalue()) == (wrong in steps)


async def test_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "STEPS", (fine, wrong))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert await demo.demonstrate(Namespace(json=True), Screen("pid demo: ", out, None)) == 1
    steps = json.loads(out.buffer.getvalue())
    assert [[check["held"] for check in step["checks"]] for step in steps] == [[True], [False, True]]
