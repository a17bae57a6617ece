"""Listing directories: what is shown, what is left out, and how little the second time reads."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pid.adapters import listing_index
from pid.adapters.journal import Journal
from pid.adapters.listing import Found, Lister
from pid.adapters.listing_index import Known, ListingIndex
from pid.core.skim import Skim, Skimmed
from pid.entries import iso_of
from tests import interop
from tests.benchmarks.sessions import KINDS, Recipe, write
from tests.golden.differences import REFUSED
from tests.golden.table import LISTING_DIFFERENCES
from tests.pi import Pi
from tests.trees import session_bytes

LATER_NS = 3_000_000_000


NOTHING_KNOWN: tuple[dict[str, Known], int, int] = ({}, 0, 0)


class Clock:
    """Some seconds after the files were made, so that nothing is doubtful."""

    ahead_ns = LATER_NS

    def __call__(self) -> int:
        return time.time_ns() + self.ahead_ns


class Lists:
    """A lister on one directory; `read` has the names of the files that were opened since they were last asked."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *, remembers: bool = False) -> None:
        self.remembers = remembers
        self.directory = root / "sessions"
        self.cache = root / "cache"
        self.directory.mkdir()
        self.clock = Clock()
        self.spans: list[tuple[str, int]] = []
        glance = Journal.glance

        def noted(path: str, scanner: Skim, start: int = 0) -> Journal:
            self.spans.append((os.path.basename(path), start))
            return glance(path, scanner, start)

        monkeypatch.setattr(Journal, "glance", noted)
        self.lister = Lister(ListingIndex(str(self.cache)), self.clock)

    def __call__(self) -> dict[str, Found]:
        lister = self.lister if self.remembers else Lister(ListingIndex(str(self.cache)), self.clock)
        return {os.path.basename(found.path): found for found in lister.sessions(str(self.directory), lambda *_: None)}

    def read(self) -> list[str]:
        names = [name for name, _ in self.spans]
        self.spans.clear()
        return names

    def put(self, name: str, data: bytes | str = "u1 a1") -> Path:
        path = self.directory / name
        path.write_bytes(session_bytes(data) if isinstance(data, str) else data)
        return path


@pytest.fixture(params=["in one process", "in many processes"])
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Lists:
    return Lists(tmp_path, monkeypatch, remembers=request.param == "in one process")


# What is shown


@pytest.mark.parametrize("case", interop.CASES)
def test_the_interop_cases_are_listed_as_pi_lists_them_or_the_table_says_why(case: str, lists: Lists) -> None:
    lists.put("case.jsonl", interop.case_file(case).read_bytes())
    found = lists().get("case.jsonl")
    ours = found and in_pis_names(found)
    pis = interop.expected(case)["listed"]
    difference = LISTING_DIFFERENCES.get(case)
    if difference is None:
        assert (ours and {key: ours[key] for key in pis or ours}) == pis
    elif difference.parts == REFUSED:
        assert ours is None
        assert pis is not None
    else:
        assert ours is not None
        assert {key: ours[key] for key in difference.parts} == difference.parts
        assert pis is None


def in_pis_names(found: Found) -> dict[str, Any]:
    session = found.session
    return {
        "id": session.id,
        "cwd": session.cwd,
        "name": session.name,
        "messageCount": session.message_count,
        "firstMessage": session.first_message,
        "created": iso_of(session.created_ms or 0),
        "modified": iso_of(session.newest_ms or session.created_ms or 0),
    }


def test_generated_sessions_are_listed_as_pi_lists_them(pi: Pi, lists: Lists) -> None:
    for kind in KINDS:
        write(Recipe(120, kind), lists.directory / f"{kind}.jsonl")
    lists.put("names.jsonl", "u1 n1=one a1 n2=two_2 u2 n3=")
    lists.put("name.jsonl", "u1 n1=one a1 l1(u1)")
    by_pi = {Path(info["path"]).name: info for info in pi.list_sessions(lists.directory)}
    ours = lists()
    assert ours.keys() == by_pi.keys()
    for name, found in ours.items():
        assert in_pis_names(found) == {key: by_pi[name].get(key) for key in in_pis_names(found)}, name


