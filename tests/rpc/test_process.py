"""The server as a process: signals, the parent, stdio of every kind, exit codes. Each ends within a second."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.rpc.peer import Json, framed, notification, request

TINY = [sys.executable, "-m", "tests.rpc.tiny"]
ROOT = Path(__file__).parents[2]
HELLO = framed(request(0, "initialize", {})) + framed(notification("initialized", {}))
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
LONG = 20.0  # seconds; a bound for a hang on a busy machine, not a figure


def parsed(data: bytes) -> list[Json]:
    """The messages in what a server wrote, which is nothing but messages."""
    messages = []
    while data:
        header = re.match(rb"Content-Length: (\d+)\r\n\r\n", data)
        assert header, f"not a header: {data[:200]!r}"
        end = header.end() + int(header[1])
        messages.append(json.loads(data[header.end() : end]))
        data = data[end:]
    return messages


def started(**streams: Any) -> subprocess.Popen[bytes]:
    """A server that is killed when the test takes too long, so that no read waits for ever."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **streams}
    process = subprocess.Popen(TINY, cwd=ROOT, env=ENV, **options)
    watchdog = threading.Timer(LONG, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process


@contextlib.contextmanager
def tiny(**streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has answered `initialize`."""
    process = started(**streams)
    try:
        send(process, HELLO)
        assert receive(process)["id"] == 0
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def send(process: subprocess.Popen[bytes], *messages: bytes | Json) -> None:
    stdin = opened(process.stdin)
    stdin.write(b"".join(m if isinstance(m, bytes) else framed(m) for m in messages))
    stdin.flush()


def receive(process: subprocess.Popen[bytes]) -> Json:
    stdout = opened(process.stdout)
    length = re.fullmatch(rb"Content-Length: (\d+)\r\n", stdout.readline())
    assert length
    assert stdout.readline() == b"\r\n"
    return json.loads(stdout.read(int(length[1])))


def opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def run(data: bytes, **streams: Any) -> tuple[list[Json], int]:
    """What a server answers to this and its end, and its exit code."""
    process = started(**streams)
    out, _ = process.communicate(data, timeout=LONG)
    return parsed(out), process.returncode


def test_a_session_and_its_exit_code() -> None:
    bye = framed(request(1, "shutdown")) + framed(notification("exit"))
    answers, code = run(HELLO + bye)
    assert ([answer["id"] for answer in answers], code) == ([0, 1], 0)


@pytest.mark.parametrize("end", [b"", framed(notification("exit"))], ids=["end of input", "exit"])
def test_without_shutdown_the_exit_code_is_1(end: bytes) -> None:
    assert run(HELLO + end)[1] == 1


def test_no_input_at_all() -> None:
    assert run(b"") == ([], 1)


def test_input_from_a_file(tmp_path: Path) -> None:
    """No selector waits for a file."""
    big = framed(request(2, "test/echo", {"value": "x" * 3_000_000}))
    file = tmp_path / "input"
    file.write_bytes(HELLO + framed(request(1, "test/release")) + big + framed(request(3, "shutdown")))
    with file.open("rb") as stdin:
        process = started(stdin=stdin)
        out, _ = process.communicate(timeout=LONG)
    assert [answer["id"] for answer in parsed(out)] == [0, 1, 2, 3]
    assert process.returncode == 0


def test_output_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "output"
    with file.open("wb") as stdout:
        assert run_to(stdout) == 1
    assert [answer["id"] for answer in parsed(file.read_bytes())] == [0, 1]


def run_to(stdout: Any, **streams: Any) -> int:
    process = started(stdout=stdout, **streams)
    process.communicate(HELLO + framed(request(1, "test/items", {"count": 50_000})), timeout=LONG)
    return process.returncode


def test_output_to_nowhere() -> None:
    assert run_to(subprocess.DEVNULL) == 1


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_standard_stream_that_is_closed(closed: int) -> None:
    """It ends by itself, and takes no other file for the one that is missing."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {closed}<&-', "sh", *TINY],
        cwd=ROOT, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, _ = process.communicate(HELLO, timeout=LONG)
    assert process.returncode == 1
    assert len(parsed(out)) == (1 if closed == 2 else 0)


def test_a_socket_for_both_directions() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = started(stdin=theirs, stdout=theirs)
        ours.sendall(HELLO + framed(request(1, "shutdown")) + framed(notification("exit")))
        process.wait(LONG)
        assert [answer["id"] for answer in parsed(ours.recv(1_000_000))] == [0, 1]
        assert os.get_blocking(theirs.fileno())


def test_the_blocking_flags_are_given_back() -> None:
    """A terminal that the daemon shares with a shell stays usable."""
    our_in, their_out = os.pipe()
    their_in, our_out = os.pipe()
    process = started(stdin=their_in, stdout=their_out)
    os.write(our_out, HELLO)
    assert select.select([our_in], [], [], LONG)[0]
    assert not os.get_blocking(their_in)
    assert not os.get_blocking(their_out)
    os.write(our_out, framed(notification("exit")))
    process.wait(LONG)
    assert os.get_blocking(their_in)
    assert os.get_blocking(their_out)
    for descriptor in (our_in, our_out, their_in, their_out):
        os.close(descriptor)


def test_stray_prints_do_not_break_the_framing() -> None:
    process = started(stderr=subprocess.PIPE)
    work = request(1, "test/noise", {"count": 3, "size": 10})
    out, err = process.communicate(HELLO + framed(work) + framed(request(2, "test/release")), timeout=LONG)
    assert [answer["id"] for answer in parsed(out)] == [0, 1, 2]
    for text in (b"a stray print", b"a stray write", b"more noise", b"noise nnnnnnnnnn"):
        assert text in err


def test_a_stderr_that_nobody_reads_does_not_hold_it() -> None:
    with tiny(stderr=subprocess.PIPE) as process:
        for i in range(1, 20):
            send(process, request(i, "test/noise", {"count": 50, "size": 1000}))
            assert receive(process) == {"jsonrpc": "2.0", "id": i, "result": None}


def test_a_stderr_whose_reader_is_gone() -> None:
    with tiny(stderr=subprocess.PIPE) as process:
        opened(process.stderr).close()
        send(process, request(1, "test/noise", {"count": 50, "size": 1000}))
        assert receive(process)["id"] == 1


def ends(process: subprocess.Popen[bytes], since: float) -> list[Json]:
    """What came to the end, which comes within a second and a little for a busy machine."""
    rest = parsed(opened(process.stdout).read())
    process.wait(LONG)
    assert time.monotonic() - since < 3
    return rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_signal_ends_it(number: signal.Signals, busy: bool) -> None:
    """What was received is answered; what does not end is cancelled, or told to be unfinished."""
    with tiny() as process:
        if busy:
            send(process, request(1, "test/step", {"name": "a", "seconds": 0.1}))
            send(process, request(2, "test/step", {"name": "b", "seconds": 3600}), request(3, "test/stubborn"))
            send(process, request(4, "test/release"))
            assert receive(process)["id"] == 4
        since = time.monotonic()
        process.send_signal(number)
        answers = {answer["id"]: answer for answer in ends(process, since)}
        assert process.returncode == 1
        if busy:
            assert answers[1]["result"] == {"name": "a"}
            assert answers[2]["error"]["code"] == -32800
            assert answers[3]["error"]["data"]["outcome"] == "unknown"


def test_the_end_of_input_ends_it_though_a_handler_is_stuck() -> None:
    with tiny() as process:
        send(process, request(1, "test/stubborn"), request(2, "test/thread"))
        since = time.monotonic()
        opened(process.stdin).close()
        assert {answer["id"] for answer in ends(process, since)} == {1, 2}


def test_a_client_that_reads_no_more_ends_it() -> None:
    with tiny() as process:
        opened(process.stdout).close()
        since = time.monotonic()
        send(process, request(1, "test/release"))
        process.wait(LONG)
        assert time.monotonic() - since < 3
        assert process.returncode == 1


def test_a_parent_that_is_gone_ends_it() -> None:
    """Its stdin stays open: somebody else may hold the other end."""
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = started()
    try:
        send(process, request(0, "initialize", {"processId": parent.pid}))
        assert receive(process)["id"] == 0
        send(process, request(1, "test/release"))
        assert receive(process)["id"] == 1
        since = time.monotonic()
        parent.kill()
        assert ends(process, since) == []
        assert process.returncode == 1
    finally:
        process.kill()
        parent.kill()
        parent.communicate()
        process.communicate()


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40, 2**70])
def test_a_parent_that_cannot_be_seen_is_not_watched(pid: int) -> None:
    process = started()
    try:
        send(process, request(0, "initialize", {"processId": pid}))
        assert receive(process)["id"] == 0
        time.sleep(0.6)
        send(process, request(1, "test/release"))
        assert receive(process)["id"] == 1
    finally:
        process.kill()
        process.communicate()
