"""The benchmarks' readers lose nothing, however the bytes arrive."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.bare import bodies
from tests.benchmarks.counting import FrameCounter
from tests.lines import Ended, Lines

BODIES = st.lists(st.one_of(st.just(b"Content-Length: 3\r\n\r\n"), st.binary(max_size=300)), max_size=8)


def framed(each: list[bytes]) -> bytes:
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in each)


@given(BODIES, st.integers(1, 70))
def test_messages_are_counted_in_any_chunking(each: list[bytes], step: int) -> None:
    counter, stream = FrameCounter(), framed(each)
    for at in range(0, len(stream), step):
        known = counter.receive(stream[at : at + step])
        ends = [len(framed(each[: count + 1])) for count in range(len(each))]
        assert known == sum(end <= at + step for end in ends)
    assert counter.whole == len(each)


def test_what_is_no_message_is_told() -> None:
    with pytest.raises(ValueError, match="not a message"):
        FrameCounter().receive(b"Traceback (most recent call last): and so on")


@given(BODIES, st.integers(0, 400))
def test_the_bare_loop_takes_whole_messages_and_leaves_the_rest(each: list[bytes], kept: int) -> None:
    pending = bytearray(framed(each)[:kept])
    first = list(bodies(pending))
    pending += framed(each)[kept:]
    assert [*first, *bodies(pending)] == each
    assert not pending


def test_lines_come_whole_within_their_time() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as sink:
        lines = Lines(stream)
        sink.write(b"one\ntwo\n\nfo")
        assert [lines.next(1), lines.next(1), lines.next(1)] == [b"one", b"two", b""]
        sink.write(b"ur\n5\n6\n7\n8")
        assert lines.next(1) == b"four"
        lines.skip(2, 1)
        assert lines.next(1) == b"7"
        with pytest.raises(TimeoutError):
            lines.next(0.01)
        sink.close()
        with pytest.raises(Ended):
            lines.next(1)
