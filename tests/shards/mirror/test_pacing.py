"""Retries, the pace of a download, the rate limit and rounds of a mirror, with a simulated clock."""

import pytest

from shards.mirror.blobs import RateLimit
from shards.mirror.download import MOST_ASKED_SECONDS, TRIES, Pace, Retries, SlowSourceError
from shards.mirror.mirror import follow
from shards.mirror.source import FaultError, SyncError


def test_waits_double_up_to_half_a_minute_and_end() -> None:
    retries, waits = Retries(chance=lambda: 1.0), []

    with pytest.raises(FaultError, match="away"):
        for _ in range(TRIES):
            waits.append(retries.next_wait(FaultError("away")))

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6]


def test_progress_begins_the_waits_anew() -> None:
    retries = Retries(chance=lambda: 1.0)

    waits = {retries.next_wait(FaultError("cut"), number << 16) for number in range(1, 3 * TRIES)}

    assert waits == {0.1}


def test_a_few_bytes_are_no_progress() -> None:
    retries = Retries(chance=lambda: 1.0)

    with pytest.raises(FaultError, match="cut"):
        for number in range(TRIES):
            retries.next_wait(FaultError("cut"), number << 8)


def test_what_the_server_asks_for_is_the_least_that_is_waited() -> None:
    retries = Retries(chance=lambda: 0.5)

    waits = [retries.next_wait(FaultError("busy", after=after)) for after in (7.0, 0.0)]

    assert waits == [7.0, 0.1]


def test_who_waits_is_told_why() -> None:
    said: list[str] = []
    retries = Retries(said.append, chance=lambda: 1.0)

    for _ in range(5):
        retries.next_wait(FaultError("https://host is away"))

    assert said == ["https://host is away; trying again in 2 s"]


def test_who_asks_for_too_long_a_wait_ends_the_round() -> None:
    with pytest.raises(FaultError):
        Retries().next_wait(FaultError("busy", after=MOST_ASKED_SECONDS + 1))


def test_a_server_that_breaks_off_again_and_again_is_as_slow_as_it_is() -> None:
    """Its waits for bytes count, those between two tries do not."""
    now = [0.0]
    slow = Pace("http://x", 20_000, clock=lambda: now[0])
    for _ in range(3):
        slow.start()
        for _ in range(19):
            now[0] += 1
            slow.take(2_000)
        now[0] += 3_600  # between tries
    slow.start()
    now[0] += 2

    slow.take(0)  # 59 seconds of reading
    now[0] += 1

    with pytest.raises(
        SlowSourceError, match=r"http://x brings 1,900 bytes a second, under 20,000"
    ):
        slow.take(0)


def test_a_file_that_is_fast_at_last_is_read_on() -> None:
    now = [0.0]
    fast = Pace("http://x", 20_000, clock=lambda: now[0])
    for _ in range(600):
        now[0] += 1
        fast.take(20_000)


def test_a_slow_half_minute_after_a_fast_one_is_read_on() -> None:
    """The bound holds for a minute: 600,000 bytes of the first half are enough for both."""
    now = [0.0]
    pace = Pace("http://x", 10_000, clock=lambda: now[0])
    for size in (20_000, 1_500):
        for _ in range(30):
            now[0] += 1
            pace.take(size)


def test_next_to_nothing_in_half_a_minute_ends_a_try_alone() -> None:
    now = [0.0]
    pace = Pace("http://x", clock=lambda: now[0])
    for speed in (1_023, 1_024):
        pace.start()
        for _ in range(29):
            now[0] += 1
            pace.take(speed)
        now[0] += 1
        if speed == 1_024:
            pace.take(speed)
        else:
            with pytest.raises(FaultError, match="http://x comes too slowly"):
                pace.take(speed)


def test_a_rate_holds_over_any_pieces() -> None:
    now = [100.0]
    rate = RateLimit(2.0, lambda: now[0])

    for size in (1, 1 << 18, 3 << 20, 5, 7 << 20):
        now[0] += rate.next_wait(size)

    taken = (1 + (1 << 18) + (3 << 20) + 5 + (7 << 20)) / (2 << 20)
    assert taken - 1.0 <= now[0] - 100.0 <= taken


def test_what_was_not_used_is_kept_for_a_second_only() -> None:
    now = [100.0]
    rate = RateLimit(1.0, lambda: now[0])
    now[0] += 3_600

    assert rate.next_wait(1 << 20) == 0.0
    assert rate.next_wait(1 << 20) == 1.0


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
