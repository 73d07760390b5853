"""Nights on full and failing disks: no traceback, all or nothing published, and the next night succeeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shards.generations import generation_files, pointer
from tests import ROOT
from tests.proof.tools import WAIT_S, mount_disk, need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

RAW = ROOT / "seeds" / "raw"
SOURCES = {"no-enheter": RAW / "no" / "enheter_6.json", "ie-cro": RAW / "ie" / "companies.csv"}
# The system calls of a night on its disk. `write` is not among them: it also writes the lines of the output.
CALLS = "pwrite64,pwritev,pwritev2,fsync,fdatasync,ftruncate,rename,linkat,link"
ROUNDS = int(os.environ.get("PROOF_NIGHTS", "6"))  # nights with faults


def _write_config(folder: Path, work: Path) -> Path:
    """Write the configuration of a night in `folder`, and copy its source files into `work`."""
    for source, file in SOURCES.items():
        source_folder = work / "raw" / source
        source_folder.mkdir(parents=True, exist_ok=True)
        (source_folder / file.name).write_bytes(file.read_bytes())
    config = folder / "nightly.toml"
    tables = "".join(f"\n[source.{source}]\nfetch = false\n" for source in SOURCES)
    config.write_text(
        f'work = "{work}"\ndata = "{folder / "data"}"\nsources = {list(SOURCES)}\nverify = true\n'.replace("'", '"')
        + tables
    )  # fmt: skip
    return config


def _run_night(config: Path, *wrapper: str) -> "subprocess.CompletedProcess[str]":
    """Run a night to its end, as an argument of the command `wrapper` if there is one."""
    return subprocess.run(
        [*wrapper, sys.executable, "-m", "pipeline", "nightly", str(config)],
        cwd=ROOT, capture_output=True, text=True, timeout=8 * WAIT_S,
    )  # fmt: skip


@pytest.mark.parametrize("free_space", ["48k", "none"])
def test_a_night_on_a_full_disk_names_the_disk_and_the_next_succeeds_with_space(
    tmp_path: Path, free_space: str
) -> None:
    """The working folder has 48 KiB, or nothing, then 64 MiB"""
    work = tmp_path / "work"
    work.mkdir()
    with mount_disk(work, "48k"):
        config = _write_config(tmp_path, work)
        if free_space == "none":
            _fill_disk(work)
        first_night = _run_night(config)
        (work / "filler").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=64m", str(work)], check=True, timeout=WAIT_S)
        next_night = _run_night(config)

    assert first_night.returncode == 1
    assert "Traceback" not in first_night.stderr
    assert f"the disk of {work}" in first_night.stderr
    assert "give it space" in first_night.stderr
    assert next_night.returncode == 0, next_night.stderr
    assert pointer.current_name(tmp_path / "data")


def test_a_second_build_onto_a_full_disk_leaves_the_first_one_published(tmp_path: Path) -> None:
    """A company is renamed after the first night, so that the later nights have something to publish"""
    data = tmp_path / "data"
    data.mkdir()
    with mount_disk(data, "24m"):
        config = _write_config(tmp_path, tmp_path / "work")
        assert _run_night(config).returncode == 0
        first_generation = pointer.current_name(data)
        _rename_company(tmp_path / "work")
        _fill_disk(data)
        full_disk_night = _run_night(config)
        still_published = pointer.current_name(data)
        (data / "filler").unlink()
        next_night = _run_night(config)
        last_published = pointer.current_name(data)

    assert full_disk_night.returncode == 1
    assert "Traceback" not in full_disk_night.stderr
    assert "space" in full_disk_night.stderr
    assert still_published == first_generation
    assert next_night.returncode == 0, next_night.stderr
    assert last_published not in {None, first_generation}


def test_nights_on_a_failing_disk_publish_all_or_nothing_and_a_clean_night_succeeds(
    tmp_path: Path,
) -> None:
    """strace makes a system call fail, then each tenth (libfiu deadlocks with pyarrow)"""
    strace = need("strace", "strace")
    config = _write_config(tmp_path, tmp_path / "work")
    (tmp_path / "other").mkdir()
    undisturbed_config = _write_config(tmp_path / "other", tmp_path / "other" / "work")
    for folder in (tmp_path / "work", tmp_path / "other" / "work"):
        _rename_company(folder)
    undisturbed = _run_night(undisturbed_config)
    assert undisturbed.returncode == 0, undisturbed.stderr

    failed_nights = 0
    for number in range(ROUNDS):
        fault = f"inject={CALLS}:error=ENOSPC:when={3 * number + 1}+10"
        night = _run_night(
            config, strace, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", fault
        )
        failed_nights += night.returncode != 0
        assert night.returncode in {0, 1}, night.stderr
        assert "Traceback" not in night.stderr
        assert _published_shards(tmp_path / "data") in (
            {},
            _published_shards(tmp_path / "other" / "data"),
        )

    clean_night = _run_night(config)
    assert clean_night.returncode == 0, clean_night.stderr
    assert _published_shards(tmp_path / "data") == _published_shards(tmp_path / "other" / "data")
    assert failed_nights  # else no fault had an effect


def _published_shards(data: Path) -> dict[str, bytes]:
    """The verified shards of the published generation, by name; names of generations depend on the time."""
    name = pointer.current_name(data) if data.is_dir() else None
    if name is None:
        return {}
    generation_files.verify_digests(data / name, generation_files.read_manifest(data / name))
    return {path.name: path.read_bytes() for path in (data / name).glob("*.shard")}


def _rename_company(work: Path) -> None:
    """Change the name of a company, so that the build has a change."""
    source_file = work / "raw" / "ie-cro" / SOURCES["ie-cro"].name
    source_file.write_bytes(
        source_file.read_bytes().replace(b"INNOVA-SHIELD", b"INNOVATION-SHIELD")
    )


def _fill_disk(folder: Path) -> None:
    """Write a file `filler` until the disk is full."""
    with (
        (folder / "filler").open("wb", buffering=0) as file,
        pytest.raises(OSError, match="No space"),
    ):
        while True:
            file.write(bytes(4096))
