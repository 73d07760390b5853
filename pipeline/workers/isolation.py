"""One call in a separate process, with a limit of memory and a limit of time without progress.

Files of registers are untrusted. A file can make a reader take all memory, wait for ever, or abort in a library of
another language, and no `except` helps against any of the three. In a separate process, each of the
three is an error of that one call.

Progress means that the process reads or writes bytes. The system counts these bytes, so readers need not report
progress. On a system without /proc the bytes are not counted, and there is no limit of time.
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

IDLE_SECONDS: Final = 900.0  # the default limit of time without progress
# Fewer bytes than these since the last progress are not progress: a thread that redraws a progress bar moves fewer.
_LEAST_BYTES: Final = 1 << 16
_POLL_SECONDS: Final = 1.0  # between two looks at the count of bytes
_LONGEST_MESSAGE: Final = 500  # characters of an error of a library
_REMEDY: Final = "the file may be damaged or hostile: fetch it again"

P = ParamSpec("P")
R = TypeVar("R")


class IsolationError(BuildError):
    """A call has no result: its process died or made no progress, or the function raised an unexpected error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a process.

    Attributes:
        memory: bytes of private memory of the process; None for most of the free memory.
        idle: the seconds without progress after which the process is ended.
    """

    memory: int | None = None
    idle: float = IDLE_SECONDS


def call(limits: Limits, function: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> R:
    """The result of `function` in a separate process; function, arguments and result are pickled.

    Raises:
        IsolationError: the process died or made no progress, or the function raised an error other than BuildError.
        BuildError: the error of this class that the function raised.
    """
    memory_bytes = limits.memory or processes.call_memory()
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    task = (sender, memory_bytes, function, arguments, keywords)
    process = context.Process(target=_run_and_send, args=task, daemon=True)
    process.start()
    sender.close()
    try:
        answer = _receive_answer(process, receiver, memory_bytes, limits.idle)
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(answer, BuildError):
        raise answer
    return cast(R, answer)


def _receive_answer(
    process: BaseProcess, receiver: Connection, memory: int, idle_seconds: float
) -> object:
    """The answer of the process: the result of the function, or its error.

    Raises:
        IsolationError: the process ended without an answer, or made no progress.
    """
    # The count of bytes at the last progress, and the time of that progress.
    bytes_before, progress_time = 0, time.monotonic()
    while not wait([receiver], min(_POLL_SECONDS, idle_seconds)):
        # Where the system does not count the bytes (None), the process is never taken as idle.
        bytes_now = _bytes_moved(process)
        if bytes_now is None or bytes_now >= bytes_before + _LEAST_BYTES:
            bytes_before, progress_time = bytes_now or 0, time.monotonic()
        elif time.monotonic() - progress_time > idle_seconds:
            raise IsolationError(
                f"its process has read and written nothing for {idle_seconds:,.0f} s and was ended (`import_idle`);"
                f" {_REMEDY}"
            )
    try:
        return receiver.recv()
    except (EOFError, OSError):
        process.join()
        raise IsolationError(
            f"its process ended with {_how_it_ended(process)}, of at most {processes.format_size(memory)} of memory"
            f" (`import_memory`); {_REMEDY}"
        ) from None


def _bytes_moved(process: BaseProcess) -> int | None:
    """The bytes that a process has read and written; None if the system does not count them."""
    try:
        counters = Path(f"/proc/{process.pid}/io").read_text()
    except OSError:
        return None
    return sum(map(int, re.findall(r"(?:rchar|wchar|read_bytes): (\d+)", counters)))


def _how_it_ended(process: BaseProcess) -> str:
    """How a process ended: the name of the signal that killed it, or its exit code."""
    code = process.exitcode or 0
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


# -- in the separate process ---------------------------------------------------------


def _run_and_send(
    sender: Connection,
    memory: int,
    function: Callable[..., object],
    arguments: tuple[object, ...],
    keywords: Mapping[str, object],
) -> None:
    """Call the function within `memory` bytes, and send its result or its error to `sender`.

    Runs in the isolated process: the error is a BuildError of the function, or an IsolationError for any other one.
    """
    processes.follow_parent()
    # The default lock of tqdm is a semaphore, which would stay in the system if the process is killed.
    tqdm.set_lock(RLock())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an aborted process leaves no core dump
    _, system_limit = resource.getrlimit(resource.RLIMIT_DATA)
    allowed_bytes = memory if system_limit == resource.RLIM_INFINITY else min(memory, system_limit)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed_bytes, system_limit))
    answer: object
    try:
        answer = function(*arguments, **keywords)
    except BuildError as error:
        answer = error
    except MemoryError:
        answer = IsolationError(
            f"it takes more than {processes.format_size(allowed_bytes)} of memory (`import_memory`); {_REMEDY}"
        )
    except BaseException as error:  # noqa: BLE001 - an error of any library; a panic of Polars is not an Exception
        size = processes.format_size(allowed_bytes)
        answer = IsolationError(
            f"{_description(error)}, in at most {size} of memory (`import_memory`); {_REMEDY}"
        )
    sender.send(answer)


def _description(error: BaseException) -> str:
    """The class, message and line of an error; for an error of the system only its message, which names the file."""
    if isinstance(error, OSError) and error.errno is not None:
        return str(error)
    first_line = str(error).split("\n", 1)[0][:_LONGEST_MESSAGE]
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first_line} ({Path(last_frame.filename).name}:{last_frame.lineno})"
