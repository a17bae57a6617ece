"""The o200k tokens of a text, guessed from its bytes: what serves where there is no tokenizer, or no time for one.

The guess knows scripts (a Chinese character is most of a token, a Latin letter a quarter), words, numbers and
signs; it looks at a long text here and there only, so that a history of 100,000 entries takes seconds.
"""

from collections.abc import Mapping
from typing import Final

_RANGES: Final = (
    (0x00, b" "),
    (0x0A, b"\n"),
    (0x0B, b" "),
    (0x21, b"."),
    (0x30, b"0"),
    (0x3A, b"."),
    (0x41, b"a"),
    (0x5B, b"."),
    (0x61, b"a"),
    (0x7B, b"."),
    (0x7F, b" "),
    (0x80, b"-"),  # the rest of a longer character
    (0xC0, b"~"),
    (0xC3, b"e"),  # the marked letters of western Europe
    (0xC4, b"f"),  # those of the east, and of Turkish
    (0xC6, b"b"),  # two bytes: Greek, Hebrew, Arabic, Armenian
    (0xD0, b"c"),  # Russian and its neighbours
    (0xD2, b"b"),
    (0xE0, b"i"),  # Indic scripts, Thai
    (0xE1, b"j"),  # Georgian, Khmer, Burmese; Vietnamese marks
    (0xE2, b"~"),  # typographic signs, boxes, arrows
    (0xE3, b"k"),  # Chinese, Japanese, Korean
    (0xF0, b"^"),  # emoji
)
"""The first UTF-8 byte of each run of bytes that are alike, and the name of its class."""


_RATES: Final[Mapping[bytes, float]] = {
    b"a": 0.107,
    b"0": 0.305,
    b".": 0.357,
    b"~": 0.326,
    b"e": 1.076,
    b"f": 2.03,
    b"b": 0.412,
    b"c": 0.353,
    b"i": 0.432,
    b"j": 0.469,
    b"k": 0.679,
    b"^": 0.736,
}
"""o200k tokens for each byte of a class."""
_STARTS: Final[Mapping[bytes, tuple[bytes, float]]] = {
    b"a": (b" .0\n", 0.486),
    b"0": (b" .a\n", 1.319),
    b".": (b" a0\n", 0.302),
    b"\n": (b" .a0-", 1.303),
}
"""Tokens for each place where a word, number, sign or line break begins: behind a byte of these classes.

All rates are least squares over 2,100 samples: a real session, source code and prose, interface texts in 33
languages. Median error on the session 7 % where 0.26 tokens a character has 17 % (and 58 % on Chinese)."""


def _class_of(byte: int) -> bytes:
    return next(name for first, name in reversed(_RANGES) if byte >= first)


def _table(kind: bytes, before: bytes) -> bytes:
    """A table that leaves of the classes one, and those that it begins behind (as blanks)."""
    marks = {kind: kind, **dict.fromkeys((bytes((name,)) for name in before), b" ")}
    return b"".join(marks.get(_class_of(byte), b"-") for byte in range(256))


GUESS_ERROR: Final = 0.2
"""Nine of ten of 4,300 other texts (code, documents, what commands print) lay within it; of 850 in other languages
than English, within 0.37."""

_ASCII: Final = bytes(range(128))
_CLASSES: Final = b"".join(map(_class_of, range(256)))
_TABLES: Final = [(_table(kind, before), b" " + kind, rate) for kind, (before, rate) in _STARTS.items()]

_WHOLE: Final = 2_048  # characters; of a longer text, pieces are looked at that are so many together
_PIECE: Final = 128


def guess_tokens(text: str) -> int:
    """The o200k tokens of a text, roughly; never 0 for a text that is not empty. It takes some 50 us at most."""
    if not text:
        return 0
    if len(text) <= _WHOLE:
        return max(1, round(_guess(text)))
    step = len(text) * _PIECE // _WHOLE
    sample = "".join(text[start : start + _PIECE] for start in range(0, len(text), step))
    return max(1, round(_guess(sample) * len(text) / len(sample)))


def _guess(text: str) -> float:
    data = b" " + text.encode("utf-8", "replace")
    tokens = 0.0
    for table, start, rate in _TABLES:
        marked = data.translate(table)
        tokens += rate * marked.count(start) + _RATES.get(start[1:], 0.0) * marked.count(start[1:])
    if not text.isascii():
        rest = data.translate(_CLASSES, _ASCII)
        tokens += sum(_RATES.get(bytes((kind,)), 0.0) * rest.count(kind) for kind in set(rest))
    return tokens
