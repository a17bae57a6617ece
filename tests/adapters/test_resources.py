"""Context files on disk, and where skills are looked for. The order and the names: `tests/golden`."""

import os
import sys
from pathlib import Path

import pytest

from pid.adapters import resources
from pid.protocol import RESOURCE_PROBLEM_KINDS
from tests.planting import plant


def found(root: Path, cwd: str = "project") -> tuple[dict[str, str], dict[str, str]]:
    """Texts by path and kinds of problems by path, both beneath the root."""
    agent_dir = os.path.join(root, "agent")
    taken, problems = resources.find_context_files(os.path.join(root, cwd), agent_dir=agent_dir)
    assert all(problem.kind in RESOURCE_PROBLEM_KINDS for problem in problems)
    below = {file.path.removeprefix(f"{root}/"): file.content for file in taken}
    return below, {problem.path.removeprefix(f"{root}/"): problem.kind for problem in problems}


def test_each_name_in_its_turn(tmp_path: Path) -> None:
    for name in reversed(resources.CONTEXT_NAMES):
        plant(tmp_path, f"-- project/{name} --\n{name}")
        assert found(tmp_path) == ({f"project/{name}": name}, {})


def test_hostile_files_are_problems_and_hide_the_names_behind_them(tmp_path: Path) -> None:
    plant(tmp_path, "-- a/AGENTS.md --\n-- a/CLAUDE.md --\nhidden\n-- a/b/AGENTS.md --\n-- a/b/c/AGENTS.md --\n")
    os.truncate(tmp_path / "a/AGENTS.md", 1 << 30)
    (tmp_path / "a/b/AGENTS.md").write_bytes(b"\x89PNG\0")
    (tmp_path / "a/b/c/AGENTS.md").write_bytes(b"caf\xe9")
    texts, problems = found(tmp_path, "a/b/c")
    assert texts == {}
    assert problems == {
        "a/AGENTS.md": "tooLarge",
        "a/b/AGENTS.md": "binary",
        "a/b/c/AGENTS.md": "invalidUtf8",
    }


def test_what_is_no_file_is_told_and_hides_nothing(tmp_path: Path) -> None:
    tree = """\
-- project/AGENTS.override.md | --
-- project/AGENTS.md -> gone --
-- project/AGENTS.MD -> AGENTS.MD --
-- project/CLAUDE.md/ --
-- project/CLAUDE.MD --
text"""
    plant(tmp_path, tree)
    texts, problems = found(tmp_path)
    assert texts == {"project/CLAUDE.MD": "text"}
    assert [*problems.values()] == ["notAFile", "brokenLink", "linkCircle", "notAFile"]


def test_carriage_returns_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    plant(tmp_path, "-- project/AGENTS.md --\n\ufeffone\r\ntwo\r\n")
    assert found(tmp_path) == ({"project/AGENTS.md": "one\ntwo\n"}, {})


def test_a_file_without_permission_is_told_and_a_closed_directory_once(unprivileged: Path) -> None:
    plant(
        unprivileged,
        "-- open/AGENTS.md --\nsecret\n-- open/CLAUDE.md --\nhidden\n-- open/closed/AGENTS.md --\n",
    )
    os.chmod(unprivileged / "open/AGENTS.md", 0)
    os.chmod(unprivileged / "open/closed", 0)
    texts, problems = found(unprivileged, "open/closed")
    os.chmod(unprivileged / "open/closed", 0o700)
    assert texts == {}
    assert problems == {"open/AGENTS.md": "unreadable", "open/closed/AGENTS.override.md": "unreadable"}


def test_no_more_text_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "-- a/AGENTS.md --\n12345\n-- a/b/AGENTS.md --\n12345\n-- a/b/c/AGENTS.md --\n")
    monkeypatch.setattr(resources, "MAX_CONTEXT", 10)
    texts, problems = found(tmp_path, "a/b/c")
    assert [*texts] == ["a/AGENTS.md"]
    assert problems == {"a/b/AGENTS.md": "tooMuch", "a/b/c/AGENTS.md": "tooMuch"}


def test_the_working_directory_may_be_a_link_and_its_path_counts(tmp_path: Path) -> None:
    plant(
        tmp_path,
        "-- real/deep/AGENTS.md --\ndeep\n-- real/AGENTS.md --\nnot above it\n-- way/in -> ../real/deep --\n",
    )
    plant(tmp_path, "-- way/AGENTS.md --\nabove it\n")
    assert found(tmp_path, "way/in")[0] == {"way/AGENTS.md": "above it\n", "way/in/AGENTS.md": "deep\n"}


def test_the_agent_directory_comes_first_and_once_even_as_the_working_directory(tmp_path: Path) -> None:
    plant(tmp_path, "-- agent/AGENTS.md --\nagent\n-- AGENTS.md --\nabove\n")
    assert [*found(tmp_path, "agent")[0]] == ["agent/AGENTS.md", "AGENTS.md"]
    assert [*found(tmp_path, "agent/sessions")[0]] == ["agent/AGENTS.md", "AGENTS.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
def test_an_agent_directory_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    agent_dir = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(agent_dir)
    Path(agent_dir, "AGENTS.md").write_text("text")
    taken, (problem,) = resources.find_context_files("/", agent_dir=agent_dir)
    assert taken == []
    assert (problem.kind, problem.path) == ("badName", f"{tmp_path}/caf\ufffd/AGENTS.md")


def test_the_directories_upwards() -> None:
    assert resources.upwards("/a/b") == ["/a/b", "/a", "/"]
    assert resources.upwards("/") == ["/"]


def test_without_the_project_only_the_users_places_are_left(tmp_path: Path) -> None:
    roots = resources.skill_roots("/p", agent_dir="/agent", home="/home", project=False)
    assert roots == ["/agent/skills", "/home/.agents/skills"]


@pytest.mark.parametrize("marker", ["-- repo/.git/ --\n", "-- repo/.git --\nx", "-- repo/.git -> gone --\n"])
def test_the_root_of_a_repository_ends_the_search_for_skills(tmp_path: Path, marker: str) -> None:
    plant(tmp_path, f"{marker}\n-- repo/a/b/ --\n")
    roots = resources.skill_roots(f"{tmp_path}/repo/a/b", agent_dir="/agent", home="/home")
    assert [root.removeprefix(f"{tmp_path}/") for root in roots[2:]] == [
        "repo/a/b/.pi/skills",
        "repo/a/b/.agents/skills",
        "repo/a/.agents/skills",
        "repo/.agents/skills",
    ]
