"""Tasks in processes of this machine, within a number of processes and an amount of memory.

Processes are spawned, never forked, because Polars deadlocks after a fork. Each runs one task and
ends with it, so that the system gets its memory back, and each gets its share of the threads. A
task takes and returns plain values and names its files by path. With one job, tasks run in this
process. The results are the same, in the same order, whatever the number of processes.

The needs of memory below are measured peaks of proportional memory (PSS), rounded up: 1 137 MiB for 2.75
million companies in one process, 310 MiB for 305 069. They decide how many countries run at once
and how many companies are rows in memory at a time. A country that does not fit into the limit is
refused by name before it begins.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from threading import Thread
from typing import Final, NoReturn, Protocol, TypeVar

from tqdm import tqdm

from pipeline.errors import BuildError
from shards import host_memory

# A process takes about a second to start, which fewer rows than these do not repay.
WORTH_PROCESSES: Final = 100_000
_THREADS: Final = "POLARS_MAX_THREADS"
UNBOUNDED: Final = 1 << 62  # bytes: no limit
_REFRESH: Final = 0.5  # seconds between two updates of the progress bar

Progress = Callable[[float], None]  # takes the number of further rows done, fractions included
MIB: Final = 1 << 20
GIB: Final = 1 << 30
# Bytes of a process before its first row: the interpreter, Polars, NumPy.
PROCESS_BYTES: Final = 200 << 20
# Bytes per company for the whole country: its columns, keys, orders and words.
COMPANY_BYTES: Final = 400
# Bytes per company while it is a row of a frame.
ROW_BYTES: Final = 2_500
MOST_ROWS: Final = 1 << 16
FEWEST_ROWS: Final = 1 << 12
# A process gives 1/_ROWS_PART of its share of the memory to rows, the rest to the whole country.
_ROWS_PART: Final = 8
# The default limit, as a share of the memory available when a build begins.
_DEFAULT_SHARE: Final = 0.5
# The default limit of one call in a process of its own, likewise, and its least.
_CALL_SHARE: Final = 0.75
_LEAST_CALL: Final = 2 * GIB
_WITHOUT_PROC: Final = 4 * GIB  # taken as available on a system without /proc


class SizedTask(Protocol):
    """A task with a name, a number of rows and a need of memory in bytes."""

    @property
    def iso2(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def memory(self) -> int: ...


T = TypeVar("T", bound=SizedTask)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine: `jobs` at once, `limit` bytes for all together."""

    jobs: int
    limit: int

    @property
    def share(self) -> int:
        """Bytes per process, in equal shares."""
        return self.limit // self.jobs

    def run(self, function: Callable[[T, Progress], R], tasks: Sequence[T]) -> list[R]:
        """The results of `function` over `tasks`, in their order.

        Raises:
            BuildError: a task that needs more than `limit`, or a process that died.
            Exception: the first error of `function`; tasks that have not begun are dropped.
        """
        refuse_too_large(tasks, self.limit)
        if self.jobs > 1:
            with _threads(max(1, _processors() // self.jobs)):
                return _side_by_side(function, tasks, self.jobs, self.limit)
        with _bar(tasks) as bar:
            return [function(task, lambda rows: _show(bar, rows)) for task in tasks]


def process_count(jobs: int | None, rows: Sequence[int]) -> int:
    """The number of processes for tasks of these `rows`; `jobs` None means as many as pay off."""
    busy = sum(count > 0 for count in rows)
    if jobs is None:
        jobs = 1 if sum(rows) < WORTH_PROCESSES else _processors()
    return max(1, min(jobs, busy))


def refuse_too_large(tasks: Sequence[SizedTask], limit: int) -> None:
    """Refuse tasks that cannot run within the limit.

    Raises:
        BuildError: a task that needs more than `limit` bytes.
    """
    for task in tasks:
        if task.memory > limit:
            raise BuildError(
                f"{task.iso2} takes {format_size(task.memory)} of memory, "
                f"{format_size(limit)} are allowed; "
                f"give --memory {-(-task.memory * 10 // GIB) / 10}"
            )


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _side_by_side(
    function: Callable[[T, Progress], R], tasks: Sequence[T], jobs: int, limit: int
) -> list[R]:
    context = get_context("spawn")
    done = context.Value("d", 0.0)
    pool = ProcessPoolExecutor(
        jobs, context, initializer=_initialise, initargs=(done,), max_tasks_per_child=1
    )

    def submit(task: T) -> Future[R]:
        return pool.submit(_call, function, task)

    try:
        return gather(submit, tasks, jobs, limit=limit, rows_done=lambda: done.value)
    except BrokenProcessPool as error:
        raise BuildError(
            f"one of {jobs} processes died, for want of memory perhaps; "
            "try a smaller --jobs or --memory"
        ) from error
    except KeyboardInterrupt:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def gather(
    submit: Callable[[T], Future[R]],
    tasks: Sequence[T],
    jobs: int,
    *,
    limit: int = UNBOUNDED,
    rows_done: Callable[[], float] | None = None,
) -> list[R]:
    """Run `tasks` through `submit` as jobs and memory allow; return their results in order.

    Args:
        limit: bytes for the tasks that run at once; call `refuse_too_large` first.
        rows_done: the number of rows done so far; by default those of the finished tasks.
    """
    found: dict[int, R] = {}
    running: dict[Future[R], int] = {}
    waiting = list(range(len(tasks)))
    with _bar(tasks) as bar:
        while waiting or running:
            for place in tasks_that_fit(tasks, waiting, list(running.values()), jobs, limit):
                waiting.remove(place)
                running[submit(tasks[place])] = place
            finished, _ = wait(running, timeout=_REFRESH, return_when=FIRST_COMPLETED)
            for future in finished:
                found[running.pop(future)] = future.result()
            done = sum(tasks[place].rows for place in found) if rows_done is None else rows_done()
            _show(bar, done - bar.n)
    return [found[place] for place in range(len(tasks))]


def _bar(tasks: Sequence[SizedTask]) -> "tqdm[NoReturn]":
    total = sum(task.rows for task in tasks)
    return tqdm(total=total, unit=" rows", unit_scale=True, delay=2, disable=None)


def _show(bar: "tqdm[NoReturn]", rows: float) -> None:
    bar.update(rows)


def tasks_that_fit(
    tasks: Sequence[SizedTask],
    waiting: Sequence[int],
    running: Sequence[int],
    jobs: int,
    limit: int,
) -> Iterator[int]:
    """The waiting tasks that fit beside the running ones, in order."""
    free = limit - sum(tasks[place].memory for place in running)
    left = jobs - len(running)
    for place in waiting:
        if left and tasks[place].memory <= free:
            free -= tasks[place].memory
            left -= 1
            yield place


# -- in a process of its own -----------------------------------------------------------

_done: "Synchronized[float] | None" = None


def _initialise(done: "Synchronized[float]") -> None:
    """Share the count of rows, and follow the parent."""
    global _done
    _done = done
    follow_parent()


def follow_parent() -> None:
    """Leave Ctrl-C to the parent, and exit when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None
    Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _call(function: Callable[[T, Progress], R], task: T) -> R:
    return function(task, _add_progress)


def _add_progress(rows: float) -> None:
    assert _done is not None
    with _done.get_lock():
        _done.value += rows


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set the number of threads of Polars in child processes, which read it at import."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]


# -- memory --------------------------------------------------------------------------


def default_memory() -> int:
    """Half of the available memory, in bytes."""
    return int(_DEFAULT_SHARE * host_memory.available_bytes(_WITHOUT_PROC))


def call_memory() -> int:
    """Three quarters of the available memory, in bytes; 2 GiB at least."""
    return max(_LEAST_CALL, int(_CALL_SHARE * host_memory.available_bytes(_WITHOUT_PROC)))


def batch_rows(share: int) -> int:
    """The number of companies that are rows at once in a process with `share` bytes."""
    rows = share // _ROWS_PART // ROW_BYTES
    return max(FEWEST_ROWS, min(MOST_ROWS, rows))


def needed_bytes(companies: int, batch: int) -> int:
    """Bytes for a country of `companies` companies in a process of its own."""
    return PROCESS_BYTES + companies * COMPANY_BYTES + min(companies, batch) * ROW_BYTES


def format_size(size: int) -> str:
    """An amount of memory as text.

    >>> format_size(1 << 20), format_size(3 << 29)
    ('1 MiB', '1.5 GiB')
    """
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{-(-size // MIB)} MiB"
