"""A build on a Dask cluster gives the bytes of a local build, even if workers die."""

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.__main__ import main
from pipeline.errors import BuildError
from pipeline.workers import dask_cluster
from shards.generations import pointer
from tests.pipeline.builds import run
from tests.pipeline.rows import company, line, write
from tests.pipeline.workers.dask import ROOT, Dask, scheduler

MANY = 30_000


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    with scheduler(tmp_path / "dask") as found:
        yield found


def countries(folder: Path, each: int) -> Path:
    """Three countries of `each` companies and more, with statements and rejected rows."""
    for iso2 in ("EE", "UK", "AT"):
        rows: list[dict[str, Any]] = [
            company(iso2, str(number), f"Õun {number % 97} Straße", nace_code="62.01")
            for number in range(each)
        ]
        rows += [company(iso2, "Z", None), company(iso2, "É", "Ä", ca_last=5.0, ca_devise="EUR")]
        write(folder, rows, [line(iso2, "1", 2020)], name=iso2.lower())
    return folder


def content(data: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(data)): path.read_bytes()
        for path in data.rglob("*")
        if path.is_file() and path.name != pointer.CURRENT
    }


def built_here(tmp_path: Path, source: Path) -> dict[str, bytes]:
    here = tmp_path / "here"
    here.mkdir()
    run(here, source, max_rejected=0.5)
    return content(here / "data")


@pytest.mark.slow
def test_a_cluster_makes_the_same_bytes_as_this_machine(
    tmp_path: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = countries(tmp_path / "input", 300)
    dask.work()
    dask.work()

    monkeypatch.chdir(tmp_path)  # a worker is somewhere else: paths must not be relative
    asked = ["--input", "input", "--out", "data", "--max-rejected", "0.5"]
    assert main(["build", *asked, "--cluster", dask.address]) == 0

    assert content(tmp_path / "data") == built_here(tmp_path, source)


@pytest.mark.slow
def test_the_countries_of_a_worker_that_is_killed_are_done_again(
    tmp_path: Path, dask: Dask
) -> None:
    source = countries(tmp_path / "input", MANY)
    dask.work()
    dask.work()
    killer = threading.Thread(target=kill_at_work, args=(tmp_path / "data", dask))
    killer.start()

    run(tmp_path, source, max_rejected=0.5, cluster=dask.address)

    killer.join()
    assert dask.workers[0].wait() == -signal.SIGKILL
    assert content(tmp_path / "data") == built_here(tmp_path, source)


def kill_at_work(data: Path, dask: Dask) -> None:
    """Kill the first worker while both build a country."""
    while len(list(data.glob(".building/work-*/*/*.run"))) < 2:
        time.sleep(0.002)
    dask.workers[0].kill()


@pytest.mark.slow
def test_without_its_scheduler_a_build_ends_and_leaves_what_is_published(
    tmp_path: Path, dask: Dask
) -> None:
    generation = run(tmp_path, countries(tmp_path / "old", 5), max_rejected=0.5).generation
    dask.work()
    data = tmp_path / "data"
    killer = threading.Thread(target=end_at_work, args=(data, dask))
    killer.start()

    with pytest.raises(BuildError, match="start again: countries that are done are kept"):
        run(
            tmp_path,
            countries(tmp_path / "new", MANY),
            max_rejected=0.5,
            cluster=dask.address,
        )

    killer.join()
    assert pointer.current_name(data) == generation


def end_at_work(data: Path, dask: Dask) -> None:
    while not list(data.glob(".building/work-*/*/*.run")):
        time.sleep(0.002)
    dask.process.kill()


def test_an_error_of_a_country_is_the_error_of_the_build(tmp_path: Path, dask: Dask) -> None:
    source = write(tmp_path / "input", [company("EE", "1", "Ä"), company("EE", "1", "Õ")])
    dask.work()

    with pytest.raises(BuildError, match="EE: 1 identifiers come more than once"):
        run(tmp_path, source, cluster=dask.address)


def test_a_worker_with_other_code_is_refused(tmp_path: Path, dask: Dask) -> None:
    other = tmp_path / "other"
    for room in ("pipeline", "shards", "seeds"):
        shutil.copytree(ROOT / room, other / room)
    with (other / "shards" / "format.py").open("a") as stream:
        stream.write("# another version\n")
    dask.work(other)

    with pytest.raises(BuildError, match="has other code or libraries than this build"):
        run(tmp_path, write(tmp_path / "input", [company("EE", "1", "Ä")]), cluster=dask.address)


def test_a_country_that_no_worker_has_memory_for_is_refused_by_name(
    tmp_path: Path, dask: Dask
) -> None:
    dask.work()

    with pytest.raises(BuildError, match="EE takes 201 MiB of memory, 100 MiB are"):
        run(
            tmp_path,
            write(tmp_path / "input", [company("EE", "1", "Ä")]),
            cluster=dask.address,
            memory=100 << 20,
        )


def test_a_cluster_without_workers_is_refused(tmp_path: Path, dask: Dask) -> None:
    with pytest.raises(BuildError, match="has no worker; start some: `dask worker tcp:"):
        run(tmp_path, write(tmp_path / "input", [company("EE", "1", "Ä")]), cluster=dask.address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no-such-host.invalid:8786", "?"])
def test_an_address_where_nothing_answers_is_named(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "_TIMEOUT", "1s")

    with pytest.raises(BuildError) as error:
        run(tmp_path, write(tmp_path / "input", [company("EE", "1", "Ä")]), cluster=address)

    assert str(error.value).startswith(f"no Dask scheduler answers at {address}: ")
    assert "\n" not in str(error.value)


def test_workers_that_do_not_see_the_files_are_named() -> None:
    with pytest.raises(BuildError, match=r"^mond \(tcp://b\) does not see /data/x; workers need"):
        dask_cluster._check(
            {"tcp://a": ("erde", True), "tcp://b": ("mond", False)}, Path("/data/x")
        )
