"""What proofs share: programs that a machine may lack (skipped there, but never in CI), and lines
that are not waited for without end.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Final

import pytest

# Longer than any program takes that is not stuck.
WAIT_S: Final = 30.0


def need(program: str, package: str) -> str:
    """The path of `program`; where it is absent, skip (in CI: fail) and name its package."""
    # Some programs are for administrators alone, whose folder is not on everybody's path.
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if path is None:
        told = f"{program} is not installed; `apt-get install {package}`"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return path


@contextmanager
def small(folder: Path, size: str) -> Iterator[None]:
    """Let `folder` be a disk of that size (`1m`); skip where none can be mounted (as root in CI:
    fail)."""
    mount = need("mount", "mount")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    if done.returncode:
        told = f"a small disk cannot be mounted: {done.stderr.strip()}"
        pytest.fail(told) if os.environ.get("CI") and os.geteuid() == 0 else pytest.skip(told)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=WAIT_S)


def next_line(process: "subprocess.Popen[str]", seconds: float) -> str:
    """What a process says next, "" at its end; it answers one line at a time."""
    assert process.stdout
    if not select([process.stdout], [], [], seconds)[0]:
        process.kill()
        pytest.fail(f"{process.args!r} said nothing for {seconds:g} s")
    return process.stdout.readline()
