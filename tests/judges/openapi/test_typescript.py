"""The types that openapi-typescript generates: `tsc --strict` checks a program with them, and Node runs it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.judges.conftest import Live
from tests.judges.openapi.readme import code_block

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"


@pytest.mark.judge
def test_the_generated_types_hold_for_every_answer(
    live: Live, node: Path, description: Path, tmp_path: Path
) -> None:
    for name in ("use_client.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(MODULES)

    key = live.key("data", "--api-tool", "--nom", "TypeScript")
    checked = "if (!page || page.total < 3) throw new Error();\n"
    program = f"const KEY = {key!r};\n{code_block('ts', live.address)}{checked}"
    (tmp_path / "readme.ts").write_text(program)
    generate = MODULES / "openapi-typescript" / "bin" / "cli.js"
    _run(node, tmp_path, generate, description, "--output", tmp_path / "schema.d.ts")
    _run(node, tmp_path, MODULES / "typescript" / "bin" / "tsc", "--project", tmp_path)

    _run(node, tmp_path, tmp_path / "use_client.js", live.address, key)
    _run(node, tmp_path, tmp_path / "readme.js")


def _run(node: Path, folder: Path, *command: str | Path) -> None:
    """Run a program for Node, which must succeed."""
    done = subprocess.run([node, *command], cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
