"""The bundled excerpts, imported and built with the commands of `make demo`."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from seeds import TABLES
from tests import ROOT

_RAW: Final = TABLES / "raw"
_SOURCES: Final = (
    ("ee", "ee/*.zip"), ("uk-basic", "uk/BasicCompanyData*"), ("uk-accounts", "uk/Accounts*"),
)  # fmt: skip


def build(folder: Path) -> Path:
    """Publish them below `folder`; return the folder of generations."""
    for source, pattern in _SOURCES:
        files = [str(path) for path in sorted(_RAW.glob(pattern))]
        _run("pipeline", "import", source, *files, "--out", f"{folder}/input")
    _run("pipeline", "build", "--input", f"{folder}/input", "--out", f"{folder}/data")
    return folder / "data"


def _run(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
