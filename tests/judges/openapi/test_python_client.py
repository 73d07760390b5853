"""The package that openapi-python-client generates, used by a program and by the example of README.md."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.judges.conftest import Live
from tests.judges.openapi.readme import code_block

HERE = Path(__file__).parent


@pytest.mark.judge
def test_the_generated_python_client_reads_every_answer(
    live: Live, description: Path, tmp_path: Path
) -> None:
    """The answers include both bodies of a 401, and the workbook"""
    _run(
        tmp_path, Path(sys.executable).with_name("openapi-python-client"), "generate",
        "--path", description, "--config", HERE / "client.yaml",
        "--meta", "none", "--output-path", tmp_path / "european_companies", "--fail-on-warning",
    )  # fmt: skip

    key = live.key("data", "--api-tool", "--nom", "Python")
    _run(tmp_path, sys.executable, HERE / "use_client.py", live.address, key)
    program = f"KEY = {key!r}\n{code_block('python', live.address)}assert page.total > 2, page\n"
    _run(tmp_path, sys.executable, "-c", program)


def _run(folder: Path, *command: str | Path) -> None:
    """Run a program that must succeed in a folder with the generated package."""
    # The formatter of the generator is in the folder of this Python; the generated package is in `folder`.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=variables, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
