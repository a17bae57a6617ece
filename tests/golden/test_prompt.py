"""`prompt/build` on trees of real files: each `prompt/*.tree` (params, then files) gives its `prompt/*.md`.

The daemon's agent directory is `agent`, the home `home`; `$ROOT` stands for where the tree is planted. With
`"project": false` among the params the project's own files are not read.
"""

import datetime
import json
from pathlib import Path

import msgspec
import pytest

from pid.protocol import PromptParams, PromptResult, decode_params
from pid.service.prompting import build_prompt
from tests.golden.golden import check
from tests.planting import plant

CASES = sorted(Path(__file__).with_name("prompt").glob("*.tree"))
TODAY = datetime.date(2026, 1, 31)


def build(root: Path, case: str) -> PromptResult:
    params, _, tree = case.replace("$ROOT", str(root)).partition("\n\n")
    (root / "project").mkdir(exist_ok=True)
    plant(root, tree)
    fields = json.loads(params)
    project = fields.pop("project", True)
    request = decode_params(PromptParams, json.dumps({"cwd": f"{root}/project", **fields}).encode())
    return build_prompt(request, home=f"{root}/home", agent_dir=f"{root}/agent", today=TODAY, project=project)


def told(result: PromptResult) -> str:
    """The prompt, then in short what else was answered."""
    problems = [f"{problem.kind} {problem.path}\n    {problem.message}" for problem in result.problems]
    parts = {
        "sections": [*result.sections],
        "context files": [file.path for file in result.context_files],
        "skills": [f"{skill.name} {skill.location}" for skill in result.skills],
        "problems": problems,
    }
    rest = (f"----- {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())
    return f"{result.prompt}\n" + "".join(rest)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_prompt_of_a_tree(case: Path, tmp_path: Path) -> None:
    root = tmp_path.resolve()
    result = build(root, case.read_text(encoding="utf-8"))
    check(case.with_suffix(".md"), told(result).replace(str(root), "$ROOT"))
    assert result.prompt == "\n\n".join(result.sections.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_answer_fed_back_gives_the_same_prompt(case: Path, tmp_path: Path) -> None:
    """What was found, handed in with `discover: false`, is all that the disk has a part in."""
    text = case.read_text(encoding="utf-8")
    result = build(tmp_path, text)
    params = json.loads(text.replace("$ROOT", str(tmp_path)).partition("\n\n")[0])
    params.pop("project", None)
    found = {"contextFiles": result.context_files, "skills": result.skills, "discover": False}
    again = {"cwd": f"{tmp_path}/project", **params, **json.loads(msgspec.json.encode(found))}
    request = decode_params(PromptParams, json.dumps(again).encode())
    assert build_prompt(request, home="/none", agent_dir="/none", today=TODAY).prompt == result.prompt
