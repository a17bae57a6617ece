"""Session files on disk: opened untouched, read on, appended to, and told apart from files that changed."""

import errno
import itertools
import os
import stat

import pytest

from pid.adapters import journal as module
from pid.adapters.journal import Found, Journal
from pid.core.tree import Tree
from pid.errors import NotASession, ReadFailed, SessionChangedOnDisk, SessionExists, SessionNotFound, WriteFailed
from tests.core.test_lines import HEADER, compact, entry


class Opened:
    """A journal with its tree, as a session has them."""

    def __init__(self, path, journal=None):
        self.tree = Tree()
        self.journal = journal or Journal.open(str(path), self.tree.rows)
        self.problems = []
        self.advance(opening=True)

    def advance(self, **how):
        for batch in self.journal.advance(**how):
            self.tree.extend(batch)
        self.problems += [problem.kind for problem in self.tree.settle().problems]
        return self.tree.ids


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "session.jsonl"
    file.write_bytes(HEADER + compact(entry("u1")) + b"\n" + compact(entry("a1", "u1", "assistant")) + b"\n")
    return file


def test_opening_reads_and_never_writes(path):
    before, seen = path.read_bytes(), path.stat()
    opened = Opened(path)
    assert opened.tree.ids == ["u1", "a1"]
    assert opened.journal.end == len(before)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, seen.st_mtime_ns)


def test_bodies_are_read_by_their_places(path):
    opened = Opened(path)
    places = list(zip(opened.tree.starts, opened.tree.sizes, strict=True))
    assert opened.journal.read(places) == [compact(entry("u1")), compact(entry("a1", "u1", "assistant"))]
    assert opened.journal.read(places[::-1]) == [compact(entry("a1", "u1", "assistant")), compact(entry("u1"))]
    assert opened.journal.read([]) == []
    assert opened.journal.line_at(places[1][0]) == 3


@pytest.mark.parametrize("size", [1, 2, 50, 200, 1000])
def test_slices_of_any_size_give_the_same(path, monkeypatch, size):
    with path.open("ab") as file:
        file.write(compact(entry("long", "a1", text="x" * 3000)) + b"\n" + compact(entry("last", "long")))
    monkeypatch.setattr(module, "SLICE_BYTES", size)
    opened = Opened(path)
    assert opened.tree.ids == ["u1", "a1", "long", "last"]
    assert opened.journal.read([(opened.tree.starts[2], opened.tree.sizes[2])]) == [
        compact(entry("long", "a1", text="x" * 3000))
    ]


def test_a_line_too_long_to_hold_is_indexed_by_its_ends(path, monkeypatch):
    monkeypatch.setattr(module, "SLICE_BYTES", 64)
    monkeypatch.setattr(module, "LONG_LINE", 1024)
    line = compact(entry("long", "a1", text="x" * 500_000))
    with path.open("ab") as file:
        file.write(line + b"\n" + compact(entry("last", "long")) + b"\n")
    opened = Opened(path)
    assert opened.tree.ids == ["u1", "a1", "long", "last"]
    assert opened.journal.read([(opened.tree.starts[2], opened.tree.sizes[2])]) == [line]
    assert opened.problems == []


@pytest.mark.parametrize("excess", [0, 1])
def test_a_line_is_too_long_whatever_stands_before_it(tmp_path, monkeypatch, excess):
    """Also a label, of which the ends do not tell enough: else the tree would change with the way it was read."""
    monkeypatch.setattr(module, "LONG_LINE", 1 << 17)
    monkeypatch.setattr(module, "SLICE_BYTES", 1 << 17)
    label = {"type": "label", "id": "l", "parentId": None, "targetId": "l", "label": ""}
    label["label"] = "x" * ((1 << 17) - len(compact(label)) - 1 + excess)
    file = tmp_path / "s.jsonl"
    found = []
    for before in (0, 1, 100, 1000):
        file.write_bytes(HEADER + b"\n" * before)
        grown = Opened(file)
        with file.open("ab") as end:
            end.write(compact(label) + b"\n")
        grown.advance()
        found += [grown.tree.ids, Opened(file).tree.ids]
    assert found == [[] if excess else ["l"]] * 8


def test_a_long_line_without_an_end_is_half_a_line(path, monkeypatch):
    monkeypatch.setattr(module, "SLICE_BYTES", 64)
    monkeypatch.setattr(module, "LONG_LINE", 1024)
    line = compact(entry("long", "a1", text="x" * 5000))
    with path.open("ab") as file:
        file.write(line[:3000])
    opened = Opened(path)
    assert (opened.tree.ids, opened.problems) == (["u1", "a1"], ["tornLine"])
    with path.open("ab") as file:
        file.write(line[3000:] + b"\n")
    assert opened.advance() == ["u1", "a1", "long"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"hello\n", b"\x00\x01\x02", b"[]\n", compact(entry("u1")) + b"\n", HEADER[:40], b"x" * (3 << 20)],
)
def test_what_is_no_session_is_refused_untouched(tmp_path, content):
    file = tmp_path / "notes.jsonl"
    file.write_bytes(content)
    with pytest.raises(NotASession):
        Opened(file)
    assert file.read_bytes() == content