def test_only_session_files_are_listed_and_nothing_blocks(lists: Lists, tmp_path: Path) -> None:
    (lists.directory / "linked.jsonl").symlink_to(lists.put("elsewhere"))
    lists.put("whole.jsonl")
    os.mkfifo(lists.directory / "pipe.jsonl")
    (lists.directory / "pipe-link.jsonl").symlink_to("pipe.jsonl")
    (lists.directory / "null.jsonl").symlink_to("/dev/null")
    (lists.directory / "nowhere.jsonl").symlink_to("gone")
    (lists.directory / "circle.jsonl").symlink_to("circle.jsonl")
    (lists.directory / "directory.jsonl").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(lists.directory / "socket.jsonl"))
    for name, data in {"empty": b"", "text": b"hello\n", "binary": bytes(range(256)) * 9, "list": b"[]\n"}.items():
        lists.put(f"{name}.jsonl", data)
    lists.put(".hidden.jsonl.1.draft")
    lists.put("old.jsonl.v1")
    Path(os.fsdecode(os.fsencode(lists.directory) + b"/\xff.jsonl")).write_bytes(session_bytes("u1"))
    assert lists().keys() == {"linked.jsonl", "whole.jsonl"}


def test_a_directory_that_is_not_there_is_empty(tmp_path: Path) -> None:
    lister = Lister(ListingIndex(str(tmp_path)), Clock())
    assert lister.sessions(str(tmp_path / "none"), lambda *_: None) == []
    assert lister.newest(str(tmp_path / "none"), lambda _: True) is None


