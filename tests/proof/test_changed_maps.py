"""The program that changes open shards (changed_maps.py); `.ci/sanitize` also runs it under the sanitizers of gcc."""

import os
import subprocess
import sys

import pytest

CHANGES = os.environ.get("PROOF_CHANGES", "500")  # changes of each table
SECONDS = os.environ.get("PROOF_SECONDS", "60")  # the longest time for all changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 2 * int(SECONDS))]


def test_a_search_of_a_changed_shard_answers_or_raises_corrupt_error() -> None:
    """500 changes of each table, or fewer if time is up: before the search reads its arrays, after, meanwhile"""
    options = ["--changes", CHANGES, "--seconds", SECONDS]

    process = subprocess.run(
        [sys.executable, "-m", "tests.proof.changed_maps", *options], capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    sys.stdout.write(process.stdout)  # pytest -s shows it
    assert process.returncode == 0, f"{process.stdout}\n{process.stderr[-6_000:]}"
