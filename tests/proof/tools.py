"""Programs of the system for tests, disks of a chosen size, and reads with a time limit.

If a program is missing, its test is skipped on a developer's machine and fails in CI, where `.ci/run` has installed all
programs.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Final, NoReturn

import pytest

# Longer than these programs take, unless they hang.
WAIT_S: Final = 30.0


def need(program: str, package: str) -> str:
    """The path of `program`; without it, skip the test, or fail it in CI."""
    # A user's PATH may lack the folders of administrators' programs.
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    return path or skip_or_fail(f"{program} is not installed; `apt-get install {package}`")


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test; in CI, fail it."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def mount_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a disk of this size (`1m`) at `folder`; without the right to mount, skip the test.

    In CI the test fails instead if the user is root; other users cannot mount anywhere.
    """
    mount = need("mount", "mount")
    process = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    if process.returncode:
        reason = f"a small disk cannot be mounted: {process.stderr.strip()}"
        if os.geteuid():
            pytest.skip(reason)
        skip_or_fail(reason)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=WAIT_S)


def next_line(process: "subprocess.Popen[str]", seconds: float) -> str:
    """The next line that a process prints, or "" at its end.

    A process that prints nothing for `seconds` is killed, and the test fails.
    """
    assert process.stdout
    if not select([process.stdout], [], [], seconds)[0]:
        process.kill()
        pytest.fail(f"{process.args!r} printed nothing for {seconds:g} s")
    return process.stdout.readline()
