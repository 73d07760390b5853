"""Tasks in processes of this machine, with a limit of processes and a limit of memory.

Processes are spawned, not forked, because Polars deadlocks after a fork. Each process runs one task and then ends, so
that its memory is freed. The threads of the machine are divided among the processes. A task takes and returns plain
values and names its files by path. With one job, tasks run in the calling process. The results are the same, in the
same order, for any number of processes.

The estimates of memory below are measured peaks of proportional memory (PSS), rounded up: 1 137 MiB for
2.75 million companies in one process, 310 MiB for 305 069. They decide how many countries run at once and how many
companies of a country are complete rows in memory at a time. A country that does not fit into the limit is refused by
name before it begins.
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

# The number of rows of all tasks from which processes are used by default: a process takes about a second to start.
WORTH_PROCESSES: Final = 100_000
# The environment variable with the number of threads of Polars.
_POLARS_THREADS: Final = "POLARS_MAX_THREADS"
UNBOUNDED: Final = 1 << 62  # bytes: no limit
_REFRESH_SECONDS: Final = 0.5  # seconds between two updates of the progress bar

# A function that a task calls with the number of rows that it has finished since the last call; a step of the work on a
# row counts as a fraction of the row.
AddProgress = Callable[[float], object]
MIB: Final = 1 << 20  # bytes
GIB: Final = 1 << 30  # bytes
# Bytes of a process before its first row: the interpreter, Polars, NumPy.
PROCESS_BYTES: Final = 200 << 20
# Bytes per company during the whole build of its country: searched columns, keys, orders and words.
COMPANY_BYTES: Final = 400
# Bytes per company while it is a complete row of a frame.
ROW_BYTES: Final = 2_500
# Bounds of the number of companies that are complete rows at the same time.
MOST_ROWS: Final = 1 << 16
FEWEST_ROWS: Final = 1 << 12
# A process uses 1/_PARTS_OF_MEMORY of its memory for complete rows, the rest for the columns of the whole country.
_PARTS_OF_MEMORY: Final = 8
# The default limit of all processes together, as a share of the memory that is available when a build begins.
_DEFAULT_SHARE: Final = 0.5
# The default limit of one isolated call (`isolation`), as a share of the available memory, and its lower bound in
# bytes.
_CALL_SHARE: Final = 0.75
_LEAST_CALL_BYTES: Final = 2 * GIB
# Bytes of available memory that are assumed on a system without /proc.
_BYTES_WITHOUT_PROC: Final = 4 * GIB


class SizedTask(Protocol):
    """A task that can be scheduled: its country, its number of rows, and an estimate of its memory in bytes."""

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
        """The bytes of memory for each process, if all have equal shares."""
        return self.limit // self.jobs

    def run(self, function: Callable[[T, AddProgress], R], tasks: Sequence[T]) -> list[R]:
        """The results of `function` over `tasks`, in their order.

        Raises:
            BuildError: a task needs more than `limit`, or a process died.
            Exception: the first error of `function`; tasks that have not begun are dropped.
        """
        refuse_too_large(tasks, self.limit)
        if self.jobs > 1:
            with _set_polars_threads(max(1, _processors() // self.jobs)):
                return _run_in_parallel(function, tasks, self.jobs, self.limit)
        with _progress_bar(tasks) as bar:
            return [function(task, bar.update) for task in tasks]


def process_count(jobs: int | None, rows: Sequence[int]) -> int:
    """The number of processes for tasks with these numbers of `rows`.

    If `jobs` is None: one process below WORTH_PROCESSES rows, otherwise one per processor. There are never more
    processes than tasks with rows.
    """
    tasks_with_rows = sum(count > 0 for count in rows)
    if jobs is None:
        jobs = 1 if sum(rows) < WORTH_PROCESSES else _processors()
    return max(1, min(jobs, tasks_with_rows))


def refuse_too_large(tasks: Sequence[SizedTask], limit: int) -> None:
    """Refuse tasks that cannot run within the limit.

    Raises:
        BuildError: a task needs more than `limit` bytes.
    """
    for task in tasks:
        if task.memory > limit:
            raise BuildError(
                f"{task.iso2} takes {format_size(task.memory)} of memory, "
                f"{format_size(limit)} are allowed; "
                f"give --memory {-(-task.memory * 10 // GIB) / 10}"
            )


def _processors() -> int:
    """The number of processors that this process can use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_in_parallel(
    function: Callable[[T, AddProgress], R], tasks: Sequence[T], jobs: int, limit: int
) -> list[R]:
    """`Processes.run` with at most `jobs` spawned processes at a time, one for each task.

    A task starts when the memory of all running tasks is within `limit` bytes.

    Raises:
        BuildError: a process died, perhaps for lack of memory.
    """
    context = get_context("spawn")
    finished_rows = context.Value("d", 0.0)
    pool = ProcessPoolExecutor(
        jobs,
        context,
        initializer=_initialise_process,
        initargs=(finished_rows,),
        max_tasks_per_child=1,
    )

    def submit(task: T) -> Future[R]:
        """Give a task to the pool."""
        return pool.submit(_run_task, function, task)

    try:
        return gather(submit, tasks, jobs, limit=limit, rows_done=lambda: finished_rows.value)
    except BrokenProcessPool as error:
        raise BuildError(
            f"one of {jobs} processes died, perhaps for lack of memory; "
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
    """Submit each task when a job and enough memory are free; return the results in the order of `tasks`.

    Args:
        submit: starts a task and returns its future result.
        jobs: the most tasks that run at once.
        limit: the bytes of memory of all tasks that run at once; call `refuse_too_large` first.
        rows_done: returns the number of finished rows; by default, the rows of finished tasks are counted.
    """
    results: dict[int, R] = {}
    running: dict[Future[R], int] = {}
    waiting = list(range(len(tasks)))
    with _progress_bar(tasks) as bar:
        while waiting or running:
            for index in tasks_that_fit(tasks, waiting, list(running.values()), jobs, limit):
                waiting.remove(index)
                running[submit(tasks[index])] = index
            finished, _ = wait(running, timeout=_REFRESH_SECONDS, return_when=FIRST_COMPLETED)
            for future in finished:
                results[running.pop(future)] = future.result()
            rows = sum(tasks[index].rows for index in results) if rows_done is None else rows_done()
            bar.update(rows - bar.n)
    return [results[index] for index in range(len(tasks))]


def _progress_bar(tasks: Sequence[SizedTask]) -> "tqdm[NoReturn]":
    """A progress bar over the rows of all tasks; only on a terminal, and only after two seconds."""
    total = sum(task.rows for task in tasks)
    return tqdm(total=total, unit=" rows", unit_scale=True, delay=2, disable=None)


def tasks_that_fit(
    tasks: Sequence[SizedTask],
    waiting: Sequence[int],
    running: Sequence[int],
    jobs: int,
    limit: int,
) -> Iterator[int]:
    """The waiting tasks that can start now; `waiting` and `running` are indexes of `tasks`.

    A task can start if fewer than `jobs` tasks run, and its memory and that of the running tasks is within `limit`.
    """
    free_bytes = limit - sum(tasks[index].memory for index in running)
    free_jobs = jobs - len(running)
    for index in waiting:
        if free_jobs and tasks[index].memory <= free_bytes:
            free_bytes -= tasks[index].memory
            free_jobs -= 1
            yield index


# -- in a spawned process --------------------------------------------------------------

# The number of finished rows of all processes, in shared memory; None in the parent.
_finished_rows: "Synchronized[float] | None" = None


def _initialise_process(finished_rows: "Synchronized[float]") -> None:
    """Prepare a spawned process: store the shared count of finished rows, and follow the parent."""
    global _finished_rows
    _finished_rows = finished_rows
    follow_parent()


def follow_parent() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None
    Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: BaseProcess) -> None:
    """Wait for the end of the parent, then end this process without cleaning up."""
    parent.join()
    os._exit(1)


