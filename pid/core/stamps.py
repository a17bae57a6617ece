"""Timestamps in milliseconds, a whole column at once.

All the digits that stand in one place of many timestamps are taken for one long integer, four bytes for each: what
is reckoned with such integers is reckoned for all of the timestamps. Looked at one by one they would take a tenth of
the time in which a session opens. Pure.
"""

from array import array
from struct import unpack
from typing import Final

from pid.entries import NO_TIME, canonical_ms, minute_ms

LENGTH: Final = len("2026-01-31T23:59:59.999")
_DAY, _HOUR = slice(10), slice(13)
_WEIGHTS: Final = {
    11: 36_000_000,
    12: 3_600_000,
    14: 600_000,
    15: 60_000,
    17: 10_000,
    18: 1_000,
    20: 100,
    21: 10,
    22: 1,
}
"""Milliseconds of a digit, by its place."""
_OF_ZEROS: Final = ord("0") * sum(_WEIGHTS.values())
"""What a timestamp of nothing but zeros comes to, reckoned with the codes of its digits instead of their values."""
_LANE: Final = 4  # bytes: room for the sum of all digits as they are written, "9" for each
_FEW: Final = 16  # so many are sooner looked at one by one


def times_of(stamps: list[str]) -> "array[int]":
    """Milliseconds since 1970 (UTC), NO_TIME where the calendar has no such hour.

    Each of the `stamps` is digits of the canonical form, without its `Z`; minutes and seconds are below 60.
    """
    if len(stamps) < _FEW:
        return array("q", [canonical_ms(f"{stamp}Z") for stamp in stamps])
    in_day = _ms_in_day("".join(stamps).encode(), len(stamps))
    first, last = min(stamps), max(stamps)
    if first[_DAY] == last[_DAY] and (day := _day_ms(last[_HOUR])) != NO_TIME:
        return array("q", map(day.__add__, in_day))
    days = {hour: _day_ms(hour) for hour in {stamp[_HOUR] for stamp in stamps}}
    times = ((days[stamp[_HOUR]], ms) for stamp, ms in zip(stamps, in_day, strict=True))
    return array("q", [NO_TIME if day == NO_TIME else day + ms for day, ms in times])


def _day_ms(hour: str) -> int:
    """When the day of an hour began; NO_TIME if there is no such hour."""
    ms = minute_ms(f"{hour}:00")
    return ms if ms == NO_TIME else ms - int(hour[-2:]) * 3_600_000


def _ms_in_day(raw: bytes, count: int) -> tuple[int, ...]:
    """Milliseconds since midnight of `count` timestamps that stand in `raw` one behind the other."""
    total = -int.from_bytes(_OF_ZEROS.to_bytes(_LANE, "little") * count, "little")
    lanes = bytearray(_LANE * count)
    for place, weight in _WEIGHTS.items():
        lanes[::_LANE] = raw[place::LENGTH]
        total += int.from_bytes(lanes, "little") * weight
    return unpack(f"<{count}I", total.to_bytes(_LANE * count, "little"))
