"""Tasks in processes: order, memory, progress, errors, a process that dies."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.errors import BuildError
from pipeline.workers import processes
from pipeline.workers.processes import AddProgress, Processes
from tests.serve.processes import eventually

ENOUGH_BYTES = 1 << 40  # a limit of memory that the tasks below do not reach


@dataclass(frozen=True, slots=True)
class Task:
    """A task as `processes` schedules it; `iso2` also carries the argument of a function, such as a path."""

    iso2: str
    rows: int = 1
    memory: int = 1


def upper_case_name(task: Task, add_progress: AddProgress) -> tuple[str, str | None]:
    """The name in capitals, and POLARS_MAX_THREADS; the task `faute` raises, `mort` ends the process."""
    if task.iso2 == "faute":
        raise BuildError("EE: faute")
    if task.iso2 == "mort":
        os._exit(9)
    add_progress(task.rows)
    return task.iso2.upper(), os.environ.get("POLARS_MAX_THREADS")


def test_results_come_in_the_order_of_the_tasks() -> None:
    tasks = [Task("é"), Task("b"), Task("à", rows=0)]

    assert [name for name, _ in Processes(1, ENOUGH_BYTES).run(upper_case_name, tasks)] == [
        "É",
        "B",
        "À",
    ]
    results = Processes(2, ENOUGH_BYTES).run(upper_case_name, tasks)
    assert [name for name, _ in results] == ["É", "B", "À"]
    assert all(threads is not None and int(threads) >= 1 for _, threads in results)


def create_file(task: Task, _: AddProgress) -> None:
    """Create the file `task.iso2` after 50 ms; the task `faute` raises immediately."""
    if task.iso2 == "faute":
        raise BuildError("EE: faute")
    time.sleep(0.05)
    Path(task.iso2).touch()


def test_after_an_error_the_tasks_that_have_not_begun_are_dropped(tmp_path: Path) -> None:
    tasks = [Task("faute"), *(Task(str(tmp_path / str(number))) for number in range(40))]

    with pytest.raises(BuildError):
        Processes(2, ENOUGH_BYTES).run(create_file, tasks)

    assert len(list(tmp_path.iterdir())) < 40


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_task_is_the_error_of_the_run(count: int) -> None:
    with pytest.raises(BuildError, match="EE: faute"):
        Processes(count, ENOUGH_BYTES).run(upper_case_name, [Task("a"), Task("faute"), Task("b")])


def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(BuildError, match="one of 2 processes died"):
        Processes(2, ENOUGH_BYTES).run(upper_case_name, [Task("mort"), Task("a")])


def test_small_work_is_done_in_this_process_by_default() -> None:
    # The arguments: the number of processes that the caller wants, and the rows of each task.
    assert processes.process_count(None, [1, 1]) == 1
    assert processes.process_count(2, [1, 1]) == 2
    assert processes.process_count(None, [processes.WORTH_PROCESSES, 1]) >= 1


def test_there_are_no_more_processes_than_tasks_with_rows() -> None:
    assert processes.process_count(8, [5, 5, 0]) == 2
    assert processes.process_count(8, [0, 0]) == 1


def test_a_run_removes_its_number_of_polars_threads_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)

    Processes(2, ENOUGH_BYTES).run(upper_case_name, [Task("a"), Task("b")])

    assert "POLARS_MAX_THREADS" not in os.environ


# -- memory --------------------------------------------------------------------------


def time_of_work(task: Task, _: AddProgress) -> tuple[float, float]:
    """When a task of 0.3 s began and ended, in seconds."""
    start = time.monotonic()
    time.sleep(0.3)
    return start, time.monotonic()


def test_tasks_that_do_not_fit_together_run_one_after_the_other() -> None:
    # Two processes with 10 bytes for both together.
    times_a, times_b = Processes(2, 10).run(
        time_of_work, [Task("a", memory=6), Task("b", memory=5)]
    )

    assert times_a[1] <= times_b[0] or times_b[1] <= times_a[0]


def test_a_later_task_that_fits_runs_before_a_task_that_does_not_fit() -> None:
    tasks = [Task("a", memory=6), Task("b", memory=5), Task("c", memory=4)]

    # The arguments: all tasks, the waiting and the running ones, the most at once, the bytes of memory.
    assert list(processes.tasks_that_fit(tasks, [0, 1, 2], [], 2, 10)) == [0, 2]
    assert list(processes.tasks_that_fit(tasks, [1], [0], 2, 10)) == []
    assert list(processes.tasks_that_fit(tasks, [1], [2], 2, 10)) == [1]
    assert list(processes.tasks_that_fit(tasks, [1, 2], [0], 1, 100)) == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_that_takes_more_than_the_limit_is_refused_by_name(count: int) -> None:
    # The error rounds 2.51 GiB to 2.5 and advises a limit rounded up, 2.6.
    tasks = [Task("EE"), Task("UK", memory=int(2.51 * processes.GIB))]

    with pytest.raises(
        BuildError, match=r"UK takes 2\.5 GiB .* 2\.0 GiB are allowed.*--memory 2\.6"
    ):
        Processes(count, 2 * processes.GIB).run(upper_case_name, tasks)


# -- the end of the parent -------------------------------------------------------------

# Runs two tasks in two processes; its arguments are the files to which the tasks write their process numbers.
PARENT_PROGRAM = """
import sys
from pathlib import Path
from pipeline.workers.processes import Processes
from tests.pipeline.workers.test_processes import Task, write_process_id_and_sleep
if __name__ == "__main__":
    Processes(2, 10).run(write_process_id_and_sleep, [Task(sys.argv[1]), Task(sys.argv[2])])
"""


def write_process_id_and_sleep(task: Task, _: AddProgress) -> None:
    """Write the number of this process to the file `task.iso2`, and run for a minute."""
    Path(task.iso2).write_text(str(os.getpid()))
    time.sleep(60)


@pytest.mark.parametrize("end_signal", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent(tmp_path: Path, end_signal: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT_PROGRAM)
    id_files = [tmp_path / "a", tmp_path / "b"]
    root = Path(__file__).parents[3]

    with subprocess.Popen(
        [sys.executable, str(script), *map(str, id_files)],
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.DEVNULL,
    ) as parent:
        assert eventually(lambda: all(id_file.read_text() for id_file in id_files))
        parent.send_signal(end_signal)
    children = [int(id_file.read_text()) for id_file in id_files]

    assert eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
