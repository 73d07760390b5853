"""The main function of a worker process, which makes the files ordered through its pipe.

serve/features/export/worker_pool.py spawns it. It has a lower priority than the serving processes (`nice`) and
exits when the other end of its pipe is closed. A full disk or damaged data are reported as `ExportFailure`;
any other error ends the process with a traceback, and the pool starts another one.
"""

import ctypes
import gc
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from serve.features.export import tables
from serve.features.export.workbook import book
from serve.features.export.workbook.export_data import ExportRequest, ExportResult
from shards.errors import ShardError
from shards.generations import generation_files
from shards.generations.generation_files import Generation

NICENESS: Final = 10

# A generation is closed after so long without a job: it may have been removed meanwhile.
IDLE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ExportJob:
    """A file to make: its request, its path, and a folder for temporary files."""

    request: ExportRequest
    path: Path
    temporary: Path


@dataclass(frozen=True, slots=True)
class ExportFailure:
    """The reason why there is no file, for the log."""

    why: str


class Data:
    """The generation of the last job, kept open for the next one."""

    def __init__(self) -> None:
        self._open: Generation | None = None

    def open(self, folder: Path, missing: frozenset[str] = frozenset()) -> Generation:
        """Open the generation in `folder` without these countries, unless it is open already.

        Raises:
            ShardError: it was removed, or is damaged.
        """
        opened = self._open
        if opened is None or (opened.id, opened.shards.missing) != (folder.name, missing):
            self.close()
            self._open = opened = generation_files.load(folder.parent, folder.name, missing)
        return opened

    def close(self) -> None:
        """Close the generation, if one is open."""
        if self._open is not None:
            self._open.close()
            self._open = None


def run(pipe: Connection) -> None:
    """Answer each ExportJob with an ExportResult or ExportFailure, until the pipe is closed."""
    # Ctrl-C reaches the whole process group: the server decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    # The collector would walk through the half million values of a list again and again; `_trim` frees what it would.
    gc.disable()
    data = Data()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            if not pipe.poll(IDLE_SECONDS):
                data.close()
                _trim()
            job: ExportJob = pipe.recv()
            pipe.send(answer(job, data))
            _trim()


def _trim() -> None:
    """Give freed memory back to the system: an export leaves half of its process empty."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of glibc
        trim(0)


def answer(job: ExportJob, data: Data) -> ExportResult | ExportFailure:
    """Make a file; ExportFailure if the disk is full or the data are gone or damaged."""
    make = tables.make if job.request.file.is_table else book.make
    try:
        generation = data.open(job.request.folder, job.request.missing)
        return make(job.request, generation, job.path, job.temporary)
    except (OSError, ShardError) as error:
        return ExportFailure(f"{type(error).__name__}: {error}")
