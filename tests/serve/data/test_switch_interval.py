"""Python's lock is handed over finely while a dear search runs, and only then."""

import asyncio
import sys

import pytest

from serve.data import open_generation as editions
from serve.data.open_generation import FINE_SECONDS, OpenGeneration, Switching

USUAL = sys.getswitchinterval()


def test_the_interval_is_fine_until_the_last_of_several_ends() -> None:
    switching = Switching()
    with switching.fine():
        with switching.fine():
            inner = sys.getswitchinterval()
        outer = sys.getswitchinterval()

    assert [inner, outer, sys.getswitchinterval()] == pytest.approx(
        [FINE_SECONDS, FINE_SECONDS, USUAL]
    )


def test_a_dear_search_runs_under_the_fine_interval_and_a_cheap_one_does_not(
    open_edition: OpenGeneration,
) -> None:
    def fails() -> None:
        raise ZeroDivisionError

    async def scenario() -> list[float]:
        dear = editions.DEAR_MICROSECONDS
        found = [await open_edition.aside(cost, sys.getswitchinterval) for cost in (dear - 1, dear)]
        with pytest.raises(ZeroDivisionError):
            await open_edition.aside(dear, fails)
        return [*found, sys.getswitchinterval()]

    assert asyncio.run(scenario()) == pytest.approx([USUAL, FINE_SECONDS, USUAL])
