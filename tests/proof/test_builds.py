"""Builds killed at any moment: published files stay whole, and the next build clears up."""

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
from tests.pipeline.rows import company, line, write
from tests.serve.processes import ROOT

ROUNDS = int(os.environ.get("PROOF_BUILDS", "8"))
FINISHED = max(4, ROUNDS // 10)  # a build runs to its end after this many rounds
SECONDS = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(100 + ROUNDS * 30)]


def source(folder: Path, number: int) -> Path:
    """An input that differs for each number, except for France."""
    rows = [company("EE", f"{i}", f"Õun {i % (5 + number)}") for i in range(800 + number)]
    rows += [company("FR", f"{i}", f"Orléans {i}") for i in range(800)]
    return write(folder, rows, [line("EE", "1", 2020, valeur=float(number))])


def start_build(data: Path, given: Path) -> "subprocess.Popen[bytes]":
    command = ["-m", "pipeline", "build", "--jobs", "1", "--input", str(given), "--out", str(data)]
    return subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def run_build(data: Path, given: Path) -> float:
    """Build to the end; return the seconds from its lock to its end."""
    with start_build(data, given) as process:
        start = _wait_for_lock(data, process)
        assert process.wait(SECONDS) == 0
    return time.monotonic() - start


def _wait_for_lock(data: Path, process: "subprocess.Popen[bytes]") -> float:
    """Wait until the build holds its lock; return the time."""
    while process.poll() is None and _holder(data) != str(process.pid):
        time.sleep(0.002)
    return time.monotonic()


def _holder(data: Path) -> str:
    try:
        return (data / ".lock").read_text().strip()
    except OSError:
        return ""


def check(data: Path) -> str:
    """Verify the published generations and their changes; return the name of the current one."""
    known = pointer.read(data)
    assert known is not None
    for name in (known.generation, *([known.previous] if known.previous else [])):
        folder = data / name
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        generation_files.load(data, name).close()
    for folder in change_steps.folders(data):
        change_steps.verify(folder)
    return known.generation


def test_a_build_that_is_killed_at_any_moment_leaves_what_is_published(tmp_path: Path) -> None:
    """Every file that CURRENT leads to is whole after each kill. The same build, started again,
    gives the generation of an undisturbed build and leaves no temporary file."""
    chance = random.Random(11)
    data, clean = tmp_path / "data", tmp_path / "clean"
    seconds = run_build(data, source(tmp_path / "in-0", 0))
    killed = 0
    for number in range(1, ROUNDS + 1):
        given = source(tmp_path / f"in-{number}", number)
        before = check(data)
        with start_build(data, given) as process:
            _wait_for_lock(data, process)
            time.sleep(chance.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        if process.returncode == 0:  # the machine was busier during the build that was measured
            seconds /= 2
        after = check(data)
        assert process.returncode == 0 or after == before or _was_published(data, before)
        if number % FINISHED == 0:
            run_build(data, given)
            run_build(clean, given)
            assert check(data) == pointer.current_name(clean)
            assert not list(data.glob(f"{atomic_files.STAGED}*"))
            assert not (data / BUILDING).exists()
            assert not list(data.rglob(f"*{atomic_files.PARTIAL}"))
    sys.stdout.write(f"[{killed} of {ROUNDS} builds were killed] ")  # pytest -s shows it
    assert killed >= ROUNDS // 2


def _was_published(data: Path, before: str) -> bool:
    """True for a build killed after the last rename: the new generation precedes `before`."""
    known = pointer.read(data)
    return known is not None and known.previous == before


def test_a_build_that_is_killed_holds_no_lock(tmp_path: Path) -> None:
    given = source(tmp_path / "in", 0)
    with start_build(tmp_path / "data", given) as process:
        _wait_for_lock(tmp_path / "data", process)
        process.kill()
    with pytest.raises(ShardError):
        generation_files.load(tmp_path / "data", "0" * 16)

    run_build(tmp_path / "data", given)

    check(tmp_path / "data")
