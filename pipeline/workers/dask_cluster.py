"""Tasks on a Dask cluster, through the interface of `concurrent.futures` (extra `cluster`).

The operator provides the cluster: a scheduler at an address, and workers that see the input and the
output under the same paths and run the same code. Tasks are plain values that name files, so only a few
kilobytes are sent. Only the process of the build publishes. If a worker dies, the scheduler gives its tasks to other
workers; a task works in a separate folder and renames it at the end, so it can run twice.

A cluster is useful for several machines. On one machine, processes without Dask cost less (`processes`).
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
from pipeline.workers.processes import AddProgress, SizedTask

# The error message without Dask.
_MISSING_EXTRA: Final = "--cluster needs Dask; install the extra: pip install 'societes[cluster]'"
_CONNECT_TIMEOUT: Final = "10s"  # the longest wait for the scheduler

T = TypeVar("T", bound=SizedTask)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected cluster.

    Attributes:
        executor: submits a task to the scheduler.
        jobs: the number of tasks that run at once: the threads of all workers.
        share: the bytes of memory for each task; by default the smallest memory per thread of any worker.
    """

    address: str
    executor: Executor
    jobs: int
    share: int

    def run(self, function: Callable[[T, AddProgress], R], tasks: Sequence[T]) -> list[R]:
        """The results of `function` over `tasks`, in their order; see `Processes.run`."""
        processes.refuse_too_large(tasks, self.share)
        code = digests.code_version()

        def submit(task: T) -> Future[R]:
            """Send a task to the scheduler."""
            return self.executor.submit(_run_task, function, task, code)

        try:
            return processes.gather(submit, tasks, self.jobs)
        except CancelledError as error:
            raise BuildError(
                f"the scheduler at {self.address} is gone or has dropped its tasks; "
                "start again: finished countries are kept"
            ) from error
        finally:
            self.executor.shutdown(wait=False)


@contextmanager
def connect(address: str, shared_folder: Path, memory: int | None) -> Iterator[Cluster]:
    """Connect to the cluster whose scheduler is at `address`, as `tcp://10.0.0.1:8786`.

    Args:
        shared_folder: a new folder that every worker must see under the same path.
        memory: bytes per task; None for the limit of the workers.

    Raises:
        BuildError: Dask is not installed, no scheduler answers, the cluster has no worker, or a worker does not
            see the files.
    """
    try:
        import distributed
    except ImportError as error:
        raise BuildError(_MISSING_EXTRA) from error
    # Dask logs lost workers; they do not matter here, because their tasks run again.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)
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
        _refuse_blind_workers(client.run(_host_and_visibility, str(shared_folder)), shared_folder)
        threads = sum(worker["nthreads"] for worker in workers)
        least_memory = min(worker["memory_limit"] // worker["nthreads"] for worker in workers)
        executor = client.get_executor(pure=False)
        yield Cluster(address, executor, threads, memory or least_memory or processes.UNBOUNDED)


def _refuse_blind_workers(workers: dict[str, tuple[str, bool]], shared_folder: Path) -> None:
    """Refuse a cluster with a worker that does not see the folder.

    Args:
        workers: for each worker, the result of `_host_and_visibility`.

    Raises:
        BuildError: names the workers that do not see it.
    """
    blind_workers = sorted(
        f"{host} ({worker})" for worker, (host, sees) in workers.items() if not sees
    )
    if blind_workers:
        raise BuildError(
            f"{', '.join(blind_workers)} does not see {shared_folder}; "
            "workers need --input and --out under the same paths: mount them there"
        )


def _first_line(error: BaseException) -> str:
    """The first line of the message of an error; the name of its class if it has no message."""
    return (str(error) or type(error).__name__).split("\n", 1)[0]


# -- on a worker -------------------------------------------------------------------------


def _host_and_visibility(folder: str) -> tuple[str, bool]:
    """The name of this host, and whether it sees `folder`."""
    return socket.gethostname(), Path(folder).is_dir()


def _run_task(function: Callable[[Any, AddProgress], R], task: Any, code: str) -> R:
    """Run one task on a worker; `code` is the version of the code of the build, which the worker must have, too."""
    if digests.code_version() != code:
        raise BuildError(
            f"the worker on {socket.gethostname()} has other code or libraries than this build; "
            "install the same version there and start it again"
        )
    return function(task, _ignore_progress)


def _ignore_progress(rows: float) -> None:
    """Ignore the progress of a task: the bar of a cluster counts only finished tasks."""
