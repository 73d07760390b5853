"""Python's lock is switched more often while an expensive search runs, and only then."""

import asyncio
import sys

import pytest

from serve.data import open_generation
from serve.data.open_generation import SHORT_INTERVAL_SECONDS, OpenGeneration, SwitchInterval

USUAL = sys.getswitchinterval()


def test_the_interval_is_short_until_the_last_of_several_ends() -> None:
    interval = SwitchInterval()
    with interval.short():
        with interval.short():
            inner = sys.getswitchinterval()
        outer = sys.getswitchinterval()

    assert [inner, outer, sys.getswitchinterval()] == pytest.approx(
        [SHORT_INTERVAL_SECONDS, SHORT_INTERVAL_SECONDS, USUAL]
    )


def test_a_dear_search_runs_under_the_short_interval_and_a_cheap_one_does_not(
    open_edition: OpenGeneration,
) -> None:
    def fails() -> None:
        raise ZeroDivisionError

    async def scenario() -> list[float]:
        dear = open_generation.EXPENSIVE_MICROSECONDS
        found = [await open_edition.aside(cost, sys.getswitchinterval) for cost in (dear - 1, dear)]
        with pytest.raises(ZeroDivisionError):
            await open_edition.aside(dear, fails)
        return [*found, sys.getswitchinterval()]

    assert asyncio.run(scenario()) == pytest.approx([USUAL, SHORT_INTERVAL_SECONDS, USUAL])
