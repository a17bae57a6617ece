"""How full the context is: the report that counts, what is estimated on top, and what gaps between reports teach."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.guess import GUESS_ERROR
from pid.core.speech import Estimator, Speech, speech_of, speech_of_path
from pid.core.tokens import Calibration, Size, TextsCounter, calibration_for
from pid.core.usage import NEAR, Gap, corrected, estimator_for, fill, learned_overhead, reported, reported_gaps
from tests import interop
from tests.plans import CHARS4, View, view, view_of, view_of_bytes

Json = dict[str, Any]

# Against pi

OTHERWISE = {
    "08-compaction-kept-other-branch": "pi shows nothing of what was kept; here the newest tail is shown, and counts",
    "10-compaction-no-kept-field": "the same",
    "74-numeric-ids": "pi finds no parent by a numeric id",
}


def projected(case: str) -> Json:
    found = interop.expected(case).get("estimate", {})
    return found.get("projected", {}) if isinstance(found, dict) else {}


@pytest.mark.parametrize(
    "case", [case for case in interop.CASES if projected(case) and case not in OTHERWISE and case != "60-empty"]
)
def test_the_context_is_as_full_as_pi_says(case: str) -> None:
    found = fill(view_of_bytes(interop.case_file(case).read_bytes()).speech, CHARS4)
    assert (found.tokens, found.usage) == (projected(case)["tokens"], projected(case)["usageTokens"])


# The report


def usage(**fields: Any) -> Json:
    return {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, **fields}


@pytest.mark.parametrize(
    ("message", "total"),
    [
        ({"usage": usage(input=1, output=2, cacheRead=3, cacheWrite=4)}, 10),
        ({"usage": usage(input=1, totalTokens=50)}, 50),
        ({"usage": usage(input=60, totalTokens=50)}, 60),
        ({"usage": usage()}, None),
        ({"usage": usage(input=-10, output=10)}, None),
        ({"usage": usage(input=9), "stopReason": "aborted"}, None),
        ({"usage": usage(input=9), "stopReason": "error"}, None),
        ({"usage": {"input": "9", "output": None, "cacheRead": 4}}, 4),
        ({"usage": {"input": float("inf")}}, None),
        ({"usage": {"input": float("nan")}}, None),
        ({"usage": []}, None),
        ({"usage": None}, None),
        ({}, None),
    ],
)
def test_which_usage_counts(message: Json, total: int | None) -> None:
    found = reported({"role": "assistant", **message})
    assert (found.total if found else None) == total


def test_only_assistants_report() -> None:
    assert reported(None) is None
    assert reported({"role": "user", "usage": usage(input=9)}) is None


def reporting(text: str, **prompts: int) -> View:
    """A tree in which the assistant messages named report a prompt of so many tokens, and no output."""
    lines = [json.loads(line) for line in view_of(text).session.data.splitlines()]
    for line in lines:
        if line["id"] in prompts:
            line["message"]["usage"] = usage(input=prompts[line["id"]])
    return view_of_bytes("".join(json.dumps(line) + "\n" for line in lines).encode())


FILLS = [
    # tree, prompts, reported, estimated
    ("u1*40 a1*40 u2*40", {"a1": 700}, 700, 10),
    ("u1*40 a1*40 u2*40 a2*40", {"a1": 700, "a2": 900}, 900, 0),
    ("u1*40 a1*40 u2*40 a2*40 l1(u1)=x", {"a1": 700}, 700, 20),
    ("u1*40 a1*40 c1(u1)*40 u2*40", {"a1": 700}, 0, 40),  # reported before the compaction
    ("u1*40 a1*40 c1(u1)*40 u2*40 a2*40", {"a1": 700, "a2": 90}, 90, 0),
    ("u1*40 a1*40 e1(u1) u2*40", {"a1": 700}, 0, 20),  # reported before the edit
    ("u1*40 a1*40 e1(u1) u2*40 a2*40", {"a1": 700, "a2": 90}, 90, 0),
    ("s1*40 u1*40 s2*40", {}, 0, 31),  # two system messages are one prompt, a blank line between
    ("l1(x)", {}, 0, 0),
]


@pytest.mark.parametrize(("text", "prompts", "usage_tokens", "estimated"), FILLS)
def test_the_last_report_is_the_base(text: str, prompts: dict[str, int], usage_tokens: int, estimated: int) -> None:
    found = fill(reporting(text, **prompts).speech, CHARS4)
    assert (found.usage, found.estimated) == (usage_tokens, estimated)


def test_the_source_says_where_the_number_comes_from() -> None:
    assert fill(reporting("u1*40 a1", a1=9).speech, CHARS4).source == "provider"
    assert fill(reporting("u1*40 a1 u2", a1=9).speech, CHARS4).source == "mixed"
    assert fill(reporting("u1*40").speech, CHARS4).source == "estimate"


def test_the_system_prompt_counts_where_nothing_was_reported() -> None:
    assert fill(reporting("u1*40").speech, CHARS4, overhead=1_000).tokens == 1_010
    assert fill(reporting("u1*40 a1*40", a1=70).speech, CHARS4, overhead=1_000).tokens == 70


def test_the_overhead_is_learned_from_the_first_report() -> None:
    def overhead(text: str, **prompts: int) -> int | None:
        found = reporting(text, **prompts)
        path = speech_of_path(found.session.tree, found.effect, found.session.bodies)
        return learned_overhead(path, CHARS4)

    assert overhead("n1 u1*40 a1*40 u2*40 a2*40", a1=1_510, a2=9_999) == 1_500
    assert overhead("u1*400 a1*40", a1=10) == 0
    assert overhead("u1*40 c1(u1)*40 a1*40", a1=1_510) == 0
    assert overhead("u1*40 a1*40") is None  # a report may come


def test_nothing_is_learned_from_a_report_behind_a_long_history() -> None:
    words = " ".join(f"u{n}*4" for n in range(400))
    found = reporting(f"{words} a1*40", a1=9_000)
    path = speech_of_path(found.session.tree, found.effect, found.session.bodies)
    found.session.asked.clear()
    assert learned_overhead(path, CHARS4) == 0
    assert len(found.session.asked) <= 256


def test_a_report_in_reach_costs_what_follows_it() -> None:
    words = " ".join(f"u{n}*40 a{n}*40" for n in range(2_000))
    found = reporting(f"{words} u9999*40", a1999=5_000)
    found.session.asked.clear()
    assert fill(found.speech, CHARS4).tokens == 5_010
    assert len(found.session.asked) <= 64


def test_without_a_report_nothing_of_a_long_history_is_kept() -> None:
    found = reporting(" ".join(f"u{n}*40 a{n}*40" for n in range(2_000)))
    found.session.asked.clear()
    assert fill(found.speech, CHARS4).tokens == 40_000
    assert len(found.session.asked) == 4_000  # each body once
    assert not found.speech._entries


# What is far back

CLAUDE = Estimator(calibration_for("claude"))
TALK = "the quick brown fox jumps over the lazy dog and asks why, in a sentence of its own; then it reads main.py "


def far(*marks: tuple[int, Json], turns: int = 3_000) -> View:
    """A chain of messages of all lengths, some of which say something else."""
    entries: list[Json] = []
    for number in range(2 * turns):
        role = "assistant" if number % 2 else "user"
        message: Json = {"role": role, "content": [{"type": "text", "text": TALK * (1 + number % 7)}]}
        entries.append({"type": "message", "message": message})
    for place, fields in marks:
        entries[place] |= fields
    for number, entry in enumerate(entries):
        parent = f"e{number - 1}" if number else None
        entry |= {"id": f"e{number}", "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"}
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
    return view_of_bytes("".join(json.dumps(line) + "\n" for line in [header, *entries]).encode())


def parsed(found: View) -> int:
    """The estimate by all that is said."""
    return sum(CLAUDE.entry(found.speech, entry) for entry in found.speech.back(0, len(found.speech)))


def test_what_is_far_back_goes_by_its_bytes() -> None:
    found = far()
    near = fill(found.speech, CLAUDE, end=NEAR)
    assert (near.tokens, near.guessed < near.estimated) == (
        sum(CLAUDE.entry(found.speech, entry) for entry in found.speech.back(0, NEAR)),
        True,
    )
    found.session.asked.clear()
    whole = fill(found.speech, CLAUDE)
    assert len(found.session.asked) == len(found.speech)
    assert whole.tokens == pytest.approx(parsed(found), rel=0.01)
    assert whole.tokens != parsed(found)
    assert whole.error > CLAUDE.error
    assert fill(found.speech, CHARS4).tokens == sum(
        CHARS4.entry(found.speech, entry) for entry in found.speech.back(0, len(found.speech))
    )


IMAGE = {"type": "image", "mimeType": "image/png", "data": "A" * 400_000}
FAR_BACK: list[tuple[str, Json]] = [
    ("an image", {"message": {"role": "user", "content": [IMAGE]}}),
    ("a system prompt", {"message": {"role": "system", "content": TALK * 900}}),
    ("a custom message", {"type": "custom_message", "customType": "x", "content": TALK * 900}),
    ("a damaged entry", {"message": None}),
]


@pytest.mark.parametrize(("name", "fields"), FAR_BACK)
def test_far_back_too_what_does_not_go_by_its_bytes_is_parsed(name: str, fields: Json) -> None:
    found = far((500, fields))
    assert fill(found.speech, CLAUDE).tokens == pytest.approx(parsed(found), rel=0.01)


def test_a_report_far_back_is_found() -> None:
    message = {"role": "assistant", "content": "x", "usage": usage(input=77_000_000)}
    found = fill(far((501, {"message": message})).speech, CLAUDE)
    assert (found.usage, found.source) == (77_000_000, "mixed")


def test_an_edit_far_back_hides_the_reports_before_it() -> None:
    message = {"role": "assistant", "content": "x", "usage": usage(input=77_000_000)}
    edit = {"type": "context_edit", "targetId": "e1", "replacement": {"content": TALK * 2_000}}
    found = far((501, {"message": message}), (601, edit))
    assert fill(found.speech, CLAUDE).usage == 0
    assert fill(found.speech, CLAUDE).tokens == pytest.approx(parsed(found), rel=0.01)


def test_what_is_guessed_widens_the_error() -> None:
    def error(count: TextsCounter | None) -> float:
        found = reporting("u1*400 a1*400")
        speech = speech_of(found.session.tree, found.effect, found.session.bodies, count=count)
        return fill(speech, Estimator(calibration_for("claude"))).error

    counted = error(lambda texts: [100 for _ in texts])
    assert counted == calibration_for("claude").error
    assert counted < error(lambda texts: None) == error(None) < counted + GUESS_ERROR


def test_a_report_leaves_little_to_guess() -> None:
    found = reporting("u1*400 a1*400 u2*40", a1=1_000)
    estimator = Estimator(calibration_for("claude"))
    assert fill(found.speech, estimator).guessed <= fill(found.speech, estimator).estimated < 40


# Gaps


def test_a_gap_is_what_two_reports_leave_for_what_stands_between() -> None:
    found = reporting("u1*40 a1(ls)*40 t1*40 a2*40 u2*40 n1 u3*40 a3*40", a1=100, a2=150, a3=250)
    gaps = reported_gaps(found.speech)
    assert [(gap.tokens, gap.size.messages, gap.size.results) for gap in gaps] == [(100, 2, 0), (50, 1, 1)]


def test_gaps_end_at_failures_edits_compactions_and_other_models() -> None:
    assert len(reported_gaps(reporting("u1 a1 u2 a2 u3 a3", a1=10, a3=30).speech)) == 0
    assert len(reported_gaps(reporting("u1 a1 e1(u1) u2 a2", a1=10, a2=30).speech)) == 0
    assert len(reported_gaps(reporting("u1 a1 u2 a2 c1(u1) u3 a3", a1=10, a2=30, a3=50).speech)) == 0


def test_it_looks_at_the_newest_entries_only() -> None:
    words = " ".join(f"u{n}*40 a{n}*40" for n in range(600))
    found = reporting(words, **{f"a{n}": 100 * (n + 1) for n in range(600)})
    found.session.asked.clear()
    assert len(reported_gaps(found.speech)) == 32
    assert len(found.session.asked) <= 128


BASE = Calibration(1.25, 3, 8, 35, 0.18)


def gap(text: int, tokens: int, model: str = "m") -> Gap:
    return Gap(Size(text, 1), tokens, model, range(0))


def test_gaps_pull_the_slope_to_what_they_show() -> None:
    gaps = [gap(500 + n, round(1.6 * (500 + n)) + 3) for n in range(20)]
    assert corrected(BASE, gaps, "m").slope == pytest.approx(1.6, abs=0.01)
    assert corrected(BASE, gaps, "m").error <= 0.18
    assert corrected(BASE, gaps, "another model") == BASE


def test_an_estimator_knows_the_family_and_what_the_session_shows() -> None:
    words = " ".join(f"u{n}*4000 a{n}" for n in range(20))
    told = reporting(words, **{f"a{n}": 1_000 * (n + 1) for n in range(20)}).speech
    assert estimator_for(told, "claude-x").calibration == calibration_for("claude-x")  # the trees' model is m1
    learned = estimator_for(told, "m1").calibration
    assert learned is not None
    assert learned.tokens(told.size(told[0])) == pytest.approx(1_000, rel=0.05)


def test_few_small_or_absurd_gaps_change_nothing() -> None:
    assert corrected(BASE, [], "m") == BASE
    assert corrected(BASE, [gap(300, 900)], "m").slope == 1.25
    assert corrected(BASE, [gap(10, 900)] * 32, "m") == BASE
    assert corrected(BASE, [gap(5_000, 10**7)] * 32, "m").slope == 1.25
    assert corrected(BASE, [gap(5_000, -800)] * 32, "m") == BASE


def test_a_gap_with_a_new_system_prompt_does_not_pull() -> None:
    gaps = [gap(1_000, 1_253)] * 10 + [gap(200, 5_000)] * 3
    assert corrected(BASE, gaps, "m").slope == pytest.approx(1.25, abs=0.01)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(-(10**6), 10**9)), max_size=40))
def test_a_correction_stays_sane(pairs: list[tuple[int, int]]) -> None:
    found = corrected(BASE, [gap(text, tokens) for text, tokens in pairs], "m")
    assert 0.4 <= found.slope <= 3.0
    assert 0 <= found.error <= 1.0


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
def test_the_estimate_of_the_real_session_is_within_seven_percent() -> None:
    from tests.benchmarks.tokens import REAL, table

    figures = {name: median for name, median, *_ in table(REAL)}
    assert figures["calibrated, o200k"] <= 0.07
    assert figures["calibrated, o200k, corrected"] <= 0.07
    assert figures["characters / 4"] >= 0.30


def test_sizes_are_kept_with_their_rows_unless_an_edit_speaks() -> None:
    found = view_of("u1*400 a1*40 e1(u1)=ab")
    sizes: dict[int, Size] = {}
    speech = Speech(
        found.effect.rows,
        found.session.tree.kinds,
        found.speech._read,
        found.session.bodies,
        found.session.tree.sizes,
        sizes=sizes,
        edited=found.effect.edits,
    )
    estimator = Estimator(BASE)
    assert estimator.entry(speech, speech[0]) == round(1.25 * speech.size(speech[0]).text + 3)
    assert speech.size(speech[0]).text < 5
    assert estimator.entry(speech, speech[1]) > 0
    assert list(sizes) == [found.effect.rows[1]]
    again = view(found.session).speech
    assert again.size(again[1]) == sizes[1]
