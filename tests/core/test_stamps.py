"""Times of a whole column are those of each timestamp."""

from hypothesis import given
from hypothesis import strategies as st

from pid.core.stamps import times_of
from pid.entries import canonical_ms

DAYS = st.one_of(st.dates().map(str), st.sampled_from(["2026-02-29", "2026-13-01", "0000-00-00", "9999-12-31"]))
HOURS = st.one_of(st.integers(0, 23), st.integers(0, 99))
SIXTIETHS = st.integers(0, 59)


def stamp(day: str, hour: int, minute: int, second: int, ms: int) -> str:
    return f"{day}T{hour:02}:{minute:02}:{second:02}.{ms:03}"


STAMPS = st.builds(stamp, DAYS, HOURS, SIXTIETHS, SIXTIETHS, st.integers(0, 999))
ONE_DAY = st.builds(stamp, st.just("2026-01-31"), st.integers(0, 23), SIXTIETHS, SIXTIETHS, st.integers(0, 999))


@given(st.one_of(st.lists(STAMPS, max_size=40), st.lists(ONE_DAY, min_size=20, max_size=40)))
def test_a_column_of_timestamps(stamps: list[str]) -> None:
    assert list(times_of(stamps)) == [canonical_ms(f"{text}Z") for text in stamps]


def test_the_first_and_the_last_moment_of_a_day() -> None:
    stamps = [stamp("1969-12-31", 0, 0, 0, 0), stamp("1969-12-31", 23, 59, 59, 999)] * 20
    assert list(times_of(stamps)) == [-86_400_000, -1] * 20
