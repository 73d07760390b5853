"""What proofs share: programs that a machine may lack (skipped there, but never in CI), and lines
that are not waited for without end.
"""

import os
import shutil
import subprocess
from select import select

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


def next_line(process: "subprocess.Popen[str]", seconds: float) -> str:
    """What a process says next, "" at its end; it answers one line at a time."""
    assert process.stdout
    if not select([process.stdout], [], [], seconds)[0]:
        process.kill()
        pytest.fail(f"{process.args!r} said nothing for {seconds:g} s")
    return process.stdout.readline()
