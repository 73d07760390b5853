"""The main function of a worker process, which makes files for the pool.

serve/features/export/worker_pool.py spawns the process and sends it jobs through a pipe. The process has a lower
priority than the serving processes (`nice`) and exits when the other end of the pipe is closed. It reports a full disk
or damaged data as an `ExportFailure`. Any other error ends it with a traceback, and the pool starts another process.
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

NICENESS: Final = 10  # added by `nice`, so that serving processes run first

# An open generation is closed after this time without a job, because it can have been removed meanwhile.
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


class LastGeneration:
    """The generation of the last job, which stays open because the next job probably needs it."""

    def __init__(self) -> None:
        self._open: Generation | None = None

    def open(self, folder: Path, missing: frozenset[str] = frozenset()) -> Generation:
        """Open the generation in `folder` without these countries, unless it is open already.

        Raises:
            ShardError: the generation was removed, or is damaged.
        """
        generation = self._open
        if generation is None or (generation.id, generation.shards.missing) != (
            folder.name,
            missing,
        ):
            self.close()
            self._open = generation = generation_files.load(folder.parent, folder.name, missing)
        return generation

    def close(self) -> None:
        """Close the generation, if one is open."""
        if self._open is not None:
            self._open.close()
            self._open = None


def run(pipe: Connection) -> None:
    """Answer each ExportJob with an ExportResult or an ExportFailure, until the pipe is closed."""
    # Ctrl-C reaches the whole process group, but the server decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    # During a job, the garbage collector would scan the half million values of a list repeatedly. So `_free_memory`
    # collects only after each job.
    gc.disable()
    last_generation = LastGeneration()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            if not pipe.poll(IDLE_SECONDS):
                last_generation.close()
                _free_memory()
            job: ExportJob = pipe.recv()
            pipe.send(make_file(job, last_generation))
            _free_memory()


def _free_memory() -> None:
    """Return unused memory to the system, since half of the memory of the process is unused after an export."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # only glibc has this function
        trim(0)  # keep no reserve of free memory


def make_file(job: ExportJob, last_generation: LastGeneration) -> ExportResult | ExportFailure:
    """Make a file; return an ExportFailure if the disk is full, or the data are missing or damaged."""
    make = tables.make if job.request.file.is_table else book.make
    try:
        generation = last_generation.open(job.request.folder, job.request.missing)
        return make(job.request, generation, job.path, job.temporary)
    except (OSError, ShardError) as error:
        return ExportFailure(f"{type(error).__name__}: {error}")
