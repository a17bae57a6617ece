"""The o200k tokens of a text, guessed from its bytes: what serves where there is no tokenizer, or no time for one.

The guess knows scripts (a Chinese character is most of a token, a Latin letter a quarter), words, numbers and
signs, and runs at 36 MB/s: one table look-up a byte, and counts of what the table gives.
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


def _class_of(byte: int) -> bytes:
    return next(name for first, name in reversed(_RANGES) if byte >= first)


_CLASSES: Final = b"".join(map(_class_of, range(256)))

_RATES: Final[Mapping[bytes, float]] = {
    b"a": 0.107,
    **dict.fromkeys((b" a", b".a", b"0a", b"\na"), 0.486),
    b"0": 0.305,
    **dict.fromkeys((b" 0", b".0", b"a0", b"\n0"), 1.319),
    b".": 0.357,
    **dict.fromkeys((b" .", b"a.", b"0.", b"\n."), 0.302),
    **dict.fromkeys((b" \n", b".\n", b"a\n", b"0\n", b"-\n"), 1.303),
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
"""o200k tokens for each byte of a class, and for each place where a word, number, sign or line break begins.
Least squares over 2,100 samples: a real session, source code and prose, interface texts in 33 languages. Median
error on the session 7 % where 0.26 tokens a character has 17 % (and 58 % on Chinese)."""


def guess_tokens(text: str) -> int:
    """The o200k tokens of a text, roughly; never 0 for a text that is not empty."""
    if not text:
        return 0
    classes = b" " + text.encode("utf-8", "replace").translate(_CLASSES)
    return max(1, round(sum(rate * classes.count(pattern) for pattern, rate in _RATES.items())))
