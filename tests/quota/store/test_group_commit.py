"""The group commit: the order of operations, results only after the commit, and failures."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from quota.errors import StoreUnavailable, UnknownError
from quota.ledger.row_format import WriteTransaction
from quota.store import group_commit
from quota.store.future import StoreFuture, resolve
from quota.store.group_commit import GROUP_MOST, GroupCommit, StoreOperation

# In place of a transaction: the operations of these tests write no rows.
NO_TRANSACTION = cast(WriteTransaction, None)


class Disk:
    """A disk that notes the size of each group; while `may_commit` is cleared, a group waits on it."""

    def __init__(self) -> None:
        self.groups: list[int] = []  # the number of operations of each group
        self.group_arrived = threading.Semaphore(0)
        self.may_commit = threading.Event()
        self.may_commit.set()

    def commit(self, operations: Sequence[StoreOperation[WriteTransaction]]) -> list[Any]:
        """Run the operations, report that the group has arrived, and wait until it can be committed."""
        self.groups.append(len(operations))
        outcomes = [operation(NO_TRANSACTION) for operation in operations]
        self.group_arrived.release()
        self.may_commit.wait()
        return outcomes


def constant(value: object) -> Callable[[WriteTransaction], object]:
    """An operation that writes nothing and returns the value."""
    return lambda txn: value


def test_queued_operations_are_committed_as_one_group_in_their_order() -> None:
    """While the disk commits the first operation, 100 operations are queued; one commit then does them all."""
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    run_order: list[int] = []
    disk.may_commit.clear()
    writer.submit(constant(None))
    disk.group_arrived.acquire()

    def note(number: int) -> StoreOperation[WriteTransaction]:
        """An operation that appends its number to `run_order`."""
        return lambda txn: run_order.append(number)

    futures = [writer.submit(note(number)) for number in range(100)]
    disk.may_commit.set()
    for future in futures:
        future.result()
    writer.close()

    assert disk.groups == [1, 100]
    assert run_order == list(range(100))


def test_after_a_group_of_several_the_next_group_waits_for_more_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wait is GATHERING_S, here a minute, or until the end: both operations are in one group."""
    monkeypatch.setattr(group_commit, "GATHERING_S", 60.0)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.may_commit.clear()
    writer.submit(constant(None))
    disk.group_arrived.acquire()
    futures = [writer.submit(constant(None)) for _ in range(2)]
    disk.may_commit.set()
    for future in futures:
        future.result()

    early_operation = writer.submit(constant(None))
    time.sleep(0.1)  # without the wait the first operation would be alone in its group
    late_operation = writer.submit(constant(None))
    writer.close()

    early_operation.result()
    assert late_operation.done()
    assert disk.groups == [1, 2, 2]


