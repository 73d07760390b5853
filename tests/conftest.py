"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE=thorough make test` tries ten times harder.

No deadline in either profile: an example that syncs a file takes as long as the disk is busy, and
proves nothing by it. The price of many tests is that sync, so `TMPDIR=/dev/shm` makes them faster.
"""

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
