"""The rules of the Agent Skills convention. Whole files: `tests/golden/prompt/bad-skills.tree`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.skill_rules import faults

GOOD = {"name": "pdf-tools", "description": "For PDF files."}


def of(**fields: str | bool | None) -> list[str]:
    return faults({**GOOD, **fields}, str(fields.get("name", GOOD["name"])))


def test_a_good_skill_has_no_faults() -> None:
    assert faults(GOOD, "pdf-tools") == []


@pytest.mark.parametrize("name", ["a", "7", "a1-b2-c3", "a" * 64])
def test_good_names(name: str) -> None:
    assert of(name=name) == []


@pytest.mark.parametrize("name", ["-", "-a", "a-", "a--b", "A", "a_b", "a b", "a\n", "é", "a" * 65, "", " ", "٣"])
def test_bad_names(name: str) -> None:
    assert len(of(name=name)) == 1


@given(name=st.text(st.sampled_from("ab1-A_ "), max_size=70))
def test_a_name_is_good_exactly_if_each_rule_holds(name: str) -> None:
    rules = (
        1 <= len(name) <= 64,
        set(name) <= set("ab1-"),
        not name.startswith("-"),
        not name.endswith("-"),
        "--" not in name,
    )
    assert (of(name=name) == []) == all(rules)


def test_a_name_is_its_directorys() -> None:
    assert faults(GOOD, "pdf") == ["name is pdf-tools, but its directory is pdf"]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"name": None}, "name is missing"),
        ({"description": None}, "description is missing"),
        ({"description": " \n"}, "description is empty"),
        ({"description": True}, "description is not text"),
        ({"description": "\U0001f600" * 1025}, "description is longer than 1024"),
        ({"compatibility": "c" * 501}, "compatibility is longer than 500"),
        ({"compatibility": False}, "compatibility is not text"),
        ({"disable-model-invocation": "true"}, "disable-model-invocation is neither"),
    ],
)
def test_faults(fields: dict[str, str | bool | None], fault: str) -> None:
    (found,) = faults({**GOOD, **fields}, "pdf-tools")
    assert re.match(fault, found)


@pytest.mark.parametrize(
    "fields",
    [
        {"description": "\U0001f600" * 1024},
        {"description": f"  {'d' * 1024}\n"},
        {"compatibility": None},
        {"compatibility": "c" * 500},
        {"disable-model-invocation": True},
        {"disable-model-invocation": None},
        {"unknown": True},
    ],
)
def test_no_faults(fields: dict[str, str | bool | None]) -> None:
    assert of(**fields) == []


def test_all_faults_are_told_at_once() -> None:
    assert len(faults({"name": "No", "disable-model-invocation": "maybe"}, "no")) == 3