def test_a_caller_who_is_alone_does_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for gathering others is a minute here; a wait would fail the test"""
    monkeypatch.setattr(group_commit, "GATHERING_S", 60.0)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)

    for _ in range(3):
        assert writer.submit(constant("granted")).result() == "granted"
    writer.close()

    assert disk.groups == [1, 1, 1]


def test_a_group_has_a_largest_size() -> None:
    """Operations that wait during a commit are written in several groups if they are too many for one"""
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.may_commit.clear()
    for _ in range(2 * GROUP_MOST + 2):
        writer.submit(constant(None))
    disk.may_commit.set()
    writer.close()

    assert max(disk.groups) <= GROUP_MOST
    assert sum(disk.groups) == 2 * GROUP_MOST + 2


def test_nobody_is_answered_before_the_commit() -> None:
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.may_commit.clear()
    future = writer.submit(constant("granted"))
    disk.group_arrived.acquire()

    assert not future.done()
    disk.may_commit.set()
    assert future.result() == "granted"
    writer.close()


def test_a_failed_commit_fails_its_group_and_the_next_group_is_committed() -> None:
    def commit(operations: Sequence[StoreOperation[WriteTransaction]]) -> list[Any]:
        """Fail as a full disk does if an operation of the group returns "bad"."""
        outcomes = [operation(NO_TRANSACTION) for operation in operations]
        error = StoreUnavailable("the disk is full; give it space")
        return [error] * len(operations) if "bad" in outcomes else outcomes

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="give it space"):
        writer.submit(constant("bad")).result()
    assert writer.submit(constant("good")).result() == "good"
    writer.close()


def test_an_operation_that_raises_fails_its_group_and_a_new_thread_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: queue.Queue[type[BaseException]] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda error: errors.put(error.exc_type))

    def commit(operations: Sequence[StoreOperation[WriteTransaction]]) -> list[Any]:
        """Run the operations without a store."""
        return [operation(NO_TRANSACTION) for operation in operations]

    def divide_by_zero(txn: WriteTransaction) -> object:
        raise ZeroDivisionError

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="not done"):
        writer.submit(divide_by_zero).result()
    assert writer.submit(constant("good")).result() == "good"
    writer.close()
    # The failed thread reports at its end; the next thread does not wait for it.
    assert errors.get(timeout=120) is ZeroDivisionError


def test_operations_before_close_are_done_and_operations_after_it_are_refused() -> None:
    writer = GroupCommit(Disk().commit, lambda: None)
    before = writer.submit(constant("good"))
    writer.close()
    after = writer.submit(constant("too late"))
    writer.close()

    assert before.result() == "good"
    assert isinstance(after.exception(), StoreUnavailable)


def test_a_writer_without_operations_calls_its_idle_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quota.store.group_commit.IDLE_S", 0.01)
    was_idle = threading.Event()
    writer = GroupCommit(Disk().commit, was_idle.set)

    writer.submit(constant(None)).result()

    assert was_idle.wait(10)
    writer.close()


# -- futures, and the waits of callers and of the thread ---------------------------


def test_a_loop_with_hundreds_of_waiters_is_woken_once() -> None:
    """A thread resolves 300 futures; a wake-up for each of them would slow the loop down"""
    wake_ups = 0

    async def main() -> list[int]:
        """Await 300 futures that a thread resolves; returns their results and counts wake-ups of the loop."""
        nonlocal wake_ups
        loop = asyncio.get_running_loop()
        call_soon = loop.call_soon_threadsafe

        def count_wake_up(*arguments: Any) -> Any:
            nonlocal wake_ups
            wake_ups += 1
            return call_soon(*arguments)

        loop.call_soon_threadsafe = count_wake_up  # type: ignore[assignment, method-assign]
        futures: list[StoreFuture[int]] = [StoreFuture() for _ in range(300)]

        async def wait_for(future: StoreFuture[int]) -> int:
            return await future

        tasks = [asyncio.ensure_future(wait_for(future)) for future in futures]
        await asyncio.sleep(0)
        thread = threading.Thread(
            target=resolve, args=(list(zip(futures, range(300), strict=True)),)
        )
        thread.start()
        answers = await asyncio.gather(*tasks)
        thread.join()
        loop.call_soon_threadsafe = call_soon  # type: ignore[method-assign]
        return answers

    assert asyncio.run(main()) == list(range(300))
    assert wake_ups == 1


def test_a_future_that_is_done_is_awaited_at_once() -> None:
    async def main() -> str:
        future: StoreFuture[str] = StoreFuture()
        resolve([(future, "Orléans")])
        return await future

    assert asyncio.run(main()) == "Orléans"


def test_a_failed_future_raises_where_it_is_awaited() -> None:
    async def main() -> None:
        future: StoreFuture[str] = StoreFuture()
        asyncio.get_running_loop().call_later(0.01, resolve, [(future, UnknownError("k_"))])
        await future

    with pytest.raises(UnknownError):
        asyncio.run(main())


def test_a_cancelled_request_affects_no_other() -> None:
    async def main() -> int:
        """Cancel the first of two requests; return the result of the second."""
        futures: list[StoreFuture[int]] = [StoreFuture(), StoreFuture()]

        async def wait_for(future: StoreFuture[int]) -> int:
            return await future

        cancelled, waiting = (asyncio.ensure_future(wait_for(future)) for future in futures)
        await asyncio.sleep(0)
        cancelled.cancel()
        resolve([(future, 7) for future in futures])
        return await waiting

    assert asyncio.run(main()) == 7


def await_in_loop(future: StoreFuture[Any]) -> Any:
    """The result of the future, awaited in a new event loop."""

    async def main() -> Any:
        return await future

    return asyncio.run(main())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller waits 50 ms for a result."""
    monkeypatch.setattr("quota.store.future.PATIENCE_S", 0.05)


