"""Rounds of a mirror that end at each step: by SIGKILL, or by a system call that fails."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shards.mirror.mirror import MirrorOptions, mirror
from shards.mirror.source_kinds import Folder
from tests import ROOT
from tests.shards.mirror.sources import eager_downloader
from tests.world import company, publish

# Bytes between two kills; a release uses 1.
STRIDE: Final = int(os.environ.get("PROOF_STRIDE", "2003"))
COMPANIES: Final = (company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 40_000 // STRIDE)]


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory if possible: a kill loses no written data, synced or not."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def test_a_round_that_ends_at_any_byte_or_system_call_leaves_a_whole_generation(
    memory: Path,
) -> None:
    """R10, R3: each kill ends a running round, a failed call fails it; the next round completes the mirror"""
    source, mirror_folder = memory / "source", memory / "mirror"
    publish(source, COMPANIES)
    mirror(eager_downloader(Folder(source)), mirror_folder, MirrorOptions())
    publish(source, [*COMPANIES, company("EE", "9", "Œuvre")])

    process = subprocess.run(
        [sys.executable, "-m", "tests.proof.killed_sync", str(memory), str(STRIDE)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures = json.loads(process.stdout)

    print(figures)  # noqa: T201 - the figures of README.md
    end_counts = figures["ends"]
    assert figures["faults"] == []
    # A kill for each stride of bytes, the last one shorter.
    assert end_counts["byte SIGKILL"] == -(-figures["bytes"] // STRIDE)
    assert end_counts["event SIGKILL"] == figures["events"] > 20
    assert end_counts["error failed"] > 10
    assert "error crashed" not in end_counts
