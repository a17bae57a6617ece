"""A document that opens, read without decoding its text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from pid.core.text import read_lines
from pid.errors import InvalidParams
from pid.shell import opening as module
from pid.shell.opening import read_opening

NASTY = ['"}}', '","version":7}}', '\\"}}', '","uri":"x"}}\\', "a\nb", '"text":"', "é\u2028\U0001f600", "}}", "\\"]
MEMBERS = {"uri": 'file:///a"b', "languageId": "jsonl", "version": 3}


@settings(deadline=None, max_examples=500)
@given(
    st.lists(st.sampled_from(NASTY), max_size=6), st.permutations([*MEMBERS, "text"]), st.booleans(), st.integers(1, 64)
)
def test_it_is_what_a_decoder_reads(parts: list[str], order: list[str], spaces: bool, most: int) -> None:
    text = "".join(parts)
    members = MEMBERS | {"text": text}
    params = {"textDocument": {name: members[name] for name in order}}
    raw = json.dumps(params, separators=None if spaces else (",", ":")).encode()
    old, module._MOST = module._MOST, most
    try:
        found = read_opening(Raw(raw))
    finally:
        module._MOST = old
    assert (found.uri, found.version) == (MEMBERS["uri"], 3)
    assert b"\n".join(read_lines(found.text)).decode() == text


def test_a_large_text_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DidOpenParams", None)  # what would decode it whole
    monkeypatch.setattr(module, "decode_params", lambda kind, raw: module_params(bytes(raw)))
    params = {"textDocument": {**MEMBERS, "text": "x" * 200_000}}
    assert len(memoryview(read_opening(Raw(json.dumps(params).encode())).text)) == 200_002


def module_params(raw: bytes) -> object:
    from pid.protocol import decode_params
    from pid.shell.lsp import DidOpenParams

    assert len(raw) < 1000
    return decode_params(DidOpenParams, raw)


@pytest.mark.parametrize(
    "params",
    [{}, {"textDocument": {}}, {"textDocument": {"uri": "a"}}, {"textDocument": {"uri": 5, "text": "x" * 200_000}}],
)
def test_what_does_not_fit(params: object) -> None:
    with pytest.raises(InvalidParams):
        read_opening(Raw(json.dumps(params).encode()))
