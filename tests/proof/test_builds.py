"""Builds killed at any moment: published files stay whole, and the next build cleans up."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.publishing.receipts import BUILDING
from shards.errors import ShardError
from shards.generations import atomic_files, change_steps, generation_files, pointer
from tests.pipeline.rows import company, statement_line, write_input
from tests.serve.processes import ROOT

ROUNDS = int(os.environ.get("PROOF_BUILDS", "8"))  # builds that are killed
FINISHED = max(4, ROUNDS // 10)  # a build runs to its end after this many rounds
SECONDS = 60.0  # the longest build

pytestmark = [pytest.mark.slow, pytest.mark.timeout(100 + ROUNDS * 30)]


def write_source(folder: Path, number: int) -> Path:
    """Write an input that depends on the number, except for France."""
    rows = [company("EE", f"{i}", f"Õun {i % (5 + number)}") for i in range(800 + number)]
    rows += [company("FR", f"{i}", f"Orléans {i}") for i in range(800)]
    return write_input(folder, rows, [statement_line("EE", "1", 2020, valeur=float(number))])


def start_build(data: Path, inputs: Path) -> "subprocess.Popen[bytes]":
    """Start a build of `inputs` into `data`."""
    command = ["-m", "pipeline", "build", "--jobs", "1", "--input", str(inputs), "--out", str(data)]
    return subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def run_build(data: Path, inputs: Path) -> float:
    """Run a build to its end; return the seconds from its lock to its end."""
    with start_build(data, inputs) as process:
        start = _wait_for_lock(data, process)
        assert process.wait(SECONDS) == 0
    return time.monotonic() - start


def _wait_for_lock(data: Path, process: "subprocess.Popen[bytes]") -> float:
    """Wait until the build holds its lock; return the time."""
    while process.poll() is None and _lock_holder(data) != str(process.pid):
        time.sleep(0.002)
    return time.monotonic()


def _lock_holder(data: Path) -> str:
    """The id of the process in the lock file, or nothing without a file."""
    try:
        return (data / ".lock").read_text().strip()
    except OSError:
        return ""


def verify_data(data: Path) -> str:
    """Verify the current and the previous generation and all changes; return the name of the current generation.

    A damaged file raises an error.
    """
    current = pointer.read(data)
    assert current is not None
    for name in (current.generation, *([current.previous] if current.previous else [])):
        folder = data / name
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        generation_files.load(data, name).close()
    for folder in change_steps.folders(data):
        change_steps.verify(folder)
    return current.generation


def test_a_build_that_is_killed_at_any_moment_leaves_what_is_published(tmp_path: Path) -> None:
    """Every file of the published generations is whole after each kill. The same build, started again,
    gives the generation of an undisturbed build and leaves no temporary file."""
    chance = random.Random(11)
    data, undisturbed = tmp_path / "data", tmp_path / "clean"
    build_seconds = run_build(data, write_source(tmp_path / "in-0", 0))
    killed = 0
    for number in range(1, ROUNDS + 1):
        inputs = write_source(tmp_path / f"in-{number}", number)
        name_before = verify_data(data)
        with start_build(data, inputs) as process:
            _wait_for_lock(data, process)
            time.sleep(chance.uniform(0, build_seconds))
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        if process.returncode == 0:  # the measured build was slower
            build_seconds /= 2
        name_after = verify_data(data)
        assert (
            process.returncode == 0
            or name_after == name_before
            or _was_published(data, name_before)
        )
        if number % FINISHED == 0:
            run_build(data, inputs)
            run_build(undisturbed, inputs)
            assert verify_data(data) == pointer.current_name(undisturbed)
            assert not list(data.glob(f"{atomic_files.STAGED}*"))
            assert not (data / BUILDING).exists()
            assert not list(data.rglob(f"*{atomic_files.PARTIAL}"))
    sys.stdout.write(f"[{killed} of {ROUNDS} builds were killed] ")  # pytest -s shows it
    assert killed >= ROUNDS // 2  # else the kills came too late to prove anything


def _was_published(data: Path, name_before: str) -> bool:
    """True if the build was killed after its last rename: `name_before` is now the previous generation."""
    current = pointer.read(data)
    return current is not None and current.previous == name_before


def test_a_build_that_is_killed_holds_no_lock(tmp_path: Path) -> None:
    inputs = write_source(tmp_path / "in", 0)
    with start_build(tmp_path / "data", inputs) as process:
        _wait_for_lock(tmp_path / "data", process)
        process.kill()
    with pytest.raises(ShardError):  # no generation is there
        generation_files.load(tmp_path / "data", "0" * 16)

    run_build(tmp_path / "data", inputs)

    verify_data(tmp_path / "data")
