"""`pid prompt`: the prompt on one stream, problems on the other."""

import datetime
import io
import json
from pathlib import Path

import pytest

from pid.shell import prompt_command
from tests.planting import plant

TREE = """\
-- project/AGENTS.md --
Project.
-- agent/skills/Bad/SKILL.md --
No front matter.
"""


def run(directory: str, root: Path, *, as_json: bool = False) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = prompt_command.run(
        directory,
        as_json=as_json,
        environment={"HOME": f"{root}/home", "PI_CODING_AGENT_DIR": f"{root}/agent"},
        today=datetime.date(2026, 1, 31),
        out=out,
        err=err,
    )
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plant(tmp_path, TREE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("directory", ["project", "./project/../project", "{root}/project"])
def test_it_prints_the_prompt_and_tells_problems_apart(root: Path, directory: str) -> None:
    code, out, err = run(directory.format(root=root), root)
    assert code == 0
    assert out.startswith("You are a coding agent.")
    assert out.endswith(f"\n\nCurrent date: 2026-01-31\n\nCurrent working directory: {root}/project\n")
    assert "Project.\n" in out
    assert err.startswith(f"{root}/agent/skills/Bad/SKILL.md: there is no front matter")


def test_json_is_the_answer_of_the_method(root: Path) -> None:
    code, out, err = run("project", root, as_json=True)
    answer = json.loads(out)
    assert code == 0
    assert [*answer] == ["prompt", "sections", "contextFiles", "skills", "problems"]
    assert f"{answer['prompt']}\n" == run("project", root)[1]
    assert [problem["kind"] for problem in answer["problems"]] == ["invalidFrontMatter"]
    assert err == run("project", root)[2]


@pytest.mark.parametrize("directory", ["none", "project/AGENTS.md", "nul\0"])
def test_no_directory_is_an_error_that_prints_nothing(root: Path, directory: str) -> None:
    code, out, err = run(directory, root)
    assert (code, out) == (2, "")
    assert err == f"pid prompt: {directory}: there is no such directory\n"
