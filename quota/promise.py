"""A result that is there once a group is committed: a thread waits for it, a coroutine awaits it.

It is a `concurrent.futures.Future` with two shortcuts for an event loop that waits for hundreds at
a time: `await promise` needs no `asyncio.wrap_future`, and `settle` wakes each loop once for a
whole group. To wake a loop costs a system call, and would cost one for each future that is wrapped.
"""

import asyncio
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

Waiter = asyncio.Future[None]
Asleep = tuple[asyncio.AbstractEventLoop, Waiter]


class Promise(Future[T]):
    """What a write of the store returns."""

    def __init__(self) -> None:
        super().__init__()
        self._awaited: list[Asleep] = []

    def __await__(self) -> Generator[Any, None, T]:
        # The lock of the future itself: either it is settled, or `settle` will see the waiter.
        with self._condition:
            waiter = None
            if not self.done():
                loop = asyncio.get_running_loop()
                waiter = loop.create_future()
                self._awaited.append((loop, waiter))
        if waiter is not None:
            yield from waiter
        return self.result()

    def settle(self, outcome: T | BaseException) -> Sequence[Asleep]:
        """Give the outcome, and return who must still be woken."""
        if isinstance(outcome, BaseException):
            self.set_exception(outcome)
        else:
            self.set_result(outcome)
        return self._awaited


def settle(outcomes: Iterable[tuple[Promise[Any], Any]]) -> None:
    """Settle promises and wake every event loop that awaits some of them, once."""
    asleep: dict[asyncio.AbstractEventLoop, list[Waiter]] = defaultdict(list)
    for promise, outcome in outcomes:
        for loop, waiter in promise.settle(outcome):
            asleep[loop].append(waiter)
    for loop, waiters in asleep.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_wake, waiters)


def _wake(waiters: Iterable[Waiter]) -> None:
    for waiter in waiters:
        if not waiter.done():  # a cancelled request waits no more
            waiter.set_result(None)
