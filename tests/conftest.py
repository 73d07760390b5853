"""Settings of Hypothesis, tiers of tests, and the fixture that several rooms share.

A commit always tries the same examples, so that a new failure comes from a change.
`HYPOTHESIS_PROFILE=thorough make test` tries ten times as many examples, and different examples each time. The profiles
have no deadline: an example that syncs a file is as slow as a busy disk. Many tests spend most of their time in such
syncs, so `make quick` and `make check` write to /dev/shm.
"""

import fcntl
import gc
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests import ROOT, demo, tiers

# Otherwise jsonschema reads 38 grammars of IRIs, a second per process; no schema of the tests has IRIs.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A test process has a million long-lived objects: with Python's default, a search for cycles every 700 new objects
# takes a fifth of its time.
gc.set_threshold(20_000)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a module whose tier `-m` excludes before it is imported: this saves half of the time of `make quick`."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(ROOT / "tests"):
        return None
    tier = tiers.tier_of(collection_path, ())
    return True if tier and f"not {tier}" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test function with its tier; start the longest tests first, so that no test runs alone at the end.

    schemathesis starts before all others, since it sends ten thousand requests one after the other.
    """
    for item in items:
        if isinstance(item, pytest.Function) and (
            tier := tiers.tier_of(item.path, item.fixturenames)
        ):
            item.add_marker(tier)
    items.sort(
        key=lambda item: (
            "test_schemathesis.py" not in item.nodeid,
            not any(map(item.get_closest_marker, ("judge", "slow"))),
        )
    )


def pytest_collection_finish() -> None:
    """Exclude the modules and tests from the search for cycles."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA of the excerpts of `seeds/raw`, built once for all processes of a run.

    The parent folder belongs to this process: servers keep their STATE there.
    """
    base = tmp_path_factory.getbasetemp()
    run_folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    excerpts = run_folder / "excerpts"
    with (run_folder / "excerpts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (excerpts / "whole").exists():
            shutil.rmtree(excerpts, ignore_errors=True)
            demo.build(excerpts)
            (excerpts / "whole").touch()
    data = tmp_path_factory.mktemp("demo") / "data"
    data.symlink_to(excerpts / "data")
    return data
