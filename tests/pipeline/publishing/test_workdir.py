"""The work folder of a build."""

import os
from pathlib import Path

import pytest

from pipeline.errors import BuildError
from pipeline.publishing import receipts
from shards.errors import GenerationError


def test_a_build_that_succeeds_leaves_nothing(tmp_path: Path) -> None:
    with receipts.open_workdir(tmp_path / "data") as shop:
        (shop.done / "EE.shard").touch()
        (shop.work / "x").touch()

    assert list((tmp_path / "data").iterdir()) == []


def test_a_build_that_fails_leaves_what_is_done_and_no_work(tmp_path: Path) -> None:
    with pytest.raises(BuildError), receipts.open_workdir(tmp_path) as shop:
        (shop.done / "EE.shard").touch()
        (shop.work / "x").touch()
        raise BuildError("UK: faute")

    assert [path.name for path in shop.done.iterdir()] == ["EE.shard"]
    assert not shop.work.exists()


def test_a_build_that_fails_before_anything_is_done_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BuildError), receipts.open_workdir(tmp_path):
        raise BuildError("UK: faute")

    assert list(tmp_path.iterdir()) == []


def test_the_work_of_a_dead_build_is_removed_and_what_it_had_done_is_there(tmp_path: Path) -> None:
    dead = tmp_path / receipts.BUILDING / "work-dead"
    dead.mkdir(parents=True)
    done = tmp_path / receipts.BUILDING / "done"
    done.mkdir()
    (done / "EE.shard").touch()

    with receipts.open_workdir(tmp_path) as shop:
        assert not dead.exists()
        assert [path.name for path in shop.done.iterdir()] == ["EE.shard"]


def test_two_builds_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with receipts.open_workdir(tmp_path) as shop:
        (shop.done / "EE.shard").touch()
        with (
            pytest.raises(GenerationError, match=f"another build .* by process {os.getpid()};"),
            receipts.open_workdir(tmp_path),
        ):
            pass
        assert (shop.done / "EE.shard").exists()

    with receipts.open_workdir(tmp_path):
        pass
