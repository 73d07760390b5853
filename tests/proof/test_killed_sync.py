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
from tests.shards.mirror.sources import eager
from tests.world import company, publish

STRIDE: Final = int(
    os.environ.get("PROOF_STRIDE", "2003")
)  # bytes between two kills; 1 for a release
FOUND: Final = (company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200 + 40_000 // STRIDE)]


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory if there is one: a kill loses nothing that was written, synced or not."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def test_a_round_that_ends_at_any_byte_or_system_call_leaves_what_is_whole(memory: Path) -> None:
    """R10, R3: each kill hits, a call that fails fails the round; the next round does the rest"""
    source, before = memory / "source", memory / "mirror"
    publish(source, FOUND)
    mirror(eager(Folder(source)), before, MirrorOptions())
    publish(source, [*FOUND, company("EE", "9", "Œuvre")])

    done = subprocess.run(
        [sys.executable, "-m", "tests.proof.killed_sync", str(memory), str(STRIDE)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)

    print(found)  # noqa: T201 - the figures of README.md
    ends = found["ends"]
    assert found["faults"] == []
    assert ends["byte SIGKILL"] == -(-found["bytes"] // STRIDE)
    assert ends["event SIGKILL"] == found["events"] > 20
    assert ends["error failed"] > 10
    assert "error crashed" not in ends
