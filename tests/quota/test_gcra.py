"""The token bucket as one number (D7): against the bucket as a level that rises and falls."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota import bursts

NOW = datetime(2026, 11, 21, 23, 59, tzinfo=UTC).timestamp()


@given(
    st.integers(1, 600),
    st.lists(st.floats(0, 5, allow_nan=False) | st.just(0.0), min_size=1, max_size=200),
)
def test_a_bucket_loses_one_per_call_and_fills_evenly(per_minute: int, pauses: list[float]) -> None:
    """Compared with a bucket as a level that rises and falls"""
    level, now = float(per_minute), NOW
    full_at: int | None = None
    for pause in pauses:
        now += pause
        level = min(per_minute, level + pause * per_minute / 60)

        wait, full_at = bursts.draw(full_at, per_minute, now)

        # If the level is almost exactly one call, rounding decides, and both decisions are right.
        if abs(level - 1) > 1e-6:
            assert (wait.seconds == 0) == (level >= 1)
        if wait.seconds:
            assert wait.seconds == pytest.approx((1 - level) * 60 / per_minute, abs=1e-5)
        else:
            level = max(0.0, level - 1)
            assert wait.remaining == pytest.approx(level, abs=1 + 1e-5)
        assert wait.reset == pytest.approx((per_minute - level) * 60 / per_minute, abs=1e-5)


@pytest.mark.parametrize("per_minute", [1, 7, 60, 120, 300, 600])
def test_exactly_the_calls_of_a_minute_pass_together(per_minute: int) -> None:
    """A full bucket has `per_minute` calls; five more at the same moment are refused"""
    full_at: int | None = None
    allowed = []
    for _ in range(per_minute + 5):
        wait, full_at = bursts.draw(full_at, per_minute, NOW)
        allowed.append(not wait.seconds)

    assert allowed == [True] * per_minute + [False] * 5


def test_a_caller_that_waits_the_given_seconds_is_allowed() -> None:
    """The limit is 7 calls a minute; each time a call is refused, the caller waits as long as the refusal says"""
    full_at: int | None = None
    now = NOW
    for _ in range(500):
        wait, full_at = bursts.draw(full_at, 7, now)
        if wait.seconds:
            now += wait.seconds + 1e-6  # floats of this size are no more precise
            next_wait, full_at = bursts.draw(full_at, 7, now)
            assert next_wait.seconds == 0


def test_a_clock_that_was_ahead_makes_nobody_wait_more_than_a_minute() -> None:
    """A call was counted at a moment a day ahead; the bucket counts as empty, and no more than that"""
    _, full_at = bursts.draw(None, 60, NOW + 86_400)

    wait, full_at = bursts.draw(full_at, 60, NOW)

    assert wait == bursts.BurstDecision(1.0, 0, 60.0)
    assert bursts.draw(full_at, 60, NOW + 60)[0].remaining == 59
