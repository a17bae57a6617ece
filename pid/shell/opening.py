"""The params of `textDocument/didOpen`, without decoding the text: 40 MB in one call would hold the interpreter.

All members beside the text are short, and stand before it or behind it in any order; so the text is what lies between.
"""

import re
from typing import Final, NamedTuple

from msgspec import Raw

from pid.protocol import decode_params
from pid.shell.lsp import DidOpenParams

_SHORT: Final = rb'"(uri|languageId|version)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?[0-9]+)\s*'
_BEFORE: Final = re.compile(rb'\s*\{\s*"textDocument"\s*:\s*\{\s*(?:%b,\s*)*"text"\s*:\s*' % _SHORT)
_BEHIND: Final = re.compile(rb'"(?P<behind>\s*(?:,\s*%b)*\}\s*\}\s*)\Z' % _SHORT)
_MEMBER: Final = re.compile(_SHORT)
_MEMBERS: Final = 3
_MOST: Final = 16_384


class Opening(NamedTuple):
    """An opened document; its text is a string in JSON."""

    uri: str
    version: int
    text: bytes | memoryview | Raw


def read_opening(params: Raw) -> Opening:
    """What opens. Raises `InvalidParams`."""
    view = memoryview(params)
    if len(view) > 4 * _MOST:
        head, tail = bytes(view[:_MOST]), bytes(view[-_MOST:])
        before, behind = _BEFORE.match(head), _BEHIND.search(tail)
        if before and behind and head[before.end() : before.end() + 1] == b'"':
            short = before[0] + b'""' + behind["behind"]
            if len(_MEMBER.findall(short)) == _MEMBERS:  # else a quote of another member was taken for the text's
                document = decode_params(DidOpenParams, short).text_document
                text = view[before.end() : len(view) - len(behind["behind"])]
                return Opening(document.uri, document.version, text)
    document = decode_params(DidOpenParams, params).text_document
    return Opening(document.uri, document.version, document.text)
