"""A build on a Dask cluster gives the bytes of a local build, even if workers die."""

import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.__main__ import main
from pipeline.errors import BuildError
from pipeline.workers import dask_cluster
from shards.generations import pointer
from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, statement_line, write_input
from tests.pipeline.workers.dask import ROOT, Dask, running_scheduler
from tests.serve.processes import eventually

COMPANIES_OF_A_LONG_BUILD = 30_000  # per country: enough time to kill a process during the build


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    """A running scheduler without workers."""
    with running_scheduler(tmp_path / "dask") as cluster:
        yield cluster


def write_three_countries(folder: Path, company_count: int) -> Path:
    """Three countries: `company_count` companies each, one without a name (rejected) and one with a turnover."""
    for iso2 in ("EE", "UK", "AT"):
        rows: list[dict[str, Any]] = [
            company(iso2, str(number), f"Õun {number % 97} Straße", nace_code="62.01")
            for number in range(company_count)
        ]
        rows += [company(iso2, "Z", None), company(iso2, "É", "Ä", ca_last=5.0, ca_devise="EUR")]
        write_input(folder, rows, [statement_line(iso2, "1", 2020)], name=iso2.lower())
    return folder


def bytes_by_file(data: Path) -> dict[str, bytes]:
    """The bytes of each file in a data folder, by relative path, without the pointer CURRENT."""
    return {
        str(path.relative_to(data)): path.read_bytes()
        for path in data.rglob("*")
        if path.is_file() and path.name != pointer.CURRENT
    }


def files_of_local_build(tmp_path: Path, source: Path) -> dict[str, bytes]:
    """The files of a build of `source` on this machine, without a cluster."""
    folder = tmp_path / "here"
    folder.mkdir()
    run_build(folder, source, max_rejected=0.5)
    return bytes_by_file(folder / "data")


@pytest.mark.slow
def test_a_cluster_makes_the_same_bytes_as_this_machine(
    tmp_path: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_three_countries(tmp_path / "input", 300)
    dask.start_worker()
    dask.start_worker()

    # The workers run in another folder, so the build must send them absolute paths.
    monkeypatch.chdir(tmp_path)
    arguments = ["--input", "input", "--out", "data", "--max-rejected", "0.5"]
    assert main(["build", *arguments, "--cluster", dask.address]) == 0

    assert bytes_by_file(tmp_path / "data") == files_of_local_build(tmp_path, source)


@pytest.mark.slow
def test_the_countries_of_a_killed_worker_are_built_again(tmp_path: Path, dask: Dask) -> None:
    source = write_three_countries(tmp_path / "input", COMPANIES_OF_A_LONG_BUILD)
    dask.start_worker()
    dask.start_worker()
    killer = threading.Thread(target=kill_worker_during_build, args=(tmp_path / "data", dask))
    killer.start()

    run_build(tmp_path, source, max_rejected=0.5, cluster=dask.address)

    killer.join()
    assert dask.workers[0].wait(timeout=60) == -signal.SIGKILL
    assert bytes_by_file(tmp_path / "data") == files_of_local_build(tmp_path, source)


def kill_worker_during_build(data: Path, dask: Dask) -> None:
    """Kill the first worker while both workers build a country."""
    wait_for_run(data)
    dask.workers[0].kill()


def wait_for_run(data: Path) -> None:
    """Wait until a worker has written a `.run` file of an unfinished country."""
    assert eventually(lambda: any(data.glob(".building/work-*/*/*.run")))


@pytest.mark.slow
def test_a_build_that_loses_its_scheduler_fails_and_keeps_the_published_generation(
    tmp_path: Path, dask: Dask
) -> None:
    generation = run_build(
        tmp_path, write_three_countries(tmp_path / "old", 5), max_rejected=0.5
    ).generation
    dask.start_worker()
    data = tmp_path / "data"
    killer = threading.Thread(target=kill_scheduler_during_build, args=(data, dask))
    killer.start()

    with pytest.raises(BuildError, match="start again: finished countries are kept"):
        run_build(
            tmp_path,
            write_three_countries(tmp_path / "new", COMPANIES_OF_A_LONG_BUILD),
            max_rejected=0.5,
            cluster=dask.address,
        )

    killer.join()
    assert pointer.current_name(data) == generation


def kill_scheduler_during_build(data: Path, dask: Dask) -> None:
    """Kill the scheduler as soon as a worker has written a `.run` file of a country."""
    wait_for_run(data)
    dask.scheduler_process.kill()


def test_the_build_raises_the_error_of_a_country_that_a_worker_builds(
    tmp_path: Path, dask: Dask
) -> None:
    source = write_input(tmp_path / "input", [company("EE", "1", "Ä"), company("EE", "1", "Õ")])
    dask.start_worker()

    with pytest.raises(BuildError, match="EE: 1 identifiers come more than once"):
        run_build(tmp_path, source, cluster=dask.address)


def test_a_worker_with_other_code_is_refused(tmp_path: Path, dask: Dask) -> None:
    changed_code = tmp_path / "other"
    for package in ("pipeline", "shards", "seeds"):
        shutil.copytree(ROOT / package, changed_code / package)
    with (changed_code / "shards" / "format.py").open("a") as stream:
        stream.write("# another version\n")
    dask.start_worker(changed_code)

    with pytest.raises(BuildError, match="has other code or libraries than this build"):
        run_build(
            tmp_path,
            write_input(tmp_path / "input", [company("EE", "1", "Ä")]),
            cluster=dask.address,
        )


def test_a_country_that_no_worker_has_memory_for_is_refused_by_name(
    tmp_path: Path, dask: Dask
) -> None:
    dask.start_worker()

    # A process takes 200 MiB before its first company.
    with pytest.raises(BuildError, match="EE takes 201 MiB of memory, 100 MiB are"):
        run_build(
            tmp_path,
            write_input(tmp_path / "input", [company("EE", "1", "Ä")]),
            cluster=dask.address,
            memory=100 << 20,
        )


def test_a_cluster_without_workers_is_refused(tmp_path: Path, dask: Dask) -> None:
    with pytest.raises(BuildError, match="has no worker; start some: `dask worker tcp:"):
        run_build(
            tmp_path,
            write_input(tmp_path / "input", [company("EE", "1", "Ä")]),
            cluster=dask.address,
        )


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no-such-host.invalid:8786", "?"])
def test_an_address_where_nothing_answers_is_named(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_TIMEOUT", "1s")

    with pytest.raises(BuildError) as error:
        run_build(
            tmp_path, write_input(tmp_path / "input", [company("EE", "1", "Ä")]), cluster=address
        )

    assert str(error.value).startswith(f"no Dask scheduler answers at {address}: ")
    assert "\n" not in str(error.value)


def test_workers_that_do_not_see_the_files_are_named() -> None:
    # Address of a worker -> its host, and whether it sees the files.
    with pytest.raises(BuildError, match=r"^mond \(tcp://b\) does not see /data/x; workers need"):
        dask_cluster._refuse_blind_workers(
            {"tcp://a": ("erde", True), "tcp://b": ("mond", False)}, Path("/data/x")
        )
