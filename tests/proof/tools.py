"""Programs of the system that tests start, disks of a chosen size, and reading without waiting for ever.

A program that is absent skips its test on a developer's machine and fails it in CI, where `.ci/run`
has installed all of them.
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

# Longer than any of these programs takes, unless it hangs.
WAIT_S: Final = 30.0


def need(program: str, package: str) -> str:
    """The path of `program`, or `absent`."""
    # Programs for administrators are in folders that a user's PATH may lack.
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    return path or absent(f"{program} is not installed; `apt-get install {package}`")


def absent(reason: str) -> NoReturn:
    """Skip the test; in CI, fail it."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def small(folder: Path, size: str) -> Iterator[None]:
    """Mount a disk of this size (`1m`) at `folder`; without the right to mount, skip the test.

    In CI that is a failure for root only: elsewhere nobody but root can mount.
    """
    mount = need("mount", "mount")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    if done.returncode:
        reason = f"a small disk cannot be mounted: {done.stderr.strip()}"
        if os.geteuid():
            pytest.skip(reason)
        absent(reason)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=WAIT_S)


def next_line(process: "subprocess.Popen[str]", seconds: float) -> str:
    """The next line of a process that prints one at a time; "" at its end.

    A process that prints nothing for `seconds` is killed, and the test fails.
    """
    assert process.stdout
    if not select([process.stdout], [], [], seconds)[0]:
        process.kill()
        pytest.fail(f"{process.args!r} printed nothing for {seconds:g} s")
    return process.stdout.readline()
