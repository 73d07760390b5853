"""A server over a mirror: another program maintains DATA, and the server cannot write to it."""

import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import orjson
import pytest

from shards.generations import pointer
from shards.mirror.mirror import MirrorOptions, mirror
from shards.mirror.source_kinds import Folder
from tests.proof.test_exports import account, count_exports
from tests.proof.tools import need
from tests.serve import world
from tests.serve.processes import ask, eventually, read_line, server_process, stop
from tests.shards.mirror.sources import eager_downloader
from tests.world import company, publish

pytestmark = pytest.mark.slow

COMPANIES = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]


@contextmanager
def read_only_view(data: Path, view: Path) -> Iterator[Path]:
    """A folder with the files of `data` that cannot be written.

    For root it is a read-only mount at `view`; for other users it is `data` itself without permission to write.
    """
    if os.geteuid():
        for path in (data, *data.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
        yield data
        return
    view.mkdir()
    mount = need("mount", "mount")
    subprocess.run([mount, "--bind", data, view], check=True)
    try:
        subprocess.run([mount, "-o", "remount,bind,ro", view], check=True)
        yield view
    finally:
        # A reader of the files that is killed may live for a moment.
        assert eventually(lambda: subprocess.run(["umount", view], check=False).returncode == 0)


def test_a_server_over_a_mirror_searches_exports_and_counts_without_writing_to_data(
    tmp_path: Path,
) -> None:
    data, state = tmp_path / "mirror", tmp_path / "state"
    world.publish(tmp_path / "source")
    mirror(eager_downloader(Folder(tmp_path / "source")), data, MirrorOptions())
    files_before = _file_states(data)
    with read_only_view(data, tmp_path / "view") as view:
        with pytest.raises(OSError, match=r"Read-only|Permission denied"):
            (view / "x").touch()
        with (
            server_process(view, "--mirror", "--workers", "2", "--state", str(state)) as process,
            account(state) as (store, account_id, key),
        ):
            address = read_line(process)
            # The test data have eight French companies.
            assert orjson.loads(ask(address, "/api/v1/societes?pays=FR")[1])["total"] == 8
            status, workbook = ask(address, "/api/v1/export?pays=FR", key)
            export_count = count_exports(store, account_id)
            stop(process)

    assert status == 200
    assert openpyxl.load_workbook(io.BytesIO(workbook)).sheetnames
    assert export_count == 1
    assert _file_states(data) == files_before


def test_a_server_over_a_mirror_waits_for_the_first_round_and_serves_the_next_ones(
    tmp_path: Path,
) -> None:
    source, data = tmp_path / "source", tmp_path / "mirror"
    data.mkdir()
    with server_process(data, "--mirror") as process:
        address = read_line(process)
        assert ask(address, "/readyz")[0] == 503
        for number in range(2):
            name = publish(source, [*COMPANIES, company("FR", str(number), "Œuvre")])
            mirror(eager_downloader(Folder(source)), data, MirrorOptions())
            assert eventually(lambda name=name: name in ask(address, "/readyz")[1].decode())  # type: ignore[misc]
        stop(process)


def test_the_metrics_have_the_age_of_the_last_round_of_the_mirror(tmp_path: Path) -> None:
    """In seconds; two hours are 7 200, and a minute is the tolerance"""
    source, data = tmp_path / "source", tmp_path / "mirror"
    publish(source, COMPANIES)
    mirror(eager_downloader(Folder(source)), data, MirrorOptions())
    with server_process(data, "--mirror") as process:
        address = read_line(process)
        age_now = _mirror_age(address)
        pointer.note_mirrored(data, datetime.now(UTC) - timedelta(hours=2))
        age_after_two_hours = _mirror_age(address)
        (data / pointer.MIRRORED).unlink()
        metrics_without_round = ask(address, "/metrics")[1]
        stop(process)

    assert 0 <= age_now < 60
    assert 7_200 <= age_after_two_hours < 7_260
    assert b"societes_mirror_age_seconds" not in metrics_without_round


def _mirror_age(address: str) -> float:
    """The seconds since the last round of the mirror, from /metrics."""
    lines = ask(address, "/metrics")[1].decode().splitlines()
    (sample,) = (line for line in lines if line.startswith("societes_mirror_age_seconds "))
    return float(sample.split()[1])


def test_a_mirror_of_some_countries_lists_only_these_and_refuses_to_search_another_country(
    tmp_path: Path,
) -> None:
    """The mirror has Estonia, which has one company"""
    publish(tmp_path / "source", COMPANIES)
    data = tmp_path / "mirror"
    mirror(eager_downloader(Folder(tmp_path / "source")), data, MirrorOptions(("EE",)))
    with server_process(data, "--mirror") as process:
        address = read_line(process)
        countries = orjson.loads(ask(address, "/api/v1/pays")[1])
        everything = orjson.loads(ask(address, "/api/v1/societes")[1])
        search_status, error = ask(address, "/api/v1/societes?pays=UK,EE")
        record_status, _ = ask(address, "/api/v1/societes/UK/1")
        stop(process)

    assert [pays["iso2"] for pays in countries["pays"]] == ["EE"]
    assert everything["total"] == 1
    assert search_status == record_status == 400
    assert orjson.loads(error)["erreur"]["code"] == "pays_inconnu"
    assert orjson.loads(error)["pays_inconnus"] == ["UK"]


@pytest.mark.parametrize("flags", [[], ["--mirror"]])
@pytest.mark.parametrize("option", ["--state=data", "--state=data/x", "--spool=data/../data/x"])
def test_the_state_and_the_spool_must_be_outside_data(
    tmp_path: Path, flags: list[str], option: str
) -> None:
    name, folder = option.split("=")
    with server_process(tmp_path / "data", *flags, name, f"{tmp_path}/{folder}") as process:
        assert process.wait(120) == 2
    assert not (tmp_path / "data").exists()


def _file_states(data: Path) -> dict[str, tuple[int, int]]:
    """The time of the last change and the size of each file in a folder."""
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in data.rglob("*")}
