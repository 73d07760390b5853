"""The life of a worker process: it makes the workbooks that come through its pipe, one by one.

Spawned by serve/makers.py. It yields to the server that answers searches (`nice`), and leaves when
the other end of its pipe is closed, by whatever. What it cannot do for want of room or data it
says; any other error ends it with its traceback, and the server starts another.
"""

import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from serve.workbook import book
from serve.workbook.asked import Asked, Made
from shards.errors import ShardError

NICENESS: Final = 10


@dataclass(frozen=True, slots=True)
class Order:
    """A workbook to be made: where it is to be, and a folder for what is needed meanwhile."""

    asked: Asked
    path: Path
    temporary: Path


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is none."""

    why: str


def run(pipe: Connection) -> None:
    """Answer each Order with Made or Failed, until the pipe is closed."""
    # Ctrl-C goes to the whole group: the server decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    while True:
        try:
            order: Order = pipe.recv()
            pipe.send(answer(order))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def answer(order: Order) -> Made | Failed:
    """Make the workbook, or say why it could not be made."""
    try:
        return book.make(order.asked, order.path, order.temporary)
    except (OSError, ShardError) as error:
        return Failed(f"{type(error).__name__}: {error}")
