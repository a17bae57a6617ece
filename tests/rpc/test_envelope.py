"""Results in pieces: the same JSON as in one go, large raw parts not copied, each piece of a bounded size."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pid.core.framing import BadHeader, Body, CutOff, Oversized
from pid.protocol import Wire
from pid.shell import envelope
from pid.shell.envelope import peek, read_event
from pid.shell.results import fill, filled, outline


class Inner(Wire):
    rows: list[Any]
    note: str | None = None


class Outer(Wire):
    first_rows: list[Any]
    inner: Inner
    raw: msgspec.Raw
    last: int = 7
    gone: list[Any] | None = None


def whole(value: Any) -> bytes:
    return b"".join(filled(*outline(value)))


raws = st.sampled_from([b"1", b'"x"', b'{"a":[1,2]}', b'"' + b"z" * 70_000 + b'"']).map(msgspec.Raw)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | raws,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.tuples(inner, st.integers(60, 70)).map(lambda pair: [pair[0]] * pair[1])
        | st.builds(Inner, rows=st.lists(inner, max_size=3), note=st.none() | st.text(max_size=3))
        | st.builds(
            Outer, first_rows=st.lists(inner, max_size=3), inner=st.builds(Inner, rows=st.lists(inner)), raw=raws
        )
    ),
    max_leaves=12,
)


@given(values)
def test_pieces_make_the_same_json(value: Any) -> None:
    assert whole(value) == msgspec.json.encode(value)


def test_the_value_is_not_changed() -> None:
    value = Outer(first_rows=list(range(100)), inner=Inner(rows=[1] * 100), raw=msgspec.Raw(b"1"))
    before = msgspec.json.encode(value)
    assert whole(value) == before
    assert msgspec.json.encode(value) == before
    assert len(value.first_rows) == 100


def test_large_raw_json_is_passed_on_uncopied() -> None:
    large = b'"' + b"x" * 1_000_000 + b'"'
    value = Inner(rows=[msgspec.Raw(large), 1, msgspec.Raw(large)])
    pieces = [piece for piece in filled(*outline(value)) if isinstance(piece, memoryview)]
    many = [piece for piece in fill([msgspec.Raw(large)] * 100) if len(piece) > 1000]
    assert [piece.nbytes for piece in pieces] == [len(large)] * 2
    assert all(isinstance(piece, memoryview) and piece.nbytes == len(large) for piece in many)


def test_pieces_have_a_bounded_size() -> None:
    """However the sizes of the items are mixed, a piece holds at most twice what the one before it held."""
    items = [{"text": "x" * (10 if index % 5000 < 4900 else 20_000)} for index in range(20_000)]
    sizes = [len(piece) for piece in fill(items)]
    assert max(sizes) < 64 * 20_000 * 8
    assert len(sizes) > 20


def test_a_nul_byte_in_raw_json_is_no_hole() -> None:
    with pytest.raises(ValueError, match="NUL"):
        outline({"rows": [0] * 100, "raw": msgspec.Raw(b'"\0"')})


HEADS = {
    b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a": ...': (b"7", False),
    b'{"id":"a\\"}","params":[...': (b'"a\\"}"', False),
    b'{"jsonrpc":"2.0","id":7,"result":{...': (b"7", True),
    b'{"jsonrpc":"2.0","id":7,"error":{...': (b"7", True),
    b'{"jsonrpc":"2.0","result":{"id":7,...': (b"null", True),
    b'{"params":{"id":7},"id":8': (b"null", False),
    b'{"method":"m","id":12345': (b"null", False),  # more digits may follow
    b'{"id":null,"method":"m","params":[': (b"null", False),
    b'{"id":1.5,"params":': (b"1.5", False),
    b'[{"id":7,"params":[': (b"null", False),
    b'{"id":"\\q","method":"m","params":[': (b"null", False),
    b'{"id":"\xff","method":"m","params":[': (b"null", False),
    b'{"id":1..5,"method":"m","params":[': (b"null", False),
    b"\xff\xfe{": (b"null", False),
    b"": (b"null", False),
}


@pytest.mark.parametrize(("head", "found"), HEADS.items())
def test_the_head_of_a_body(head: bytes, found: tuple[bytes, bool]) -> None:
    assert tuple(peek(head)) == found


@given(st.binary(max_size=60) | st.text(alphabet='{}":,id\\u7.e+- ', max_size=40).map(str.encode))
def test_any_head_gives_an_id_that_is_json(head: bytes) -> None:
    json.loads(peek(head).id)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,idjsonrpcmethod\\72. ', max_size=60).map(str.encode))
def test_any_body_is_read(body: bytes) -> None:
    message = read_event(Body(body))
    if isinstance(message, envelope.Fault):
        json.loads(envelope.error_body(message.id, message.code, message.message))


TWICE_WRONG = {
    "another jsonrpc, then no JSON": b'{"jsonrpc":1,x',
    "another method, then no JSON": b'{"jsonrpc":"2.0","method":7,"id":1,"params":}',
    "a lone surrogate and no UTF-8": b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"a":"\\ud800\xff"}}',
    "a lone surrogate, then no JSON": b'{"jsonrpc":"2.0","method":"\\ud800","id":1,"params":{]}',
}


@pytest.mark.parametrize("body", TWICE_WRONG.values(), ids=TWICE_WRONG)
def test_what_is_wrong_twice_is_read(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    message = read_event(Body(body))
    assert isinstance(message, envelope.Fault | envelope.Message)
    assert not caplog.records
    if isinstance(message, envelope.Message):
        assert bytes(message.params) == b'{"a":"\\ud800\xff"}'


@settings(max_examples=400)
@given(st.integers(0, 80), st.binary(max_size=6), st.booleans())
def test_any_message_with_something_in_it_is_read(start: int, junk: bytes, kept: bool) -> None:
    sound = b'{"jsonrpc":"2.0","id":"x","method":"session/getState","params":{"sessionId":"\\ud83d\\ude00"}}'
    read_event(Body(sound[:start] + junk + (sound[start:] if kept else b"")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,idresultro\\72. ', max_size=60).map(str.encode))
def test_the_head_of_any_oversized_body_is_read(caplog: pytest.LogCaptureFixture, head: bytes) -> None:
    read_event(Oversized(10**9, head))
    assert not caplog.records


@pytest.mark.parametrize("event", [Body(b"{}"), Oversized(1, b"{}"), BadHeader("x"), CutOff(1, 2)])
def test_what_cannot_be_read_does_not_stop_what_is_behind_it(event: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "_meaning", lambda _: 1 / 0)
    assert read_event(event) == envelope.Fault(envelope.PARSE_ERROR, "the message cannot be read")
