"""A call in a separate process: if the process dies, hangs or fails, the call raises an error."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.workers import isolation
from pipeline.workers.isolation import IsolationError, Limits
from tests.serve.processes import in_time

WIDE_LIMITS = Limits(1 << 32, 60)  # 4 GiB, 60 s without progress: not reached by the calls below


class PanicError(BaseException):
    """An error like a panic of Polars, which `except Exception` does not catch."""


def double(number: int, *, plus: int = 0) -> int:
    return 2 * number + plus


def raise_input_error(message: str) -> None:
    raise InputError(message)


def kill_own_process(signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def exit_process(code: int) -> None:
    os._exit(code)


def raise_panic() -> None:
    raise PanicError("index out of bounds\nand more")


def recurse_without_end(depth: int) -> int:
    """Call itself until Python raises RecursionError."""
    return recurse_without_end(depth + 1)


def allocate(byte_count: int) -> int:
    return len(bytearray(byte_count))


def hold_interpreter_lock() -> int:
    """A long computation in C, during which no other thread of the process can run Python."""
    return len(str(10 ** (10**9)))


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def write_slowly(path: Path) -> str:
    """Write 128 KiB every half second, for five seconds: longer than the limit, but each write is progress."""
    with path.open("wb", buffering=0) as file:
        for _ in range(10):
            time.sleep(0.5)
            file.write(bytes(1 << 17))
    return "written"


def soft_limit_of_core_files() -> int:
    """The most bytes of a core file that this process can write."""
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0]


def test_a_result_comes_back() -> None:
    assert isolation.call(WIDE_LIMITS, double, 20, plus=2) == 42


def test_an_error_of_the_batch_job_comes_back_unchanged() -> None:
    with pytest.raises(InputError, match=r"^ee\.csv is empty$"):
        isolation.call(WIDE_LIMITS, raise_input_error, "ee.csv is empty")


@pytest.mark.parametrize(
    "signal_number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS]
)
def test_a_killed_process_is_reported(signal_number: signal.Signals) -> None:
    with pytest.raises(IsolationError, match=f"its process ended with {signal_number.name}"):
        isolation.call(WIDE_LIMITS, kill_own_process, signal_number)


def test_a_process_that_exits_is_reported() -> None:
    with pytest.raises(IsolationError, match="its process ended with exit code 7"):
        isolation.call(WIDE_LIMITS, exit_process, 7)


def test_an_unexpected_error_is_reported_with_its_class_and_its_place() -> None:
    with pytest.raises(IsolationError, match=r"^PanicError: index out of bounds \(test_isolation"):
        isolation.call(WIDE_LIMITS, raise_panic)
    with pytest.raises(IsolationError, match=r"^RecursionError: maximum recursion depth"):
        isolation.call(WIDE_LIMITS, recurse_without_end, 0)


@pytest.mark.skipif(
    sys.platform != "linux", reason="RLIMIT_DATA counts mapped memory on Linux alone"
)
def test_the_error_names_the_memory_limit_that_a_call_exceeds() -> None:
    with pytest.raises(IsolationError, match=r"it takes more than 1\.0 GiB of memory"):
        isolation.call(Limits(1 << 30, 60), allocate, 2 << 30)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("function_and_arguments", [(hold_interpreter_lock,), (sleep, 300.0)])
def test_a_process_that_reads_and_writes_nothing_is_ended(
    function_and_arguments: tuple[object, ...],
) -> None:
    """The first function holds the interpreter's lock: only the system can count its bytes."""
    with pytest.raises(IsolationError, match="has read and written nothing for 2 s"):
        isolation.call(Limits(1 << 32, 2.0), *function_and_arguments)  # type: ignore[arg-type]


def test_a_process_that_writes_slowly_is_not_ended(tmp_path: Path) -> None:
    def is_written() -> bool:
        """Whether the process is not ended; a machine that stands still may be taken for an idle process."""
        with suppress(IsolationError):
            return isolation.call(Limits(1 << 32, 4.0), write_slowly, tmp_path / "out") == "written"
        return False

    assert in_time(is_written)


def test_a_process_that_dies_can_write_no_core_file() -> None:
    assert isolation.call(WIDE_LIMITS, soft_limit_of_core_files) == 0


def test_an_isolation_error_is_a_build_error_that_commands_print() -> None:
    assert issubclass(IsolationError, BuildError)
