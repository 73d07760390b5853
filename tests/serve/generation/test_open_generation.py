"""The memos of an open generation, and searches in its threads."""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from serve.generation import open_generation
from serve.generation.current_generation import CurrentGeneration
from serve.generation.open_generation import VISIT, OpenGeneration
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.generation.test_current_generation import until

DEAR = open_generation.EXPENSIVE_MICROSECONDS


def test_a_cheap_search_stays_on_its_thread_and_a_dear_one_leaves_it(
    open_edition: OpenGeneration,
) -> None:
    async def threads() -> list[int]:
        return [
            await open_edition.in_thread(cost, threading.get_ident) for cost in (DEAR - 1, DEAR)
        ]

    cheap, dear = asyncio.run(threads())

    assert cheap == threading.get_ident()
    assert dear != threading.get_ident()


def test_the_error_of_a_dear_search_is_raised_where_it_is_awaited(
    open_edition: OpenGeneration,
) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(open_edition.in_thread(DEAR, lambda: 1 // 0))


def test_the_loop_answers_others_while_a_dear_search_is_made(open_edition: OpenGeneration) -> None:
    async def scenario() -> str:
        held = threading.Event()
        dear = asyncio.create_task(open_edition.in_thread(DEAR, lambda: held.wait(20)))
        await asyncio.sleep(0)
        cheap = await open_edition.in_thread(1.0, lambda: "cheap")
        held.set()
        assert await dear
        return cheap

    assert asyncio.run(scenario()) == "cheap"


def test_dear_calls_of_visitors_wait_for_one_another_and_never_before_others(
    open_edition: OpenGeneration,
) -> None:
    async def scenario() -> list[str]:
        held = threading.Event()

        async def visit(name: str) -> None:
            VISIT.set(True)
            job = (
                open_edition.in_shared_thread
                if name == "list"
                else partial(open_edition.in_thread, DEAR)
            )
            await job(lambda: held.wait(20))
            ended.append(name)

        async def keyed(job: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
            await job(lambda: None)
            ended.append("keyed")

        ended: list[str] = []
        visits = [asyncio.create_task(visit(name)) for name in ("search", "list", "search")]
        await asyncio.sleep(0)
        await asyncio.wait_for(keyed(partial(open_edition.in_thread, DEAR)), 5)
        await asyncio.wait_for(keyed(open_edition.in_shared_thread), 5)
        held.set()
        await asyncio.gather(*visits)
        return ended

    assert asyncio.run(scenario()) == ["keyed", "keyed", "search", "list", "search"]


def test_a_dear_call_of_a_visitor_who_left_is_never_made(open_edition: OpenGeneration) -> None:
    async def scenario() -> list[str]:
        VISIT.set(True)
        made: list[str] = []
        held = threading.Event()
        first = asyncio.create_task(open_edition.in_thread(DEAR, lambda: held.wait(20)))
        left = asyncio.create_task(open_edition.in_thread(DEAR, lambda: made.append("left")))
        await asyncio.sleep(0.01)
        left.cancel()
        await asyncio.wait([left], timeout=5)
        assert left.cancelled()
        held.set()
        await first
        await open_edition.in_thread(DEAR, lambda: made.append("stayed"))
        return made

    assert asyncio.run(scenario()) == ["stayed"]


def test_dear_calls_of_visitors_have_a_lower_priority(open_edition: OpenGeneration) -> None:
    async def priority(visit: bool) -> int:
        VISIT.set(visit)
        return await open_edition.in_thread(
            DEAR, lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        )

    own = os.getpriority(os.PRIO_PROCESS, 0)

    assert asyncio.run(priority(visit=False)) == own
    assert asyncio.run(priority(visit=True)) == min(own + open_generation.VISITS_NICE, 19)


def test_long_lists_leave_a_thread_to_searches(open_edition: OpenGeneration) -> None:
    """1 000 lines take a minute of a thread; a search that is dear must not wait for several lists."""

    async def scenario() -> str:
        held = threading.Event()
        lists = [
            asyncio.create_task(open_edition.in_shared_thread(lambda: held.wait(20)))
            for _ in range(2 * open_generation.THREADS)
        ]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(open_edition.in_thread(DEAR, lambda: "found"), 5)
        finally:
            held.set()
            await asyncio.gather(*lists)

    assert asyncio.run(scenario()) == "found"


def test_a_list_takes_two_threads_where_nothing_else_runs(open_edition: OpenGeneration) -> None:
    async def scenario() -> tuple[list[int], str]:
        both = threading.Barrier(3)
        jobs: list[Callable[[], int]] = [
            lambda: both.wait(20) * 0 + 1,
            lambda: both.wait(20) * 0 + 2,
        ]
        made = asyncio.create_task(open_edition.in_shared_threads(iter([*jobs, lambda: 3])))
        await asyncio.sleep(0.05)
        found = await asyncio.wait_for(open_edition.in_thread(DEAR, lambda: "found"), 5)
        both.wait(20)
        return await made, found

    assert asyncio.run(scenario()) == ([1, 2, 3], "found")


def test_a_list_takes_one_thread_while_a_search_has_another(open_edition: OpenGeneration) -> None:
    running: list[int] = []
    most: list[int] = []

    def job() -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    async def scenario() -> None:
        held = threading.Event()
        search = asyncio.create_task(open_edition.in_thread(DEAR, lambda: held.wait(20)))
        await asyncio.sleep(0)
        await open_edition.in_shared_threads(iter([job] * 4))
        held.set()
        await search

    asyncio.run(scenario())
    assert most == [1] * 4


def test_an_error_of_a_list_is_told_when_its_threads_have_ended(
    open_edition: OpenGeneration,
) -> None:
    ended = threading.Event()

    def late() -> None:
        time.sleep(0.05)
        ended.set()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(open_edition.in_shared_threads(iter([lambda: 1 // 0, late])))
    assert ended.is_set()


def test_jobs_of_a_thread_run_beside_each_other_where_others_are_free(
    open_edition: OpenGeneration,
) -> None:
    both = threading.Barrier(2)

    def job(number: int) -> int:
        both.wait(20)
        return number

    jobs = [partial(job, 1), partial(job, 2)]
    run = partial(open_edition.in_free_threads, jobs)
    assert asyncio.run(open_edition.in_thread(DEAR, run)) == [1, 2]


def test_a_thread_runs_its_jobs_alone_where_none_is_free(open_edition: OpenGeneration) -> None:
    """Also where each thread waits for jobs of its own."""
    all_begin = threading.Barrier(open_generation.THREADS)

    def job() -> int:
        return threading.get_ident()

    def run() -> list[int]:
        all_begin.wait(20)
        threads = open_edition.in_free_threads([job, job, job])
        all_begin.wait(20)
        return [*threads, threading.get_ident()]

    async def scenario() -> list[list[int]]:
        callers = (open_edition.in_thread(DEAR, run) for _ in range(open_generation.THREADS))
        return await asyncio.wait_for(asyncio.gather(*callers), 20)

    for threads in asyncio.run(scenario()):
        assert len(threads) == 4
        assert set(threads) == {threads[-1]}


def test_an_error_of_a_job_is_raised_when_all_have_ended(open_edition: OpenGeneration) -> None:
    begun, ended = threading.Event(), threading.Event()

    def fail() -> None:
        begun.wait(20)
        raise ZeroDivisionError

    def end_late() -> None:
        begun.set()
        time.sleep(0.05)
        ended.set()

    with pytest.raises(ZeroDivisionError):
        open_edition.in_free_threads([fail, end_late])
    assert ended.is_set()


def test_a_walk_that_is_pinned_is_checked_with_the_words_of_its_own_generation(
    tmp_path: Path,
) -> None:
    """G10, X2"""

    def published(forme: str) -> str:
        return world.publish(tmp_path, [{**one, "forme": forme} for one in world.COMPANIES[:9]])

    first = published("Ancienne")
    with serving(tmp_path) as served:
        second = published("Nouvelle")
        until(served, second)

        assert served.search(forme="Ancienne", version=f" {first} ")["total"] == 9
        assert served.search(forme="Nouvelle", version=second)["total"] == 9
        for forme, version in (("Ancienne", second), ("Nouvelle", first), ("Ancienne", "")):
            assert (
                served.refused(forme=forme, version=version)["erreur"]["code"] == "forme_inconnue"
            )


def test_a_generation_outlives_a_search_that_was_cancelled(tmp_path: Path) -> None:
    """G9: a thread that reads a closed file would end the process"""

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        world.publish(tmp_path)
        published.start()
        begun, held = threading.Event(), threading.Event()

        def search() -> int:
            begun.set()
            held.wait(20)
            return shard.rows + len(shard.record(0, coordonnees=False))

        with published.lease() as generation:
            shard = generation.shards["FR"]

        async def request() -> None:
            with published.lease() as generation:
                await generation.in_thread(DEAR, search)

        asked = asyncio.create_task(request())
        await asyncio.to_thread(begun.wait, 20)
        published.close()
        for _ in range(2):
            asked.cancel()
            await asyncio.sleep(0)
        assert not asked.done()
        assert shard.record(0, coordonnees=False)
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(scenario())


@pytest.mark.parametrize("plan", ["visiteur", "integral"])
def test_a_dear_search_answers_and_counts_as_a_cheap_one(
    data_of_its_own: Path, monkeypatch: pytest.MonkeyPatch, plan: str
) -> None:
    """§8.2, D1"""
    with serving(data_of_its_own) as served:
        customer = served.customer("integral")
        headers = customer.headers if plan == "integral" else {}

        def bodies() -> list[bytes]:
            paths = ("?q=a", "?pays=FR&tri=nom", "?q=a&offset=2&limit=3")
            return [served.ask(f"/api/v1/societes{path}", headers=headers).body for path in paths]

        cheap = bodies()
        monkeypatch.setattr(open_generation, "EXPENSIVE_MICROSECONDS", 0.0)
        dear = bodies()

        assert dear == cheap
        assert served.used(customer) == (6 if headers else 0)


def test_a_public_list_is_made_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/api/v1/secteurs?pays=EE,LV,SK"
    first = served.ask(path)
    monkeypatch.setattr("serve.contract.declaration.orjson", None)

    assert served.ask(path).body == first.body
    assert served.ask(path.replace("EE", "UK")).status == 500


def test_no_more_lists_are_kept_than_there_is_room_for(
    open_edition: OpenGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_generation, "_DOCUMENTS", 1)
    known = [open_edition.get_or_make(("x", number), lambda: b"first") for number in range(2)]
    again = [open_edition.get_or_make(("x", number), lambda: b"again") for number in range(2)]

    assert known == [b"first", b"first"]
    assert again == [b"first", b"again"]
