"""A copy of the program in which a test makes a change, and what ARCHITECTURE.md says of such changes."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests import ROOT

_LEFT_OUT: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "*.c", "node_modules", "raw"
)

# A file by its path, and the text that is put before (or, where there is none, at the end of) what it names.
Edit = Mapping[str, tuple[tuple[str, str], ...]]


def copy_program(folder: Path) -> None:
    """The program with its compiled modules, and the tests that run it."""
    folder.mkdir()
    for room in ("pipeline", "quota", "seeds", "serve", "shards", "tests"):
        shutil.copytree(ROOT / room, folder / room, ignore=_LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", folder)


def edit(folder: Path, edited: Edit) -> list[str]:
    """Make a change; the files that it touches."""
    for name, changes in edited.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for before, added in changes:
            assert text.count(before) == 1 or not before, f"{name}: {before!r}"
            text = text.replace(before, added + before) if before else text + added
        file.write_text(text, encoding="utf-8")
    return list(edited)


def run_changed(folder: Path, program: str, *arguments: str) -> None:
    """Run a program in the copy; an error of it fails the test."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def folders_said(change: str) -> set[str]:
    """The folders that ARCHITECTURE.md names for a change."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(f"| {change} |")]
    places = [part for part in line.split("`")[1::2] if "/" in part]
    return {(Path(one) if one.endswith("/") else Path(one).parent).as_posix() for one in places}
