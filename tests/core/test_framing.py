"""Framing: any chunking of the input gives the same events, and no input ends the stream."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.framing import (
    BELIEVED,
    HEAD,
    MAX_HEADER,
    BadHeader,
    Body,
    CutOff,
    Event,
    Framer,
    Oversized,
    header,
)

LIMIT = 2000


def frame(body: bytes) -> bytes:
    return header(len(body)) + body


def events_of(stream: bytes, cuts: list[int] | None = None, limit: int = LIMIT) -> list[Event]:
    """What a framer says of `stream`, handed over in pieces that end at `cuts`."""
    framer = Framer(limit)
    events: list[Event] = []
    edges = [0, *sorted({cut % (len(stream) + 1) for cut in cuts or []}), len(stream)]
    for start, stop in pairwise(edges):
        events += framer.receive(stream[start:stop])
    return events + framer.end()


def read_into(stream: bytes, step: int, limit: int = LIMIT) -> list[Event]:
    """The same, reading into `room()` whenever there is one."""
    framer = Framer(limit)
    events: list[Event] = []
    at = 0
    while at < len(stream):
        view = framer.room()
        if view is None:
            events += framer.receive(stream[at : at + step])
            at += step
            continue
        piece = stream[at : at + min(step, len(view))]
        view[: len(piece)] = piece
        view.release()
        events += framer.filled(len(piece))
        at += len(piece)
    return events + framer.end()


ACCEPTED = {
    "as LSP writes it": b"Content-Length: 2\r\n\r\n{}",
    "with the type": b"Content-Length: 2\r\nContent-Type: application/x; charset=utf-8\r\n\r\n{}",
    "the type first": b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}",
    "lower case": b"content-length: 2\r\n\r\n{}",
    "upper case": b"CONTENT-LENGTH: 2\r\n\r\n{}",
    "no blank": b"Content-Length:2\r\n\r\n{}",
    "many blanks": b"Content-Length \t: \t 2 \t\r\n\r\n{}",
    "LF alone": b"Content-Length: 2\n\n{}",
    "mixed line ends": b"Content-Length: 2\n\r\n{}",
    "leading zeros": b"Content-Length: 0002\r\n\r\n{}",
    "blank lines before": b"\r\n\n\r\nContent-Length: 2\r\n\r\n{}",
    "said twice alike": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "another header that ends alike": b"X-Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}",
    "a line that is no header": b"hello from a print\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("stream", ACCEPTED.values(), ids=ACCEPTED)
def test_a_header_is_read_however_it_is_written(stream: bytes) -> None:
    assert events_of(stream * 2) == [Body(b"{}")] * 2


REFUSED = {
    "no length": b"Content-Type: x\r\n\r\n",
    "negative": b"Content-Length: -2\r\n\r\n",
    "not a number": b"Content-Length: two\r\n\r\n",
    "a fraction": b"Content-Length: 2.0\r\n\r\n",
    "hexadecimal": b"Content-Length: 0x2\r\n\r\n",
    "other digits": "Content-Length: ٢\r\n\r\n".encode(),
    "empty": b"Content-Length:\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
    "past what is believed": b"Content-Length: %d\r\n\r\n" % (BELIEVED + 1),
    "10^12": b"Content-Length: 1000000000000\r\n\r\n",
    "a hundred digits": b"Content-Length: " + b"9" * 100 + b"\r\n\r\n",
    "a long header": b"X: " + b"y" * MAX_HEADER + b"\r\nContent-Length: z\r\n\r\n",
    "a long header behind a length": b"Content-Length: 2\r\nX: " + b"y" * MAX_HEADER + b"\r\n\r\n",
    "JSON without a header": b'{"jsonrpc":"2.0","id":1,"method":"Content-Length: 4"}\n\n',
}


@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED)
def test_a_bad_header_is_reported_and_the_stream_goes_on(bad: bytes) -> None:
    stream = frame(b"[1]") + bad + b'{"a":1}' + frame(b"[2]") + frame(b"[3]")
    first, problem, *rest = events_of(stream)
    assert (first, rest) == (Body(b"[1]"), [Body(b"[2]"), Body(b"[3]")])
    assert isinstance(problem, BadHeader)


def test_a_length_glued_to_a_body_is_found() -> None:
    events = events_of(b'{"jsonrpc":"2.0"}' + frame(b"[1]") + frame(b"[2]"))
    assert [type(event) for event in events] == [BadHeader, Body, Body]


def test_a_length_counts_bytes() -> None:
    body = '{"text":"ä€𝄞"}'.encode()
    assert events_of(frame(body) + frame(b"{}")) == [Body(body), Body(b"{}")]


def test_an_empty_body_is_a_message() -> None:
    assert events_of(frame(b"") + frame(b"{}")) == [Body(b""), Body(b"{}")]


def test_a_body_past_the_limit_is_passed_over() -> None:
    big = b"x" * (LIMIT + 1)
    events = events_of(frame(b"x" * LIMIT) + frame(big) + frame(b"{}"))
    assert events == [Body(b"x" * LIMIT), Oversized(LIMIT + 1, big[:HEAD]), Body(b"{}")]


def test_a_body_past_the_limit_is_not_kept() -> None:
    framer = Framer(LIMIT)
    framer.receive(header(10**10))
    for _ in range(100):
        framer.receive(bytes(10_000))
    assert framer.room() is None
    assert sum(len(value) for value in vars(framer).values() if isinstance(value, bytes | bytearray)) == 0


def test_a_promised_body_takes_no_room_before_it_comes() -> None:
    framer = Framer()
    framer.receive(header(200_000_000))
    view = framer.room()
    assert view is not None
    assert len(view) <= 1024 * 1024


def test_a_large_body_read_in_place() -> None:
    body = bytes(range(256)) * 20_000
    stream = frame(b"[1]") + frame(body) + frame(b"[2]")
    assert read_into(stream, 65_536, limit=len(body)) == [Body(b"[1]"), Body(body), Body(b"[2]")]


CUT_OFF = {
    "in a body": (b"Content-Length: 10\r\n\r\n{}", CutOff(2, 10)),
    "before a body": (b"Content-Length: 10\r\n\r\n", CutOff(0, 10)),
    "in a header": (b"Content-Len", CutOff(0, None)),
    "before the blank line": (b"Content-Length: 10\r\n", CutOff(0, None)),
    "in an oversized body": (b"Content-Length: 3000\r\n\r\n{}", Oversized(3000, b"{}")),
}


@pytest.mark.parametrize(("stream", "told"), CUT_OFF.values(), ids=CUT_OFF)
def test_the_end_inside_a_message_is_told(stream: bytes, told: Event) -> None:
    assert events_of(frame(b"{}") + stream) == [Body(b"{}"), told]


@pytest.mark.parametrize("stream", [b"", b"\r\n", frame(b"{}"), REFUSED["no length"]])
def test_the_end_between_messages_is_no_event(stream: bytes) -> None:
    assert not any(isinstance(event, CutOff) for event in events_of(stream))


good = st.one_of(st.binary(max_size=60), st.binary(min_size=LIMIT - 2, max_size=LIMIT + 2)).map(frame)
scraps = [b"\r\n", b"}", b"Content-Length: 5", b"\r", b"\n\n"]
bad = st.sampled_from([*REFUSED.values(), *ACCEPTED.values(), *scraps])
streams = st.lists(good | bad | st.binary(max_size=30), max_size=8).map(b"".join)


@settings(max_examples=300)
@given(streams, st.lists(st.integers(min_value=0, max_value=40_000), max_size=30))
def test_any_chunking_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    assert events_of(stream, cuts) == events_of(stream)


@given(streams, st.sampled_from([1, 7, 64, 1000]))
def test_reading_in_place_gives_the_same_events(stream: bytes, step: int) -> None:
    assert read_into(stream, step) == events_of(stream)


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_what_is_framed_comes_back(bodies: list[bytes]) -> None:
    assert events_of(b"".join(map(frame, bodies))) == [Body(body) for body in bodies]
