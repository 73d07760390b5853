"""The wheel of this checkout, and other folders that are created once for all processes of a test run."""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT

ROOMS: Final = ("pipeline", "quota", "serve", "shards")
_SKIPPED: Final = shutil.ignore_patterns("__pycache__", "*.so", "*.pxd", "raw", "spec")


def built_wheel(folders: pytest.TempPathFactory) -> Path:
    """The wheel of a fresh copy: an old `build/` of the checkout would put old modules into it."""
    target = make_once(folders, "wheel", lambda target: _build(folders.mktemp("source"), target))
    (wheel,) = target.glob("societes-*.whl")
    return wheel


def make_once(folders: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of this name; the first process of the run that needs it creates it."""
    base = folders.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / name).exists():
            partial = base / f"{name}.partial"
            fill(partial)
            partial.rename(base / name)
    return base / name


def batch_environment(wheel: Path, folder: Path) -> Path:
    """The `bin` folder of an environment in `folder` with the wheel and our libraries."""
    binaries = empty_environment(folder)
    lend_libraries(folder)
    install(binaries, "--no-deps", "--no-index", str(wheel))
    return binaries


def empty_environment(folder: Path) -> Path:
    """The `bin` folder of an environment without any library."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin"


def install(binaries: Path, *arguments: str) -> None:
    """Run `pip install` for an environment."""
    python = str(binaries / "python")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *arguments],
         binaries)  # fmt: skip


def lend_libraries(folder: Path) -> None:
    """Append our `site-packages` to the path; its `.pth` files, such as an editable install, are not read."""
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")


def run(command: list[str], folder: Path) -> str:
    """Run a command, which must succeed; return its output."""
    done = subprocess.run(
        command, cwd=folder, env=variables(), capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def variables() -> dict[str, str]:
    """The environment without settings of the server and without a path to this checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SOCIETES_") and name != "PYTHONPATH"
    }


def _build(source: Path, target: Path) -> None:
    """Build the wheel from a copy of the sources."""
    for room in (*ROOMS, "seeds"):
        shutil.copytree(ROOT / room, source / room, ignore=_SKIPPED)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*command, "--wheel-dir", str(target), str(source)],
        cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
