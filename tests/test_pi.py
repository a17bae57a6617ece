"""The pi harness itself: it says what pi says, held against answers of pi 1.6.0 that were recorded apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import interop
from tests.npm import Npm
from tests.pi import PARTS, Json, Pi, PiError, PiHung, PiSession

USER: Json = {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 1}


def outcome(pi: Pi, path: Path, part: str) -> Any:
    """The part, or the error in the form of the recorded answers."""
    try:
        session = pi.open(path)
        value = session.plan(1000) if part == "plan" else session.show(part)
    except PiError as error:
        return {"error": error.name, "detail": error.message.replace(str(path.parent), "<dir>")}
    numbers = renumbered(session)
    session.close()
    return translated(value, numbers)


def renumbered(session: PiSession) -> dict[str, str]:
    """pi gives random ids to entries of old files; the recorded answers number them in file order."""
    entries = session.show("entries")
    ids = [str(entry.get("id")) if isinstance(entry, dict) else "" for entry in entries]
    if any(len(entry_id) != 8 for entry_id in ids):
        return {}
    return {entry_id: f"{number:08}" for number, entry_id in enumerate(ids, 1)}


def translated(value: Any, numbers: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: translated(inner, numbers) for key, inner in value.items()}
    if isinstance(value, list):
        return [translated(inner, numbers) for inner in value]
    return numbers.get(value, value) if isinstance(value, str) else value


def recorded(expected: Json, part: str) -> Any:
    if part != "plan":
        return expected[part]
    prepared = expected["prepareCompaction"]
    if prepared is None or "error" in prepared:
        return prepared
    return prepared | {"serialized": expected["serialized"]}


def hangs(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("error") == "HANG"


@pytest.mark.parametrize("case", interop.CASES)
def test_answers_are_those_that_were_recorded(case: str, pi: Pi, tmp_path: Path) -> None:
    expected = interop.expected(case)
    copy = tmp_path / f"{case}.jsonl"
    for part in [*PARTS, "plan"]:
        shutil.copyfile(interop.case_file(case), copy)
        answer = recorded(expected, part)
        if not hangs(answer) and (expected["opens"] or isinstance(answer, dict)):
            assert outcome(pi, copy, part) == answer, part


def test_a_hang_is_told_and_the_next_request_is_answered(npm: Npm, tmp_path: Path) -> None:
    pi = Pi(npm, tmp_path, timeout=5)
    pi.ask("list", cwd=None, sessionDir=str(tmp_path))
    pi.timeout = 0.5
    cycle = tmp_path / "cycle.jsonl"
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"},
        {"type": "message", "id": "u1", "parentId": "u1", "timestamp": "2026-01-01T00:00:01.000Z"},
    ]
    cycle.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(PiHung):
        pi.open(cycle).show("branch")
    pi.timeout = 10
    assert pi.open(cycle).show("leafId") == "u1"
    pi.stop()


def test_a_session_that_pi_writes(pi: Pi, tmp_path: Path) -> None:
    session = pi.create(tmp_path, tmp_path / "sessions")
    first, second = session.append([USER, USER])
    session.call("appendLabelChange", second, "here")
    session.branch(first)
    [third] = session.append([USER])
    assert session.show("branch") == [first, third]
    assert session.show("labels") == {second: "here"}
    assert session.show("context")["messages"] == [USER, USER]

    assert pi.open(session.path).view() == session.view()
    [listed] = pi.list_sessions(tmp_path / "sessions", cwd=tmp_path)
    assert (listed["path"], listed["messageCount"]) == (str(session.path), 3)
    fork = pi.fork(session.path, tmp_path, tmp_path / "forks")
    assert fork.session_id != session.session_id
    assert fork.show("branch") == session.show("branch")
    assert pi.continue_recent(tmp_path, tmp_path / "sessions").path == session.path


def test_a_line_separator_in_a_message_splits_no_request(pi: Pi, tmp_path: Path) -> None:
    message = USER | {"content": "one\u2028two\u2029three\x85four"}
    session = pi.create(tmp_path, tmp_path / "sessions")
    session.append([message])
    assert pi.open(session.path).show("context")["messages"] == [message]


def test_a_wrong_request_is_an_error_with_a_name(pi: Pi, tmp_path: Path) -> None:
    with pytest.raises(PiError, match="no method nonsense"):
        pi.create(tmp_path, tmp_path / "sessions").call("nonsense")
    not_a_session = tmp_path / "text.jsonl"
    not_a_session.write_text("hello\n")
    with pytest.raises(PiError, match="not a valid pi session"):
        pi.open(not_a_session)
