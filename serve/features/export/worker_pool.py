"""The pool of processes that make the files of exports, and the folders of these files.

A few processes are started when they are needed, and kept for some minutes. A thread per process waits for it, so the
event loop never does. A request waits for a free process for a limited time, and a file may take a
limited time. A time-out, a client that disconnected or the end of the server kills the process:
nothing else would stop it, and the next request starts another one. The finished file is unlinked
before it is returned, so it disappears with its last reader.

Each serving process locks a folder of its own below the spool and removes it at its end. The folder of a killed process
has no lock any more, and the next process that starts removes it. So no file outlives its process for long, whichever
process died. The folder also has a note for each export under way, an empty file: the notes of dead processes say which
exports ended with them.
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
WAITING: Final = 60.0
MAKING: Final = 120.0
# Seconds between two checks that the client is still connected.
LOOKING: Final = 0.25
# Seconds after which a process without a job is ended: it holds 80 MiB, and starting one takes under a second.
KEPT: Final = 60.0

_NAME: Final = "export"
# The folder of a serving process below the spool, and the note of an export under way in it.
_PREFIX: Final = "serveur-"
_NOTE: Final = ".note"

_log: Final = logging.getLogger("serve.features.export.worker_pool")


class MakingError(Exception):
    """The file could not be made; the message says why, for the log."""


class ClientGoneError(Exception):
    """The client disconnected before its file was made."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A finished file: its counts, and its file, open at the start and already unlinked."""

    made: ExportResult
    file: BinaryIO
    size: int


