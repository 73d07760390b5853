"""Retries, the pace of a download, the rate limit and rounds of a mirror, with a simulated clock."""

import pytest

from shards.mirror.blobs import RateLimit
from shards.mirror.download import MOST_ASKED_SECONDS, TRIES, Pace, Retries, SlowSourceError
from shards.mirror.mirror import follow
from shards.mirror.source import FaultError, SyncError


def test_waits_double_up_to_half_a_minute_until_the_last_try() -> None:
    retries, waits = Retries(chance=lambda: 1.0), []

    with pytest.raises(FaultError, match="away"):
        for _ in range(TRIES):
            waits.append(retries.next_wait(FaultError("away")))

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6]


def test_progress_resets_the_waits() -> None:
    retries = Retries(chance=lambda: 1.0)

    waits = {retries.next_wait(FaultError("cut"), number << 16) for number in range(1, 3 * TRIES)}

    assert waits == {0.1}


def test_a_few_bytes_are_not_progress() -> None:
    retries = Retries(chance=lambda: 1.0)

    with pytest.raises(FaultError, match="cut"):
        for number in range(TRIES):
            retries.next_wait(FaultError("cut"), number << 8)


def test_a_wait_is_at_least_as_long_as_the_server_requests() -> None:
    retries = Retries(chance=lambda: 0.5)

    waits = [retries.next_wait(FaultError("busy", after=after)) for after in (7.0, 0.0)]

    assert waits == [7.0, 0.1]


def test_the_reason_for_a_long_wait_is_reported() -> None:
    messages: list[str] = []
    retries = Retries(messages.append, chance=lambda: 1.0)

    for _ in range(5):
        retries.next_wait(FaultError("https://host is away"))

    assert messages == ["https://host is away; trying again in 2 s"]


def test_a_request_for_too_long_a_wait_ends_the_round() -> None:
    with pytest.raises(FaultError):
        Retries().next_wait(FaultError("busy", after=MOST_ASKED_SECONDS + 1))


def test_the_pace_is_measured_over_all_tries() -> None:
    """Waits for bytes count, waits between two tries do not."""
    now = [0.0]
    pace = Pace("http://x", 20_000, clock=lambda: now[0])
    for _ in range(3):
        pace.start()
        for _ in range(19):
            now[0] += 1
            pace.count_piece(2_000)
        now[0] += 3_600  # between tries
    pace.start()
    now[0] += 2

    pace.count_piece(0)  # 59 seconds of reading: three times 19, and 2
    now[0] += 1

    with pytest.raises(
        SlowSourceError, match=r"http://x sends 1,900 bytes a second, less than 20,000"
    ):
        pace.count_piece(0)


def test_a_download_at_the_least_speed_continues() -> None:
    now = [0.0]
    pace = Pace("http://x", 20_000, clock=lambda: now[0])
    for _ in range(600):
        now[0] += 1
        pace.count_piece(20_000)


def test_a_slow_half_minute_after_a_fast_one_does_not_end_the_download() -> None:
    """The bound is for a minute: the 600,000 bytes of the first half minute suffice."""
    now = [0.0]
    pace = Pace("http://x", 10_000, clock=lambda: now[0])
    for size in (20_000, 1_500):
        for _ in range(30):
            now[0] += 1
            pace.count_piece(size)


def test_almost_no_bytes_in_half_a_minute_end_the_try() -> None:
    """A try (one transfer of a file) goes on at 1 024 bytes a second over 30 s, and ends at 1 023."""
    now = [0.0]
    pace = Pace("http://x", clock=lambda: now[0])
    for speed in (1_023, 1_024):
        pace.start()
        for _ in range(29):
            now[0] += 1
            pace.count_piece(speed)
        now[0] += 1
        if speed == 1_024:
            pace.count_piece(speed)
        else:
            with pytest.raises(
                FaultError, match="http://x sends 1,023 bytes a second, less than 1,024"
            ):
                pace.count_piece(speed)


def test_a_rate_limit_holds_for_pieces_of_any_size() -> None:
    now = [100.0]
    rate = RateLimit(2.0, lambda: now[0])

    for size in (1, 1 << 18, 3 << 20, 5, 7 << 20):
        now[0] += rate.next_wait(size)

    seconds = (1 + (1 << 18) + (3 << 20) + 5 + (7 << 20)) / (2 << 20)
    assert seconds - 1.0 <= now[0] - 100.0 <= seconds


def test_unused_rate_is_kept_for_one_second() -> None:
    now = [100.0]
    rate = RateLimit(1.0, lambda: now[0])
    now[0] += 3_600

    assert rate.next_wait(1 << 20) == 0.0
    assert rate.next_wait(1 << 20) == 1.0


def test_follow_continues_after_errors_and_reports_a_repeated_error_once() -> None:
    """A round without an error (None) lets the same error be reported again; KeyError, which is no fault, ends it."""
    messages: list[str] = []
    rounds = iter(
        [SyncError("away"), SyncError("away"), OSError("full"), None, SyncError("away"), KeyError()]
    )

    def fail_or_end_round() -> None:
        if error := next(rounds):
            raise error

    waits: list[float] = []

    with pytest.raises(KeyError):
        follow(fail_or_end_round, 60.0, messages.append, chance=iter([0.0, 1.0, 0.5, 0.5, 0.5]).__next__,
               sleep=waits.append)  # fmt: skip

    assert messages == ["away", "full", "away"]
    assert waits == [54.0, 66.0, 60.0, 60.0, 60.0]  # 60 s, less or more by up to a tenth


def test_follow_waits_as_long_as_the_source_requests_up_to_an_hour() -> None:
    rounds = iter([FaultError("busy", 600.0), FaultError("busy", 1e9), FaultError("busy", 1.0)])
    waits: list[float] = []

    def fail_round() -> None:
        raise next(rounds)

    with pytest.raises(StopIteration):
        follow(fail_round, 60.0, lambda _: None, chance=lambda: 0.5, sleep=waits.append)

    assert waits == [600.0, 3_600.0, 60.0]
