"""The answers of a worker process; test_worker_pool.py has the tests of its start and end."""

import os
import signal
import time
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import pytest

from serve.features.export import worker
from serve.features.export.workbook.export_data import ExportResult
from serve.features.export.worker import ExportFailure, ExportJob, LastGeneration
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import export_request


@pytest.fixture
def export_job(tmp_path: Path) -> ExportJob:
    """A job for a workbook of two companies."""
    data = tmp_path / "data"
    request = export_request(data, world.publish(data), limit=2)
    return ExportJob(request, tmp_path / "a.xlsx", tmp_path)


def test_a_result_has_the_counts_of_the_file(export_job: ExportJob) -> None:
    """Of the 41 companies of the HTTP tests, the file has two, and one of these has statements."""
    assert worker.make_file(export_job, LastGeneration()) == ExportResult(
        lignes=2, total=41, comptes=1
    )
    assert export_job.path.read_bytes().startswith(b"PK")


def test_a_failure_says_why_there_is_no_file(export_job: ExportJob, tmp_path: Path) -> None:
    open_data = LastGeneration()

    no_folder = worker.make_file(
        ExportJob(export_job.request, tmp_path / "absent" / "a.xlsx", tmp_path), open_data
    )
    open_data.close()
    export_job.request.folder.rename(tmp_path / "away")
    no_generation = worker.make_file(export_job, open_data)

    assert isinstance(no_folder, ExportFailure)
    assert "absent" in no_folder.why
    assert isinstance(no_generation, ExportFailure)
    assert "no generation" in no_generation.why


def test_a_generation_stays_open_until_another_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first_folder = folder / world.publish(folder, world.COMPANIES[:3])
    second_folder = folder / world.publish(folder)
    last_generation = LastGeneration()

    generation = last_generation.open(first_folder)

    assert last_generation.open(first_folder) is generation
    assert last_generation.open(second_folder).id == second_folder.name
    # This fails if the first generation is still open, because LMDB cannot open a file twice in a process.
    assert last_generation.open(first_folder).manifest.total == 3
    last_generation.close()


def test_a_worker_answers_until_its_pipe_is_closed(
    export_job: ExportJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs, with a pause in which the worker closes the generation"""
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)  # the generation is closed, and opened again
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # only the main thread may set signals
    monkeypatch.setattr(os, "nice", lambda _: None)
    server_end, worker_end = Pipe()
    thread = Thread(target=worker.run, args=(worker_end,))
    thread.start()

    for _ in range(2):
        time.sleep(0.05)
        server_end.send(export_job)
        assert isinstance(server_end.recv(), ExportResult)
    server_end.close()
    thread.join(10)

    assert not thread.is_alive()
