"""Programs that a proof needs and a machine may lack: skipped there, but never in CI."""

import os
import shutil

import pytest


def need(program: str, package: str) -> str:
    """The path of `program`; where it is absent, skip (in CI: fail) and name its package."""
    path = shutil.which(program)
    if path is None:
        told = f"{program} is not installed; `apt-get install {package}`"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return path