@pytest.mark.usefixtures("impatient")
def test_an_operation_whose_caller_gave_up_is_not_done() -> None:
    """The wait of a caller has a limit; the error says that nothing was counted"""
    operations_run: list[str] = []
    commit_begins = threading.Event()

    def commit(operations: Sequence[StoreOperation[WriteTransaction]]) -> list[Any]:
        """Run the operations once `commit_begins` is set, when the caller has given up."""
        commit_begins.wait(10)
        return [operation(NO_TRANSACTION) for operation in operations]

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="nothing was counted"):
        await_in_loop(writer.submit(lambda txn: operations_run.append("too late")))
    commit_begins.set()
    writer.submit(lambda txn: operations_run.append("good")).result()
    writer.close()

    assert operations_run == ["good"]


@pytest.mark.usefixtures("impatient")
def test_an_operation_that_has_begun_may_be_done_and_the_error_says_so() -> None:
    disk = Disk()
    disk.may_commit.clear()
    writer = GroupCommit(disk.commit, lambda: None)
    future = writer.submit(constant(7))
    disk.group_arrived.acquire()

    with pytest.raises(StoreUnavailable, match="may be counted"):
        await_in_loop(future)
    disk.may_commit.set()
    writer.close()

    assert future.result() == 7


@pytest.mark.usefixtures("impatient")
def test_a_result_that_is_due_together_with_the_timeout_is_returned() -> None:
    """The loop is busy for longer than a caller waits, and the result comes before it is free again"""
    future: StoreFuture[int] = StoreFuture()

    async def main() -> int:
        """Resolve the future, then keep the loop busy for longer than the 50 ms that a caller waits."""

        async def wait_for_result() -> int:
            return await future

        task = asyncio.ensure_future(wait_for_result())
        await asyncio.sleep(0)
        resolve([(future, 7)])
        time.sleep(0.1)  # the loop is busy: the time-out and the result are due together
        return await task

    assert asyncio.run(main()) == 7


def test_a_loop_that_was_closed_is_not_woken() -> None:
    future: StoreFuture[int] = StoreFuture()

    async def main() -> None:
        async def wait_for_result() -> int:
            return await future

        task = asyncio.ensure_future(wait_for_result())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    resolve([(future, 1)])

    assert future.result() == 1


def test_after_a_large_group_the_thread_waits_longer_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits 10 ms for each four operations of the last group, at least once and at most four times"""
    seconds_waited: list[float] = []
    monkeypatch.setattr(group_commit, "GATHERING_S", 0.01)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    wait_unchanged = writer._ending.wait

    def wait(seconds: float) -> bool:
        """Note how long the thread waits for more operations."""
        seconds_waited.append(seconds)
        return wait_unchanged(seconds)

    monkeypatch.setattr(writer._ending, "wait", wait)

    for group_size in (2, 12, 100):
        disk.may_commit.clear()
        futures = [writer.submit(constant(None))]
        disk.group_arrived.acquire()
        futures += [writer.submit(constant(None)) for _ in range(group_size)]
        disk.may_commit.set()
        for future in futures:
            future.result()
        writer.submit(constant(None)).result()
        while disk.group_arrived.acquire(blocking=False):
            pass
    writer.close()

    assert seconds_waited == [0.01, 0.03, 0.04]
