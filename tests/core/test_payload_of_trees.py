"""Payloads from whole trees: each leaf of any tree gives a valid one. (`tests/service` and `tests/e2e` have files.)"""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.anthropic_format import Payload, PayloadBuilder
from pid.core.context import entries_in_effect, messages_in_effect
from pid.core.tree import ROOT
from tests import trees
from tests.payload_rules import payload_problems
from tests.trees import Loaded


def payload_at(loaded: Loaded, leaf: int) -> Payload:
    effect = entries_in_effect(loaded.tree, leaf, loaded.bodies)
    builder = PayloadBuilder(effect.model)
    rows = list(effect.rows)
    for row, message in messages_in_effect(loaded.tree, effect, rows, loaded.bodies(rows), []):
        builder.add(message, [loaded.tree.ids[row]])
    return builder.finish(cache_breakpoints=4)


def problems(payload: Payload) -> list[str]:
    """What the API would refuse, and what does not add up; nothing to send is no fault of a session."""
    body = msgspec.json.decode(msgspec.json.encode(payload.payload))
    assert len(payload.entry_ids) == len(body["messages"])
    if not body["messages"]:
        assert "emptyContext" in [warning.kind for warning in payload.warnings]
        return []
    return payload_problems(body)


LETTERS = st.sampled_from("uuaaattbmsxrcdelnkoqz")
ABOUT = st.sampled_from(["", "", "(u1)", "(a2)", "(bash)", "(t3)"])
SAID = st.sampled_from(["", "=", "=_", "=words", "=p/m"])


@st.composite
def any_tree(draw: st.DrawFn) -> str:
    """A tree written as text: entries of all types, on branches, with calls, results, edits and compactions."""
    said: list[str] = []
    ids: list[str] = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        letter = draw(LETTERS)
        branch = draw(st.sampled_from([*ids[-4:], "", ""])) if ids else ""
        ids.append(f"{letter}{number}")
        said += [branch, ">"] * bool(branch) + [f"{letter}{number}{draw(ABOUT)}{draw(SAID)}"]
    return " ".join(said)


@settings(max_examples=200, deadline=None)
@given(any_tree())
def test_every_leaf_of_any_tree(text: str) -> None:
    loaded = trees.tree_of(text)
    for leaf in range(ROOT, len(loaded.tree)):
        assert problems(payload_at(loaded, leaf)) == []
