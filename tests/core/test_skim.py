"""What a listing takes from lines: counted without reading bodies, and the same as a reader of bodies would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.lines import Scanner
from pid.core.skim import MAX_TITLE, Skim, Skimmed, title_of
from pid.entries import MESSAGE_KINDS, iso_of
from tests.trees import START_MS, session_bytes

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": iso_of(START_MS), "cwd": "/proj"}


def skim(data: bytes, so_far: Skimmed | None = None) -> Skim:
    """All of a file: whole lines, then what stands behind the last line break."""
    skim = Skim(so_far)
    stop = data.rfind(b"\n") + 1
    skim.scan(data, stop, 0)
    if stop < len(data):
        skim.scan_tail(data[stop:], stop)
    return skim


def lines(*entries: Any, header: dict[str, Any] = HEADER, **how: Any) -> bytes:
    how = how or {"separators": (",", ":")}
    texts = [entry if isinstance(entry, bytes) else json.dumps(entry, **how).encode() for entry in (header, *entries)]
    return b"".join(text + b"\n" for text in texts)


def message(role: str, number: int, content: Any = "hi", **fields: Any) -> dict[str, Any]:
    ms = START_MS + number
    head = {"type": "message", "id": f"e{number}", "parentId": None, "timestamp": iso_of(ms)}
    return head | {"message": {"role": role, "content": content, "timestamp": ms} | fields}


def test_what_a_listing_shows() -> None:
    header = HEADER | {"parentSession": "/old.jsonl", "extra": {"any": [1]}}
    data = lines(message("user", 1, "question"), message("assistant", 2), message("toolResult", 3), header=header)
    assert skim(data).found == Skimmed("s1", "/proj", "/old.jsonl", START_MS, None, 3, "question", START_MS + 2)


@pytest.mark.parametrize(
    "how", [{"separators": (",", ":")}, {"separators": (", ", ": ")}, {"indent": None, "sort_keys": True}]
)
def test_spaces_and_the_order_of_keys_change_nothing(how: dict[str, Any]) -> None:
    info = {"type": "session_info", "id": "n1", "parentId": "e2", "timestamp": iso_of(START_MS), "name": "n\n1 "}
    entries = [
        message("user", 1, "q"),
        message("assistant", 2, [], usage={"timestamp": 5}),
        info,
        message("bashExecution", 9),
    ]
    assert skim(lines(*entries, **how)).found == Skimmed("s1", "/proj", None, START_MS, "n 1", 3, "q", START_MS + 2)


def test_a_migrated_line_ends_with_its_ids() -> None:
    entry = message("assistant", 2)
    moved = {key: entry[key] for key in ("type", "timestamp", "message", "id", "parentId")}
    assert skim(lines(message("user", 1, ""), moved)).found.newest_ms == START_MS + 2
    old = {key: entry[key] for key in ("type", "timestamp", "message")}
    assert skim(lines(old, old, header=HEADER | {"version": 1})).found.message_count == 2


TITLES = {
    "a string": ("q", "q"),
    "blocks": ([{"type": "text", "text": "a"}, {"type": "image", "data": "x"}, {"type": "text", "text": "b"}], "a b"),
    "no text": ([{"type": "image", "data": "x"}], ""),
    "line separators": ("a\u2028b\u2029c\u0085d", "a\u2028b\u2029c\u0085d"),
    "half a pair": ("a\ud800b", "a�b"),
    "blocks that are none": ([None, 5, {"type": "text"}, {"type": "text", "text": None}], ""),
    "null": (None, ""),
    "an object": ({"text": "q"}, ""),
    "long": ("é" * (MAX_TITLE + 1), "é" * (MAX_TITLE - 1) + "…"),
}


@pytest.mark.parametrize(("content", "title"), TITLES.values(), ids=TITLES)
def test_the_first_user_message_with_a_text_is_the_title(content: Any, title: str) -> None:
    assert title_of(content) == title
    found = skim(lines(message("assistant", 1, "no"), message("user", 2, content), message("user", 3, "next"))).found
    assert found.first_message == (title or "next")


TIMES = {
    "its own": ({}, START_MS + 2),
    "what follows it": ({"responseId": 'r \\" 1', "n": -1.5e3, "ok": True}, START_MS + 2),
    "the entry's": ({"timestamp": "2026"}, START_MS + 2),
    "before 1970: the message before": ({"timestamp": -5}, START_MS + 1),
    "past the year 9999": ({"timestamp": 999_999_999_999_999}, START_MS + 1),
    "not where it seems": ({"usage": {"timestamp": START_MS + 9}}, START_MS + 2),
}


@pytest.mark.parametrize(("fields", "last"), TIMES.values(), ids=TIMES)
def test_the_newest_message_gives_the_time(fields: dict[str, Any], last: int) -> None:
    data = lines(message("user", 1), message("assistant", 2, [], **fields), message("toolResult", 3))
    assert skim(data).found.newest_ms == last


def test_two_objects_on_a_line_and_a_torn_one_before_a_whole_one() -> None:
    one, two = (json.dumps(message("user", number), separators=(",", ":")).encode() for number in (1, 2))
    assert skim(lines(one + two)).found.message_count == 2
    assert skim(lines(one[:60] + two)).found == skim(lines(two)).found
    assert skim(lines(two, one[:60])).found == skim(lines(two)).found
    assert skim(lines(b"\0\0" + one, b"", b"[]", b"junk", two)).found.message_count == 2


def test_the_bytes_behind_the_last_line_break() -> None:
    whole = lines(message("user", 1), message("user", 2))
    assert skim(whole[:-1]).found == skim(whole).found
    assert skim(whole[:-9]).found.message_count == 1


def test_a_line_too_long_to_be_held_counts_by_its_ends() -> None:
    long = Skim()
    long.scan(lines(), len(lines()), 0)
    line = json.dumps(message("assistant", 4, "x" * 1000), separators=(",", ":")).encode()
    long.scan_long(line[:200], line[-100:], 0, len(line))
    assert (long.found.message_count, long.found.newest_ms) == (1, START_MS + 4)


@pytest.mark.parametrize("first", [b'{"type":"message","id":"x"}', b'{"type":"session"}', b'{"type":"session","id":5}'])
def test_what_is_no_session(first: bytes) -> None:
    found = skim(first + b"\n" + lines())
    assert (found.foreign, found.header) == (True, None)


LETTERS = st.sampled_from("uatbmsxrcdelnkoqzp")
TREES = st.lists(st.tuples(LETTERS, st.booleans()), min_size=1, max_size=12)


@given(TREES, st.data())
def test_any_slicing_gives_what_the_index_and_the_bodies_say(
    words: list[tuple[str, bool]], data: st.DataObject
) -> None:
    text = " ".join(f"{'!' * damaged}{letter}{number}" for number, (letter, damaged) in enumerate(words, 1))
    stored = session_bytes(text)
    scanner = Scanner(())
    batch = scanner.scan(stored, len(stored), 0)
    whole = skim(stored).found
    assert whole.message_count == sum(
        kind in MESSAGE_KINDS and not flags & 4 for kind, flags in zip(batch.kinds, batch.flags, strict=True)
    )

    cut = data.draw(st.sampled_from([at + 1 for at, byte in enumerate(stored) if byte == 10]))
    sliced = Skim()
    sliced.scan(stored[:cut], cut, 0)
    half = sliced.found
    sliced.scan(stored[cut:], len(stored) - cut, cut)
    assert sliced.found == whole
    assert skim(stored[cut:], half).found == whole
