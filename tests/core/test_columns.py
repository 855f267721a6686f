from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.columns import STRING, ColumnType, Profile, plain_values, summary, typed
from themescope.core.types import Value

T, C, N, D = ColumnType.TEXT, ColumnType.CATEGORY, ColumnType.NUMBER, ColumnType.DATE


def profile(values: list[Value], declared: str = "") -> Profile:
    found = Profile(declared)
    found.add(values)
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2.5", "-3e2", "", "NA"], N),
        ([1, 2.5, None, "n/a"], N),
        (["1,200", "15", "1,000,000.5"], N),
        (["1,200", "1500"], T),  # inconsistent separators
        (["007", "012"], T),  # codes
        (["12345678901234567890"] * 2, C),  # an identifier that a float would round
        (["1e999", "1"], T),
        (["2020-01-05", "2021-12-31", None], D),
        (["2020-01-05T10:00:00Z", "2020-01-05 10:00"], D),
        (["2020-02-30", "2020-01-01"], T),
        (["5.1.2020", "31.12.2020"], D),
        (["13/04/2020", "3/4/2020"], D),
        (["04/13/2020", "3/4/2020"], D),
        (["3/4/2020", "5/6/2020"], T),  # day or month first?
        (["12/31/23, 10:15 PM", "1/5/24, 3:04\u202fAM"], D),
        (["3/14/2023 9:00:00 a.m.", "3/15/2023 12:30 pm"], D),
        (["14.03.23, 09:13:22", "16.03.2023"], D),
        (["1.2.10", "1.10.2"], T),  # versions
        (["20-12-31", "21-12-31"], T),  # which of them is the year?
        (["Tue, 6 Apr 1993 00:00:00 GMT", "7 April 1993"], D),
        (["March 3, 2020", "Apr 5, 2021"], D),
        ([datetime(2020, 1, 1), None], D),
        (["1993", "1994"], N),
        (["a", "b", "a", "b"], C),
        (["a", "b", "c"], T),
        ([True, False, True, True], C),
        (["x" * 300] * 4, T),
        ([None, ""], T),
        ([1, "x", 1, "x"], C),
    ],
)
def test_the_type_follows_from_all_values(values: list[Value], expected: ColumnType) -> None:
    assert profile(values).type is expected


def test_a_person_may_choose_another_type() -> None:
    years: list[Value] = ["1993", "1994", "x"]
    found = profile(years, "date")
    assert found.type is D and found.format is not None
    array = typed(years, D, found.format)
    assert np.datetime_as_string(array[:2], "D").tolist() == ["1993-01-01", "1994-01-01"] and np.isnat(array[2])
    assert profile([1, 2, 1, 2], "category").type is C
    assert profile(["1", "2"], "text").type is T
    assert profile(["1", "2", "1", "2"], STRING).type is C
    assert profile([f"{n}" for n in range(10_002)], "category").type is T
    numbers = profile(["1,5", "2,000"], "number")
    assert typed(["1,5", "2,000"], N, numbers.format).tolist()[1] == 2000


def test_time_zones_halves_of_the_day_and_years_of_two_digits_count() -> None:
    zoned: list[Value] = ["2020-01-01T01:00:00+01:00", "2020-01-01 00:00:00.25"]
    array = typed(zoned, D, profile(zoned).format)
    assert plain_values(D, array) == [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 0, 0, 0, 250_000, UTC)]
    values: list[Value] = ["12/31/99, 12:05 AM", "1/5/24, 12:05 PM", "1/5/24, 1:05 pm"]
    found = plain_values(D, typed(values, D, profile(values).format))
    noon = [datetime(2024, 1, 5, hour, 5, tzinfo=UTC) for hour in (12, 13)]
    assert found == [datetime(1999, 12, 31, 0, 5, tzinfo=UTC), *noon]
    assert profile(["12/31/23, 13:15 PM"]).type is T


def test_a_summary_has_range_and_missing_values() -> None:
    assert summary(N, np.array([1.0, np.nan, 3.0])) == {"missing": 1, "whole": True, "low": 1.0, "high": 3.0}
    dates = np.array(["2020-01-01", "NaT"], "datetime64[us]")
    assert summary(D, dates) == {
        "missing": 1, "days": True, "low": "2020-01-01T00:00:00.000000", "high": "2020-01-01T00:00:00.000000",
    }  # fmt: skip
    assert summary(N, np.array([np.nan])) == {"missing": 1, "whole": True}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_survive_as_text(numbers: list[float]) -> None:
    values: list[Value] = [repr(number) for number in numbers]
    found = profile(values)
    if found.type is N:
        assert typed(values, N, found.format).tolist() == numbers


@given(st.lists(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), min_size=1))
def test_dates_survive_as_text(times: list[datetime]) -> None:
    values: list[Value] = [time.isoformat() for time in times]
    found = profile(values)
    assert found.type is D
    assert plain_values(D, typed(values, D, found.format)) == [time.replace(tzinfo=UTC) for time in times]


@given(st.lists(st.none() | st.text() | st.integers() | st.floats() | st.booleans() | st.datetimes(), max_size=20))
def test_any_values_have_a_type(values: list[Value]) -> None:
    found = profile(values)
    if found.type is not C:
        assert len(typed(values, found.type, found.format)) == len(values)
