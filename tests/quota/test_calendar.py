"""Month ends, steps of the clock, leap seconds and the host's summer time: limits hold, and restart once."""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from quota.ledger.calls import Purchase
from quota.periods import day, month
from tests.quota.dict_store import DictStore

LIMIT = 3  # calls a day
GRANT = 10  # credits a month
COST = 5  # credits of a company
MICROSECOND = timedelta(microseconds=1)
# The first moment of each month of seven years, two of them leap years.
MONTHS = [
    datetime(year, number, 1, tzinfo=UTC) for year in range(2026, 2033) for number in range(1, 13)
]
# Time zones of hosts: with and without summer time, with offsets and steps of half an hour.
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/St_Johns",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
)


def _grants(store: DictStore, moments: Sequence[datetime]) -> list[bool]:
    """Take a call of the account `a_` at each moment; returns which calls are granted."""
    return [store.take("a_", LIMIT, moment).result().granted for moment in moments]


def _charge_outcome(store: DictStore, company: str, moment: datetime) -> str:
    """Charge a company to the account `a_`; returns "charged" or "already"."""
    charge = store.take_and_charge(Purchase("a_", 99, company, COST, GRANT), moment).result()[1]
    assert charge
    return charge.outcome


@pytest.mark.parametrize(
    ("month_start", "next_month_start"), [*pairwise(MONTHS)], ids=lambda moment: f"{moment:%Y-%m}"
)
def test_limits_restart_at_the_end_of_each_month_and_only_there(
    month_start: datetime, next_month_start: datetime
) -> None:
    """R8, D3, D9: 84 month ends, 31 December and two leap Februaries among them"""
    store, last_moment = DictStore(), next_month_start - MICROSECOND

    grants_before = _grants(store, [last_moment] * (LIMIT + 1))
    grants_after = _grants(store, [next_month_start] * (LIMIT + 1))
    outcomes = [
        _charge_outcome(store, "EE/1", charged_at)
        for charged_at in (month_start, last_moment, next_month_start, last_moment)
    ]

    assert grants_before == grants_after == [True] * LIMIT + [False]
    assert (
        day(last_moment).end == month(last_moment).end == month(month_start).end == next_month_start
    )
    assert outcomes == ["charged", "already", "charged", "already"]


@pytest.mark.parametrize("step", [-1.0, -0.4, -3_600.0, -86_400.0, -40 * 86_400.0])
@pytest.mark.parametrize("midnight", [MONTHS[2], MONTHS[12], datetime(2028, 3, 1, tzinfo=UTC)])
def test_a_clock_that_steps_back_over_midnight_gives_nothing_twice(
    midnight: datetime, step: float
) -> None:
    """R8: by NTP, by hand; -1 s is a leap second: the second before midnight comes twice"""
    store = DictStore()
    over_midnight = [midnight - timedelta(seconds=0.3), midnight + timedelta(seconds=0.2)]
    there_and_back = (
        [*over_midnight, *(moment + timedelta(seconds=step) for moment in over_midnight)]
        * LIMIT
        * 2
    )

    granted_moments = [moment for moment in there_and_back if _grants(store, [moment])[0]]

    days = {day(moment).key for moment in there_and_back}
    assert len(granted_moments) == LIMIT * len(days)
    assert {key: LIMIT for key in days} == {
        key: sum(day(moment).key == key for moment in granted_moments) for key in days
    }


def test_a_clock_that_jumps_ahead_and_is_corrected_loses_no_day() -> None:
    """R8: the clock is 400 days ahead for one call; afterwards the first day still has its limit of three calls"""
    store, noon = DictStore(), datetime(2026, 11, 22, 12, tzinfo=UTC)

    assert _grants(store, [noon, noon + timedelta(days=400), noon, noon, noon]) == [
        True, True, True, True, False,
    ]  # fmt: skip


@pytest.fixture(params=ZONES)
def host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process: TZ, as the host of a server may have it."""
    zone_before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    assert os.environ.get("TZ") == zone_before
    time.tzset()


def test_summer_time_of_the_host_moves_no_limit(host_zone: str) -> None:
    """R8: every half hour of three days around each change of 2026, as the host's clock reads it"""
    changes = [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 4, 5, tzinfo=UTC),
        datetime(2026, 10, 25, 1, tzinfo=UTC),
    ]
    for change in changes:
        store, calls_by_day = DictStore(), dict[str, int]()
        for half_hours in range(-72, 73):
            local_time = datetime.fromtimestamp(
                (change + timedelta(minutes=30 * half_hours)).timestamp()
            ).astimezone()
            utc_day = f"{local_time.astimezone(UTC):%Y-%m-%d}"
            calls_by_day[utc_day] = calls_by_day.get(utc_day, 0) + _grants(store, [local_time])[0]

        assert len(calls_by_day) == 4, host_zone
        assert set(calls_by_day.values()) <= {LIMIT, 1}
