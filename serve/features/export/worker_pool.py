"""The pool of processes that make the files of exports, and the folders of these files.

A process is started for its first file and ends after UNUSED_SECONDS without a job. A thread per process waits for the
result, so the event loop does not. The time that a request waits for a free process, and the time that a file takes,
are limited. A time-out, a client that disconnects or the end of the server kills the process, since nothing else would
stop its work; the next request starts another process. A finished file is unlinked before it is returned, so it
disappears when its last reader closes it.

Each serving process locks its own folder below the spool, and removes the folder at its end. The folder of a killed
process has no lock any more, and the next process that starts removes it. So a file does not outlive its process for
long, whichever process died. The folder also has a note for each running export, an empty file named after the export,
so that the next process can release the exports that ended with a dead process.
"""

import asyncio
import fcntl
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import BinaryIO, Final

from serve.features.export import worker as export_process
from serve.features.export.workbook.export_data import ExportRequest, ExportResult
from serve.features.export.worker import ExportFailure, ExportJob

# Seconds to wait for a free process and for its file; a full workbook takes about three.
WAIT_SECONDS: Final = 60.0
MAKE_SECONDS: Final = 120.0
# Seconds between two checks of the connection to the client.
CHECK_SECONDS: Final = 0.25
# Seconds after which a process without a job is ended, because it holds 80 MiB and a new one starts in under a second.
UNUSED_SECONDS: Final = 60.0

_FILE_NAME: Final = "export"  # the name of each file that is being made, in a folder of its own
# The beginning of the name of a serving process's folder, and the ending of the name of a note, the empty file that
# names a running export.
_FOLDER_PREFIX: Final = "serveur-"
_NOTE_ENDING: Final = ".note"

_log: Final = logging.getLogger("serve.features.export.worker_pool")


class MakingError(Exception):
    """The file could not be made; the message has the reason, for the log."""


class ClientGoneError(Exception):
    """The client disconnected before its file was made."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A complete file: its counts, and the open file, which is already unlinked and at its first byte."""

    result: ExportResult
    file: BinaryIO
    size: int


class WorkerPool:
    """Processes that make files for one event loop, from `start` to `close`."""

    def __init__(self, spool: Path, count: int) -> None:
        """Prepare the pool; `start` makes it ready, and each process starts when it is needed.

        Args:
            spool: the folder for temporary files.
            count: the largest number of processes.
        """
        self._spool = TempFiles(spool)
        self.abandoned: tuple[tuple[str, str], ...] = ()  # (account, reservation), set by `start`
        self._workers = tuple(_PoolWorker() for _ in range(count))
        self._idle = list(self._workers)
        self._free = asyncio.Semaphore(count)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="export")
        self._running: set[asyncio.Task[ExportFile]] = set()

    @property
    def pids(self) -> Sequence[int]:
        """The process ids of the running processes."""
        pids = [worker.pid for worker in self._workers]
        return [pid for pid in pids if pid is not None]

    @property
    def running_count(self) -> int:
        """The number of files that are being made or wait for a process."""
        return len(self._running)

    def start(self) -> None:
        """Remove the files of killed serving processes; `abandoned` has the exports that they were making."""
        try:
            notes = self._spool.open()
            self.abandoned = tuple((account, id_) for account, _, id_ in map(_split_note, notes))
        except OSError as error:
            _log.error("exports fail: %s; give `spool` space and write access", error)

    def note(self, account: str, reservation: str) -> None:
        """Record an export that begins, so that the next process can release it if this process is killed.

        If the disk has no room for the note, the reservation expires.
        """
        with suppress(OSError):
            self._spool.note(f"{account}.{reservation}")

    def forget(self, account: str, reservation: str) -> None:
        """Remove the note of an export that has ended; if this fails, the note stays until `close`."""
        with suppress(OSError):
            self._spool.forget(f"{account}.{reservation}")

    async def make(self, request: ExportRequest, is_gone: Callable[[], bool]) -> ExportFile:
        """Make the file of `request`.

        Args:
            is_gone: returns True after the client has disconnected.

        Raises:
            MakingError: no process became free in time, or the file failed or took too long.
            ClientGoneError: the client disconnected.
        """
        task = asyncio.create_task(self._make(request))
        self._running.add(task)
        try:
            # Checked even when the file is complete, because a client that has left must not pay for it.
            while not is_gone():
                if task.done():
                    return task.result()
                await asyncio.wait([task], timeout=CHECK_SECONDS)
            raise ClientGoneError("the client is gone")
        except BaseException:
            # The file is removed and the process is killed before the caller continues.
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is None:
                task.result().file.close()
            raise
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        """Cancel all files that are being made, and kill all processes."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        # All workers are idle, because no task runs any more.
        for worker in self._idle:
            worker.kill()
        self._threads.shutdown()
        self._spool.close()

    async def _make(self, request: ExportRequest) -> ExportFile:
        """Make the file with the next free process. Raises MakingError, also if none is free in WAIT_SECONDS.

        Afterwards the process is free again; it is ended if it gets no other job in UNUSED_SECONDS.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise MakingError(
                f"no process became free in {WAIT_SECONDS:g} s; raise `makers`"
            ) from None
        worker = self._idle.pop()
        try:
            return await self._make_with(worker, request)
        finally:
            self._idle.append(worker)
            self._free.release()
            count = worker.job_count
            asyncio.get_running_loop().call_later(UNUSED_SECONDS, self._end_unused, worker, count)

    def _end_unused(self, worker: "_PoolWorker", job_count: int) -> None:
        """End a process that got no job since it had `job_count` jobs.

        This runs on the event loop, so no task can take the process meanwhile.
        """
        if worker in self._idle and worker.job_count == job_count:
            worker.kill()

    async def _make_with(self, worker: "_PoolWorker", request: ExportRequest) -> ExportFile:
        """Make the file with this process, which is killed if the file takes too long or is no longer wanted.

        The file is returned open, and its folder is removed, so the disk is freed when the file is closed. Raises
        MakingError.
        """
        try:
            folder = self._spool.folder()
        except OSError as error:
            raise MakingError(f"no room: {error}; give `spool` space and write access") from error
        job, given_up = ExportJob(request, folder / _FILE_NAME, folder), threading.Event()
        loop = asyncio.get_running_loop()
        outcome = loop.run_in_executor(self._threads, worker.make, job, given_up)
        try:
            async with asyncio.timeout(MAKE_SECONDS):
                # `shield` keeps the thread's result known after a time-out, so that `finally` can wait for the thread.
                result = await asyncio.shield(outcome)
            if isinstance(result, ExportFailure):
                raise MakingError(result.why)
            return ExportFile(result, job.path.open("rb"), job.path.stat().st_size)
        except TimeoutError:
            raise MakingError(
                f"it took more than {MAKE_SECONDS:g} s; see whether the host is overloaded"
            ) from None
        finally:
            if not outcome.done():  # the thread ends when its process is killed
                given_up.set()
                worker.kill()
                await asyncio.wait([outcome])
            shutil.rmtree(folder, ignore_errors=True)


