"""The calendar of every limit (§8.2 rule 4, D9): days and months of UTC.

The period is part of a counter's key, so no counter is ever reset: the counter of a new day has another key, which
does not exist yet. The time is always a parameter. A time without a zone is refused, because it does not determine
when midnight is.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Period:
    """A day or a month: its text in keys ("2026-11-21", "2026-11"), and the moment of its end (UTC)."""

    key: str
    end: datetime


def day(now: datetime) -> Period:
    """The day of `now`, until the next midnight UTC.

    >>> day(datetime(2028, 2, 28, 23, 59, tzinfo=UTC)).end.isoformat()
    '2028-02-29T00:00:00+00:00'
    """
    start = utc(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return Period(start.date().isoformat(), start + timedelta(days=1))


def month(now: datetime) -> Period:
    """The calendar month of `now`, until the first day of the next month.

    >>> month(datetime(2026, 12, 31, tzinfo=UTC))
    Period(key='2026-12', end=datetime.datetime(2027, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    moment = utc(now)
    end_year, end_month_index = divmod(moment.year * 12 + moment.month, 12)
    return Period(
        f"{moment.year:04d}-{moment.month:02d}",
        datetime(end_year, end_month_index + 1, 1, tzinfo=UTC),
    )


def start_of_month(key: str) -> datetime:
    """The first moment of a month, given as "2026-11"."""
    return datetime.strptime(key, "%Y-%m").replace(tzinfo=UTC)


def months_before(now: datetime, count: int) -> str:
    """The key of the month that is `count` months before the month of `now`.

    >>> months_before(datetime(2026, 3, 31, tzinfo=UTC), 13)
    '2025-02'
    """
    moment = utc(now)
    year, month_index = divmod(moment.year * 12 + moment.month - 1 - count, 12)
    return f"{year:04d}-{month_index + 1:02d}"


def utc(now: datetime) -> datetime:
    """`now` in UTC.

    Raises:
        ValueError: `now` has no time zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"{now} has no time zone; use datetime.now(UTC)")
    return now.astimezone(UTC)


def seconds(now: datetime) -> int:
    """The stored form of a moment for comparisons: whole seconds since 1970."""
    return int(now.timestamp())


def iso(now: datetime) -> str:
    """The stored form of a moment for people: ISO 8601, UTC, whole seconds."""
    return utc(now).isoformat(timespec="seconds")