def test_special_files_are_refused_without_blocking(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for special in (tmp_path / "fifo", tmp_path, "/dev/null"):
        with pytest.raises(NotASession):
            Journal.open(str(special), {})
    with pytest.raises(SessionNotFound):
        Journal.open(str(tmp_path / "none"), {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(path):
    path.chmod(0)
    with pytest.raises(ReadFailed):
        Journal.open(str(path), {})


def test_appending_leaves_what_is_there(path):
    before = path.read_bytes()
    opened = Opened(path)
    assert opened.journal.try_lock()
    opened.journal.write(compact(entry("u2", "a1")) + b"\n" + compact(entry("a2", "u2")))
    opened.journal.sync()
    opened.journal.unlock()
    assert opened.advance() == ["u1", "a1", "u2", "a2"]
    assert path.read_bytes() == before + compact(entry("u2", "a1")) + b"\n" + compact(entry("a2", "u2")) + b"\n"


@pytest.mark.parametrize("tail", [compact(entry("tail", "a1")), compact(entry("tail", "a1"))[:-1], b'{"type":"mess'])
def test_a_missing_line_break_is_added_before_our_line(path, tail):
    with path.open("ab") as file:
        file.write(tail)
    opened = Opened(path)
    before = path.read_bytes()
    opened.journal.write(compact(entry("u2", "a1")))
    opened.advance()
    assert path.read_bytes() == before + b"\n" + compact(entry("u2", "a1")) + b"\n"
    assert "u2" in opened.tree.rows
    again = Opened(path)
    assert again.tree.ids == opened.tree.ids
    assert list(again.tree.flags) == list(opened.tree.flags)


def test_half_a_line_of_another_writer_stays_pending(path):
    opened = Opened(path)
    line = compact(entry("b1", "a1")) + b"\n"
    with path.open("ab", buffering=0) as file:
        file.write(line[:60])
        assert opened.journal.verify() is Found.GROWN
        assert opened.advance() == ["u1", "a1"]
        assert opened.journal.verify() is Found.SAME
        file.write(line[60:])
        assert opened.journal.verify() is Found.GROWN
        assert opened.advance() == ["u1", "a1", "b1"]
    assert opened.problems == []


def test_a_torn_tail_is_told_at_opening_only(path):
    with path.open("ab") as file:
        file.write(b'{"type":"mess')
    assert Opened(path).problems == ["tornLine"]


def rewrite(path):
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"u1", b"zz"))


def replace(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.unlink(), "deleted"),
        (rewrite, "rewritten"),
        (lambda path: os.truncate(path, 100), "truncated"),
    ],
)
def test_another_file_under_the_journal(path, change, reason):
    opened = Opened(path)
    change(path)
    with pytest.raises(SessionChangedOnDisk) as error:
        opened.journal.verify()
    assert error.value.details["reason"] == reason


def test_another_file_under_the_same_name(path):
    opened = Opened(path)
    replace(path)
    assert opened.journal.verify() is Found.REPLACED


def test_growth_shows_until_it_was_read(path):
    opened = Opened(path)
    with path.open("ab") as file:
        file.write(compact(entry("b1", "a1")) + b"\n")
    assert opened.journal.verify() is Found.GROWN
    assert opened.journal.verify() is Found.GROWN
    assert opened.advance() == ["u1", "a1", "b1"]


@pytest.mark.parametrize("content", ["x", "x" * 10_000], ids=["short lines", "long lines"])
def test_a_slice_is_bounded_in_lines_and_in_bytes(path, content):
    line = compact(entry("e1", "a1", content=content))
    path.write_bytes(HEADER + (line + b"\n") * (12_000 if len(content) == 1 else 500))
    journal = Journal.open(str(path), ())
    batches, places = [], [0]
    for batch in journal.advance(opening=True):
        batches.append(batch)
        places.append(journal.end)
    assert places[-1] == path.stat().st_size
    assert max(len(batch.ids) for batch in batches) <= 1.1 * module.SLICE_LINES
    assert max(stop - start for start, stop in itertools.pairwise(places)) <= module.SLICE_BYTES
    assert len(batches) <= 2 + path.stat().st_size // min(module.SLICE_BYTES - len(line), 1000 * len(line))


