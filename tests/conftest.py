"""Settings of Hypothesis, tiers of tests, and the fixture that several rooms share.

The same commit tries the same examples, so that a change is judged by what it changes.
`HYPOTHESIS_PROFILE=thorough make test` tries ten times as many, other ones each time. Neither profile has a
deadline: an example that syncs a file takes as long as the disk is busy, and proves nothing by it.
Most of the time of many tests is that sync, so `make quick` and `make check` write to /dev/shm.
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

# jsonschema would read 38 grammars of IRIs, which no schema of the tests has, in a second of each process.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A process of the tests keeps a million objects to its end: Python's default, a search for cycles every 700 new
# objects, takes a fifth of all time.
gc.set_threshold(20_000)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave a module unread whose tier `-m` excludes: half of the time of `make quick`."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(ROOT / "tests"):
        return None
    tier = tiers.of(collection_path, ())
    return True if tier and f"not {tier}" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test function the marker of its tier; the longest tests begin first, so that none ends alone."""
    for item in items:
        if isinstance(item, pytest.Function) and (tier := tiers.of(item.path, item.fixturenames)):
            item.add_marker(tier)
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("judge", "slow"))))


def pytest_collection_finish() -> None:
    """Leave modules and tests out of the search for cycles."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published excerpts of `seeds/raw`, built once for all processes of a run.

    The folder beside it belongs to the process: servers keep their state there.
    """
    own = tmp_path_factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    built = run / "excerpts"
    with (run / "excerpts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (built / "whole").exists():
            shutil.rmtree(built, ignore_errors=True)
            demo.build(built)
            (built / "whole").touch()
    data = tmp_path_factory.mktemp("demo") / "data"
    data.symlink_to(built / "data")
    return data
