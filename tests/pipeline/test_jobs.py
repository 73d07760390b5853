"""Tasks in processes: order, errors, a process that dies."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline import jobs
from pipeline.errors import BuildError


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    rows: int = 1


def shout(task: Task) -> tuple[str, str | None]:
    if task.name == "faute":
        raise BuildError("EE: faute")
    if task.name == "mort":
        os._exit(9)
    return task.name.upper(), os.environ.get("POLARS_MAX_THREADS")


def test_results_come_in_the_order_of_the_tasks() -> None:
    tasks = [Task("é"), Task("b"), Task("à", rows=0)]

    assert [name for name, _ in jobs.run(shout, tasks, 1)] == ["É", "B", "À"]
    found = jobs.run(shout, tasks, 2)
    assert [name for name, _ in found] == ["É", "B", "À"]
    assert all(threads is not None and int(threads) >= 1 for _, threads in found)


def mark(task: Task) -> None:
    if task.name == "faute":
        raise BuildError("EE: faute")
    time.sleep(0.05)
    Path(task.name).touch()


def test_after_an_error_what_has_not_begun_is_dropped(tmp_path: Path) -> None:
    tasks = [Task("faute"), *(Task(str(tmp_path / str(n))) for n in range(40))]

    with pytest.raises(BuildError):
        jobs.run(mark, tasks, 2)

    assert len(list(tmp_path.iterdir())) < 40


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_task_is_the_error_of_the_run(count: int) -> None:
    with pytest.raises(BuildError, match="EE: faute"):
        jobs.run(shout, [Task("a"), Task("faute"), Task("b")], count)


def test_a_process_that_dies_is_said_to_have_died() -> None:
    with pytest.raises(BuildError, match="one of 2 processes died"):
        jobs.run(shout, [Task("mort"), Task("a")], 2)


def test_small_work_is_done_in_this_process_unless_asked_otherwise() -> None:
    assert [threads for _, threads in jobs.run(shout, [Task("a"), Task("b")], None)] == [
        os.environ.get("POLARS_MAX_THREADS")
    ] * 2


def test_the_environment_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)

    jobs.run(shout, [Task("a"), Task("b")], 2)

    assert "POLARS_MAX_THREADS" not in os.environ
