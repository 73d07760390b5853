"""A call in a process of its own: whatever ends the process is an error of the call."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.workers import isolation
from pipeline.workers.isolation import IsolationError, Limits

PLENTY = Limits(1 << 32, 60)


class PanicError(BaseException):
    """As a panic of Polars: no Exception."""


def double(number: int, *, plus: int = 0) -> int:
    return 2 * number + plus


def refuse(message: str) -> None:
    raise InputError(message)


def die(number: int) -> None:
    os.kill(os.getpid(), number)


def leave(code: int) -> None:
    os._exit(code)


def panic() -> None:
    raise PanicError("index out of bounds\nand more")


def recurse(depth: int) -> int:
    return recurse(depth + 1)


def take_memory(size: int) -> int:
    return len(bytearray(size))


def hold_the_interpreter() -> int:
    return len(str(10 ** (10**9)))


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def write_slowly(path: Path) -> str:
    with path.open("wb", buffering=0) as file:
        for _ in range(8):
            time.sleep(0.5)
            file.write(bytes(1 << 17))
    return "written"


def soft_limit_of_core_files() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0]


def test_a_result_comes_back() -> None:
    assert isolation.call(PLENTY, double, 20, plus=2) == 42


def test_an_error_of_the_batch_job_comes_back_as_it_was() -> None:
    with pytest.raises(InputError, match=r"^ee\.csv is empty$"):
        isolation.call(PLENTY, refuse, "ee.csv is empty")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_process_that_is_killed_is_said_to_have_ended(number: signal.Signals) -> None:
    with pytest.raises(IsolationError, match=f"its process ended with {number.name}"):
        isolation.call(PLENTY, die, number)


def test_a_process_that_leaves_is_said_to_have_ended() -> None:
    with pytest.raises(IsolationError, match="its process ended with exit code 7"):
        isolation.call(PLENTY, leave, 7)


def test_any_other_error_names_itself_and_its_place() -> None:
    with pytest.raises(IsolationError, match=r"^PanicError: index out of bounds \(test_isolation"):
        isolation.call(PLENTY, panic)
    with pytest.raises(IsolationError, match=r"^RecursionError: maximum recursion depth"):
        isolation.call(PLENTY, recurse, 0)


@pytest.mark.skipif(
    sys.platform != "linux", reason="RLIMIT_DATA counts mapped memory on Linux alone"
)
def test_memory_over_the_limit_is_refused_by_its_amount() -> None:
    with pytest.raises(IsolationError, match=r"it takes more than 1\.0 GiB of memory"):
        isolation.call(Limits(1 << 30, 60), take_memory, 2 << 30)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("call", [(hold_the_interpreter,), (sleep, 300.0)])
def test_a_process_that_reads_and_writes_nothing_is_ended(call: tuple[object, ...]) -> None:
    """Python's lock is held by the first, so no thread of the process could say anything."""
    with pytest.raises(IsolationError, match="has read and written nothing for 2 s"):
        isolation.call(Limits(1 << 32, 2.0), *call)  # type: ignore[arg-type]


def test_a_process_that_writes_slowly_is_not_ended(tmp_path: Path) -> None:
    assert isolation.call(Limits(1 << 32, 2.5), write_slowly, tmp_path / "out") == "written"


def test_a_process_that_dies_leaves_no_core_file() -> None:
    assert isolation.call(PLENTY, soft_limit_of_core_files) == 0


def test_errors_are_those_of_the_batch_job() -> None:
    assert issubclass(IsolationError, BuildError)
