"""Days and months in UTC, in whatever time zone the caller is (§8.2 rule 4)."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota import periods
from quota.periods import day, month

# Time zones of up to 14 hours before or after UTC.
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=OFFSETS)  # noqa: DTZ001


@given(MOMENTS)
def test_a_day_or_month_ends_where_the_next_day_or_month_begins(now: datetime) -> None:
    for period in (day, month):
        current = period(now)
        assert current.end > now
        assert period(current.end - timedelta(microseconds=1)) == current
        assert period(current.end).key > current.key


@given(MOMENTS)
def test_the_key_of_a_day_is_its_date_and_begins_with_the_key_of_its_month(now: datetime) -> None:
    """In UTC; from the first of the month to its end are 28 to 31 days"""
    today = date.fromisoformat(day(now).key)

    assert today == now.astimezone(UTC).date()
    assert day(now).key.startswith(month(now).key + "-")
    assert month(now).end - datetime(today.year, today.month, 1, tzinfo=UTC) in {
        timedelta(days=days) for days in (28, 29, 30, 31)
    }


@pytest.mark.parametrize(
    ("now", "day_key", "month_end"),
    [
        ("2026-11-30T23:59:59.999999+00:00", "2026-11-30", "2026-12-01"),
        ("2026-12-01T00:00:00+00:00", "2026-12-01", "2027-01-01"),
        ("2026-12-31T23:59:59+00:00", "2026-12-31", "2027-01-01"),
        ("2027-01-01T00:59:59+01:00", "2026-12-31", "2027-01-01"),
        ("2027-02-28T12:00:00+00:00", "2027-02-28", "2027-03-01"),
        ("2028-02-28T23:00:00-02:00", "2028-02-29", "2028-03-01"),
        ("2028-03-01T01:00:00+02:00", "2028-02-29", "2028-03-01"),
    ],
)
def test_days_and_months_end_at_midnight_in_utc(now: str, day_key: str, month_end: str) -> None:
    moment = datetime.fromisoformat(now)

    assert day(moment).key == day_key
    assert month(moment).end == datetime.fromisoformat(f"{month_end}T00:00:00+00:00")


@given(MOMENTS, st.integers(0, 40))
def test_months_are_counted_back_over_years(now: datetime, count: int) -> None:
    moment = now.astimezone(UTC).replace(day=1)
    for _ in range(count):
        moment = (moment - timedelta(days=1)).replace(day=1)

    assert periods.months_before(now, count) == month(moment).key
    assert periods.start_of_month(month(moment).key) <= moment


def test_a_time_without_a_zone_has_no_day() -> None:
    with pytest.raises(ValueError, match=r"datetime\.now\(UTC\)"):
        day(datetime(2026, 11, 21))  # noqa: DTZ001
