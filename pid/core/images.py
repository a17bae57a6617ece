"""What a base64 image is: its true media type and its size, from the few bytes of its header.

Only the header is decoded, wherever in the text it stands; the picture itself never is. Nothing here knows an
API's limits.
"""

import binascii
from collections.abc import Callable
from string import ascii_letters, digits
from typing import Final, NamedTuple

_ALPHABET: Final = (ascii_letters + digits + "+/").encode()


class ImageHeader(NamedTuple):
    """A known kind of image; `width` and `height` in pixels, 0 where the header does not show them."""

    media_type: str
    width: int
    height: int


def is_base64(text: str) -> bool:
    """Whether the whole text is padded standard base64, without blanks, and not empty."""
    if not text or len(text) % 4 or not text.isascii():
        return False
    digits_only = text.rstrip("=")
    return len(text) - len(digits_only) <= 2 and not digits_only.encode().translate(None, _ALPHABET)


def read_header(text: str) -> ImageHeader | None:
    """The header of an image in valid base64; None where it is none of JPEG, PNG, GIF and WebP."""
    head = _part(text, 0, 32)
    for media_type, begins, size in _KINDS:
        if begins(head):
            return ImageHeader(media_type, *size(text, head))
    return None


def _part(text: str, start: int, count: int) -> bytes:
    """Bytes `start` to `start + count` of what the text encodes, fewer at its end."""
    first = start // 3
    decoded = binascii.a2b_base64(text[first * 4 : -(-(start + count) // 3) * 4])
    return decoded[start - first * 3 :][:count]


def _png_size(_: str, head: bytes) -> tuple[int, int]:
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def _gif_size(_: str, head: bytes) -> tuple[int, int]:
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp_size(_: str, head: bytes) -> tuple[int, int]:
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[12:16] == b"VP8 ":
        return _low_14(head[26:28]), _low_14(head[28:30])
    return 0, 0


def _low_14(pair: bytes) -> int:
    return int.from_bytes(pair, "little") & 0x3FFF


_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xDA)})


def _jpeg_size(text: str, _: bytes) -> tuple[int, int]:
    # The frame header stands behind segments of any length (colour profiles, previews): hop over them.
    at = 2
    while len(segment := _part(text, at, 9)) == 9 and segment[0] == 0xFF:
        marker = segment[1]
        if marker in _FRAMES:
            return int.from_bytes(segment[7:9]), int.from_bytes(segment[5:7])
        if marker == 0xFF:
            at += 1
        elif marker in _WITHOUT_LENGTH:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(segment[2:4]))
    return 0, 0


_Size = Callable[[str, bytes], tuple[int, int]]
_KINDS: Final[tuple[tuple[str, Callable[[bytes], bool], _Size], ...]] = (
    ("image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), _png_size),
    ("image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff"), _jpeg_size),
    ("image/gif", lambda head: head[:6] in (b"GIF87a", b"GIF89a"), _gif_size),
    ("image/webp", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP", _webp_size),
)
