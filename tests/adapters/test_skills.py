"""Looking for skills in hostile trees: every bound holds, and what is left out is told."""

import os
import sys
from pathlib import Path

import pytest

from pid.adapters import skills
from pid.protocol import RESOURCE_PROBLEM_KINDS, ResourceProblem
from tests.planting import plant


def skill(name: str, description: str = "x") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nBody.\n"


def plant_skills(root: Path, names: list[str]) -> None:
    plant(root, "".join(f"-- {name}/SKILL.md --\n{skill(name.rpartition('/')[2])}" for name in names))


def found(root: Path) -> tuple[list[str], list[ResourceProblem]]:
    taken, problems = skills.load([str(root)])
    assert all(problem.kind in RESOURCE_PROBLEM_KINDS for problem in problems)
    return [skill.name for skill in taken], problems


def kinds(problems: list[ResourceProblem]) -> list[str]:
    return [problem.kind for problem in problems]


def test_a_skill_has_what_its_front_matter_says(tmp_path: Path) -> None:
    text = '---\nname: a\ndescription: "  Two\\n words "\ndisable-model-invocation: on\n---\n'
    plant(tmp_path, f"-- a/SKILL.md --\n{text}")
    (taken,), problems = skills.load([str(tmp_path)])
    assert (taken.name, taken.description, taken.disable_model_invocation) == ("a", "Two\n words", True)
    assert taken.location == f"{tmp_path}/a/SKILL.md"
    assert not problems


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_carriage_returns_and_a_byte_order_mark_do_no_harm(tmp_path: Path, change) -> None:
    plant(tmp_path, f"-- a/SKILL.md --\n{change(skill('a'))}")
    assert found(tmp_path) == (["a"], [])


def test_no_root_is_no_problem(tmp_path: Path) -> None:
    assert found(tmp_path / "none") == ([], [])


def test_a_root_that_is_no_directory_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert found(tmp_path / "a") == ([], [])
    assert kinds(found(tmp_path / "a" / "b")[1]) == ["unreadable"]


def test_the_order_is_by_depth_then_by_name(tmp_path: Path) -> None:
    names = [f"s{n}" for n in range(9)] + ["g/a", "g/z", "t/b"]
    plant_skills(tmp_path, names)
    assert found(tmp_path)[0] == [*(f"s{n}" for n in range(9)), "a", "z", "b"]


def test_one_directory_by_many_links_is_looked_into_once(tmp_path: Path) -> None:
    plant_skills(tmp_path, ["a"])
    for n in range(50):
        (tmp_path / f"link{n}").symlink_to("a")
    assert found(tmp_path) == (["a"], [])


def test_links_between_directories_do_not_multiply(tmp_path: Path) -> None:
    """Ten directories that each hold links to all the others are a maze of 10! ways."""
    for n in range(10):
        (tmp_path / f"d{n}").mkdir()
        for other in range(10):
            (tmp_path / f"d{n}" / f"l{other}").symlink_to(f"../d{other}")
    plant_skills(tmp_path, ["d9/deep"])
    names, problems = found(tmp_path)
    assert names == ["deep"]
    assert set(kinds(problems)) == {"linkCircle"}


def test_a_link_of_another_name_hides_no_skill(tmp_path: Path) -> None:
    """The name may be that of the link, as for what is linked from a store, or the directory's own."""
    plant_skills(tmp_path, ["skills/group/zeta", "store/1234-beta"])
    (tmp_path / "store/1234-beta/SKILL.md").write_text(skill("beta"))
    (tmp_path / "skills/alias").symlink_to("group/zeta")
    (tmp_path / "skills/beta").symlink_to("../store/1234-beta")
    assert found(tmp_path / "skills") == (["zeta", "beta"], [])


def test_no_more_skills_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills, "MAX_SKILLS", 3)
    plant_skills(tmp_path, list("abc"))
    assert found(tmp_path) == (["a", "b", "c"], [])
    plant_skills(tmp_path, list("d"))
    names, problems = found(tmp_path)
    assert names == ["a", "b", "c"]
    assert [(problem.kind, problem.path) for problem in problems] == [("tooMany", f"{tmp_path}/d/SKILL.md")]


def test_no_more_files_are_looked_at_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills, "MAX_LOOKED_AT", 100)
    plant_skills(tmp_path, ["one"])
    (tmp_path / "b").mkdir()
    for n in range(150):
        (tmp_path / "b" / f"file{n}").write_text("")
    plant_skills(tmp_path, ["c/deep", "b/hidden", "two"])
    names, problems = found(tmp_path)
    assert names == ["one", "two"]
    told = [("tooMany", f"{tmp_path}/b"), ("tooMany", f"{tmp_path}/c")]
    assert [(problem.kind, problem.path) for problem in problems] == told


def test_a_crowded_root_leaves_the_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills, "MAX_LOOKED_AT", 3)
    plant_skills(tmp_path, ["crowded/a", "crowded/b", "crowded/c", "crowded/d", "other/e"])
    taken, problems = skills.load([f"{tmp_path}/crowded", f"{tmp_path}/other"])
    assert [skill.name for skill in taken] == ["e"]
    assert kinds(problems) == ["tooMany"]


def test_no_more_text_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_skills(tmp_path, list("abc"))
    monkeypatch.setattr(skills, "MAX_TEXT", 2 * len(skill("a")))
    names, problems = found(tmp_path)
    assert names == ["a", "b"]
    assert kinds(problems) == ["tooMuch"]


def test_hostile_files_are_problems(tmp_path: Path) -> None:
    plant(tmp_path, "-- pipe/SKILL.md | --\n-- hole/SKILL.md --\n-- device/SKILL.md -> /dev/zero --\n")
    os.truncate(tmp_path / "hole" / "SKILL.md", 1 << 30)
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "SKILL.md").write_bytes(skill("binary").encode() + b"\0")
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "SKILL.md").write_bytes(skill("latin", "caf\xe9").encode("latin-1"))
    names, problems = found(tmp_path)
    assert names == []
    told = {os.path.basename(os.path.dirname(problem.path)): problem.kind for problem in problems}
    assert told == {
        "pipe": "notAFile",
        "device": "notAFile",
        "hole": "tooLarge",
        "binary": "binary",
        "latin": "invalidUtf8",
    }


def test_directories_without_permission_are_problems(unprivileged: Path) -> None:
    plant_skills(unprivileged, ["open/a", "closed/b", "names-only/c"])
    os.chmod(unprivileged / "closed", 0)
    os.chmod(unprivileged / "names-only", 0o400)
    names, problems = found(unprivileged)
    os.chmod(unprivileged / "closed", 0o700)
    os.chmod(unprivileged / "names-only", 0o700)
    assert names == ["a"]
    assert kinds(problems) == ["unreadable", "unreadable"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
def test_a_name_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    directory.mkdir()
    (directory / "SKILL.md").write_text(skill("cafe"))
    plant_skills(tmp_path, ["a"])
    names, (problem,) = found(tmp_path)
    assert names == ["a"]
    assert (problem.kind, problem.path) == ("badName", f"{tmp_path}/caf\ufffd/SKILL.md")