def _split_note(note: str) -> tuple[str, str, str]:
    """The account and the reservation in the name of a note, with the separator between the two."""
    return note.partition(".")


class _PoolWorker:
    """One process, started for its first file; one thread at a time calls `make`."""

    def __init__(self) -> None:
        """Start no process yet; `make` starts it."""
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._starting = threading.Lock()  # held while the process is started or killed
        self.job_count = 0  # jobs since the start of the pool

    @property
    def pid(self) -> int | None:
        """The id of the process; None if there is no process."""
        process = self._process  # read once, because another thread can set it to None
        return process.pid if process else None

    def make(self, job: ExportJob, given_up: threading.Event) -> ExportResult | ExportFailure:
        """Send `job` to the process, which is started if necessary, and wait for the result.

        Args:
            given_up: set when the pool no longer wants the file.
        """
        self.job_count += 1
        with self._starting:
            if given_up.is_set():
                return ExportFailure("the job was given up")
            if self._process is None or not self._process.is_alive():
                self._start()
            process, pipe = self._process, self._pipe
        assert process is not None and pipe is not None
        try:
            pipe.send(job)
            result: ExportResult | ExportFailure = pipe.recv()
        except (EOFError, OSError):  # the process was killed, or has crashed
            process.join()
            with self._starting:
                self._process = None
            return ExportFailure(f"the process ended with {process.exitcode}")
        return result

    def kill(self) -> None:
        """Kill the process, whatever its state; another thread may be in `make`."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process = None

    def _start(self) -> None:
        """Start a process that answers jobs from a pipe."""
        context = get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        # A daemon, so that multiprocessing ends the process if this process ends without `close`.
        self._process = context.Process(target=export_process.run, args=(child_pipe,), daemon=True)
        self._process.start()
        child_pipe.close()


class TempFiles:
    """The folder of this process below `root`, from `open` or the first `folder` until `close`."""

    def __init__(self, root: Path) -> None:
        """Create nothing yet; `open` and `folder` create folders below `root`."""
        self._root = root
        self._own_folder: Path | None = None
        self._lock = -1  # the file descriptor of the folder, which holds its lock

    def open(self) -> Sequence[str]:
        """Remove the folders of dead processes, and create the folder of this process.

        Returns:
            The names of their notes, on the exports that they were making.

        Raises:
            OSError: the folder cannot be made.
        """
        notes: list[str] = []
        # Another program can remove the folder, and then it is made again.
        if self._own_folder is not None and not self._own_folder.is_dir():
            os.close(self._lock)
            self._own_folder = None
        if self._own_folder is not None:
            return notes
        self._root.mkdir(parents=True, exist_ok=True)
        # Under the lock on `root`, no other process can remove the new folder before it is locked.
        with _hold_lock(self._root):
            for folder in self._root.glob(f"{_FOLDER_PREFIX}*"):
                notes += _remove_if_dead(folder)
            own_folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self._root))
            self._lock = os.open(own_folder, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._own_folder = own_folder
        return notes

    def folder(self) -> Path:
        """Create an empty folder, which the caller removes.

        Raises:
            OSError: the folder cannot be made.
        """
        self.open()
        assert self._own_folder is not None
        return Path(tempfile.mkdtemp(dir=self._own_folder))

    def note(self, name: str) -> None:
        """Write a note (an empty file) on a running export, which stays until `forget` or `close`. Raises OSError."""
        self.open()
        assert self._own_folder is not None
        (self._own_folder / f"{name}{_NOTE_ENDING}").touch()

    def forget(self, name: str) -> None:
        """Remove the note of an export that has ended. Raises OSError."""
        if self._own_folder is not None:
            (self._own_folder / f"{name}{_NOTE_ENDING}").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder of this process and its contents."""
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)
            os.close(self._lock)
            self._own_folder = None


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock on `folder` during the `with` block."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_if_dead(folder: Path) -> list[str]:
    """Remove `folder` if its process is dead; returns its notes on the exports that ran, none if it is alive."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # not a folder: another program has written into the spool under this name
        return []
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        notes = [path.name.removesuffix(_NOTE_ENDING) for path in folder.glob(f"*{_NOTE_ENDING}")]
        shutil.rmtree(folder, ignore_errors=True)
        return notes
    except BlockingIOError:
        return []  # the process that made this folder is alive, and holds the lock
    finally:
        os.close(lock)