def _run_task(function: Callable[[T, AddProgress], R], task: T) -> R:
    """Run one task in a spawned process; the task reports its progress to the shared count."""
    return function(task, _add_progress)


def _add_progress(rows: float) -> None:
    """Add finished rows to the shared count, which the bar of the parent shows."""
    assert _finished_rows is not None
    with _finished_rows.get_lock():
        _finished_rows.value += rows


# -- the environment of spawned processes --------------------------------------------


@contextmanager
def _set_polars_threads(count: int) -> Iterator[None]:
    """Set the number of threads of Polars for the processes that start in the block.

    A number that the operator has set in the environment stays.
    """
    operator_value = os.environ.get(_POLARS_THREADS)
    os.environ[_POLARS_THREADS] = operator_value or str(count)
    try:
        yield
    finally:
        if operator_value is None:
            del os.environ[_POLARS_THREADS]


# -- memory --------------------------------------------------------------------------


def default_memory() -> int:
    """The memory of all processes of a build without `--memory`: half of the available memory, in bytes."""
    return int(_DEFAULT_SHARE * host_memory.available_bytes(_BYTES_WITHOUT_PROC))


def call_memory() -> int:
    """The bytes of memory of an isolated call (`isolation.py`): three quarters of what is available, at least 2 GiB."""
    return max(
        _LEAST_CALL_BYTES, int(_CALL_SHARE * host_memory.available_bytes(_BYTES_WITHOUT_PROC))
    )


def batch_rows(share: int) -> int:
    """The number of companies that are complete rows at the same time in a process with `share` bytes of memory."""
    rows = share // _PARTS_OF_MEMORY // ROW_BYTES
    return max(FEWEST_ROWS, min(MOST_ROWS, rows))


def needed_bytes(companies: int, batch: int) -> int:
    """The estimated bytes of memory of a process that builds a country; `batch` is the result of `batch_rows`."""
    return PROCESS_BYTES + companies * COMPANY_BYTES + min(companies, batch) * ROW_BYTES


def format_size(size: int) -> str:
    """An amount of memory as text.

    >>> format_size(1 << 20), format_size(3 << 29)
    ('1 MiB', '1.5 GiB')
    """
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{-(-size // MIB)} MiB"
