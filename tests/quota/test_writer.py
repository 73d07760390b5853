"""The group commit: its order, answers after the commit only, and what a failure takes along."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from quota.errors import StoreUnavailable, UnknownError
from quota.ledger.transaction import WriteTransaction
from quota.store import group_commit as writers
from quota.store.group_commit import GROUP, GroupCommit, Wish
from quota.store.promise import Promise, settle

NOTHING = cast(WriteTransaction, None)


class Disk:
    """Commits groups, and can be made to hold one back until the test lets it through."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.reached = threading.Semaphore(0)
        self.through = threading.Event()
        self.through.set()

    def commit(self, wishes: Sequence[Wish[WriteTransaction]]) -> list[Any]:
        self.groups.append(len(wishes))
        outcomes = [wish(NOTHING) for wish in wishes]
        self.reached.release()
        self.through.wait()
        return outcomes


def constant(value: object) -> Callable[[WriteTransaction], object]:
    return lambda txn: value


def test_all_that_waits_is_committed_at_once_and_in_its_order() -> None:
    disk = Disk()
    writer = GroupCommit(disk.commit, lambda: None)
    done: list[int] = []
    disk.through.clear()
    writer.submit(constant(None))
    disk.reached.acquire()

    def note(number: int) -> Wish[WriteTransaction]:
        return lambda txn: done.append(number)

    promises = [writer.submit(note(number)) for number in range(100)]
    disk.through.set()
    for promise in promises:
        promise.result(10)
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
    promises = [writer.submit(constant(None)) for _ in range(2)]
    disk.through.set()
    for promise in promises:
        promise.result(10)

    first = writer.submit(constant(None))
    time.sleep(0.1)
    second = writer.submit(constant(None))
    first.result(10)

    assert second.done()
    writer.close()
    assert disk.groups == [1, 2, 2]


def test_who_calls_alone_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
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
    promise = writer.submit(constant("granted"))
    disk.reached.acquire()

    assert not promise.done()
    disk.through.set()
    assert promise.result(10) == "granted"
    writer.close()


def test_a_commit_that_fails_fails_all_of_its_group_and_the_next_goes_on() -> None:
    def commit(wishes: Sequence[Wish[WriteTransaction]]) -> list[Any]:
        outcomes = [wish(NOTHING) for wish in wishes]
        lost = StoreUnavailable("the disk is full; give it space")
        return [lost] * len(wishes) if "bad" in outcomes else outcomes

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

    def commit(wishes: Sequence[Wish[WriteTransaction]]) -> list[Any]:
        return [wish(NOTHING) for wish in wishes]

    def broken(txn: WriteTransaction) -> object:
        raise ZeroDivisionError

    writer = GroupCommit(commit, lambda: None)

    with pytest.raises(StoreUnavailable, match="not done"):
        writer.submit(broken).result(10)
    assert writer.submit(constant("good")).result(10) == "good"
    writer.close()
    # The thread that failed shows it at its own end, which is not waited for by the next one.
    assert shown.get(timeout=10) is ZeroDivisionError


def test_a_wish_after_the_end_is_refused_and_one_before_it_is_done() -> None:
    writer = GroupCommit(Disk().commit, lambda: None)
    before = writer.submit(constant("good"))
    writer.close()
    after = writer.submit(constant("too late"))
    writer.close()

    assert before.result(10) == "good"
    assert isinstance(after.exception(10), StoreUnavailable)


def test_a_writer_without_work_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quota.store.group_commit.IDLE_S", 0.01)
    rested = threading.Event()
    writer = GroupCommit(Disk().commit, rested.set)

    writer.submit(constant(None)).result(10)

    assert rested.wait(10)
    writer.close()


# -- promises ----------------------------------------------------------------------


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
        promises: list[Promise[int]] = [Promise() for _ in range(300)]

        async def one(promise: Promise[int]) -> int:
            return await promise

        tasks = [asyncio.ensure_future(one(promise)) for promise in promises]
        await asyncio.sleep(0)
        thread = threading.Thread(
            target=settle, args=(list(zip(promises, range(300), strict=True)),)
        )
        thread.start()
        answers = await asyncio.gather(*tasks)
        thread.join()
        loop.call_soon_threadsafe = wake  # type: ignore[method-assign]
        return answers

    assert asyncio.run(main()) == list(range(300))
    assert woken == 1


def test_a_promise_that_is_kept_is_awaited_at_once() -> None:
    async def main() -> str:
        promise: Promise[str] = Promise()
        settle([(promise, "Orléans")])
        return await promise

    assert asyncio.run(main()) == "Orléans"


def test_a_broken_promise_raises_where_it_is_awaited() -> None:
    async def main() -> None:
        promise: Promise[str] = Promise()
        asyncio.get_running_loop().call_later(0.01, settle, [(promise, UnknownError("k_"))])
        await promise

    with pytest.raises(UnknownError):
        asyncio.run(main())


def test_a_request_that_is_gone_disturbs_nobody() -> None:
    async def main() -> int:
        promises: list[Promise[int]] = [Promise(), Promise()]

        async def one(promise: Promise[int]) -> int:
            return await promise

        gone, stays = (asyncio.ensure_future(one(promise)) for promise in promises)
        await asyncio.sleep(0)
        gone.cancel()
        settle([(promise, 7) for promise in promises])
        return await stays

    assert asyncio.run(main()) == 7


def awaited(promise: Promise[Any]) -> Any:
    async def main() -> Any:
        return await promise

    return asyncio.run(main())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quota.store.promise.PATIENCE_S", 0.05)


@pytest.mark.usefixtures("impatient")
def test_what_nobody_waits_for_any_more_is_not_done() -> None:
    """A client never waits for ever, and is told the truth: nothing was counted"""
    done: list[str] = []
    begins = threading.Event()

    def commit(wishes: Sequence[Wish[WriteTransaction]]) -> list[Any]:
        begins.wait(10)
        return [wish(NOTHING) for wish in wishes]

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
    promise = writer.submit(constant(7))
    disk.reached.acquire()

    with pytest.raises(StoreUnavailable, match="may be counted"):
        awaited(promise)
    disk.through.set()
    writer.close()

    assert promise.result(10) == 7


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_comes_at_the_last_moment_counts() -> None:
    promise: Promise[int] = Promise()

    async def main() -> int:
        async def one() -> int:
            return await promise

        task = asyncio.ensure_future(one())
        await asyncio.sleep(0)
        settle([(promise, 7)])
        time.sleep(0.1)  # the loop is busy: the alarm and the answer are due together
        return await task

    assert asyncio.run(main()) == 7


def test_a_loop_that_was_closed_is_not_woken() -> None:
    promise: Promise[int] = Promise()

    async def main() -> None:
        async def one() -> int:
            return await promise

        task = asyncio.ensure_future(one())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    settle([(promise, 1)])

    assert promise.result() == 1
