"""A server of a mirror: another program maintains DATA, and the server cannot write to it."""

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
from tests.proof.test_exports import account, used
from tests.proof.tools import need
from tests.serve import world
from tests.serve.processes import ask, eventually, line_of, started, stop
from tests.shards.mirror.sources import eager
from tests.world import company, publish

pytestmark = pytest.mark.slow

FOUND = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]


@contextmanager
def read_only(data: Path, view: Path) -> Iterator[Path]:
    """`data`, as somebody sees it who may not write there: a mount for root, else permissions."""
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
        subprocess.run(["umount", view], check=True)


def test_it_searches_exports_and_counts_without_writing_to_data(tmp_path: Path) -> None:
    data, state = tmp_path / "mirror", tmp_path / "state"
    world.publish(tmp_path / "source")
    mirror(eager(Folder(tmp_path / "source")), data, MirrorOptions())
    before = _seen(data)
    with read_only(data, tmp_path / "view") as view:
        with pytest.raises(OSError, match=r"Read-only|Permission denied"):
            (view / "x").touch()
        with (
            started(view, "--mirror", "--workers", "2", "--state", str(state)) as process,
            account(state) as (store, name, key),
        ):
            address = line_of(process)
            assert orjson.loads(ask(address, "/api/v1/societes?pays=FR")[1])["total"] == 8
            status, workbook = ask(address, "/api/v1/export?pays=FR", key)
            counted = used(store, name)
            stop(process)

    assert status == 200
    assert openpyxl.load_workbook(io.BytesIO(workbook)).sheetnames
    assert counted == 1
    assert _seen(data) == before


def test_it_waits_for_the_first_round_and_takes_up_the_next_ones(tmp_path: Path) -> None:
    source, data = tmp_path / "source", tmp_path / "mirror"
    data.mkdir()
    with started(data, "--mirror") as process:
        address = line_of(process)
        assert ask(address, "/readyz")[0] == 503
        for number in range(2):
            name = publish(source, [*FOUND, company("FR", str(number), "Œuvre")])
            mirror(eager(Folder(source)), data, MirrorOptions())
            assert eventually(lambda name=name: name in ask(address, "/readyz")[1].decode())  # type: ignore[misc]
        stop(process)


def test_its_metrics_tell_when_it_last_had_what_its_source_publishes(tmp_path: Path) -> None:
    source, data = tmp_path / "source", tmp_path / "mirror"
    publish(source, FOUND)
    mirror(eager(Folder(source)), data, MirrorOptions())
    with started(data, "--mirror") as process:
        address = line_of(process)
        first = _mirror_age(address)
        pointer.note_mirrored(data, datetime.now(UTC) - timedelta(hours=2))
        later = _mirror_age(address)
        (data / pointer.MIRRORED).unlink()
        unknown = ask(address, "/metrics")[1]
        stop(process)

    assert 0 <= first < 60
    assert 7_200 <= later < 7_260
    assert b"societes_mirror_age_seconds" not in unknown


def _mirror_age(address: str) -> float:
    lines = ask(address, "/metrics")[1].decode().splitlines()
    (found,) = (line for line in lines if line.startswith("societes_mirror_age_seconds "))
    return float(found.split()[1])


def test_of_a_part_it_lists_its_countries_and_refuses_the_others_by_name(tmp_path: Path) -> None:
    publish(tmp_path / "source", FOUND)
    data = tmp_path / "mirror"
    mirror(eager(Folder(tmp_path / "source")), data, MirrorOptions(("EE",)))
    with started(data, "--mirror") as process:
        address = line_of(process)
        countries = orjson.loads(ask(address, "/api/v1/pays")[1])
        everything = orjson.loads(ask(address, "/api/v1/societes")[1])
        absent, said = ask(address, "/api/v1/societes?pays=UK,EE")
        record, _ = ask(address, "/api/v1/societes/UK/1")
        stop(process)

    assert [pays["iso2"] for pays in countries["pays"]] == ["EE"]
    assert everything["total"] == 1
    assert absent == record == 400
    assert orjson.loads(said)["erreur"]["code"] == "pays_inconnu"
    assert orjson.loads(said)["pays_inconnus"] == ["UK"]


@pytest.mark.parametrize("flags", [[], ["--mirror"]])
@pytest.mark.parametrize("place", ["--state=data", "--state=data/x", "--spool=data/../data/x"])
def test_nothing_of_the_server_may_lie_in_data(
    tmp_path: Path, flags: list[str], place: str
) -> None:
    name, folder = place.split("=")
    with started(tmp_path / "data", *flags, name, f"{tmp_path}/{folder}") as process:
        assert process.wait(20) == 2
    assert not (tmp_path / "data").exists()


def _seen(data: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in data.rglob("*")}
