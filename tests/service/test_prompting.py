"""`prompt/build`: what is looked for, what stands instead, and which params are refused."""

import datetime
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pid.adapters import resources
from pid.errors import InvalidParams
from pid.protocol import ContextFile, PromptParams, PromptResult, Skill, decode_params
from pid.service.prompting import build_prompt
from tests.planting import plant

TODAY = datetime.date(2026, 1, 31)
TREE = """\
-- agent/AGENTS.md --
Agent.
-- other/AGENTS.md --
Other.
-- project/AGENTS.md --
Project.
-- agent/skills/one/SKILL.md --
---
name: one
description: One.
---
-- agent/skills/Bad/SKILL.md --
"""


def build(root: Path, **fields: Any) -> PromptResult:
    params = PromptParams(**{"cwd": f"{root}/project", **fields})
    return build_prompt(params, home=f"{root}/home", agent_dir=f"{root}/agent", today=TODAY)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path, TREE)
    return tmp_path


def test_what_is_found_is_in_the_prompt_and_in_the_answer(root: Path) -> None:
    result = build(root)
    assert [file.content for file in result.context_files] == ["Agent.\n", "Project.\n"]
    assert [skill.name for skill in result.skills] == ["one"]
    assert [problem.kind for problem in result.problems] == ["invalidFrontMatter"]
    assert "Agent." in result.sections["context"]
    assert "One." in result.sections["skills"]
    assert result.prompt == "\n\n".join(result.sections.values())


def test_two_answers_are_the_same_bytes(root: Path) -> None:
    assert msgspec.json.encode(build(root)) == msgspec.json.encode(build(root))


def test_context_files_handed_in_stand_behind_or_in_the_place_of_those_found(root: Path) -> None:
    unsaved = ContextFile(path=f"{root}/agent/AGENTS.md", content="Not saved yet.")
    result = build(root, context_files=[ContextFile(path="/x", content="Handed in."), unsaved])
    assert [file.content for file in result.context_files] == ["Not saved yet.", "Project.\n", "Handed in."]


def test_skills_handed_in_come_first_and_keep_their_names(root: Path) -> None:
    skills = [Skill(name=name, description="Own.", location=f"/{name}") for name in ("two", "one")]
    result = build(root, skills=skills)
    assert result.skills == skills
    assert [problem.kind for problem in result.problems] == ["invalidFrontMatter", "skillCollision"]


def test_an_answer_handed_in_again_changes_nothing(root: Path) -> None:
    first = build(root)
    again = build(root, context_files=first.context_files, skills=first.skills)
    assert msgspec.json.encode(again) == msgspec.json.encode(first)


def test_a_file_that_nobody_may_read_is_a_problem(unprivileged: Path) -> None:
    plant(unprivileged, TREE)
    for path in ("project/AGENTS.md", "agent/skills/one/SKILL.md"):
        os.chmod(unprivileged / path, 0)
    result = build(unprivileged)
    assert [file.content for file in result.context_files] == ["Agent.\n"]
    assert {problem.kind for problem in result.problems} == {"unreadable", "invalidFrontMatter"}
    assert "Agent." in result.prompt


def test_a_file_that_is_replaced_at_every_reading_is_a_problem(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program renames a new version over it behind the first piece of each reading."""
    path, real_read = root / "project/AGENTS.md", os.read

    def read_and_replace(descriptor: int, size: int) -> bytes:
        chunk = real_read(descriptor, size)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            (root / "new").write_text("New.")
            os.replace(root / "new", path)
        return chunk

    monkeypatch.setattr(os, "read", read_and_replace)
    result = build(root)
    assert [file.content for file in result.context_files] == ["Agent.\n"]
    told = [problem.kind for problem in result.problems if problem.path == str(path)]
    assert told == ["changedWhileRead"]


def test_without_discovery_the_disk_is_not_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "discover", lambda *_, **__: pytest.fail("it looked"))
    result = build(root, discover=False)
    assert (result.context_files, result.skills, result.problems) == ([], [], [])
    assert [*result.sections] == ["preamble", "tools", "guidelines", "date", "cwd"]


def test_another_agent_directory_may_be_named(root: Path) -> None:
    result = build(root, agent_dir=f"{root}/other/../other/")
    assert [file.path for file in result.context_files] == [
        f"{root}/other/AGENTS.md",
        f"{root}/project/AGENTS.md",
    ]
    assert result.skills == []


@pytest.mark.parametrize(("cwd", "shown"), [("/", "/"), ("//", "/"), ("/a//b/./c/../d/", "/a/b/d"), ("/../a", "/a")])
def test_the_working_directory_is_shown_without_detours(root: Path, cwd: str, shown: str) -> None:
    assert build(root, cwd=cwd).sections["cwd"] == f"Current working directory: {shown}"


@pytest.mark.parametrize(
    ("date", "shown"),
    [(None, "2026-01-31"), (True, "2026-01-31"), ("2024-02-29", "2024-02-29"), (False, None)],
)
def test_the_date(root: Path, date: str | bool | None, shown: str | None) -> None:
    section = build(root, date=date).sections.get("date")
    assert section == (shown and f"Current date: {shown}")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"cwd": "relative"}, "cwd"),
        ({"cwd": ""}, "cwd"),
        ({"cwd": "/nul\0"}, "cwd"),
        ({"cwd": "/caf\udce9"}, "cwd"),
        ({"cwd": "/a" * 1_000_000}, "cwd"),
        ({"agent_dir": "~/.pi/agent"}, "agentDir"),
        ({"date": "2026-02-30"}, "date"),
        ({"date": "today"}, "date"),
    ],
)
def test_what_cannot_be_a_path_or_a_date_is_refused(root: Path, fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        build(root, **fields)
    assert caught.value.data["path"] == path
    assert caught.value.message.startswith(f"{path}: ")


def test_params_as_a_client_sends_them(root: Path) -> None:
    sent = {
        "cwd": f"{root}/project",
        "selectedTools": ["read"],
        "sections": {"date": None, "mine": "Mine."},
        "skills": [{"name": "a", "description": "b", "location": "/c", "disableModelInvocation": True}],
        "contextFiles": None,
        "unknown": 1,
    }
    params = decode_params(PromptParams, msgspec.json.encode(sent))
    answer = msgspec.json.decode(
        msgspec.json.encode(build_prompt(params, home="/none", agent_dir="/none", today=TODAY))
    )
    assert [*answer["sections"]] == ["preamble", "tools", "guidelines", "context", "mine", "cwd"]
    assert answer["skills"] == sent["skills"]
    assert [*answer] == ["prompt", "sections", "contextFiles", "skills", "problems"]
