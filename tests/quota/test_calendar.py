"""Every month end, steps of the clock, leap seconds and the host's summer time: limits hold, and begin anew once."""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from quota.ledger.calls import Purchase
from quota.periods import day, month
from tests.quota.dict_store import DictStore

LIMIT = 3
GRANT = 10
COST = 5
TICK = timedelta(microseconds=1)
MONTHS = [
    datetime(year, number, 1, tzinfo=UTC) for year in range(2026, 2033) for number in range(1, 13)
]
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/St_Johns",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
)


def _granted(store: DictStore, moments: Sequence[datetime]) -> list[bool]:
    return [store.take("a_", LIMIT, moment).result().granted for moment in moments]


def _charged(store: DictStore, company: str, moment: datetime) -> str:
    found = store.take_and_charge(Purchase("a_", 99, company, COST, GRANT), moment).result()[1]
    assert found
    return found.outcome


@pytest.mark.parametrize(
    ("first", "after"), [*pairwise(MONTHS)], ids=lambda moment: f"{moment:%Y-%m}"
)
def test_limits_begin_anew_at_the_end_of_each_month_and_only_there(
    first: datetime, after: datetime
) -> None:
    """R8, D3, D9: 84 month ends, 31 December and two leap Februaries among them"""
    store, last = DictStore(), after - TICK

    before = _granted(store, [last] * (LIMIT + 1))
    then = _granted(store, [after] * (LIMIT + 1))
    paid = [_charged(store, "EE/1", at) for at in (first, last, after, last)]

    assert before == then == [True] * LIMIT + [False]
    assert day(last).end == month(last).end == month(first).end == after
    assert paid == ["charged", "already", "charged", "already"]


@pytest.mark.parametrize("step", [-1.0, -0.4, -3_600.0, -86_400.0, -40 * 86_400.0])
@pytest.mark.parametrize("end", [MONTHS[2], MONTHS[12], datetime(2028, 3, 1, tzinfo=UTC)])
def test_a_clock_that_steps_back_over_midnight_gives_nothing_twice(
    end: datetime, step: float
) -> None:
    """R8: by NTP, by hand; -1 s is a leap second: the second before midnight comes twice"""
    store = DictStore()
    walk = [end - timedelta(seconds=0.3), end + timedelta(seconds=0.2)]
    there_and_back = [*walk, *(moment + timedelta(seconds=step) for moment in walk)] * LIMIT * 2

    granted = [moment for moment in there_and_back if _granted(store, [moment])[0]]

    by_day = {day(moment).key for moment in there_and_back}
    assert len(granted) == LIMIT * len(by_day)
    assert {key: LIMIT for key in by_day} == {
        key: sum(day(moment).key == key for moment in granted) for key in by_day
    }


def test_a_clock_that_jumps_ahead_and_is_corrected_loses_no_day() -> None:
    """R8: an hour in the next year, then back: both days have their limit, once"""
    store, noon = DictStore(), datetime(2026, 11, 22, 12, tzinfo=UTC)

    assert _granted(store, [noon, noon + timedelta(days=400), noon, noon, noon]) == [
        True, True, True, True, False,
    ]  # fmt: skip


@pytest.fixture(params=ZONES)
def host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process: TZ, as the host of a server may have it."""
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    assert os.environ.get("TZ") == before
    time.tzset()


def test_summer_time_of_the_host_moves_no_limit(host_zone: str) -> None:
    """R8: every half hour of three days around each change of 2026, as the host's clock reads it"""
    changes = [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 4, 5, tzinfo=UTC),
        datetime(2026, 10, 25, 1, tzinfo=UTC),
    ]
    for change in changes:
        store, granted = DictStore(), dict[str, int]()
        for half_hours in range(-72, 73):
            read = datetime.fromtimestamp(
                (change + timedelta(minutes=30 * half_hours)).timestamp()
            ).astimezone()
            key = f"{read.astimezone(UTC):%Y-%m-%d}"
            granted[key] = granted.get(key, 0) + _granted(store, [read])[0]

        assert len(granted) == 4, host_zone
        assert set(granted.values()) <= {LIMIT, 1}