class WorkerPool:
    """Processes that make files, for one event loop, from `start` to `close`."""

    def __init__(self, spool: Path, count: int) -> None:
        """
        Args:
            spool: the folder for temporary files.
            count: the number of processes.
        """
        self._spool = TempFiles(spool)
        self.abandoned: tuple[tuple[str, str], ...] = ()
        self._workers = tuple(_PoolWorker() for _ in range(count))
        self._idle = list(self._workers)
        self._free = asyncio.Semaphore(count)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="export")
        self._running: set[asyncio.Task[ExportFile]] = set()

    @property
    def pids(self) -> Sequence[int]:
        """The processes that were started."""
        pids = [worker.pid for worker in self._workers]
        return [pid for pid in pids if pid is not None]

    @property
    def in_progress(self) -> int:
        """The files that are being made, or wait for a process."""
        return len(self._running)

    def start(self) -> None:
        """Remove the files that killed servers left; `abandoned` has the exports that they were at."""
        try:
            left = self._spool.open()
            self.abandoned = tuple((account, id_) for account, _, id_ in map(_parts, left))
        except OSError as error:
            _log.error("exports fail: %s; give `spool` space and write access", error)

    def note(self, account: str, reservation: str) -> None:
        """Note an export that begins, so that the next process can end it if this one is killed.

        Without room for the note its reservation expires by itself.
        """
        with suppress(OSError):
            self._spool.note(f"{account}.{reservation}")

    def forget(self, account: str, reservation: str) -> None:
        """Remove the note of an export that has ended."""
        with suppress(OSError):
            self._spool.forget(f"{account}.{reservation}")

    async def make(self, request: ExportRequest, is_gone: Callable[[], bool]) -> ExportFile:
        """Make the file of `request`.

        Args:
            is_gone: returns True once the client has disconnected.

        Raises:
            MakingError: no process came free, or the file took too long or failed.
            ClientGoneError: the client disconnected.
        """
        task = asyncio.create_task(self._make(request))
        self._running.add(task)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=LOOKING)
                if not task.done() and is_gone():
                    raise ClientGoneError("the client is gone")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                # The file is removed and the process killed before the caller goes on.
                await asyncio.wait([task])
                if not task.cancelled() and task.exception() is None:
                    task.result().file.close()
            self._running.discard(task)

    async def close(self) -> None:
        """Cancel every file that is being made, and kill every process."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        for worker in self._idle:
            worker.kill()
        self._threads.shutdown()
        self._spool.close()

    async def _make(self, request: ExportRequest) -> ExportFile:
        try:
            async with asyncio.timeout(WAITING):
                await self._free.acquire()
        except TimeoutError:
            raise MakingError(f"no process came free in {WAITING:g} s; raise `makers`") from None
        worker = self._idle.pop()
        try:
            return await self._make_with(worker, request)
        finally:
            self._idle.append(worker)
            self._free.release()
            jobs = worker.jobs
            asyncio.get_running_loop().call_later(KEPT, self._end_unused, worker, jobs)

    def _end_unused(self, worker: "_PoolWorker", jobs: int) -> None:
        """End a process that has had no job since; nobody can take it meanwhile, for this thread hands them out."""
        if worker in self._idle and worker.jobs == jobs:
            worker.kill()

    async def _make_with(self, worker: "_PoolWorker", request: ExportRequest) -> ExportFile:
        try:
            folder = self._spool.folder()
        except OSError as error:
            raise MakingError(f"no room: {error}; give `spool` space and write access") from error
        job, given_up = ExportJob(request, folder / _NAME, folder), threading.Event()
        loop = asyncio.get_running_loop()
        made = loop.run_in_executor(self._threads, worker.make, job, given_up)
        try:
            async with asyncio.timeout(MAKING):
                result = await asyncio.shield(made)
            if isinstance(result, ExportFailure):
                raise MakingError(result.why)
            return ExportFile(result, job.path.open("rb"), job.path.stat().st_size)
        except TimeoutError:
            raise MakingError(
                f"it took more than {MAKING:g} s; see whether the host is overloaded"
            ) from None
        finally:
            if not made.done():
                given_up.set()
                worker.kill()
                await asyncio.wait([made])
            shutil.rmtree(folder, ignore_errors=True)


def _parts(note: str) -> tuple[str, str, str]:
    return note.partition(".")


class _PoolWorker:
    """One process, started for its first file; one thread at a time calls `make`."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._starting = threading.Lock()
        self.jobs = 0

    @property
    def pid(self) -> int | None:
        """Its process, if there is one."""
        process = self._process  # another thread may be ending it
        return process.pid if process else None

    def make(self, job: ExportJob, given_up: threading.Event) -> ExportResult | ExportFailure:
        """Send `job` to the process, which is started if it does not run, and wait for its result."""
        self.jobs += 1
        with self._starting:
            if given_up.is_set():
                return ExportFailure("it was given up")
            if self._process is None or not self._process.is_alive():
                self._start()
            process, pipe = self._process, self._pipe
        assert process is not None and pipe is not None
        try:
            pipe.send(job)
            result: ExportResult | ExportFailure = pipe.recv()
        except (EOFError, OSError):
            process.join()
            with self._starting:
                self._process = None
            return ExportFailure(f"the process ended with {process.exitcode}")
        return result

    def kill(self) -> None:
        """Kill the process at any point of its work; another thread may be in `make`."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # A daemon: if this process ends without `close`, multiprocessing ends its children.
        self._process = context.Process(target=export_process.run, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


class TempFiles:
    """The folder of this process below `root`, from `open` or the first `folder` until `close`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None
        self._lock = -1

    def open(self) -> Sequence[str]:
        """Remove the folders of dead processes, and make the folder of this one; return their notes.

        Raises:
            OSError: the folder cannot be made.
        """
        notes: list[str] = []
        if self._own is not None and not self._own.is_dir():  # a cleaner has removed it
            os.close(self._lock)
            self._own = None
        if self._own is not None:
            return notes
        self._root.mkdir(parents=True, exist_ok=True)
        # Without the lock on `root`, another process could remove the new folder before it is locked.
        with _hold_lock(self._root):
            for other in self._root.glob(f"{_PREFIX}*"):
                notes += _remove_if_dead(other)
            own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._root))
            self._lock = os.open(own, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._own = own
        return notes

    def folder(self) -> Path:
        """Make an empty folder, which the caller removes.

        Raises:
            OSError: the folder cannot be made.
        """
        self.open()
        assert self._own is not None
        return Path(tempfile.mkdtemp(dir=self._own))

    def note(self, name: str) -> None:
        """Leave a note, until `forget` or `close`. Raises OSError."""
        self.open()
        assert self._own is not None
        (self._own / f"{name}{_NOTE}").touch()

    def forget(self, name: str) -> None:
        """Remove a note. Raises OSError."""
        if self._own is not None:
            (self._own / f"{name}{_NOTE}").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder of this process and its content."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_if_dead(folder: Path) -> list[str]:
    """Remove the folder of a process that is dead; return its notes."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # whoever else writes to the spool has left something of that name
        return []
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        notes = [path.name.removesuffix(_NOTE) for path in folder.glob(f"*{_NOTE}")]
        shutil.rmtree(folder, ignore_errors=True)
        return notes
    except BlockingIOError:
        return []  # its process lives
    finally:
        os.close(lock)
