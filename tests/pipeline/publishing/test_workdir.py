"""The folder in which a build works, and the finished countries that a failed build leaves in it."""

import itertools
import os
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from pipeline.errors import BuildError
from pipeline.publishing import receipts
from shards.errors import GenerationError


def test_a_build_that_succeeds_leaves_nothing(tmp_path: Path) -> None:
    with receipts.open_workdir(tmp_path / "data") as workdir:
        (workdir.done / "EE.shard").touch()
        (workdir.work / "x").touch()

    assert list((tmp_path / "data").iterdir()) == []


def test_a_failed_build_leaves_its_finished_countries_and_no_work_folder(tmp_path: Path) -> None:
    with pytest.raises(BuildError), receipts.open_workdir(tmp_path) as workdir:
        (workdir.done / "EE.shard").touch()
        (workdir.work / "x").touch()
        raise BuildError("UK: faute")

    assert [path.name for path in workdir.done.iterdir()] == ["EE.shard"]
    assert not workdir.work.exists()


def test_a_build_that_fails_before_a_country_is_finished_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BuildError), receipts.open_workdir(tmp_path):
        raise BuildError("UK: faute")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_worker_that_still_writes_does_not_disturb_the_end_of_a_build(
    tmp_path: Path, fails: bool
) -> None:
    for _ in range(20):
        with (
            pytest.raises(BuildError, match="UK: faute") if fails else nullcontext(),
            receipts.open_workdir(tmp_path) as workdir,
        ):
            is_writing = threading.Event()
            worker = threading.Thread(
                target=write_until_refused, args=(workdir.work, is_writing), daemon=True
            )
            worker.start()
            is_writing.wait()
            if fails:
                raise BuildError("UK: faute")

        worker.join()
        assert list(tmp_path.iterdir()) == []


def write_until_refused(folder: Path, is_writing: threading.Event) -> None:
    """Write and delete files in `folder`, as a worker of a cluster does, until the folder is gone."""
    with suppress(FileNotFoundError):
        for number in itertools.count():
            path = folder / f"{number}.run"
            path.touch()
            is_writing.set()
            path.rename(folder / f"{number}.sorted").unlink()


def test_a_new_build_removes_the_work_of_a_killed_build_and_sees_its_finished_countries(
    tmp_path: Path,
) -> None:
    dead = tmp_path / receipts.BUILDING / "work-dead"
    dead.mkdir(parents=True)
    done = tmp_path / receipts.BUILDING / "done"
    done.mkdir()
    (done / "EE.shard").touch()

    with receipts.open_workdir(tmp_path) as workdir:
        assert not dead.exists()
        assert [path.name for path in workdir.done.iterdir()] == ["EE.shard"]


def test_a_second_build_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with receipts.open_workdir(tmp_path) as workdir:
        (workdir.done / "EE.shard").touch()
        with (
            pytest.raises(GenerationError, match=f"another build .* by process {os.getpid()};"),
            receipts.open_workdir(tmp_path),
        ):
            pass
        assert (workdir.done / "EE.shard").exists()

    with receipts.open_workdir(tmp_path):
        pass