def test_what_may_not_be_read_is_left_out_and_read_again(unprivileged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists(unprivileged, monkeypatch)
    lists.put("open.jsonl")
    secret = lists.put("secret.jsonl")
    secret.chmod(0)
    assert lists().keys() == {"open.jsonl"}
    secret.chmod(0o600)
    assert lists().keys() == {"open.jsonl", "secret.jsonl"}


def test_huge_headers_and_lines(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    lists.put("long-header.jsonl", session_bytes("u1").replace(b'"/proj"', b'"/' + b"d" * 500_000 + b'"'))
    lists.put("no-header.jsonl", b"x" * (3 << 20))
    lists.put("long-line.jsonl", session_bytes("u1 a1*3000000 u2"))
    monkeypatch.setattr("pid.adapters.journal.LONG_LINE", 1 << 20)
    found = lists()
    assert found.keys() == {"long-header.jsonl", "long-line.jsonl"}
    assert found["long-line.jsonl"].session.message_count == 3


def test_a_listing_can_be_stopped(lists: Lists) -> None:
    for number in range(5):
        lists.put(f"{number}.jsonl")
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        Lister(ListingIndex(str(lists.cache)), lists.clock).sessions(str(lists.directory), tell)
    assert told == [(0, 5), (1, 5), (2, 5)]


# The index


def test_the_second_listing_reads_nothing(lists: Lists) -> None:
    lists.put("a.jsonl")
    lists.put("b.jsonl", "u1 a1 u2 a2 n1=name")
    lists.put("foreign.jsonl", b"hello\n")
    first = lists()
    assert sorted(lists.read()) == ["a.jsonl", "b.jsonl", "foreign.jsonl"]
    assert lists() == first
    assert lists.read() == []


def test_what_grew_is_read_from_where_it_ended(lists: Lists) -> None:
    path = lists.put("a.jsonl", "u1*9000 a1")
    lists.put("b.jsonl")
    lists()
    lists.read()
    end = path.stat().st_size
    more = session_bytes("u1*9000 a1 u2 n1=name")[end:]
    with path.open("ab") as file:
        file.write(more[:50])
    lists()
    with path.open("ab") as file:
        file.write(more[50:])
    assert lists()["a.jsonl"].session == fresh(path)
    assert {start for _, start in lists.spans} == {end}


def fresh(path: Path) -> Skimmed:
    skim = Skim()
    skim.scan(path.read_bytes(), path.stat().st_size, 0)
    return skim.found


def rewritten(path: Path) -> None:
    path.write_bytes(session_bytes("u1=other a1 u2 a2 u3"))


def swapped(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(session_bytes("u1=other a1"))
    os.replace(other, path)


def same_size(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"text":"u1"', b'"text":"v1"'))


def back_in_time(path: Path) -> None:
    before = path.stat()
    same_size(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def shorter(path: Path) -> None:
    path.write_bytes(session_bytes("u1"))


def no_session_any_more(path: Path) -> None:
    path.write_bytes(b"{}\n" + path.read_bytes())


LONG_ENOUGH = b'{"type":"custom","id":"long","parentId":null,"timestamp":"2026-01-06T09:00:00.000Z","data":"%b"}\n' % (
    b"x" * 5000
)
"""More than what is compared when a file goes on: a change before it shows by nothing else."""

CHANGES = [rewritten, swapped, same_size, back_in_time, shorter, no_session_any_more]


@pytest.mark.parametrize("change", CHANGES)
def test_the_index_is_never_trusted_over_the_file(change: Any, lists: Lists) -> None:
    path = lists.put("a.jsonl")
    with path.open("ab") as file:
        file.write(LONG_ENOUGH)
    lists()
    change(path)
    found = lists().get("a.jsonl")
    assert (found and found.session) == (None if change is no_session_any_more else fresh(path))


def test_a_file_that_just_changed_is_read_again(lists: Lists) -> None:
    lists.put("a.jsonl")
    lists.clock.ahead_ns = 0
    lists()
    lists.read()
    lists()
    assert lists.read() == ["a.jsonl"]


def indexes(lists: Lists) -> Iterator[Path]:
    return (lists.cache / "listings").iterdir()


def test_a_damaged_index_is_an_empty_one(lists: Lists) -> None:
    lists.put("a.jsonl")
    first = lists()
    [index] = indexes(lists)
    whole = index.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(len(whole))]
    for raw in [*damaged, *(whole[:size] for size in range(len(whole))), whole + b"x", b"\0" * 5000]:
        index.write_bytes(raw)
        assert ListingIndex(str(lists.cache)).load(str(lists.directory))[1:] == NOTHING_KNOWN
    assert lists() == first
    assert index.read_bytes() == whole or lists() == first


@pytest.mark.parametrize("obstacle", ["file", "fifo", "directory", "link"])
def test_what_stands_in_the_place_of_an_index_does_no_harm(obstacle: str, lists: Lists, tmp_path: Path) -> None:
    lists.put("a.jsonl")
    first = lists()
    [index] = indexes(lists)
    index.rename(tmp_path / "real")
    {
        "file": lambda: (lists.cache / "listings").rename(tmp_path / "moved") and (lists.cache / "listings").touch(),
        "fifo": lambda: os.mkfifo(index),
        "directory": index.mkdir,
        "link": lambda: index.symlink_to(tmp_path / "real"),
    }[obstacle]()
    assert lists() == first
    assert lists() == first


def test_what_another_process_wrote_is_known_at_once(lists: Lists) -> None:
    lists.put("a.jsonl")
    lists()
    for number in range(3):
        lists.put(f"{number}.jsonl", "u1*9000 a1")
        Lister(ListingIndex(str(lists.cache)), lists.clock).sessions(str(lists.directory), lambda *_: None)
        lists.read()
        assert len(lists()) == 2 + number
        assert lists.read() == []


def test_what_is_not_worth_writing_is_written_once_it_adds_up(lists: Lists) -> None:
    for number in range(40):
        lists.put(f"{number}.jsonl")
    lists()
    [index] = indexes(lists)
    first = index.stat().st_size
    for number in range(40, 100):
        lists.put(f"{number}.jsonl")
        assert len(lists()) == number + 1
    [index] = indexes(lists)
    assert index.stat().st_size > 2 * first


def test_an_index_that_is_too_large_is_not_held(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_index, "_MOST_HELD", 1)
    lists.put("a.jsonl")
    first = lists()
    assert lists() == first
    assert lists.lister._index._held == {}
    assert lists.read() == ["a.jsonl"]


def test_an_index_belongs_to_one_directory(lists: Lists, tmp_path: Path) -> None:
    lists.put("a.jsonl")
    lists()
    [index] = indexes(lists)
    other = ListingIndex(str(lists.cache))
    os.link(index, other._path(str(tmp_path)))
    assert other.load(str(tmp_path))[1:] == NOTHING_KNOWN


def test_the_index_is_private_and_leaves_nothing_behind(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    lists.put("a.jsonl")
    lists()
    [index] = indexes(lists)
    assert (index.stat().st_mode & 0o777, index.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    index.unlink()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert lists().keys() == {"a.jsonl"}
    assert list(indexes(lists)) == []


def test_stale_indexes_are_removed(lists: Lists) -> None:
    lists.put("a.jsonl")
    lists()
    [index] = indexes(lists)
    stale = index.with_name("stale")
    stale.touch()
    os.utime(stale, (0, 0))
    index.unlink()
    lists()
    assert list(indexes(lists)) == [index]


# The newest


def test_the_newest_is_the_one_written_last(lists: Lists) -> None:
    for age, name in enumerate(["c", "a", "b"]):
        os.utime(lists.put(f"{name}.jsonl", "u1"), (1000 - age, 1000 - age))
    os.utime(lists.put("foreign.jsonl", b"hello"), (2000, 2000))
    lister = Lister(ListingIndex(str(lists.cache)), lists.clock)
    newest = lister.newest(str(lists.directory), lambda session: session.cwd == "/proj")
    assert newest == str(lists.directory / "c.jsonl")
    assert lists.read() == ["foreign.jsonl", "c.jsonl"]
    assert lister.newest(str(lists.directory), lambda session: session.cwd == "/other") is None
