"""One call in a process of its own, within limits of memory and of time without progress.

What registers publish is written by others. A file can make a reader take all memory, wait for ever, or abort in a
library of another language, and no `except` helps against any of the three. In a process of its own each of them is an
error of that one call.

Progress is bytes that the process reads and writes, as the system counts them, so no reader needs to report any. A
system without /proc counts none, and has no limit of time.
"""

import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import RLock
from typing import Final, ParamSpec, TypeVar, cast

from tqdm import tqdm

from pipeline.errors import BuildError
from pipeline.workers import processes

IDLE_SECONDS: Final = 900.0
_LEAST_BYTES: Final = 1 << 16  # of progress; a thread that redraws a bar moves fewer
_POLL_SECONDS: Final = 1.0
_LONGEST_MESSAGE: Final = 500
_REMEDY: Final = "the file may be damaged or hostile: fetch it again"

P = ParamSpec("P")
R = TypeVar("R")


class IsolationError(BuildError):
    """The process of a call ended without a result."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a process.

    Attributes:
        memory: bytes of memory that belongs to the process alone; None for most of what is free.
        idle: the seconds in which it must make progress.
    """

    memory: int | None = None
    idle: float = IDLE_SECONDS


def call(limits: Limits, function: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> R:
    """The result of `function` in a process of its own; function, arguments and result are pickled.

    Raises:
        IsolationError: the process died or made no progress, or the function raised another error than BuildError.
        BuildError: the function raised it.
    """
    most = limits.memory or processes.call_memory()
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    task = (sender, most, function, arguments, keywords)
    process = context.Process(target=_answer, args=task, daemon=True)
    process.start()
    sender.close()
    try:
        answer = _receive(process, receiver, most, limits.idle)
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(answer, BuildError):
        raise answer
    return cast(R, answer)


def _receive(process: BaseProcess, receiver: Connection, most: int, idle: float) -> object:
    """The answer of the process.

    Raises:
        IsolationError: there is none.
    """
    moved, since = 0, time.monotonic()
    while not wait([receiver], min(_POLL_SECONDS, idle)):
        now = _bytes_moved(process)
        if now is None or now >= moved + _LEAST_BYTES:
            moved, since = now or 0, time.monotonic()
        elif time.monotonic() - since > idle:
            raise IsolationError(
                f"its process has read and written nothing for {idle:,.0f} s and was ended (`import_idle`); {_REMEDY}"
            )
    try:
        return receiver.recv()
    except (EOFError, OSError):
        process.join()
        raise IsolationError(
            f"its process ended with {_ending(process)}, of at most {processes.format_size(most)} of memory"
            f" (`import_memory`); {_REMEDY}"
        ) from None


def _bytes_moved(process: BaseProcess) -> int | None:
    """The bytes that a process has read and written; None if the system does not count them."""
    try:
        counters = Path(f"/proc/{process.pid}/io").read_text()
    except OSError:
        return None
    return sum(map(int, re.findall(r"(?:rchar|wchar|read_bytes): (\d+)", counters)))


def _ending(process: BaseProcess) -> str:
    code = process.exitcode or 0
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


# -- in the process ----------------------------------------------------------------------


def _answer(
    sender: Connection,
    most: int,
    function: Callable[..., object],
    arguments: tuple[object, ...],
    keywords: Mapping[str, object],
) -> None:
    processes.follow_parent()
    tqdm.set_lock(RLock())  # its own is a semaphore, which a process that is killed leaves behind
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (within, hard))
    answer: object
    try:
        answer = function(*arguments, **keywords)
    except BuildError as error:
        answer = error
    except MemoryError:
        answer = IsolationError(
            f"it takes more than {processes.format_size(within)} of memory (`import_memory`); {_REMEDY}"
        )
    except BaseException as error:  # noqa: BLE001 - of any library; a panic of Polars is no Exception
        size = processes.format_size(within)
        answer = IsolationError(
            f"{_description(error)}, in at most {size} of memory (`import_memory`); {_REMEDY}"
        )
    sender.send(answer)


def _description(error: BaseException) -> str:
    """The error and its place; of the system, only its message, which names the file."""
    if isinstance(error, OSError) and error.errno is not None:
        return str(error)
    first = str(error).split("\n", 1)[0][:_LONGEST_MESSAGE]
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first} ({Path(place.filename).name}:{place.lineno})"
