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
from quota.store import group_commit as writers
from quota.store.future import StoreFuture, resolve
from quota.store.group_commit import GROUP, GroupCommit, Operation

NOTHING = cast(WriteTransaction, None)


class Disk:
    """A disk that commits groups, and can delay one until the test lets it through."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.reached = threading.Semaphore(0)
        self.through = threading.Event()
        self.through.set()

    def commit(self, operations: Sequence[Operation[WriteTransaction]]) -> list[Any]:
        self.groups.append(len(operations))
        outcomes = [operation(NOTHING) for operation in operations]
        self.reached.release()
        self.through.wait()
        return outcomes


def constant(value: object) -> Callable[[WriteTransaction], object]:
    return lambda txn: value


def test_queued_operations_are_committed_at_once_in_their_order() -> None:
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    done: list[int] = []
    disk.through.clear()
    writer.submit(constant(None))
    disk.reached.acquire()

    def note(number: int) -> Operation[WriteTransaction]:
        return lambda txn: done.append(number)

    futures = [writer.submit(note(number)) for number in range(100)]
    disk.through.set()
    for future in futures:
        future.result(10)
    writer.close()

    assert disk.groups == [1, 100]
    assert done == list(range(100))


def test_after_a_group_the_next_one_gathers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "GATHERING_S", 0.5)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.through.clear()
    writer.submit(constant(None))
    disk.reached.acquire()
    futures = [writer.submit(constant(None)) for _ in range(2)]
    disk.through.set()
    for future in futures:
        future.result(10)

    first = writer.submit(constant(None))
    time.sleep(0.1)
    second = writer.submit(constant(None))
    first.result(10)

    assert second.done()
    writer.close()
    assert disk.groups == [1, 2, 2]


def test_a_lone_caller_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "GATHERING_S", 60.0)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)

    for _ in range(3):
        assert writer.submit(constant("granted")).result(10) == "granted"
    writer.close()

    assert disk.groups == [1, 1, 1]


def test_a_group_has_a_largest_size() -> None:
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.through.clear()
    for _ in range(2 * GROUP + 2):
        writer.submit(constant(None))
    disk.through.set()
    writer.close()

    assert max(disk.groups) <= GROUP
    assert sum(disk.groups) == 2 * GROUP + 2


def test_nobody_is_answered_before_the_commit() -> None:
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    disk.through.clear()
    future = writer.submit(constant("granted"))
    disk.reached.acquire()

    assert not future.done()
    disk.through.set()
    assert future.result(10) == "granted"
    writer.close()


def test_a_commit_that_fails_fails_all_of_its_group_and_the_next_goes_on() -> None:
    def commit(operations: Sequence[Operation[WriteTransaction]]) -> list[Any]:
        outcomes = [operation(NOTHING) for operation in operations]
        lost = StoreUnavailable("the disk is full; give it space")
        return [lost] * len(operations) if "bad" in outcomes else outcomes

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="give it space"):
        writer.submit(constant("bad")).result(10)
    assert writer.submit(constant("good")).result(10) == "good"
    writer.close()


def test_an_error_of_ours_is_shown_and_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: queue.Queue[type[BaseException]] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda error: shown.put(error.exc_type))

    def commit(operations: Sequence[Operation[WriteTransaction]]) -> list[Any]:
        return [operation(NOTHING) for operation in operations]

    def broken(txn: WriteTransaction) -> object:
        raise ZeroDivisionError

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="not done"):
        writer.submit(broken).result(10)
    assert writer.submit(constant("good")).result(10) == "good"
    writer.close()
    # The failed thread reports at its end, for which the next thread does not wait.
    assert shown.get(timeout=10) is ZeroDivisionError


def test_an_operation_after_the_end_is_refused_and_one_before_it_is_done() -> None:
    writer = GroupCommit(Disk().commit, lambda: None)
    before = writer.submit(constant("good"))
    writer.close()
    after = writer.submit(constant("too late"))
    writer.close()

    assert before.result(10) == "good"
    assert isinstance(after.exception(10), StoreUnavailable)


def test_an_idle_writer_calls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quota.store.group_commit.IDLE_S", 0.01)
    rested = threading.Event()
    writer = GroupCommit(Disk().commit, rested.set)

    writer.submit(constant(None)).result(10)

    assert rested.wait(10)
    writer.close()


# -- futures -----------------------------------------------------------------------


def test_a_loop_that_awaits_hundreds_is_woken_once() -> None:
    woken = 0

    async def main() -> list[int]:
        nonlocal woken
        loop = asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe

        def counted(*arguments: Any) -> Any:
            nonlocal woken
            woken += 1
            return wake(*arguments)

        loop.call_soon_threadsafe = counted  # type: ignore[assignment, method-assign]
        futures: list[StoreFuture[int]] = [StoreFuture() for _ in range(300)]

        async def one(future: StoreFuture[int]) -> int:
            return await future

        tasks = [asyncio.ensure_future(one(future)) for future in futures]
        await asyncio.sleep(0)
        thread = threading.Thread(
            target=resolve, args=(list(zip(futures, range(300), strict=True)),)
        )
        thread.start()
        answers = await asyncio.gather(*tasks)
        thread.join()
        loop.call_soon_threadsafe = wake  # type: ignore[method-assign]
        return answers

    assert asyncio.run(main()) == list(range(300))
    assert woken == 1


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


def test_a_request_that_is_gone_disturbs_nobody() -> None:
    async def main() -> int:
        futures: list[StoreFuture[int]] = [StoreFuture(), StoreFuture()]

        async def one(future: StoreFuture[int]) -> int:
            return await future

        gone, stays = (asyncio.ensure_future(one(future)) for future in futures)
        await asyncio.sleep(0)
        gone.cancel()
        resolve([(future, 7) for future in futures])
        return await stays

    assert asyncio.run(main()) == 7


def awaited(future: StoreFuture[Any]) -> Any:
    async def main() -> Any:
        return await future

    return asyncio.run(main())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quota.store.future.PATIENCE_S", 0.05)


@pytest.mark.usefixtures("impatient")
def test_what_nobody_waits_for_any_more_is_not_done() -> None:
    """A client never waits for ever; the message says that nothing was counted"""
    done: list[str] = []
    begins = threading.Event()

    def commit(operations: Sequence[Operation[WriteTransaction]]) -> list[Any]:
        begins.wait(10)
        return [operation(NOTHING) for operation in operations]

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="nothing was counted"):
        awaited(writer.submit(lambda txn: done.append("too late")))
    begins.set()
    writer.submit(lambda txn: done.append("good")).result(10)
    writer.close()

    assert done == ["good"]


@pytest.mark.usefixtures("impatient")
def test_what_was_begun_may_be_done_and_says_so() -> None:
    disk = Disk()
    disk.through.clear()
    writer = GroupCommit(disk.commit, lambda: None)
    future = writer.submit(constant(7))
    disk.reached.acquire()

    with pytest.raises(StoreUnavailable, match="may be counted"):
        awaited(future)
    disk.through.set()
    writer.close()

    assert future.result(10) == 7


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_comes_at_the_last_moment_counts() -> None:
    future: StoreFuture[int] = StoreFuture()

    async def main() -> int:
        async def one() -> int:
            return await future

        task = asyncio.ensure_future(one())
        await asyncio.sleep(0)
        resolve([(future, 7)])
        time.sleep(0.1)  # the loop is busy: the time-out and the result are due together
        return await task

    assert asyncio.run(main()) == 7


def test_a_loop_that_was_closed_is_not_woken() -> None:
    future: StoreFuture[int] = StoreFuture()

    async def main() -> None:
        async def one() -> int:
            return await future

        task = asyncio.ensure_future(one())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    resolve([(future, 1)])

    assert future.result() == 1


def test_after_a_crowd_the_thread_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(writers, "GATHERING_S", 0.01)
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    waiting = writer._ending.wait

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return waiting(seconds)

    monkeypatch.setattr(writer._ending, "wait", wait)

    for crowd in (2, 12, 100):
        disk.through.clear()
        futures = [writer.submit(constant(None))]
        disk.reached.acquire()
        futures += [writer.submit(constant(None)) for _ in range(crowd)]
        disk.through.set()
        for future in futures:
            future.result(10)
        writer.submit(constant(None)).result(10)
        while disk.reached.acquire(blocking=False):
            pass
    writer.close()

    assert waited == [0.01, 0.03, 0.04]
