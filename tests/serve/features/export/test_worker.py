"""The answers of a worker process; its start and end are in tests/serve/features/export/test_worker_pool.py."""

import os
import signal
import time
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import pytest

from serve.features.export import worker
from serve.features.export.workbook.export_data import ExportResult
from serve.features.export.worker import Data, ExportFailure, ExportJob
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import asked


@pytest.fixture
def job(tmp_path: Path) -> ExportJob:
    data = tmp_path / "data"
    wanted = asked(data, world.publish(data), limit=2)
    return ExportJob(wanted, tmp_path / "a.xlsx", tmp_path)


def test_it_says_what_it_made(job: ExportJob) -> None:
    assert worker.answer(job, Data()) == ExportResult(lignes=2, total=41, comptes=1)
    assert job.path.read_bytes().startswith(b"PK")


def test_it_says_why_there_is_no_file(job: ExportJob, tmp_path: Path) -> None:
    data = Data()

    nowhere = worker.answer(ExportJob(job.request, tmp_path / "absent" / "a.xlsx", tmp_path), data)
    data.close()
    job.request.folder.rename(tmp_path / "away")
    gone = worker.answer(job, data)

    assert isinstance(nowhere, ExportFailure)
    assert "absent" in nowhere.why
    assert isinstance(gone, ExportFailure)
    assert "no generation" in gone.why


def test_it_keeps_a_generation_open_until_another_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = folder / world.publish(folder, world.COMPANIES[:3])
    second = folder / world.publish(folder)
    data = Data()

    kept = data.open(first)

    assert data.open(first) is kept
    assert data.open(second).id == second.name
    # The first one is closed: LMDB opens no file twice in one process.
    assert data.open(first).manifest.total == 3
    data.close()


def test_it_answers_until_its_pipe_is_closed(
    job: ExportJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)  # the generation is closed, and opened again
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # of the main thread only
    monkeypatch.setattr(os, "nice", lambda _: None)
    ours, theirs = Pipe()
    thread = Thread(target=worker.run, args=(theirs,))
    thread.start()

    for _ in range(2):
        time.sleep(0.05)
        ours.send(job)
        assert isinstance(ours.recv(), ExportResult)
    ours.close()
    thread.join(10)

    assert not thread.is_alive()
