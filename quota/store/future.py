"""Awaitable results of a store: a future that a group commit resolves, and a result already there.

`StoreFuture` is a `concurrent.futures.Future`: a thread calls `result()`, a coroutine awaits it. It
differs in two ways, for an event loop on which hundreds of coroutines wait: `await future` needs no
`asyncio.wrap_future`, and `resolve` wakes each loop once for a whole group. Waking a loop costs a
system call, and `asyncio.wrap_future` would make one per future.

A coroutine waits for at most PATIENCE_S: the disk may not answer, or another process may be stopped
in the middle of a write. The wait then ends by cancelling the future, and an operation that was
cancelled before it started is not run.
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

# A commit takes milliseconds. The value is below the time that a stopping worker has to finish.
PATIENCE_S: Final = 10.0

_Waiter = asyncio.Future[None]
_LoopWaiter = tuple[asyncio.AbstractEventLoop, _Waiter]

# A function of the ledger: its first parameter is the transaction, the others are passed on.
Reading: TypeAlias = Callable[Concatenate[ReadTransaction, P], T]
Writing: TypeAlias = Callable[Concatenate[WriteTransaction, P], T]


class StoreResult(Protocol[T_co]):
    """A result of a store, awaitable or by `result()`; it may be there already."""

    def __await__(self) -> Generator[Any, None, T_co]: ...

    def result(self) -> T_co: ...


class ReadyResult(Generic[T]):
    """A result that is there already, as a read of LMDB has it."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, None, T]:
        return self._value
        yield  # never reached: it makes this method a generator, as `await` requires

    def result(self) -> T:
        return self._value


class StoreFuture(Future[T]):
    """A result that arrives when the operation was run and committed."""

    def __init__(self) -> None:
        super().__init__()
        self._awaiting: list[_LoopWaiter] = []

    def __await__(self) -> Generator[Any, None, T]:
        # The lock of the future itself: either it is done, or `resolve` will see the waiter.
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

    def start(self) -> bool:
        """Mark the operation as running, which rules out cancelling; False if it was cancelled."""
        return self.set_running_or_notify_cancel()

    def resolve(self, outcome: T | BaseException) -> Sequence[_LoopWaiter]:
        """Set the result or the exception; return the waiters that must still be woken."""
        # A cancelled future has no outcome, and nobody reads it.
        with contextlib.suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)
        return self._awaiting

    def _time_out(self, waiter: _Waiter) -> None:
        if waiter.done():
            return
        counted = "nothing was counted" if self.cancel() else "it may be counted nevertheless"
        if self.done() and not self.cancelled():  # resolved just now, the wake-up is on its way
            waiter.set_result(None)
        else:
            waiter.set_exception(
                StoreUnavailable(
                    f"no write was done in {PATIENCE_S:g} s; {counted}; try again",
                    maybe_done=not self.cancelled(),
                )
            )


def resolve(outcomes: Iterable[tuple[StoreFuture[Any], Any]]) -> None:
    """Resolve futures, then wake every event loop that awaits some of them, once."""
    waiting: dict[asyncio.AbstractEventLoop, list[_Waiter]] = defaultdict(list)
    for future, outcome in outcomes:
        for loop, waiter in future.resolve(outcome):
            waiting[loop].append(waiter)
    for loop, waiters in waiting.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_wake, waiters)


def _wake(waiters: Iterable[_Waiter]) -> None:
    for waiter in waiters:
        if not waiter.done():  # the request of a cancelled waiter is gone
            waiter.set_result(None)
