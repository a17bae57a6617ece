"""Plans: against pi on its own files, and rule by rule on small trees.

In a tree `*N` makes a text of N characters, so N / 4 tokens by the rule that these tests use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pid.core.compaction import EXPECTED_SUMMARY, Breaker, Limits, is_due, left_rows, system_message
from pid.core.tree import ROOT
from pid.errors import NothingToCompact
from pid.protocol import Overflow
from tests import interop
from tests.pi import Pi
from tests.plans import view_of, view_of_bytes

Json = dict[str, Any]

# Against pi

ANSWERED = [
    case
    for case in interop.CASES
    if interop.expected(case)["opens"] and "error" not in (interop.expected(case)["prepareCompaction"] or {})
]
"""The cases of which pi 1.6.0 says a plan, or that there is none."""
NO_SESSION = frozenset({"60-empty"})  # pi writes a header; here an empty file is no session
UNANSWERED = {
    "16-cycle-2": "pi hangs; the cycle is cut, and nothing is long enough to be summarised",
    "26-bom": "pi does not open it",
    "52-message-null": "pi raises; the message is left out",
}
"""Cases without an answer by pi, and why there is one here."""


def pi_plan(pi: Pi, folder: Path, data: bytes) -> Json | None:
    """What pi plans for a file of these bytes, keeping 200 tokens."""
    path = folder / "s.jsonl"
    path.write_bytes(data)
    session = pi.open(path)
    planned = session.plan(200)
    session.close()
    return planned


def plan_or_none(case: str) -> Json | None:
    found = view_of_bytes(interop.case_file(case).read_bytes())
    try:
        return found.as_pi(found.plan(keep=1000))
    except NothingToCompact:
        return None


@pytest.mark.parametrize("case", [case for case in ANSWERED if case not in NO_SESSION])
def test_it_plans_what_pi_plans(case: str) -> None:
    expected = interop.expected(case)["prepareCompaction"]
    found = plan_or_none(case)
    assert found == expected


@pytest.mark.parametrize("case", [case for case in UNANSWERED if case in interop.CASES])
def test_where_pi_fails_there_is_an_answer(case: str) -> None:
    assert plan_or_none(case) is None


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
def test_the_real_session_is_planned_as_pi_plans_it() -> None:
    found = view_of_bytes((interop.FOLDER / "real-session-v1.jsonl").read_bytes())
    planned = found.as_pi(found.plan(keep=20_000, window=200_000))
    assert planned["tokensBefore"] == 177_657
    assert (planned["isSplitTurn"], planned["messagesToSummarize"], planned["turnPrefixMessages"]) == (True, 730, 3)
    assert found.effect.rows[837] == found.session.tree.find(planned["firstKeptEntryId"])


DIFFERENCES = [
    (
        "a compaction that lost its first kept entry: pi keeps nothing, here the newest tail goes on",
        "u1*400 a1*400 c1(gone) u2*400 a2*400",
        {},
        {"firstKeptEntryId": "u2", "messagesToSummarize": 2},
    ),
    (
        "silent entries before a turn: pi then calls the whole turn before them a split one",
        "u1*400 a1*400 u2*400 a2*400 n1 u3*400 a3*400",
        {"firstKeptEntryId": "n1", "isSplitTurn": True, "messagesToSummarize": 2, "turnPrefixMessages": 2},
        {"firstKeptEntryId": "n1", "isSplitTurn": False, "messagesToSummarize": 4, "turnPrefixMessages": 0},
    ),
    (
        "a user message between a call and its result: pi parts them",
        "u1*400 a1(read)*400 u2*800 t1*8 a2*8",
        {"firstKeptEntryId": "u2"},
        {"firstKeptEntryId": "a2"},
    ),
]
"""What design.md wants otherwise: why, a tree, what pi plans (keeping 200 tokens), what is planned here."""


@pytest.mark.parametrize(("why", "text", "theirs", "ours"), DIFFERENCES, ids=[row[0][:30] for row in DIFFERENCES])
def test_what_differs_from_pi_and_why(why: str, text: str, theirs: Json, ours: Json) -> None:
    found = view_of(text)
    planned = found.as_pi(found.plan(keep=200))
    assert {key: planned[key] for key in ours} == ours, why


@pytest.mark.parametrize(("why", "text", "theirs", "ours"), DIFFERENCES, ids=[row[0][:30] for row in DIFFERENCES])
def test_pi_still_differs(pi: Pi, tmp_path: Path, why: str, text: str, theirs: Json, ours: Json) -> None:
    planned = pi_plan(pi, tmp_path, view_of(text).session.data) or {}
    assert {key: planned[key] for key in planned if key in theirs} == theirs, why


SAME = [
    "u1*400 a1*400 u2*400 a2*400 u3*400 a3*400",
    "u1*400 a1(read)*40 t1*4000 a2*40",
    "u1*40 a1*40 u2*40 a2(read)*40 t1*9000",
    "u1*400 a1*400 b1*400 m1*400 x1*400 a2*40",
    "s1*400 u1*400 a1*400 r1=left*400 u2*400 a2*100",
    "u1*4000 a1*400 c1(a1)=before u2*400 a2*400 u3*900 a3*40",
    "u1*4000 a1*400 c1(a1)=before u2*40 a2*40 c2(u2)=again u3*900 a3*40",
    "u1*800 a1*800 e1(u1) u2*800 a2*40",
    "u1*800 a1*800 u2*800 e1(u1)=short a2*40",
    "u1*40 a1*40",
    "d1 n1 l1(d1)=x",
]


@pytest.mark.parametrize("text", SAME)
def test_small_trees_are_planned_as_pi_plans_them(pi: Pi, tmp_path: Path, text: str) -> None:
    dated = b'"role":"system","timestamp":1767225601000'  # without a time, pi overlooks it
    found = view_of_bytes(view_of(text).session.data.replace(b'"role":"system"', dated))
    theirs = pi_plan(pi, tmp_path, found.session.data)
    try:
        ours = found.as_pi(found.plan(keep=200))
    except NothingToCompact:
        ours = None
    assert ours == ({key: theirs[key] for key in ours} if theirs and ours else theirs)


# The cut


CUTS = [
    # tree, tokens to keep, first kept, start of a split turn
    ("u1*400 a1*400 u2*400 a2*400", 150, "u2", None),
    ("u1*400 a1*400 u2*400 a2*400", 90, "a2", "u2"),
    ("u1*40 a1(read)*40 t1*4000", 100, "a1", "u1"),  # only results follow what reached it
    ("u1*40 a1(read)*40 t1*4000 a2*40", 100, "a2", "u1"),
    ("u1*40 u2*40 a1(read)*40 t1*400 t2*400", 150, "a1", "u2"),
    ("u1*400 a1*400 n1 l1(u1)=x u2*400 a2*400", 150, "n1", None),
    ("u1*400 a1*400 b1*400 a2*400", 150, "b1", None),
    ("u1*400 a1*400 x1*400 a2*400", 150, "x1", None),
    ("u1*400 a1*400 r1(a1)*400 a2*400", 150, "r1", None),
    ("a1*400 a2*400 a3*400", 90, "a3", None),  # no turn was begun, so none is split
    ("u1*400 a1*400 u2*400 a2*400 z1 d1", 150, "u2", None),
]


@pytest.mark.parametrize(("text", "keep", "first", "turn"), CUTS)
def test_where_it_cuts(text: str, keep: int, first: str, turn: str | None) -> None:
    found = view_of(text)
    planned = found.plan(keep)
    assert found.first_kept(planned) == first
    assert planned.is_split_turn == (turn is not None)
    assert found.ids(planned.turn_head)[:1] == ([turn] if turn else [])
    assert [*planned.history, *planned.turn_head, *planned.kept] == list(found.effect.rows)


NOTHING = ["d1", "u1*40 a1*40", "n1 l1(n1)=x", "s1*9000 u1*4", "u1*4000", "u1*4 c1(u1)=all u2*4"]


@pytest.mark.parametrize("text", NOTHING)
def test_nothing_to_compact_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(NothingToCompact):
        view_of(text).plan(keep=100)


def test_what_an_earlier_compaction_kept_is_summarised_or_kept() -> None:
    found = view_of("u1*400 a1*400 u2*400 a2*400 c1(u2)=first u3*400 a3*400 u4*400 a4*400")
    planned = found.plan(keep=150)
    assert found.ids(planned.history) == ["u2", "a2", "u3", "a3"]
    assert found.ids(planned.kept) == ["u4", "a4"]


def test_a_compaction_is_no_guard_against_the_next_one() -> None:
    """A plan that keeps less works right behind a compaction: "already compacted" lets everybody out."""
    found = view_of("u1*400 a1*400 u2*400 a2*400 c1(u1)=first")
    assert found.ids(found.plan(keep=150).kept) == ["u2", "a2"]


# Sizes


@pytest.mark.parametrize(
    ("tokens", "limits", "due"),
    [
        (183_616, Limits(200_000), False),
        (183_617, Limits(200_000), True),
        (10**9, Limits(None), False),
        (7_500, Limits(10_000), False),  # a window below the reserve: a quarter of it is kept free
        (7_501, Limits(10_000), True),
        (16_385, Limits(16_384), True),
        (1, Limits(16_385), False),
        (2, Limits(16_385), True),
    ],
)
def test_when_it_is_due(tokens: int, limits: Limits, due: bool) -> None:
    assert is_due(tokens, limits) == due


def test_the_kept_tail_fits_the_window() -> None:
    found = view_of("u1*400 a1*4000 u2*400 a2*4000 u3*400 a3*4000")
    planned = found.plan(keep=20_000, window=4_000, reserve=1_000)
    assert planned.tokens_kept <= 3_000 - 750
    assert found.first_kept(planned) == "u2"


def test_a_tail_that_cannot_fit_is_not_kept() -> None:
    found = view_of("u1*400 a1(read)*40 t1*80000")
    planned = found.plan(keep=20_000, window=10_000, reserve=1_000)
    assert planned.kept == []
    assert planned.tokens_kept == 0
    assert not planned.is_split_turn


def test_the_estimate_after_is_what_is_kept_and_a_summary() -> None:
    found = view_of("u1*40000 a1*40000 u2*400 a2*400")
    planned = found.plan(keep=150, overhead=1_000)
    assert planned.tokens_before == 21_200
    assert planned.tokens_after == 1_000 + EXPECTED_SUMMARY + 200
    small = view_of("u1*400 a1*400 u2*400 a2*400").plan(keep=150)
    assert small.tokens_kept < small.tokens_after < small.tokens_before


def test_three_failures_in_a_row_open_the_breaker() -> None:
    breaker = Breaker()
    for freed in (0, None, 5, None, 0, -3):
        assert not breaker.is_open
        breaker = breaker.after(freed)
    assert breaker.is_open
    assert not breaker.after(1).is_open


def test_the_system_prompt_goes_on_with_the_compaction() -> None:
    found = view_of("s1=one u1*400 s2=two a1*400 e1(s2) u2*400 s3=three")
    assert system_message(found.speech) == {"role": "system", "content": "one\n\nthree"}
    data = view_of("u1 a1 c1(u1) s2=two u2").session.data
    old = b'"summary":"c1","systemMessage":{"role":"system","content":"one"}'
    assert system_message(view_of_bytes(data.replace(b'"summary":"c1"', old)).speech) == {
        "role": "system",
        "content": "one\n\ntwo",
    }
    assert system_message(view_of("u1 a1").speech) is None


# A branch that is left


@pytest.mark.parametrize(
    ("text", "target", "left"),
    [
        ("u1 a1 u2 a2 u3", "a1", ["u2", "a2", "u3"]),
        ("u1 a1 | a1 > u2 a2 | a1 > u3 a3", "a2", ["u3", "a3"]),
        ("u1 a1 u2", "u2", []),
        ("u1 a1 u2 c1(u2) u3", "u1", ["c1", "u2", "u3"]),
        ("u1 a1 | u2 a2", "a1", ["u2", "a2"]),
    ],
)
def test_what_a_branch_summary_is_about(text: str, target: str, left: list[str]) -> None:
    found = view_of(text)
    tree = found.session.tree
    assert found.ids(left_rows(tree, found.effect, tree.find(target))) == left
    assert left_rows(tree, found.effect, ROOT) == list(found.effect.rows)


# After an overflow


def test_a_failed_attempt_at_the_end_is_left_out() -> None:
    text = "u1*400 a1*400 u2*400 a2*400"
    lines = view_of(text).session.data.decode().replace('"stopReason":"stop"', '"stopReason":"error"')
    head, last = lines.rstrip("\n").rsplit("\n", 1)
    sound = head.replace('"stopReason":"error"', '"stopReason":"stop"')
    found = view_of_bytes(f"{sound}\n{last}\n".encode())
    assert found.first_kept(found.plan(keep=90)) == "a2"
    assert found.first_kept(found.plan(keep=90, overflow=Overflow())) == "u2"


def test_the_window_is_lowered_to_what_was_reported() -> None:
    found = view_of("u1*4000 a1*4000 u2*4000 a2*4000 u3*4000 a3*4000")
    roomy = found.plan(keep=5_000, window=1_000_000)
    assert found.first_kept(roomy) == "a1"
    refused = Overflow(prompt_tokens=12_000, limit=8_000)  # twice the estimate: 4,000 by the estimate are the limit
    reported = found.plan(keep=5_000, window=1_000_000, reserve=1_000, overflow=refused)
    assert reported.tokens_before == 12_000
    assert found.first_kept(reported) == "u3"


def test_an_overflow_without_numbers_still_shortens() -> None:
    found = view_of("u1*4000 a1*4000 u2*4000 a2*4000")
    planned = found.plan(keep=20_000, overflow=Overflow())
    assert planned.tokens_kept < planned.tokens_before // 2
    assert found.first_kept(planned) == "a2"


def test_an_overflow_of_nothing_is_nothing_to_compact() -> None:
    with pytest.raises(NothingToCompact):
        view_of("d1").plan(keep=100, overflow=Overflow(prompt_tokens=0, limit=0))
    with pytest.raises(NothingToCompact):
        view_of("n1").plan(keep=100, overflow=Overflow(limit=5))


# Cost


def test_a_plan_reads_the_kept_tail_and_no_more() -> None:
    """20,000 entries, of which the newest reports its usage."""
    words = " ".join(f"u{n}*40 a{n}*40" for n in range(10_000))
    found = view_of(f"{words} u99999*40")
    found.session.asked.clear()
    found.plan(keep=1_000)
    kept_rows = 2 * 1_000 // 10
    assert len(found.session.asked) > 10_000  # nothing was reported, so the estimate reads all once
    usage = b'"usage":{"input":90000,"output":10},"stopReason":"stop"'
    data = found.session.data[::-1].replace(b'"stopReason":"stop"'[::-1], usage[::-1], 1)[::-1]
    reported = view_of_bytes(data)
    reported.session.asked.clear()
    assert reported.plan(keep=1_000).tokens_before == 90_020
    assert len(reported.session.asked) <= kept_rows + 3 * 64
