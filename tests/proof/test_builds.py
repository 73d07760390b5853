"""Builds that are killed at any moment: what is published stays whole, the next one clears up."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.build.workdir import FOLDER
from shards.changes import change_steps
from shards.errors import ShardError
from shards.generations import atomic_files, generation_files, pointer
from tests.pipeline.inputs import company, line, write
from tests.serve.processes import ROOT

ROUNDS = int(os.environ.get("PROOF_BUILDS", "8"))
FINISHED = max(4, ROUNDS // 10)  # every so many rounds a build is left alone
SECONDS = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(100 + ROUNDS * 30)]


def source(folder: Path, number: int) -> Path:
    """An input that is another one each time, but for France."""
    rows = [company("EE", f"{i}", f"Õun {i % (5 + number)}") for i in range(800 + number)]
    rows += [company("FR", f"{i}", f"Orléans {i}") for i in range(800)]
    return write(folder, rows, [line("EE", "1", 2020, valeur=float(number))])


def begun(data: Path, given: Path) -> "subprocess.Popen[bytes]":
    command = ["-m", "pipeline", "build", "--jobs", "1", "--input", str(given), "--out", str(data)]
    return subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def finished(data: Path, given: Path) -> float:
    """Build to the end; how many seconds passed from its lock to its end."""
    with begun(data, given) as process:
        start = _locked(data, process)
        assert process.wait(SECONDS) == 0
    return time.monotonic() - start


def _locked(data: Path, process: "subprocess.Popen[bytes]") -> float:
    """The moment at which a build begins to write."""
    while process.poll() is None and _holder(data) != str(process.pid):
        time.sleep(0.002)
    return time.monotonic()


def _holder(data: Path) -> str:
    try:
        return (data / ".lock").read_text().strip()
    except OSError:
        return ""


def check(data: Path) -> str:
    """What is published is whole, and so is all that leads to it; its name."""
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
    """Every file that CURRENT leads to is whole after each kill; the same build, begun again, ends
    as if nothing had happened, and leaves nothing behind."""
    chance = random.Random(11)
    data, clean = tmp_path / "data", tmp_path / "clean"
    lasts = finished(data, source(tmp_path / "in-0", 0))
    killed = 0
    for number in range(1, ROUNDS + 1):
        given = source(tmp_path / f"in-{number}", number)
        before = check(data)
        with begun(data, given) as process:
            _locked(data, process)
            time.sleep(chance.uniform(0, lasts))
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        after = check(data)
        assert process.returncode == 0 or after == before or _was_published(data, before)
        if number % FINISHED == 0:
            finished(data, given)
            finished(clean, given)
            assert check(data) == pointer.current(clean)
            assert not list(data.glob(f"{atomic_files.STAGED}*"))
            assert not (data / FOLDER).exists()
            assert not list(data.rglob(f"*{atomic_files.PARTIAL}"))
    sys.stdout.write(f"[{killed} of {ROUNDS} builds were killed] ")  # pytest -s shows it
    assert killed >= ROUNDS // 2


def _was_published(data: Path, before: str) -> bool:
    """It was killed after the last rename: the new one is published, the old one behind it."""
    known = pointer.read(data)
    return known is not None and known.previous == before


def test_a_build_that_is_killed_holds_no_lock(tmp_path: Path) -> None:
    given = source(tmp_path / "in", 0)
    with begun(tmp_path / "data", given) as process:
        _locked(tmp_path / "data", process)
        process.kill()
    with pytest.raises(ShardError):
        generation_files.load(tmp_path / "data", "0" * 16)

    finished(tmp_path / "data", given)

    check(tmp_path / "data")
