"""Tasks in processes: the same results in the same order, whatever their number.

Processes are spawned, never forked, because Polars deadlocks after a fork; each gets its share of
the threads. A task is plain values in, plain values out, and files by path in between. One job
means no process at all.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Final, Protocol, TypeVar

from tqdm import tqdm

from pipeline.errors import BuildError

# A process takes about a second to start: below this many rows it is not worth it.
WORTH_PROCESSES: Final = 100_000
_THREADS: Final = "POLARS_MAX_THREADS"


class Sized(Protocol):
    """A task that knows how many rows it has."""

    @property
    def rows(self) -> int: ...


T = TypeVar("T", bound=Sized)
R = TypeVar("R")


def run(function: Callable[[T], R], tasks: Sequence[T], jobs: int | None) -> list[R]:
    """The results of `function` over `tasks`, in their order, `jobs` at once.

    Args:
        jobs: None means one a processor, or one in all where the work is small.

    Raises:
        BuildError: a process died.
        Any error of `function`: the first in the order of the tasks; what has not begun is dropped.
    """
    wanted = _jobs(tasks, jobs)
    if wanted == 1:
        return list(_shown(map(function, tasks), tasks))
    with (
        _threads(max(1, _processors() // wanted)),
        ProcessPoolExecutor(wanted, mp_context=get_context("spawn")) as pool,
    ):
        futures = [pool.submit(function, task) for task in tasks]
        try:
            return list(_shown((future.result() for future in futures), tasks))
        except BrokenProcessPool as error:
            raise BuildError(
                f"one of {wanted} processes died, for want of memory perhaps; try a smaller --jobs"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _jobs(tasks: Sequence[Sized], jobs: int | None) -> int:
    busy = sum(task.rows > 0 for task in tasks)
    if jobs is None:
        small = sum(task.rows for task in tasks) < WORTH_PROCESSES
        jobs = 1 if small else _processors()
    return max(1, min(jobs, busy))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shown(results: Iterable[R], tasks: Sequence[Sized]) -> Iterator[R]:
    """`results`, with a bar on a terminal once the work has taken two seconds."""
    total = sum(task.rows for task in tasks)
    with tqdm(total=total, unit=" rows", unit_scale=True, delay=2, disable=None) as bar:
        for task, result in zip(tasks, results, strict=True):
            bar.update(task.rows)
            yield result


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Polars reads its number of threads from the environment, when a process imports it."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
