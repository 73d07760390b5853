"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE=thorough make test` tries ten times harder.

No deadline in either profile: an example that syncs a file takes as long as the disk is busy, and
proves nothing by it. The price of many tests is that sync, so `TMPDIR=/dev/shm` makes them faster.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests import demo

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published excerpts of `seeds/raw`, built once for all tests that want them."""
    return demo.build(tmp_path_factory.mktemp("demo"))
