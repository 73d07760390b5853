"""A result that is there once a group is committed: a thread waits for it, a coroutine awaits it.

It is a `concurrent.futures.Future` with two shortcuts for an event loop that waits for hundreds at
a time: `await promise` needs no `asyncio.wrap_future`, and `settle` wakes each loop once for a
whole group. To wake a loop costs a system call, and would cost one for each future that is wrapped.

A coroutine does not wait for ever: not for a disk that does not answer, and not for a process that
is stopped in the middle of a write. It gives the promise up, and what was not begun is not done.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, Final, Generic, Protocol, TypeVar

from quota.errors import StoreUnavailable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# A commit takes milliseconds. Less than a worker has to finish once it is told to stop.
PATIENCE_S: Final = 10.0

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
            alarm = loop.call_later(PATIENCE_S, self._give_up, waiter)
            try:
                yield from waiter
            finally:
                alarm.cancel()
        return self.result()

    def _give_up(self, waiter: Waiter) -> None:
        if waiter.done():
            return
        told = "nothing was counted" if self.cancel() else "it may be counted nevertheless"
        if self.done() and not self.cancelled():  # just now: it is not woken yet
            waiter.set_result(None)
        else:
            waiter.set_exception(StoreUnavailable(f"no write was done in {PATIENCE_S:g} s; {told}"))

    def begin(self) -> bool:
        """From now on it cannot be given up; False: it was, and is not to be done."""
        return self.set_running_or_notify_cancel()

    def settle(self, outcome: T | BaseException) -> Sequence[Asleep]:
        """Give the outcome, and return who must still be woken."""
        # One that was given up has nobody left to tell.
        with contextlib.suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)
        return self._awaited


class Told(Protocol[T_co]):
    """An answer of a store: a Promise, or one that is there already."""

    def __await__(self) -> Generator[Any, None, T_co]: ...

    def result(self) -> T_co: ...


class Kept(Generic[T]):
    """What could be told at once, in the form of a promise: it was kept when it was given."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, None, T]:
        return self._value
        yield  # never reached: it makes this a generator, which `await` wants

    def result(self) -> T:
        return self._value


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
