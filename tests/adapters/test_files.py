"""Reading small files of unknown origin: what is refused, and that nothing blocks."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.adapters import files
from pid.adapters.files import BoundedReader, Unusable, is_regular, read_text


def kind(call: Callable[[], object]) -> str:
    with pytest.raises(Unusable) as caught:
        call()
    return caught.value.kind


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_text_loses_its_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = written(tmp_path / "a", "\ufeffone\r\ntwo\rthree\u2028\n".encode())
    assert read_text(path) == "one\ntwo\rthree\u2028\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"text\0more", "binary"),
        (b"caf\xe9", "invalidUtf8"),
        (b"\xed\xa0\x80", "invalidUtf8"),
        ("text".encode("utf-16"), "binary"),
        ("\u4f60\u597d".encode("utf-16"), "invalidUtf8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, expected: str) -> None:
    assert kind(lambda: read_text(written(tmp_path / "a", data))) == expected


def test_a_file_may_be_as_large_as_its_bound_and_no_larger(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"x" * files.MAX_FILE_BYTES)
    assert len(read_text(path)) == files.MAX_FILE_BYTES
    assert kind(lambda: read_text(path, files.MAX_FILE_BYTES - 1)) == "tooLarge"


def test_a_sparse_file_of_a_gigabyte_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a", b"")
    os.truncate(path, 1 << 30)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("it was read"))
    assert kind(lambda: read_text(path)) == "tooLarge"


def test_a_file_that_grows_while_it_is_read_stays_within_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a", b"x")
    real_read = os.read

    def read_behind_a_writer(descriptor: int, size: int) -> bytes:
        with open(path, "ab") as writer:
            writer.write(b"y" * size)
        return real_read(descriptor, size)

    monkeypatch.setattr(os, "read", read_behind_a_writer)
    assert kind(lambda: read_text(path, 1 << 18)) == "tooLarge"


@pytest.mark.skipif(sys.platform != "linux", reason="files without a size are Linux's")
def test_a_file_without_a_size_is_read(tmp_path: Path) -> None:
    assert read_text("/proc/self/status").startswith("Name:")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "a"
    make(path)
    assert kind(lambda: is_regular(str(path))) == "notAFile"
    assert kind(lambda: read_text(str(path))) in {"notAFile", "unreadable"}


def test_sockets_and_devices_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a")
        assert kind(lambda: is_regular(str(tmp_path / "a"))) == "notAFile"
    assert kind(lambda: read_text("/dev/zero")) == "notAFile"
    assert kind(lambda: is_regular("/dev/zero")) == "notAFile"


def test_nothing_is_no_file(tmp_path: Path) -> None:
    inside_a_file = written(tmp_path / "a", b"")
    assert not is_regular(str(tmp_path / "none"))
    assert not is_regular(f"{inside_a_file}/b")
    assert kind(lambda: read_text(str(tmp_path / "none"))) == "unreadable"


def test_links_are_followed_and_told_when_they_lead_nowhere(tmp_path: Path) -> None:
    targets = {"good": "file", "broken": "gone", "self": "self", "there": "back", "back": "there"}
    written(tmp_path / "file", b"text")
    for name, target in targets.items():
        (tmp_path / name).symlink_to(target)
    assert is_regular(str(tmp_path / "good"))
    assert kind(lambda: is_regular(str(tmp_path / "broken"))) == "brokenLink"
    assert {kind(lambda n=n: is_regular(str(tmp_path / n))) for n in ("self", "there", "back")} == {"linkCircle"}
    assert kind(lambda: read_text(str(tmp_path / "self"))) == "linkCircle"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
def test_a_path_that_is_not_utf8_is_refused_and_can_be_told(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    written(Path(path), b"text")
    assert kind(lambda: is_regular(path)) == "badName"
    assert files.tellable(path) == f"{tmp_path}/caf\ufffd"


def test_a_file_without_permission_is_unreadable(unprivileged: Path) -> None:
    path = written(unprivileged / "a", b"secret")
    os.chmod(path, 0)
    assert is_regular(path)
    assert kind(lambda: read_text(path)) == "unreadable"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/mem is Linux's")
def test_an_error_while_reading_is_told() -> None:
    assert is_regular("/proc/self/mem")
    assert kind(lambda: read_text("/proc/self/mem")) == "unreadable"


def replace_by_rename(path: str, text: bytes) -> None:
    os.replace(written(Path(path + ".new"), text), path)


def write_in_place(path: str, text: bytes) -> None:
    Path(path).write_bytes(text)


@pytest.mark.parametrize("change", [replace_by_rename, write_in_place])
@pytest.mark.parametrize("times", [1, files.ATTEMPTS])
def test_a_file_changed_while_it_is_read_is_read_again_and_never_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[str, bytes], None], times: int
) -> None:
    """A real writer comes in behind the first piece of each reading, `times` times."""
    path = written(tmp_path / "a", b"old " * 50_000)
    real_read, changes = os.read, iter(range(times))
    first_of_its_reading = True

    def read_and_change(descriptor: int, size: int) -> bytes:
        nonlocal first_of_its_reading
        chunk = real_read(descriptor, size)
        if first_of_its_reading and (number := next(changes, None)) is not None:
            change(path, f"new{number} ".encode() * 50_000)
        first_of_its_reading = not chunk
        return chunk

    monkeypatch.setattr(os, "read", read_and_change)
    if times < files.ATTEMPTS:
        assert read_text(path) == "new0 " * 50_000
    else:
        assert kind(lambda: read_text(path)) == "changedWhileRead"


def test_a_bounded_reader_ends_at_its_total(tmp_path: Path) -> None:
    """What comes after the one that passes it is not even looked at."""
    paths = [written(tmp_path / name, b"12345") for name in "ab"]
    reader = BoundedReader(9)
    assert reader.read(paths[0]) == "12345"
    assert kind(lambda: reader.read(paths[1])) == "tooMuch"
    assert kind(lambda: reader.read(str(tmp_path / "none"))) == "tooMuch"


@given(data=st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any", data)
    try:
        assert read_text(path).encode() == data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    except Unusable as error:
        assert error.kind in {"binary", "invalidUtf8"}
