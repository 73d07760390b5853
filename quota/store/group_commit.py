"""Group commit: one thread that runs the operations of all others, many per transaction.

A synced commit takes milliseconds on a disk, whatever its size. The thread therefore takes all
queued operations, runs them in the order of the queue within one transaction, and resolves their
futures after the commit; the next group gathers meanwhile. No future is resolved before its group
is on the disk.

An operation that the ledger refuses (QuotaError) has changed nothing and fails alone. An operation
whose future was cancelled before the transaction reached it is left out. If the commit fails, the
whole group fails and nothing of it was written.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from quota.errors import StoreUnavailable
from quota.store.future import StoreFuture, resolve

T = TypeVar("T")
X = TypeVar("X")  # the argument of an operation: a transaction, or a list of commands to send

Operation = Callable[[X], Any]
_QueueItem = tuple[Operation[X], StoreFuture[Any]]
# Runs a group in one synced transaction; returns one outcome each, a QuotaError for a refusal.
Commit = Callable[[Sequence[Operation[X]]], Sequence[Any]]

# Bounds the wait of the first operation of a group, and the number that one failure affects.
GROUP: Final = 512
IDLE_S: Final = 60.0  # a store without work has time for what can wait (`idle`)
# Where the last group had several operations, more are on their way, and a commit costs as much processor and disk
# for one as for many: so the thread waits this long for them, as often as the last group had CROWD operations, at most
# LONGER times. After a group of one nobody waits.
GATHERING_S: Final = 1e-3
CROWD: Final = 4
LONGER: Final = 4

_LOST: Final = "an error ended the writer of the store: {} writes were not done; see the log"


class GroupCommit(Generic[X]):
    """The thread and its queue. The thread starts with the first operation."""

    def __init__(
        self, commit: Commit[X], idle: Callable[[], None] = lambda: None, most: int = GROUP
    ) -> None:
        """`commit`, and `idle` (after IDLE_S without an operation), run on the thread only.

        Args:
            most: the most operations of a group.
        """
        self.gathering = threading.Lock()  # held: what is queued meanwhile is in one group
        self._most = most
        self._commit = commit
        self._idle = idle
        self._queue: queue.SimpleQueue[_QueueItem[X] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False
        self._ending = threading.Event()

    def submit(self, operation: Callable[[X], T]) -> StoreFuture[T]:
        """Queue an operation; the future has its return value once that is on the disk.

        The future raises the ledger's refusal (QuotaError), or StoreUnavailable if nothing was
        written.
        """
        future: StoreFuture[T] = StoreFuture()
        self._queue.put((operation, future))
        if self._closed:
            self._refuse_queue()
        elif self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._start()
        return future

    def close(self) -> None:
        """Commit all queued operations, then end the thread."""
        self._closed = True
        self._ending.set()
        self._queue.put(None)
        # A thread that fails starts its successor before it ends.
        while self._thread is not None and self._thread.is_alive():
            self._thread.join()
        self._refuse_queue()

    def _refuse_queue(self) -> None:
        """Fail the operations that were queued after the thread ended."""
        if self._thread is not None and self._thread.is_alive():
            return
        with contextlib.suppress(queue.Empty):
            while True:
                if item := self._queue.get_nowait():
                    lost = StoreUnavailable("the store was closed; open it again")
                    resolve([(item[1], lost)])

    def _start(self) -> None:
        # A daemon: the store must not keep a process alive that dies of an exception.
        self._thread = threading.Thread(target=self._run, name="quota", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        more, last = True, 0
        try:
            while more:
                try:
                    first = self._queue.get(timeout=IDLE_S)
                except queue.Empty:
                    self._idle()
                    continue
                if last > 1:
                    self._ending.wait(GATHERING_S * min(max(1, last // CROWD), LONGER))
                with self.gathering:
                    group, more = self._gather(first)
                last = len(group)
                if group:
                    self._run_group(group)
        except BaseException:
            # A defect of this code: the thread ends with its traceback, and a new one goes on.
            if more:
                self._start()
            raise

    def _gather(self, first: _QueueItem[X] | None) -> tuple[list[_QueueItem[X]], bool]:
        """All queued operations, as many as a group may have; False if the thread must end after them."""
        group: list[_QueueItem[X]] = []
        item = first
        while item is not None:
            group.append(item)
            if len(group) == self._most:
                return group, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _run_group(self, group: Sequence[_QueueItem[X]]) -> None:
        # Whatever the commit raises, every future is resolved.
        outcomes: Sequence[Any] = [StoreUnavailable(_LOST.format(len(group)))] * len(group)
        try:
            outcomes = self._commit([_unless_cancelled(*item) for item in group])
        finally:
            futures = [future for _, future in group]
            resolve(zip(futures, outcomes, strict=True))


def _unless_cancelled(operation: Operation[X], future: StoreFuture[Any]) -> Operation[X]:
    return lambda argument: operation(argument) if future.start() else None
