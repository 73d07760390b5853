"""The programs that `.ci/judges` installs for this folder, and a function that runs them."""

import os
import subprocess
from pathlib import Path
from typing import Final

from tests import ROOT

HERE: Final = Path(__file__).parent
MODULES: Final = HERE / "node_modules"
PATH: Final = "/api/mcp"


def python(era: str, program: str = "python") -> Path:
    """The path of a program in the virtual environment of an era, `modern` or `legacy`."""
    return ROOT / ".venv" / f"mcp-{era}" / "bin" / program


def run(*command: str | Path, home: Path | None = None) -> str:
    """Run a program that must succeed; return its stdout. `home`: its home directory."""
    environment = os.environ | ({"HOME": str(home)} if home else {})
    done = subprocess.run(
        command, cwd=HERE, env=environment, text=True, capture_output=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
