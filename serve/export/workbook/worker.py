"""The life of a worker process: it makes the workbooks that come through its pipe, one by one.

Spawned by serve/export/worker_pool.py. It yields to the server that answers searches (`nice`), and leaves when
the other end of its pipe is closed, by whatever. What it cannot do for want of room or data it
says; any other error ends it with its traceback, and the server starts another.
"""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from serve.export.workbook import book
from serve.export.workbook.export_request import ExportRequest, ExportResult
from shards.errors import ShardError
from shards.generations import generation_files
from shards.generations.generation_files import Generation

NICENESS: Final = 10

# After that without an order a generation is closed: it may have been removed meanwhile.
IDLE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """A workbook to be made: where it is to be, and a folder for what is needed meanwhile."""

    asked: ExportRequest
    path: Path
    temporary: Path


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is none."""

    why: str


class Data:
    """The generation that was asked for last, open: what was read of it need not be read again."""

    def __init__(self) -> None:
        self._open: Generation | None = None

    def of(self, folder: Path) -> Generation:
        """The generation in `folder`.

        Raises:
            ShardError: it is gone, or damaged.
        """
        if self._open is None or self._open.id != folder.name:
            self.close()
            self._open = generation_files.load(folder.parent, folder.name)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def run(pipe: Connection) -> None:
    """Answer each Order with Made or Failed, until the pipe is closed."""
    # Ctrl-C goes to the whole group: the server decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    data = Data()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            if not pipe.poll(IDLE_SECONDS):
                data.close()
            order: Order = pipe.recv()
            pipe.send(answer(order, data))


def answer(order: Order, data: Data) -> ExportResult | Failed:
    """Make the workbook, or say why it could not be made."""
    try:
        generation = data.of(order.asked.folder)
        return book.make(order.asked, generation, order.path, order.temporary)
    except (OSError, ShardError) as error:
        return Failed(f"{type(error).__name__}: {error}")
