"""schemathesis generates cases from the OpenAPI document and sends them to a server (hooks.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.judges.conftest import Live

HERE = Path(__file__).parent
PHASES = "examples,coverage,fuzzing,stateful"
CASES = 10_000


@pytest.mark.judge
@pytest.mark.timeout(3600)  # minutes on two idle processors, up to an hour on shared ones
def test_ten_thousand_cases_pass(live: Live, tmp_path: Path) -> None:
    """No check is disabled: `--checks all`"""
    command: list[str | Path] = [
        Path(sys.executable).with_name("schemathesis"),
        "--config-file", HERE / "schemathesis.toml",
        "run", f"{live.address}/openapi.json", "--phases", PHASES, "--checks", "all", "--no-color",
    ]  # fmt: skip
    keys = {
        "CALLS_KEY": live.key("integral"),
        "EXPORTS_KEY": live.key("data", "--api-tool"),
        "GENERATION": live.generation,
        "PYTHONPATH": str(HERE),  # for its hooks
    }

    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | keys, text=True, capture_output=True, check=False
    )

    summary = re.search(r"^  (\d+) generated, (\d+) passed", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary, done.stdout
    assert summary[1] == summary[2]
    assert int(summary[1]) >= CASES, done.stdout
