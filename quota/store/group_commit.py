"""Group commit: one thread that runs the operations of all other threads, many per transaction.

A synced commit takes milliseconds on a disk, whatever its size. The thread therefore takes all
queued operations, runs them in the order of the queue within one transaction, and resolves their
futures after the commit. Operations that are queued meanwhile are the next group. No future is resolved before its
group is on the disk.

An operation that the ledger refuses (QuotaError) has changed nothing, and only that operation fails. An operation
whose future was cancelled before its turn in the transaction is not run. If the commit fails, all operations of the
group fail, and nothing of the group was written.
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

StoreOperation = Callable[[X], Any]
_QueueItem = tuple[StoreOperation[X], StoreFuture[Any]]
# Runs a group in one synced transaction; returns the outcome of each operation: its result, or a QuotaError.
Commit = Callable[[Sequence[StoreOperation[X]]], Sequence[Any]]

# The most operations of a group. The limit bounds how long the first operation waits for the others, and how many
# operations fail with one commit.
GROUP_MOST: Final = 512
IDLE_S: Final = 60.0  # after this time without an operation, the function `idle` runs
# After a group of several operations, more operations will probably come soon, and a commit costs as much processor and
# disk for one operation as for many. So the thread then waits before it takes the next group: GATHERING_S seconds for
# each OPERATIONS_PER_WAIT operations of the last group, but at least once and at most MOST_WAITS times GATHERING_S.
# After a group of one operation the thread does not wait.
GATHERING_S: Final = 1e-3
OPERATIONS_PER_WAIT: Final = 4
MOST_WAITS: Final = 4

_LOST: Final = "an error ended the writer of the store: {} writes were not done; see the log"


class GroupCommit(Generic[X]):
    """The queue, and the thread that runs its operations. The thread starts with the first operation."""

    def __init__(
        self, commit: Commit[X], idle: Callable[[], None] = lambda: None, most: int = GROUP_MOST
    ) -> None:
        """`commit`, and `idle` (after IDLE_S without an operation), run on the thread only.

        Args:
            most: the most operations of a group.
        """
        # Operations that are queued while this lock is held are in one group.
        self.gathering = threading.Lock()
        self._most = most
        self._commit = commit
        self._idle = idle
        self._queue: queue.SimpleQueue[_QueueItem[X] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()  # held to start the thread, so that only one is started
        self._closed = False
        self._ending = threading.Event()  # set by `close`: ends the wait for more operations

    def submit(self, operation: Callable[[X], T]) -> StoreFuture[T]:
        """Queue an operation; the future returns the operation's result after the commit.

        The future raises QuotaError if the ledger refuses the operation, and StoreUnavailable if nothing was
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
        """Fail the operations that were queued after the thread ended; do nothing while the thread runs."""
        if self._thread is not None and self._thread.is_alive():
            return
        with contextlib.suppress(queue.Empty):
            while True:
                if item := self._queue.get_nowait():
                    refusal = StoreUnavailable("the store was closed; open it again")
                    resolve([(item[1], refusal)])

    def _start(self) -> None:
        """Start the thread that runs `_run`, a new one if a defect ended the previous one."""
        # A daemon thread, because the store must not keep a process alive that ends by an exception.
        self._thread = threading.Thread(target=self._run, name="quota", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run groups of operations until `close`; this is the body of the thread.

        After a group of several operations, the next one is awaited a little longer, so that it is larger.
        """
        goes_on, last_size = True, 0
        try:
            while goes_on:
                try:
                    first_item = self._queue.get(timeout=IDLE_S)
                except queue.Empty:
                    self._idle()
                    continue
                if last_size > 1:
                    self._ending.wait(
                        GATHERING_S * min(max(1, last_size // OPERATIONS_PER_WAIT), MOST_WAITS)
                    )
                with self.gathering:
                    group, goes_on = self._gather(first_item)
                last_size = len(group)
                if group:
                    self._run_group(group)
        except BaseException:
            # A defect of this code: the thread ends with its traceback, and a new thread continues.
            if goes_on:
                self._start()
            raise

    def _gather(self, first_item: _QueueItem[X] | None) -> tuple[list[_QueueItem[X]], bool]:
        """The queued operations, at most `most`, and whether the thread goes on after them.

        None in the queue is the sign of `close`: the thread then ends.
        """
        group: list[_QueueItem[X]] = []
        item = first_item
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
        """Commit a group, and resolve its futures."""
        # The outcomes if the commit raises an error that it should not: every future must be resolved in any case.
        outcomes: Sequence[Any] = [StoreUnavailable(_LOST.format(len(group)))] * len(group)
        try:
            outcomes = self._commit([_unless_cancelled(*item) for item in group])
        finally:
            futures = [future for _, future in group]
            resolve(zip(futures, outcomes, strict=True))


def _unless_cancelled(operation: StoreOperation[X], future: StoreFuture[Any]) -> StoreOperation[X]:
    """The operation, or one that does nothing if the future was cancelled before."""
    return lambda argument: operation(argument) if future.set_running_or_notify_cancel() else None
