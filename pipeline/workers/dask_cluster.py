"""Tasks on a Dask cluster, through the interface of `concurrent.futures` (extra `cluster`).

The operator provides the cluster: a scheduler at an address, and workers that see the input and the
output under the same paths and run the same code. Tasks are plain values that name files, so a few
kilobytes go over the wire. This process alone publishes. If a worker dies, the scheduler gives its
tasks to others; a task works in a folder of its own and renames, so it can run twice.

Useful for several machines. Not useful for one machine, whose processes cost less (`processes`).
"""

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pipeline import digests
from pipeline.errors import BuildError
from pipeline.workers import processes
from pipeline.workers.processes import Progress, SizedTask

_EXTRA: Final = "--cluster needs Dask; install the extra: pip install 'societes[cluster]'"
_TIMEOUT: Final = "10s"  # of the connection to the scheduler

T = TypeVar("T", bound=SizedTask)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected cluster.

    Attributes:
        jobs: how many tasks run at once: the threads of all workers.
        share: bytes of memory per task: the least that a worker has per thread.
    """

    address: str
    executor: Executor
    jobs: int
    share: int

    def run(self, function: Callable[[T, Progress], R], tasks: Sequence[T]) -> list[R]:
        """The results of `function` over `tasks`, in their order; see `Processes.run`."""
        processes.refuse_too_large(tasks, self.share)
        code = digests.code_version()

        def submit(task: T) -> Future[R]:
            return self.executor.submit(_call, function, task, code)

        try:
            return processes.gather(submit, tasks, self.jobs)
        except CancelledError as error:
            raise BuildError(
                f"the scheduler at {self.address} is gone or has dropped what it was given; "
                "start again: countries that are done are kept"
            ) from error
        finally:
            self.executor.shutdown(wait=False)


@contextmanager
def connect(address: str, seen: Path, memory: int | None) -> Iterator[Cluster]:
    """Connect to the cluster whose scheduler is at `address`, as `tcp://10.0.0.1:8786`.

    Args:
        seen: a folder that this process has just made; every worker must see it.
        memory: bytes per task; None for the limit of the workers.

    Raises:
        BuildError: Dask that is not installed, an address without a scheduler, a cluster without
            workers, or a worker that does not see the files.
    """
    try:
        import distributed
    except ImportError as error:
        raise BuildError(_EXTRA) from error
    # Dask logs lost workers; they do not matter here, because their tasks run again.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BuildError(
            f"no Dask scheduler answers at {address}: {_first_line(error)}; "
            "start one with `dask scheduler`, or leave --cluster out"
        ) from error
    with client:
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
        if not workers:
            raise BuildError(
                f"the cluster at {address} has no worker; start some: `dask worker {address}`"
            )
        _check(client.run(_sees, str(seen)), seen)
        threads = sum(worker["nthreads"] for worker in workers)
        least = min(worker["memory_limit"] // worker["nthreads"] for worker in workers)
        executor = client.get_executor(pure=False)
        yield Cluster(address, executor, threads, memory or least or processes.UNBOUNDED)


def _check(workers: dict[str, tuple[str, bool]], seen: Path) -> None:
    blind = sorted(f"{host} ({worker})" for worker, (host, sees) in workers.items() if not sees)
    if blind:
        raise BuildError(
            f"{', '.join(blind)} does not see {seen}; "
            "workers need --input and --out under the same paths: mount them there"
        )


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).split("\n", 1)[0]


# -- on a worker -------------------------------------------------------------------------


def _sees(folder: str) -> tuple[str, bool]:
    return socket.gethostname(), Path(folder).is_dir()


def _call(function: Callable[[Any, Progress], R], task: Any, code: str) -> R:
    if digests.code_version() != code:
        raise BuildError(
            f"the worker on {socket.gethostname()} has other code or libraries than this build; "
            "install the same version there and start it again"
        )
    return function(task, _ignore_progress)


def _ignore_progress(rows: float) -> None:
    """Drop progress within a task: it stays on its worker, where nobody reads it."""
