"""The bundled excerpts, imported and built with the commands of `make demo`."""

import csv
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from seeds import TABLES
from tests import ROOT

_RAW: Final = TABLES / "raw"


def excerpts() -> list[dict[str, str]]:
    """The excerpts: importer, files below `seeds/raw`, and the date if the files do not have it."""
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def build(folder: Path) -> Path:
    """Publish the excerpts below `folder`; return DATA."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda excerpt: _import(excerpt, folder / "input"), excerpts()))
    inputs = [str(path) for path in sorted((folder / "input").iterdir())]
    _run("pipeline", "build", "--input", *inputs, "--out", f"{folder}/data")
    return folder / "data"


def _import(excerpt: dict[str, str], inputs: Path) -> None:
    """Import the files of an excerpt to a folder with the name of its source."""
    files = [str(path) for path in sorted(_RAW.glob(excerpt["fichiers"]))]
    source, day = excerpt["source"], excerpt["date"]
    date_option = ["--date", day] if day else []
    _run("pipeline", "import", source, *files, *date_option, "--out", str(inputs / source))


def _run(*arguments: str) -> None:
    """Run a command of the program, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
