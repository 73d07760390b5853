"""The group commit: one thread that writes what all others ask for, many wishes a transaction.

A synced commit takes milliseconds on a disk, whatever is in it. So the thread takes all that waits,
does it in the order of the queue within one transaction, and answers after the commit; meanwhile
the next group gathers. No answer is given before its group is on the disk.

A wish that the ledger refuses (QuotaError) has changed nothing and fails alone; one whose promise
was given up before the transaction came to it is left out. When the commit
fails, all of the group fail and nothing of it was written.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from quota.errors import StoreUnavailable
from quota.store.promise import Promise, settle

T = TypeVar("T")
X = TypeVar("X")  # what a wish is given: a transaction, or what it is sent by

Wish = Callable[[X], Any]
_Waiting = tuple[Wish[X], Promise[Any]]
# Does all of a group in one synced transaction; returns an outcome each, a QuotaError among them.
Commit = Callable[[Sequence[Wish[X]]], Sequence[Any]]

# Bounds how long the first of a group waits for the others, and what one failure takes along.
GROUP: Final = 512
IDLE_S: Final = 60.0
# Where several asked at once, others are on their way, and a commit takes as much of processor and
# disk for one as for many: so long is waited for them. Who calls alone never waits.
GATHERING_S: Final = 1e-3

_LOST: Final = "an error ended the writer of the store: {} wishes were not done; see the log"


class GroupCommit(Generic[X]):
    """The thread and its queue. The thread starts with the first wish."""

    def __init__(self, commit: Commit[X], idle: Callable[[], None]) -> None:
        """`commit` and `idle` (after IDLE_S without a wish) are called on the thread only."""
        self._commit = commit
        self._idle = idle
        self._wishes: queue.SimpleQueue[_Waiting[X] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._first = threading.Lock()
        self._closed = False
        self._ending = threading.Event()

    def submit(self, wish: Callable[[X], T]) -> Promise[T]:
        """Ask for a write; the promise holds what `wish` returns, once it is on the disk.

        The promise raises what the ledger refused (QuotaError), or StoreUnavailable when nothing
        was written.
        """
        promise: Promise[T] = Promise()
        self._wishes.put((wish, promise))
        if self._closed:
            self._refuse_all()
        elif self._thread is None:
            with self._first:
                if self._thread is None:
                    self._begin()
        return promise

    def close(self) -> None:
        """Write what was asked for before, then end the thread."""
        self._closed = True
        self._ending.set()
        self._wishes.put(None)
        # One that fails is followed by another before it ends.
        while self._thread is not None and self._thread.is_alive():
            self._thread.join()
        self._refuse_all()

    def _refuse_all(self) -> None:
        """What came after the end of the thread, which is not there to refuse it."""
        if self._thread is not None and self._thread.is_alive():
            return
        with contextlib.suppress(queue.Empty):
            while True:
                if waiting := self._wishes.get_nowait():
                    lost = StoreUnavailable("the store was closed; open it again")
                    settle([(waiting[1], lost)])

    def _begin(self) -> None:
        # A daemon: a process that dies by an exception is not kept alive by its store.
        self._thread = threading.Thread(target=self._run, name="quota", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        more, several = True, False
        try:
            while more:
                try:
                    first = self._wishes.get(timeout=IDLE_S)
                except queue.Empty:
                    self._idle()
                    continue
                if several:
                    self._ending.wait(GATHERING_S)
                group, more = self._gather(first)
                several = len(group) > 1
                if group:
                    self._serve(group)
        except BaseException:
            # An error of ours: this thread ends with its traceback, another goes on.
            if more:
                self._begin()
            raise

    def _gather(self, first: _Waiting[X] | None) -> tuple[list[_Waiting[X]], bool]:
        """All that waits now, at most GROUP; False: the writer is to end after it."""
        group: list[_Waiting[X]] = []
        wish = first
        while wish is not None:
            group.append(wish)
            if len(group) == GROUP:
                return group, True
            try:
                wish = self._wishes.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _serve(self, group: Sequence[_Waiting[X]]) -> None:
        # Whatever happens in there, nobody waits for ever.
        outcomes: Sequence[Any] = [StoreUnavailable(_LOST.format(len(group)))] * len(group)
        try:
            outcomes = self._commit([_unless_given_up(*waiting) for waiting in group])
        finally:
            promises = [promise for _, promise in group]
            settle(zip(promises, outcomes, strict=True))


def _unless_given_up(wish: Wish[X], promise: Promise[Any]) -> Wish[X]:
    return lambda txn: wish(txn) if promise.begin() else None
