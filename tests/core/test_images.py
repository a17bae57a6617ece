"""The header of an image in base64 says its kind and size, wherever it stands; the judge of payloads reads the same."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pid.core.images import ImageHeader, is_base64, read_header
from tests import payload_rules

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
SEGMENT = b"\xff\xe1\x01\x03" + b"\xff\xc0" * 128 + b"x"  # metadata that looks like a frame inside
FRAME = struct.pack(">BHHB", 8, 480, 640, 3)


def webp(kind: bytes, data: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + struct.pack("<I", len(data)) + data


IMAGES = {
    "png": (PNG, ("image/png", 640, 480)),
    "gif87": (b"GIF87a" + struct.pack("<HH", 640, 480), ("image/gif", 640, 480)),
    "gif89": (b"GIF89a" + struct.pack("<HH", 640, 480), ("image/gif", 640, 480)),
    "jpeg": (b"\xff\xd8\xff\xc0\x00\x11" + FRAME, ("image/jpeg", 640, 480)),
    "progressive jpeg": (b"\xff\xd8" + SEGMENT + b"\xff\xff\xff\xc2\x00\x11" + FRAME, ("image/jpeg", 640, 480)),
    "jpeg with a restart marker": (
        b"\xff\xd8\xff\xd0\xff\xc4\x00\x02\xff\xc1\x00\x11" + FRAME,
        ("image/jpeg", 640, 480),
    ),
    "jpeg without a frame": (b"\xff\xd8\xff\xe0\x00\x04ab", ("image/jpeg", 0, 0)),
    "jpeg with a segment of no length": (b"\xff\xd8\xff\xe0\x00\x00" * 9, ("image/jpeg", 0, 0)),
    "webp": (webp(b"VP8X", b"\x00" * 4 + b"\x7f\x02\x00\xdf\x01\x00"), ("image/webp", 640, 480)),
    "lossless webp": (webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)), ("image/webp", 640, 480)),
    "lossy webp": (webp(b"VP8 ", b"\x00" * 6 + struct.pack("<HH", 640 | 0x4000, 480)), ("image/webp", 640, 480)),
    "webp of another kind": (webp(b"ALPH", b"\x00" * 20), ("image/webp", 0, 0)),
    "a text": (b"just a text", None),
    "the beginning of a png": (PNG[:9], ("image/png", 0, 0)),
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("behind", [b"", b"\x00" * 500])
def test_headers(name: str, behind: bytes) -> None:
    data, header = IMAGES[name]
    if behind and name in ("the beginning of a png", "jpeg without a frame", "jpeg with a segment of no length"):
        pytest.skip("what is behind would be read")
    assert read_header(base64.b64encode(data + behind).decode()) == header


@given(st.sampled_from([data for data, _ in IMAGES.values()]), st.integers(0, 60), st.binary(max_size=80))
def test_any_header_is_read_or_not_and_never_raises(data: bytes, at: int, noise: bytes) -> None:
    mixed = data[:at] + noise
    found = read_header(base64.b64encode(mixed).decode())
    judged = payload_rules.image_header(mixed)
    assert found is None or isinstance(found, ImageHeader)
    assert (found and found.media_type) == (judged and judged[0])


@pytest.mark.parametrize(
    "text", ["", "A", "AA", "AAA", "AAAAA", "AA=A", "A===", "====", "AA AA", "AAA\n", "AA-_", "ÄAAA"]
)
def test_what_is_no_base64(text: str) -> None:
    assert not is_base64(text)


@given(st.binary(min_size=1))
def test_what_is_base64(data: bytes) -> None:
    assert is_base64(base64.b64encode(data).decode())
