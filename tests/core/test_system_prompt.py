"""The sections of the prompt: their order, what each holds, and that the same input gives the same bytes."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.system_prompt import DEFAULT_TOOLS, HEAD, LAST, STEADY, TOOL_LINES, build_sections, joined
from pid.protocol import ContextFile, PromptParams, Skill

FILES = [ContextFile(path="/p/AGENTS.md", content="Be kind.\n")]
SKILLS = [Skill(name="pdf", description="For PDF files.", location="/s/pdf/SKILL.md")]


def sections(files=FILES, skills=SKILLS, date: str | None = "2026-01-31", **params: Any) -> dict[str, str]:
    return build_sections(PromptParams(cwd="/p", **params), files, skills, date)


def lines(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def test_the_order_of_the_sections() -> None:
    whole = sections(documentation=["/docs"], append_prompt="More.", sections={"b": "B", "a": "A"})
    assert [*whole] == [
        "preamble",
        "tools",
        "guidelines",
        "documentation",
        "append",
        "context",
        "skills",
        "a",
        "b",
        "date",
        "cwd",
    ]
    assert joined(whole) == "\n\n".join(whole.values())


def test_the_last_line_is_the_working_directory_behind_the_date() -> None:
    assert joined(sections()).endswith("\n\nCurrent date: 2026-01-31\n\nCurrent working directory: /p")


def test_sections_without_a_text_are_left_out() -> None:
    assert [*sections([], [], None)] == ["preamble", "tools", "guidelines", "cwd"]


@pytest.mark.parametrize("custom", ["You are a poet.", "\nTwo\n\nparagraphs.\n"])
def test_a_custom_prompt_replaces_the_head_and_nothing_else(custom: str) -> None:
    usual = sections(append_prompt="More.", documentation=["/docs"])
    own = sections(append_prompt="More.", documentation=["/docs"], custom_prompt=custom)
    assert own.pop("preamble") == custom.strip("\n")
    assert own == {name: text for name, text in usual.items() if name not in HEAD}


@pytest.mark.parametrize("custom", ["", " \n"])
def test_an_empty_custom_prompt_is_none(custom: str) -> None:
    assert sections(custom_prompt=custom) == sections()


def test_a_section_asked_for_replaces_one_and_null_leaves_it_out() -> None:
    asked = {"context": None, "skills": "", "tools": "Own tools.", "date": " Today. ", "custom": "New."}
    assert sections(sections=asked) == {
        "preamble": sections()["preamble"],
        "tools": "Own tools.",
        "guidelines": sections()["guidelines"],
        "custom": "New.",
        "date": " Today.",
        "cwd": "Current working directory: /p",
    }


def test_a_line_for_each_tool_that_is_on_in_the_order_named() -> None:
    text = sections(selected_tools=["write", "own", "read", "write"], tool_snippets={"own": "does\n it"})["tools"]
    assert text.startswith("Available tools:\n")
    assert lines(text) == [f"write: {TOOL_LINES['write']}", "own: does it", f"read: {TOOL_LINES['read']}"]


def test_a_tool_without_a_line_is_named_and_no_tools_are_none() -> None:
    assert lines(sections(selected_tools=["own"])["tools"]) == ["own"]
    assert sections(selected_tools=[])["tools"] == "Available tools: none"
    assert sections(selected_tools=None)["tools"] == sections(selected_tools=[*DEFAULT_TOOLS])["tools"]


@pytest.mark.parametrize(
    ("on", "off", "word"),
    [
        ("bash", "bash grep", "rg"),
        ("bash ls", "bash", "made for it"),
        ("read bash", "bash", "Open files with read"),
        ("read edit", "edit", "before you change it"),
        ("read write", "read", "before you change it"),
        ("edit", "write", "exactly one place"),
        ("edit write", "edit", "use write for new ones"),
        ("write", "write edit", "the whole file"),
        ("bash write", "bash", "run the checks"),
        ("bash", "read", "cannot be undone"),
    ],
)
def test_guidelines_depend_on_the_tools(on: str, off: str, word: str) -> None:
    assert word in sections(selected_tools=on.split())["guidelines"]
    assert word not in sections(selected_tools=off.split())["guidelines"]


def test_guidelines_are_deduplicated() -> None:
    more = [
        "Write tests.",
        " Write\n tests. ",
        "Name files by their paths.",
        "\n",
        "Ask before you run what cannot be undone.",
    ]
    found = lines(sections(guidelines=more)["guidelines"])
    assert len(found) == len(set(found)) == len(lines(sections()["guidelines"])) + 1


@pytest.mark.parametrize("tools", [["read"], ["bash"], ["own", "bash", "read"]])
def test_skills_are_listed_where_a_tool_can_read_them(tools: list[str]) -> None:
    text = sections(selected_tools=tools)["skills"]
    assert text.startswith("# Skills\n\n")
    assert text.endswith("\n\n- pdf: For PDF files.\n  Location: /s/pdf/SKILL.md")
    assert f"with {'read' if 'read' in tools else 'bash'} before" in text


@pytest.mark.parametrize("tools", [[], ["grep", "find", "ls"], ["edit", "write"], ["own"]])
def test_skills_are_not_listed_where_no_tool_can_read_them(tools: list[str]) -> None:
    assert "skills" not in sections(selected_tools=tools)


def test_a_skill_that_only_the_user_calls_is_not_listed() -> None:
    hidden = Skill(name="own", description="x", location="/s/own/SKILL.md", disable_model_invocation=True)
    assert sections(skills=[hidden, *SKILLS]) == sections()
    assert "skills" not in sections(skills=[hidden])


def test_context_files_stand_under_their_paths_and_empty_ones_not_at_all() -> None:
    files = [
        *FILES,
        ContextFile(path="/p/q/CLAUDE.md", content="\n\n  Indented.\n \n"),
        ContextFile(path="/e", content=" "),
    ]
    text = sections(files)["context"]
    assert text.startswith("# Project Context\n\n")
    assert text.endswith("\n\n## /p/AGENTS.md\n\nBe kind.\n\n## /p/q/CLAUDE.md\n\n  Indented.")
    assert "context" not in sections(files[2:])


def test_what_should_be_one_line_cannot_become_more() -> None:
    odd = "/p\n\n# Skills\r\u2028"
    skill = Skill(name="a\n# b", description="c\n\n# Project Context\n", location=odd)
    whole = sections(
        [ContextFile(path=odd, content="x")],
        [skill],
        tool_snippets={"read": "x\n\n# y"},
        guidelines=["g\n# h"],
    )
    own = joined(build_sections(PromptParams(cwd=odd), [], [], None))
    assert [line for line in joined(whole).splitlines() if line.startswith("# ")] == [
        "# Project Context",
        "# Skills",
    ]
    assert own.endswith('Current working directory: "/p\\n\\n# Skills\\r\u2028"')


texts = st.text(max_size=20)
names = st.sampled_from([*TOOL_LINES, "own", *STEADY, *LAST, "zebra"]) | texts
requests = st.fixed_dictionaries(
    {"cwd": texts.map("/{}".format)},
    optional={
        "custom_prompt": texts,
        "append_prompt": texts,
        "selected_tools": st.lists(names, max_size=5),
        "tool_snippets": st.dictionaries(names, texts, max_size=5),
        "guidelines": st.lists(texts, max_size=5),
        "documentation": st.lists(texts, max_size=5),
        "sections": st.dictionaries(names, st.none() | texts, max_size=5),
    },
).map(lambda fields: PromptParams(**fields))
files = st.lists(st.builds(ContextFile, path=texts, content=texts), max_size=3)
skills = st.lists(
    st.builds(Skill, name=texts, description=texts, location=texts, disable_model_invocation=st.booleans()),
    max_size=3,
)


def shuffled(params: PromptParams, chance: random.Random) -> PromptParams:
    """The same, with the keys of its objects in another order."""

    def mixed(value: dict[str, Any] | None) -> dict[str, Any] | None:
        return value and dict(chance.sample([*value.items()], len(value)))

    return msgspec.structs.replace(params, tool_snippets=mixed(params.tool_snippets), sections=mixed(params.sections))


@given(params=requests, files=files, skills=skills, chance=st.randoms(use_true_random=False))
def test_the_same_input_gives_the_same_bytes(
    params: PromptParams, files: list[ContextFile], skills: list[Skill], chance: random.Random
) -> None:
    whole = build_sections(params, files, skills, "2026-01-31")
    again = build_sections(shuffled(params, chance), [*files], [*skills], "2026-01-31")
    assert [*again.items()] == [*whole.items()]


@given(params=requests, files=files, skills=skills, date=st.sampled_from([None, "2026-01-31"]))
def test_any_input_gives_sections_in_order_each_with_a_text(
    params: PromptParams, files: list[ContextFile], skills: list[Skill], date: str | None
) -> None:
    whole = build_sections(params, files, skills, date)
    order = [*STEADY, *sorted(whole.keys() - {*STEADY, *LAST}), *LAST]
    assert [*whole] == [name for name in order if name in whole]
    assert all(text.strip() for text in whole.values())
    assert "cwd" in whole or "cwd" in (params.sections or {})
