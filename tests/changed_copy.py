"""A copy of the program in which a test makes a change, and the folders that ARCHITECTURE.md names for changes."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests import ROOT

_NOT_COPIED: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "*.c", "node_modules", "raw"
)

# For each path: pairs of an existing text and the text to insert before it; an empty text is the end of the file.
Edit = Mapping[str, tuple[tuple[str, str], ...]]


def copy_program(folder: Path) -> None:
    """Copy the program with its compiled modules, and the tests that run it."""
    folder.mkdir()
    for room in ("pipeline", "quota", "seeds", "serve", "shards", "tests"):
        shutil.copytree(ROOT / room, folder / room, ignore=_NOT_COPIED)
    shutil.copy(ROOT / "pyproject.toml", folder)


def edit(folder: Path, edits: Edit) -> list[str]:
    """Insert the texts of a change into files of a copy of the program; return the names of the files."""
    for name, changes in edits.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for existing, inserted in changes:
            assert text.count(existing) == 1 or not existing, f"{name}: {existing!r}"
            text = text.replace(existing, inserted + existing) if existing else text + inserted
        file.write_text(text, encoding="utf-8")
    return list(edits)


def run_changed(folder: Path, program: str, *arguments: str) -> None:
    """Run a program in the copy; if it fails, the test fails."""
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


def documented_folders(change: str) -> set[str]:
    """The folders that ARCHITECTURE.md names for a change."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(f"| {change} |")]
    places = [part for part in line.split("`")[1::2] if "/" in part]
    return {
        (Path(place) if place.endswith("/") else Path(place).parent).as_posix() for place in places
    }
