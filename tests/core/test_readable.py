"""Entries as Markdown for people."""

import json

import pytest

from pid.core.readable import MOST_CHARACTERS, context_of, entry_markdown, header_markdown
from pid.core.reading import Reading
from tests.trees import session_bytes


def read(tree: str) -> Reading:
    return Reading(session_bytes(tree).split(b"\n"))


def shown(reading: Reading, entry_id: str, leaf: str | None = None) -> tuple[list[str], str]:
    """The lines of facts, and what the entry says."""
    tree = reading.tree
    context = context_of(reading, tree.last if leaf is None else tree.rows[leaf])
    facts, _, said = entry_markdown(reading, tree.rows[entry_id], context).partition("\n\n---\n\n")
    return facts.split("  \n"), said


def of_message(message: object) -> str:
    line = {"type": "message", "id": "m", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": message}
    return shown(Reading([session_bytes("").rstrip(b"\n"), json.dumps(line).encode(), b""]), "m")[1]


def test_facts() -> None:
    reading = read("u1=Go a1=Done l1(a1)=The_*end*")
    assert shown(reading, "a1") == (
        [
            "**assistant** · `a1` · 2026-01-01T00:00:02.000Z · depth 2 · about 5 tokens",
            "In the present context",
            "Label: The \\*end\\*",
        ],
        "Done",
    )
    assert shown(reading, "u1", "a1")[0][1] == "In the present context"
    assert shown(reading, "a1", "a1")[0][1] == "The leaf, in the present context"
    assert shown(reading, "a1", "u1")[0][1] == "Not in the present context: on another branch"


@pytest.mark.parametrize(
    ("tree", "entry_id", "said"),
    [
        ("u1 a1 u2 a2 c1(u2)=short", "u1", "Not in the present context: summarised by the compaction `c1`"),
        ("u1 a1 u2 a2 c1(u2)=short", "u2", "In the present context"),
        ("u1 a1 e1(a1) u2", "a1", "Left out of the present context by an edit"),
        ("u1 a1 e1(a1)=shorter u2", "a1", "In the present context, edited"),
        ("u1 a1 p1", "p1", "A leaf marker: the leaf was moved to its parent"),
    ],
)
def test_whether_it_is_in_the_context(tree: str, entry_id: str, said: str) -> None:
    assert shown(read(tree), entry_id)[0][1] == said


def test_a_replaced_line_says_so() -> None:
    reading = read("u1=Old a1 | a1 > u1=New")
    assert "Replaced by a later line" in entry_markdown(reading, 0, context_of(reading, reading.tree.last))


def test_what_messages_say() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm\nwell"},
        {"type": "text", "text": "**Yes**"},
        {"type": "toolCall", "id": "c", "name": "bash_x", "arguments": {"command": "ls\n```", "n": [1]}},
        {"type": "image", "data": "A" * 4000, "mimeType": "image/png"},
        {"type": "news", "x": 1},
        7,
    ]
    said = of_message({"role": "assistant", "content": blocks, "errorMessage": "broken"})
    assert "> *thinking* \n> Hm\n> well" in said
    assert "**Yes**" in said
    assert "→ **bash\\_x** `c`\n\n````\ncommand: ls\n```\nn: [\n  1\n]\n````" in said
    assert "[image/png, 3,000 bytes]" in said
    assert '"x": 1' in said
    assert said.endswith("✗ broken")


def test_other_roles() -> None:
    assert of_message({"role": "toolResult", "content": [{"type": "text", "text": "# no heading"}]}) == (
        "```\n# no heading\n```"
    )
    assert of_message({"role": "bashExecution", "command": "ls", "output": "a"}) == "```sh\n$ ls\na\n```"
    assert '"sections"' in of_message({"role": "system", "content": "", "sections": {"a": "b"}})
    assert of_message({"role": "user", "content": "plain"}) == "plain"
    assert of_message({"role": "user", "content": None}) == ""
    assert of_message("words") == shown(read("z1=words"), "z1")[1].replace('"what"', '"message"')


@pytest.mark.parametrize(
    ("tree", "part"),
    [
        ("u1 c1(u1)=In_short c2(u1)=Shorter", "Shorter"),
        ("u1 r1(u1)=Tried", "Tried"),
        ("u1 k1=high", '"thinkingLevel": "high"'),
        ("u1 n1=Engine", '"name": "Engine"'),
        ("u1 x1=Note", "Note"),
        ("u1 !a1", "This line is damaged."),
    ],
)
def test_what_other_entries_say(tree: str, part: str) -> None:
    reading = read(tree)
    assert part in shown(reading, reading.tree.ids[-1])[1]


def test_a_long_entry_is_cut() -> None:
    said = of_message({"role": "user", "content": [{"type": "text", "text": "word " * 10_000}] * 50})
    assert len(said) < 2 * MOST_CHARACTERS
    assert "48,000 more characters" in said
    assert said.endswith("…")


def test_a_deep_entry_is_no_fault() -> None:
    deep = json.loads("[" * 900 + "]" * 900)
    assert "more characters" in of_message({"role": "user", "content": [{"type": "x", "deep": deep}]})


def test_the_header() -> None:
    said = header_markdown(read("u1 a1 n1=Engine"))
    assert said.startswith("**session** · `s-0001` · version 3  \nName: Engine  \ncwd: /proj")
    assert said.endswith("3 entries; the leaf is `n1`")
