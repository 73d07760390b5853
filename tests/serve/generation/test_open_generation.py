"""An open generation: searches in its threads, and its memos."""

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
from tests.serve.client import Server, run_server
from tests.serve.generation.test_current_generation import wait_for_generation

# The estimated microseconds from which a search runs in a thread instead of the loop.
EXPENSIVE = open_generation.EXPENSIVE_MICROSECONDS


def test_a_cheap_search_runs_in_the_loop_and_an_expensive_search_in_a_thread(
    generation: OpenGeneration,
) -> None:
    async def threads() -> list[int]:
        """The thread of a cheap search, and that of an expensive search."""
        return [
            await generation.run(cost, threading.get_ident) for cost in (EXPENSIVE - 1, EXPENSIVE)
        ]

    cheap, expensive = asyncio.run(threads())

    assert cheap == threading.get_ident()
    assert expensive != threading.get_ident()


def test_the_error_of_an_expensive_search_is_raised_where_it_is_awaited(
    generation: OpenGeneration,
) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(generation.run(EXPENSIVE, lambda: 1 // 0))


def test_the_loop_runs_cheap_searches_during_an_expensive_search(
    generation: OpenGeneration,
) -> None:
    async def run_cheap_during_expensive() -> str:
        """Return the result of a cheap call made while an expensive one waits; fails if the cheap call must wait."""
        may_end = threading.Event()
        expensive = asyncio.create_task(generation.run(EXPENSIVE, lambda: may_end.wait(120)))
        await asyncio.sleep(0)
        cheap = await generation.run(1.0, lambda: "cheap")
        may_end.set()
        assert await expensive
        return cheap

    assert asyncio.run(run_cheap_during_expensive()) == "cheap"


def test_expensive_calls_of_visitors_run_one_at_a_time_and_do_not_delay_customers(
    generation: OpenGeneration,
) -> None:
    """The visits wait for an event, so both calls of the customer end first"""

    async def names_in_order_of_end() -> list[str]:
        """Who ended, in order; the calls of the customer time out if they wait for the visits."""
        may_end = threading.Event()

        async def visit(name: str) -> None:
            """An expensive search or a list of a visitor, which runs until `may_end` is set."""
            VISIT.set(True)
            run = generation.run_long if name == "list" else partial(generation.run, EXPENSIVE)
            await run(lambda: may_end.wait(120))
            ended.append(name)

        async def call_of_customer(run: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
            """An expensive call of a caller with an account."""
            await run(lambda: None)
            ended.append("customer")

        ended: list[str] = []
        visits = [asyncio.create_task(visit(name)) for name in ("search", "list", "search")]
        await asyncio.sleep(0)
        await asyncio.wait_for(call_of_customer(partial(generation.run, EXPENSIVE)), 30)
        await asyncio.wait_for(call_of_customer(generation.run_long), 30)
        may_end.set()
        await asyncio.gather(*visits)
        return ended

    assert asyncio.run(names_in_order_of_end()) == [
        "customer",
        "customer",
        "search",
        "list",
        "search",
    ]


def test_an_expensive_call_of_a_visitor_who_left_does_not_run(generation: OpenGeneration) -> None:
    """It waited for another call when it was cancelled"""

    async def leave_while_waiting() -> list[str]:
        """Cancel a call that waits for its thread; return the calls that ran afterwards."""
        VISIT.set(True)
        calls_run: list[str] = []
        may_end = threading.Event()
        running_call = asyncio.create_task(generation.run(EXPENSIVE, lambda: may_end.wait(120)))
        abandoned = asyncio.create_task(
            generation.run(EXPENSIVE, lambda: calls_run.append("abandoned"))
        )
        await asyncio.sleep(0.01)
        abandoned.cancel()
        await asyncio.wait([abandoned], timeout=30)
        assert abandoned.cancelled()
        may_end.set()
        await running_call
        await generation.run(EXPENSIVE, lambda: calls_run.append("later"))
        return calls_run

    assert asyncio.run(leave_while_waiting()) == ["later"]


def test_expensive_calls_of_visitors_have_a_lower_priority(generation: OpenGeneration) -> None:
    async def priority(visit: bool) -> int:
        """The priority of the thread in which an expensive call runs."""
        VISIT.set(visit)
        return await generation.run(
            EXPENSIVE, lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        )

    own = os.getpriority(os.PRIO_PROCESS, 0)

    assert asyncio.run(priority(visit=False)) == own
    assert asyncio.run(priority(visit=True)) == min(own + open_generation.VISITS_NICE, 19)


def test_long_lists_leave_a_thread_to_searches(generation: OpenGeneration) -> None:
    """A list of 1 000 lines takes a thread a minute; an expensive search must not wait for several lists."""

    async def search_during_long_lists() -> str:
        """The result of a search made while more lists run than there are threads; fails after 5 s."""
        may_end = threading.Event()
        lists = [
            asyncio.create_task(generation.run_long(lambda: may_end.wait(120)))
            for _ in range(2 * open_generation.THREADS)
        ]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(generation.run(EXPENSIVE, lambda: "result"), 30)
        finally:
            may_end.set()
            await asyncio.gather(*lists)

    assert asyncio.run(search_during_long_lists()) == "result"


def test_a_list_uses_two_threads_while_nothing_else_runs(generation: OpenGeneration) -> None:
    """A search in between still gets a thread"""

    async def list_and_search_together() -> tuple[list[int], str]:
        """The results of the jobs of a list, and of a search made while two of these jobs run."""
        two_jobs_and_test = threading.Barrier(3)
        # Two jobs wait for each other and for the test, so they end only if they run in two threads.
        jobs: list[Callable[[], int]] = [
            lambda: two_jobs_and_test.wait(120) * 0 + 1,
            lambda: two_jobs_and_test.wait(120) * 0 + 2,
        ]
        task = asyncio.create_task(generation.run_long_jobs(iter([*jobs, lambda: 3])))
        await asyncio.sleep(0.05)
        result = await asyncio.wait_for(generation.run(EXPENSIVE, lambda: "result"), 30)
        two_jobs_and_test.wait(120)
        return await task, result

    assert asyncio.run(list_and_search_together()) == ([1, 2, 3], "result")


def test_a_list_uses_one_thread_while_a_search_uses_another(generation: OpenGeneration) -> None:
    """The list has four jobs, which run one after the other"""
    running_jobs: list[int] = []
    running_at_once: list[int] = []

    def job() -> None:
        """Note how many jobs run at the same time."""
        running_jobs.append(1)
        running_at_once.append(len(running_jobs))
        time.sleep(0.01)
        running_jobs.pop()

    async def list_during_search() -> None:
        """Run a list of four jobs while a search occupies a thread."""
        may_end = threading.Event()
        search = asyncio.create_task(generation.run(EXPENSIVE, lambda: may_end.wait(120)))
        await asyncio.sleep(0)
        await generation.run_long_jobs(iter([job] * 4))
        may_end.set()
        await search

    asyncio.run(list_during_search())
    assert running_at_once == [1] * 4


def test_an_error_of_a_job_is_raised_after_all_threads_have_ended(
    generation: OpenGeneration,
) -> None:
    ended = threading.Event()

    def end_late() -> None:
        """End after the error of another job."""
        time.sleep(0.05)
        ended.set()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(generation.run_long_jobs(iter([lambda: 1 // 0, end_late])))
    assert ended.is_set()


def test_jobs_of_a_thread_run_in_other_free_threads(
    generation: OpenGeneration,
) -> None:
    both_jobs = threading.Barrier(2)

    def job(number: int) -> int:
        """Wait until the other job runs too, which needs two threads."""
        both_jobs.wait(120)
        return number

    jobs = [partial(job, 1), partial(job, 2)]
    run = partial(generation.run_in_free_threads, jobs)
    assert asyncio.run(generation.run(EXPENSIVE, run)) == [1, 2]


def test_a_thread_runs_its_jobs_itself_if_no_other_thread_is_free(
    generation: OpenGeneration,
) -> None:
    """No deadlock arises if every thread waits for jobs that it has given to the other threads"""
    all_begin = threading.Barrier(open_generation.THREADS)

    def job() -> int:
        """The thread that runs this job."""
        return threading.get_ident()

    def run() -> list[int]:
        """The threads in which three jobs run while every thread is busy, and the thread that gave them."""
        all_begin.wait(120)
        threads = generation.run_in_free_threads([job, job, job])
        all_begin.wait(120)
        return [*threads, threading.get_ident()]

    async def run_in_all_threads() -> list[list[int]]:
        """Call `run` in every thread at the same time; return the results."""
        runs = (generation.run(EXPENSIVE, run) for _ in range(open_generation.THREADS))
        return await asyncio.wait_for(asyncio.gather(*runs), 30)

    for threads in asyncio.run(run_in_all_threads()):
        assert len(threads) == 4
        assert set(threads) == {threads[-1]}


def test_an_error_of_a_job_is_raised_when_all_jobs_have_ended(generation: OpenGeneration) -> None:
    has_begun, has_ended = threading.Event(), threading.Event()

    def fail() -> None:
        """Fail while the other job runs."""
        has_begun.wait(120)
        raise ZeroDivisionError

    def end_late() -> None:
        """End after the error of the other job."""
        has_begun.set()
        time.sleep(0.05)
        has_ended.set()

    with pytest.raises(ZeroDivisionError):
        generation.run_in_free_threads([fail, end_late])
    assert has_ended.is_set()


def test_a_search_of_an_older_version_is_checked_with_the_legal_forms_of_that_version(
    tmp_path: Path,
) -> None:
    """G10, X2"""

    def publish(forme: str) -> str:
        """Publish nine companies with this legal form; returns the name of the generation."""
        return world.publish(tmp_path, [{**row, "forme": forme} for row in world.COMPANIES[:9]])

    first_id = publish("Ancienne")
    with run_server(tmp_path) as server:
        second_id = publish("Nouvelle")
        wait_for_generation(server, second_id)

        assert server.search(forme="Ancienne", version=f" {first_id} ")["total"] == 9
        assert server.search(forme="Nouvelle", version=second_id)["total"] == 9
        for forme, version in (("Ancienne", second_id), ("Nouvelle", first_id), ("Ancienne", "")):
            assert (
                server.refusal(forme=forme, version=version)["erreur"]["code"] == "forme_inconnue"
            )


def test_a_generation_stays_open_until_a_cancelled_search_has_ended(tmp_path: Path) -> None:
    """G9: a thread that reads a closed file would end the process"""

    async def cancel_search_and_close() -> None:
        """Cancel a request and close its generation during its search, which must be able to read until it ends."""
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path)
        current.start()
        has_begun, may_end = threading.Event(), threading.Event()

        def search() -> int:
            """Read a shard after `may_end` is set."""
            has_begun.set()
            may_end.wait(120)
            return shard.rows + len(shard.record(0, coordonnees=False))

        with current.lease() as generation:
            shard = generation.shards["FR"]

        async def request() -> None:
            """Run the search under a lease, as a request does."""
            with current.lease() as generation:
                await generation.run(EXPENSIVE, search)

        task = asyncio.create_task(request())
        await asyncio.to_thread(has_begun.wait, 20)
        current.close()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        assert shard.record(0, coordonnees=False)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_search_and_close())


@pytest.mark.parametrize("plan", ["visiteur", "integral"])
def test_an_expensive_search_answers_and_counts_like_a_cheap_search(
    separate_data: Path, monkeypatch: pytest.MonkeyPatch, plan: str
) -> None:
    """§8.2, D1"""
    with run_server(separate_data) as server:
        customer = server.customer("integral")
        headers = customer.headers if plan == "integral" else {}

        def bodies() -> list[bytes]:
            """The responses to three searches."""
            paths = ("?q=a", "?pays=FR&tri=nom", "?q=a&offset=2&limit=3")
            return [server.ask(f"/api/v1/societes{path}", headers=headers).body for path in paths]

        cheap = bodies()
        monkeypatch.setattr(open_generation, "EXPENSIVE_MICROSECONDS", 0.0)
        expensive = bodies()

        assert expensive == cheap
        # Three searches, each as a cheap and as an expensive search.
        assert server.calls_used(customer) == (6 if headers else 0)


def test_a_public_list_is_encoded_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/api/v1/secteurs?pays=EE,LV,SK"
    first = server.ask(path)
    # From here on nothing can be encoded.
    monkeypatch.setattr("serve.contract.declaration.orjson", None)

    assert server.ask(path).body == first.body
    assert server.ask(path.replace("EE", "UK")).status == 500


def test_the_memo_of_lists_is_bounded(
    generation: OpenGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_generation, "_MOST_DOCUMENTS", 1)
    first = [generation.get_or_make(("x", number), lambda: b"first") for number in range(2)]
    second = [generation.get_or_make(("x", number), lambda: b"again") for number in range(2)]

    assert first == [b"first", b"first"]
    assert second == [b"first", b"again"]  # the memo has room for the first list only
