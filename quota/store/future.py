"""Awaitable results of a store: a future that a group commit resolves, and a result that is ready.

`StoreFuture` is a `concurrent.futures.Future`: a thread calls `result()`, a coroutine awaits it. It
differs in two ways, for an event loop on which hundreds of coroutines wait: `await future` needs no
`asyncio.wrap_future`, and `resolve` wakes each event loop once per group of futures. Waking a loop costs a system
call, and `asyncio.wrap_future` would make such a call for each future.

A coroutine waits for at most PATIENCE_S, because the disk may not respond, or another process may be stopped
in the middle of a write. After that the future is cancelled and the coroutine gets StoreUnavailable; an operation
whose future was cancelled before the operation started is not run.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

from quota.errors import StoreUnavailable
from quota.ledger.row_format import ReadTransaction, WriteTransaction

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Seconds that a coroutine waits for a result. A commit takes milliseconds; the value is less than the time that a
# stopping worker has to finish its requests.
PATIENCE_S: Final = 10.0

# The future of one waiting coroutine, which `resolve` completes on its event loop.
_Waiter = asyncio.Future[None]
_LoopWaiter = tuple[asyncio.AbstractEventLoop, _Waiter]

# A function of the ledger: its first parameter is the transaction, the others are passed on.
LedgerRead: TypeAlias = Callable[Concatenate[ReadTransaction, P], T]
LedgerWrite: TypeAlias = Callable[Concatenate[WriteTransaction, P], T]


class StoreResult(Protocol[T_co]):
    """A result of a store: a coroutine awaits it, a thread calls `result()`. It can be ready from the start."""

    def __await__(self) -> Generator[Any, None, T_co]: ...

    def result(self) -> T_co:
        """The result, for a thread, which waits for it if necessary; raises the error of the operation."""
        ...


class ReadyResult(Generic[T]):
    """A result that is ready, such as the result of an LMDB read."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, None, T]:
        return self._value
        yield  # never reached: it makes this method a generator, as `await` requires

    def result(self) -> T:
        return self._value


class StoreFuture(Future[T]):
    """A result that arrives after the operation has run and is committed."""

    def __init__(self) -> None:
        super().__init__()
        self._awaiting: list[_LoopWaiter] = []  # one for each coroutine that awaits this future

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for the result, at most PATIENCE_S; raises StoreUnavailable after that."""
        # Under the lock of the future, so that either the future is done, or `resolve` sees the waiter.
        with self._condition:
            waiter = None
            if not self.done():
                loop = asyncio.get_running_loop()
                waiter = loop.create_future()
                self._awaiting.append((loop, waiter))
        if waiter is not None:
            timer = loop.call_later(PATIENCE_S, self._time_out, waiter)
            try:
                yield from waiter
            finally:
                timer.cancel()
        return self.result()

    def resolve(self, outcome: T | BaseException) -> Sequence[_LoopWaiter]:
        """Set the result or the exception; returns the waiters, which the caller must wake."""
        # A cancelled future has no outcome, and nobody reads it.
        with contextlib.suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)
        return self._awaiting

    def _time_out(self, waiter: _Waiter) -> None:
        """End the wait of a coroutine with StoreUnavailable, and cancel the operation if it has not started.

        A result that has just come ends the wait without an error.
        """
        if waiter.done():
            return
        consequence = "nothing was counted" if self.cancel() else "it may be counted nevertheless"
        if self.done() and not self.cancelled():  # resolved just now, the wake-up is on its way
            waiter.set_result(None)
        else:
            waiter.set_exception(
                StoreUnavailable(
                    f"no write was done in {PATIENCE_S:g} s; {consequence}; try again",
                    maybe_done=not self.cancelled(),
                )
            )


def resolve(outcomes: Iterable[tuple[StoreFuture[Any], Any]]) -> None:
    """Resolve futures with their outcomes, then wake each event loop that awaits any of these futures once."""
    waiting: dict[asyncio.AbstractEventLoop, list[_Waiter]] = defaultdict(list)
    for future, outcome in outcomes:
        for loop, waiter in future.resolve(outcome):
            waiting[loop].append(waiter)
    for loop, waiters in waiting.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_wake, waiters)


def _wake(waiters: Iterable[_Waiter]) -> None:
    """Let the coroutines of one event loop continue; runs on that loop."""
    for waiter in waiters:
        if not waiter.done():  # the request of a cancelled waiter is gone
            waiter.set_result(None)
