"""The processes that make workbooks, and how a request gets its file from one of them.

There are few, started when they are needed and kept. Each is driven by a thread that waits for it,
so the event loop never does. A request waits for a free one, for so long; a workbook may take so
long. Whoever gives up, by time, by a client that is gone or by the end of the server, kills the
process: nothing else would stop it, and the next request starts another. The file has no name any
more when it is handed over: it is gone with its last reader, whatever happens.
"""

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import BinaryIO, Final

from serve.export.temp_files import TempFiles
from serve.export.workbook import worker
from serve.export.workbook.export_request import ExportRequest, ExportResult
from serve.export.workbook.worker import Failed, Order

# Seconds. A full workbook takes some three on a free processor.
WAITING: Final = 60.0
MAKING: Final = 120.0
# How often a request looks whether its client is still there.
LOOKING: Final = 0.25

_NAME: Final = "classeur.xlsx"

_log: Final = logging.getLogger("serve.export.worker_pool")


class MakingError(Exception):
    """There is no workbook; the message says why, for the log."""


class ClientGoneError(Exception):
    """Nobody waits for the workbook any more."""


@dataclass(frozen=True, slots=True)
class Workbook:
    """A finished workbook: what is in it, and an open file without a name, at its beginning."""

    made: ExportResult
    file: BinaryIO
    size: int


class WorkerPool:
    """Processes that make workbooks. Used on one event loop, from `start` to `close`."""

    def __init__(self, spool: Path, count: int) -> None:
        """
        Args:
            spool: the folder below which files grow.
            count: workbooks that are made at once.
        """
        self._spool = TempFiles(spool)
        self._idle = [_PoolWorker() for _ in range(count)]
        self._free = asyncio.Semaphore(count)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="classeur")
        self._running: set[asyncio.Task[Workbook]] = set()

    def start(self) -> None:
        """Take away what servers that were killed have left."""
        try:
            self._spool.open()
        except OSError as error:
            _log.error("exports will fail until there is room for them: %s", error)

    async def make(self, asked: ExportRequest, is_gone: Callable[[], bool]) -> Workbook:
        """The workbook of `asked`.

        Args:
            is_gone: says that the client has gone, so that the work can stop.

        Raises:
            MakingError: no process came free, it took too long, or it failed.
            ClientGoneError
        """
        task = asyncio.create_task(self._make(asked))
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
                # Its file is removed and its process ended before the caller goes on.
                await asyncio.wait([task])
                if not task.cancelled() and task.exception() is None:
                    task.result().file.close()
            self._running.discard(task)

    async def close(self) -> None:
        """End all that is under way, and every process."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        for maker in self._idle:
            maker.kill()
        self._threads.shutdown()
        self._spool.close()

    async def _make(self, asked: ExportRequest) -> Workbook:
        try:
            async with asyncio.timeout(WAITING):
                await self._free.acquire()
        except TimeoutError:
            raise MakingError(f"no process came free in {WAITING:g} s") from None
        maker = self._idle.pop()
        try:
            return await self._made_by(maker, asked)
        finally:
            self._idle.append(maker)
            self._free.release()

    async def _made_by(self, maker: "_PoolWorker", asked: ExportRequest) -> Workbook:
        try:
            folder = self._spool.folder()
        except OSError as error:
            raise MakingError(f"no room: {error}") from error
        order, given_up = Order(asked, folder / _NAME, folder), threading.Event()
        loop = asyncio.get_running_loop()
        made = loop.run_in_executor(self._threads, maker.make, order, given_up)
        try:
            async with asyncio.timeout(MAKING):
                answer = await asyncio.shield(made)
            if isinstance(answer, Failed):
                raise MakingError(answer.why)
            return Workbook(answer, order.path.open("rb"), order.path.stat().st_size)
        except TimeoutError:
            raise MakingError(f"it took more than {MAKING:g} s") from None
        finally:
            if not made.done():
                given_up.set()
                maker.kill()
                await asyncio.wait([made])
            shutil.rmtree(folder, ignore_errors=True)


class _PoolWorker:
    """One process, started at its first workbook; `make` is called by one thread at a time."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._starting = threading.Lock()

    def make(self, order: Order, given_up: threading.Event) -> ExportResult | Failed:
        """What the process answers; it may be started, or started again, for that."""
        with self._starting:
            if given_up.is_set():
                return Failed("it was given up")
            if self._process is None or not self._process.is_alive():
                self._start()
            process, pipe = self._process, self._pipe
        assert process is not None and pipe is not None
        try:
            pipe.send(order)
            answer: ExportResult | Failed = pipe.recv()
        except (EOFError, OSError):
            process.join()
            return Failed(f"the process ended with {process.exitcode}")
        return answer

    def kill(self) -> None:
        """End the process, in the middle of whatever it does; another thread may be in `make`."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.join()

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # A daemon: should this process end without `close`, multiprocessing ends its own.
        self._process = context.Process(target=worker.run, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


@dataclass(frozen=True, slots=True)
class Exporter:
    """What exports are made with. `at_once`: of one organisation (contract D7)."""

    makers: WorkerPool
    at_once: int
    now: Callable[[], datetime]
