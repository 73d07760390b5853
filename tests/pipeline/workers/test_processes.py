"""Tasks in processes: order, memory, progress, errors, a process that dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.errors import BuildError
from pipeline.workers import processes
from pipeline.workers.processes import Processes, Progress

PLENTY = 1 << 40


@dataclass(frozen=True, slots=True)
class Task:
    iso2: str
    rows: int = 1
    memory: int = 1


def shout(task: Task, moved: Progress) -> tuple[str, str | None]:
    if task.iso2 == "faute":
        raise BuildError("EE: faute")
    if task.iso2 == "mort":
        os._exit(9)
    moved(task.rows)
    return task.iso2.upper(), os.environ.get("POLARS_MAX_THREADS")


def test_results_come_in_the_order_of_the_tasks() -> None:
    tasks = [Task("é"), Task("b"), Task("à", rows=0)]

    assert [name for name, _ in Processes(1, PLENTY).run(shout, tasks)] == ["É", "B", "À"]
    found = Processes(2, PLENTY).run(shout, tasks)
    assert [name for name, _ in found] == ["É", "B", "À"]
    assert all(threads is not None and int(threads) >= 1 for _, threads in found)


def mark(task: Task, _: Progress) -> None:
    if task.iso2 == "faute":
        raise BuildError("EE: faute")
    time.sleep(0.05)
    Path(task.iso2).touch()


def test_after_an_error_what_has_not_begun_is_dropped(tmp_path: Path) -> None:
    tasks = [Task("faute"), *(Task(str(tmp_path / str(n))) for n in range(40))]

    with pytest.raises(BuildError):
        Processes(2, PLENTY).run(mark, tasks)

    assert len(list(tmp_path.iterdir())) < 40


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_task_is_the_error_of_the_run(count: int) -> None:
    with pytest.raises(BuildError, match="EE: faute"):
        Processes(count, PLENTY).run(shout, [Task("a"), Task("faute"), Task("b")])


def test_a_process_that_dies_is_said_to_have_died() -> None:
    with pytest.raises(BuildError, match="one of 2 processes died"):
        Processes(2, PLENTY).run(shout, [Task("mort"), Task("a")])


def test_small_work_is_done_in_this_process_unless_asked_otherwise() -> None:
    assert processes.process_count(None, [1, 1]) == 1
    assert processes.process_count(2, [1, 1]) == 2
    assert processes.process_count(None, [processes.WORTH_PROCESSES, 1]) >= 1


def test_there_are_no_more_processes_than_tasks_with_rows() -> None:
    assert processes.process_count(8, [5, 5, 0]) == 2
    assert processes.process_count(8, [0, 0]) == 1


def test_the_environment_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)

    Processes(2, PLENTY).run(shout, [Task("a"), Task("b")])

    assert "POLARS_MAX_THREADS" not in os.environ


# -- memory --------------------------------------------------------------------------


def span(task: Task, _: Progress) -> tuple[float, float]:
    began = time.monotonic()
    time.sleep(0.3)
    return began, time.monotonic()


def test_tasks_that_do_not_fit_together_run_one_after_the_other() -> None:
    (first, second) = Processes(2, 10).run(span, [Task("a", memory=6), Task("b", memory=5)])

    assert first[1] <= second[0] or second[1] <= first[0]


def test_a_smaller_task_runs_beside_one_that_leaves_no_room_for_the_next() -> None:
    tasks = [Task("a", memory=6), Task("b", memory=5), Task("c", memory=4)]

    assert list(processes.tasks_that_fit(tasks, [0, 1, 2], [], 2, 10)) == [0, 2]
    assert list(processes.tasks_that_fit(tasks, [1], [0], 2, 10)) == []
    assert list(processes.tasks_that_fit(tasks, [1], [2], 2, 10)) == [1]
    assert list(processes.tasks_that_fit(tasks, [1, 2], [0], 1, 100)) == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_that_takes_more_than_the_limit_is_refused_by_name(count: int) -> None:
    tasks = [Task("EE"), Task("UK", memory=int(2.51 * processes.GIB))]

    with pytest.raises(
        BuildError, match=r"UK takes 2\.5 GiB .* 2\.0 GiB are allowed.*--memory 2\.6"
    ):
        Processes(count, 2 * processes.GIB).run(shout, tasks)


# -- the end of the parent -------------------------------------------------------------

PARENT = """
import sys
from pathlib import Path
from pipeline.workers.processes import Processes
from tests.pipeline.workers.test_processes import Task, linger
if __name__ == "__main__":
    Processes(2, 10).run(linger, [Task(sys.argv[1]), Task(sys.argv[2])])
"""


def linger(task: Task, _: Progress) -> None:
    Path(task.iso2).write_text(str(os.getpid()))
    time.sleep(60)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent(tmp_path: Path, by: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    marks = [tmp_path / "a", tmp_path / "b"]
    root = Path(__file__).parents[3]

    with subprocess.Popen(
        [sys.executable, str(script), *map(str, marks)],
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.DEVNULL,
    ) as parent:
        _until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
        parent.send_signal(by)
    children = [int(mark.read_text()) for mark in marks]

    _until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