def test_what_comes_while_it_reads_shows_in_the_next_look(path):
    opened = Opened(path)
    with path.open("ab", buffering=0) as file:
        file.write(compact(entry("b1", "a1")) + b"\n")
        for batch in opened.journal.advance():
            opened.tree.extend(batch)
            if not batch.problems and "b2" not in opened.tree.rows:
                late = compact(entry("b2", "b1")) + b"\n"
        file.write(late)
    assert opened.journal.verify() is Found.GROWN


def test_line_numbers_from_any_side(path):
    opened = Opened(path)
    for row in (1, 0, 1, 1, 0):
        assert opened.journal.line_at(opened.tree.starts[row]) == row + 2


def test_a_fragment_that_cannot_be_cut_back_is_of_unknown_outcome(path, monkeypatch):
    opened = Opened(path)
    real, line = os.write, compact(entry("u2", "a1"))
    broken = OSError(errno.EIO, os.strerror(errno.EIO))

    def torn(fd, data):
        if len(data) < len(line):
            raise broken
        return real(fd, bytes(data)[:-2])

    def refused(fd, size):
        raise broken

    monkeypatch.setattr(module.os, "write", torn)
    monkeypatch.setattr(module.os, "ftruncate", refused)
    with pytest.raises(WriteFailed) as error:
        opened.journal.write(line)
    assert error.value.details["outcome"] == "unknown"
    monkeypatch.undo()
    opened.advance()
    opened.journal.write(compact(entry("u3", "a1")))
    assert opened.advance() == ["u1", "a1", "u2", "u3"]  # u2 keeps its place, without a body


def test_reading_behind_a_truncation_says_so(path):
    opened = Opened(path)
    os.truncate(path, 100)
    with pytest.raises(SessionChangedOnDisk):
        opened.journal.read([(opened.tree.starts[1], opened.tree.sizes[1])])


def test_a_touched_file_is_still_the_same(path):
    opened = Opened(path)
    os.utime(path)
    assert opened.journal.verify() is Found.SAME


def test_the_lock_is_one_processs(path):
    one, other = Opened(path), Opened(path)
    assert one.journal.try_lock()
    assert not other.journal.try_lock()
    one.journal.unlock()
    assert other.journal.try_lock()
    other.journal.close()
    assert one.journal.try_lock()


def test_without_locks_it_goes_on(path, monkeypatch):
    def none(fd, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    opened = Opened(path)
    monkeypatch.setattr(module.fcntl, "flock", none)
    assert opened.journal.try_lock()
    assert not opened.journal.locks
    opened.journal.unlock()


def test_creating(tmp_path):
    tree = Tree()
    target = tmp_path / "deep" / "er" / "s.jsonl"
    journal = Journal.create(str(target), HEADER.rstrip(b"\n"), tree.rows)
    assert target.read_bytes() == HEADER
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700
    assert Opened(target, journal).tree.ids == []
    with pytest.raises(SessionExists):
        Journal.create(str(target), HEADER, {})
    assert target.read_bytes() == HEADER


def test_a_write_that_fails_is_cut_back(path, monkeypatch):
    opened = Opened(path)
    before = path.read_bytes()
    real, calls = os.write, []

    def short(fd, data):
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, bytes(data)[:10])

    monkeypatch.setattr(module.os, "write", short)
    with pytest.raises(WriteFailed) as error:
        opened.journal.write(compact(entry("u2", "a1")))
    assert error.value.data == {
        "kind": "writeFailed",
        "retryable": True,
        "errno": errno.ENOSPC,
        "outcome": "notWritten",
    }
    monkeypatch.undo()
    assert path.read_bytes() == before
    opened.journal.write(compact(entry("u2", "a1")))
    assert opened.advance() == ["u1", "a1", "u2"]


def test_a_fragment_with_anothers_line_behind_it_stays(path, monkeypatch):
    opened = Opened(path)
    real = os.write

    def torn(fd, data):
        real(fd, bytes(data)[:10])
        with path.open("ab") as file:
            file.write(b"\n" + compact(entry("b1", "a1")) + b"\n")
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(module.os, "write", torn)
    with pytest.raises(WriteFailed):
        opened.journal.write(compact(entry("u2", "a1")))
    monkeypatch.undo()
    assert opened.advance() == ["u1", "a1", "b1"]
    assert opened.problems == ["malformedLine"]


def test_a_failing_sync_is_of_unknown_outcome(path, monkeypatch):
    opened = Opened(path)

    def broken(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(module, "_sync", broken)
    with pytest.raises(WriteFailed) as error:
        opened.journal.sync()
    assert error.value.details["outcome"] == "unknown"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_file_is_read(path):
    path.chmod(0o400)
    opened = Opened(path)
    with pytest.raises(WriteFailed) as error:
        opened.journal.write(b"{}")
    assert error.value.details["outcome"] == "notWritten"
