"""Nights on full and failing disks: they end in one line, publish all or nothing, and the next one mends them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shards.generations import generation_files, pointer
from tests import ROOT
from tests.proof.tools import WAIT_S, need, small

pytestmark = pytest.mark.slow

RAW = ROOT / "seeds" / "raw"
SOURCES = {"no-enheter": RAW / "no" / "enheter_6.json", "ie-cro": RAW / "ie" / "companies.csv"}
# What a night asks of its disk, but for writes, which would also be those of its lines.
CALLS = "pwrite64,pwritev,pwritev2,fsync,fdatasync,ftruncate,rename,linkat,link"
ROUNDS = int(os.environ.get("PROOF_NIGHTS", "6"))


def _configured(folder: Path, work: Path) -> Path:
    """The configuration of a night in `folder` that imports what was placed in `work` by hand."""
    for source, file in SOURCES.items():
        place = work / "raw" / source
        place.mkdir(parents=True, exist_ok=True)
        (place / file.name).write_bytes(file.read_bytes())
    config = folder / "nightly.toml"
    tables = "".join(f"\n[source.{source}]\nfetch = false\n" for source in SOURCES)
    config.write_text(
        f'work = "{work}"\ndata = "{folder / "data"}"\nsources = {list(SOURCES)}\nverify = true\n'.replace("'", '"')
        + tables
    )  # fmt: skip
    return config


def _night(config: Path, *before: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*before, sys.executable, "-m", "pipeline", "nightly", str(config)],
        cwd=ROOT, capture_output=True, text=True, timeout=8 * WAIT_S,
    )  # fmt: skip


@pytest.mark.parametrize("room", ["48k", "none"])
def test_a_night_whose_disk_is_full_names_the_disk_and_goes_on_with_room(
    tmp_path: Path, room: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with small(work, "48k"):
        config = _configured(tmp_path, work)
        if room == "none":
            _fill(work)
        done = _night(config)
        (work / "filler").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=64m", str(work)], check=True, timeout=WAIT_S)
        mended = _night(config)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"the disk of {work}" in done.stderr
    assert "give it space" in done.stderr
    assert mended.returncode == 0, mended.stderr
    assert pointer.current_name(tmp_path / "data")


def test_a_second_build_onto_a_full_disk_leaves_the_first_one_published(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with small(data, "24m"):
        config = _configured(tmp_path, tmp_path / "work")
        assert _night(config).returncode == 0
        first = pointer.current_name(data)
        _change(tmp_path / "work")
        _fill(data)
        done = _night(config)
        after = pointer.current_name(data)
        (data / "filler").unlink()
        mended = _night(config)
        last = pointer.current_name(data)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr
    assert after == first
    assert mended.returncode == 0, mended.stderr
    assert last not in {None, first}


def test_nights_on_a_failing_disk_publish_all_or_nothing_and_a_clean_one_mends_them(
    tmp_path: Path,
) -> None:
    """strace lets a call to the disk fail, and each tenth after it (libfiu and pyarrow wait for each other)."""
    strace = need("strace", "strace")
    config = _configured(tmp_path, tmp_path / "work")
    (tmp_path / "other").mkdir()
    other = _configured(tmp_path / "other", tmp_path / "other" / "work")
    for folder in (tmp_path / "work", tmp_path / "other" / "work"):
        _change(folder)
    undisturbed = _night(other)
    assert undisturbed.returncode == 0, undisturbed.stderr

    failed = 0
    for number in range(ROUNDS):
        fault = f"inject={CALLS}:error=ENOSPC:when={3 * number + 1}+10"
        done = _night(
            config, strace, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", fault
        )
        failed += done.returncode != 0
        assert done.returncode in {0, 1}, done.stderr
        assert "Traceback" not in done.stderr
        assert _published(tmp_path / "data") in ({}, _published(tmp_path / "other" / "data"))

    mended = _night(config)
    assert mended.returncode == 0, mended.stderr
    assert _published(tmp_path / "data") == _published(tmp_path / "other" / "data")
    assert failed


def _published(data: Path) -> dict[str, bytes]:
    """The shards of the published generation, whose digests are right, by name; names of generations hold times."""
    name = pointer.current_name(data) if data.is_dir() else None
    if name is None:
        return {}
    generation_files.verify_digests(data / name, generation_files.read_manifest(data / name))
    return {path.name: path.read_bytes() for path in (data / name).glob("*.shard")}


def _change(work: Path) -> None:
    """Another name of a company, so that there is something to build."""
    place = work / "raw" / "ie-cro" / SOURCES["ie-cro"].name
    place.write_bytes(place.read_bytes().replace(b"INNOVA-SHIELD", b"INNOVATION-SHIELD"))


def _fill(folder: Path) -> None:
    with (
        (folder / "filler").open("wb", buffering=0) as file,
        pytest.raises(OSError, match="No space"),
    ):
        while True:
            file.write(bytes(4096))
