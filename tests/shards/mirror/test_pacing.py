"""Retries, rate limit and rounds of a mirror, with a simulated clock."""

import pytest

from shards.mirror.mirror import follow
from shards.mirror.source import (
    MOST_ASKED_SECONDS,
    TRIES,
    Backoff,
    FaultError,
    RateLimit,
    SyncError,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_waits_double_up_to_half_a_minute_and_end() -> None:
    clock = Clock()
    patience = Backoff(chance=lambda: 1.0, sleep=clock.sleep)

    with pytest.raises(FaultError, match="away"):
        for _ in range(TRIES):
            patience.wait(FaultError("away"))

    assert clock.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6]


def test_progress_begins_the_waits_anew() -> None:
    clock = Clock()
    patience = Backoff(chance=lambda: 1.0, sleep=clock.sleep)

    for _ in range(3 * TRIES):
        patience.wait(FaultError("cut"))
        patience.progress()

    assert set(clock.slept) == {0.1}


def test_what_the_server_asks_for_is_the_least_that_is_waited() -> None:
    clock = Clock()
    patience = Backoff(chance=lambda: 0.5, sleep=clock.sleep)

    patience.wait(FaultError("busy", after=7.0))
    patience.wait(FaultError("busy", after=0.0))

    assert clock.slept == [7.0, 0.1]


def test_who_waits_is_told_why() -> None:
    said: list[str] = []
    patience = Backoff(said.append, chance=lambda: 1.0, sleep=lambda _: None)

    for _ in range(5):
        patience.wait(FaultError("https://host is away"))

    assert said == ["https://host is away; trying again in 2 s"]


def test_who_asks_for_too_long_a_wait_ends_the_round() -> None:
    with pytest.raises(FaultError):
        Backoff().wait(FaultError("busy", after=MOST_ASKED_SECONDS + 1))


def test_a_rate_holds_over_any_pieces() -> None:
    clock = Clock()
    rate = RateLimit(2.0, lambda: clock.now, clock.sleep)

    for size in (1, 1 << 18, 3 << 20, 5, 7 << 20):
        rate.take(size)

    taken = (1 + (1 << 18) + (3 << 20) + 5 + (7 << 20)) / (2 << 20)
    assert taken - 1.0 <= clock.now - 100.0 <= taken


def test_what_was_not_used_is_kept_for_a_second_only() -> None:
    clock = Clock()
    rate = RateLimit(1.0, lambda: clock.now, clock.sleep)
    clock.now += 3_600

    rate.take(1 << 20)
    assert clock.slept == []
    rate.take(1 << 20)
    assert clock.slept == [1.0]


def test_following_goes_on_after_an_error_and_says_each_once() -> None:
    said: list[str] = []
    rounds = iter(
        [SyncError("away"), SyncError("away"), OSError("full"), None, SyncError("away"), KeyError()]
    )

    def once() -> None:
        if error := next(rounds):
            raise error

    waits: list[float] = []

    with pytest.raises(KeyError):
        follow(once, 60.0, said.append, chance=iter([0.0, 1.0, 0.5, 0.5, 0.5]).__next__,
               sleep=waits.append)  # fmt: skip

    assert said == ["away", "full", "away"]
    assert waits == [54.0, 66.0, 60.0, 60.0, 60.0]


def test_following_leaves_a_source_alone_as_long_as_it_asks_for_up_to_an_hour() -> None:
    rounds = iter([FaultError("busy", 600.0), FaultError("busy", 1e9), FaultError("busy", 1.0)])
    waits: list[float] = []

    def once() -> None:
        raise next(rounds)

    with pytest.raises(StopIteration):
        follow(once, 60.0, lambda _: None, chance=lambda: 0.5, sleep=waits.append)

    assert waits == [600.0, 3_600.0, 60.0]
