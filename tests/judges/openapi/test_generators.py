"""Generated clients compile with `tsc --strict`.

Texts of the document become comments, and patterns become literals of the language. A client does not compile if a text
ends a comment, or if a pattern contains a line separator.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MODULES: Final = Path(__file__).parent / "node_modules"
STRICT: Final = (
    "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler",
    "--lib", "es2022,dom,dom.iterable", "--skipLibCheck",
)  # fmt: skip

pytestmark = pytest.mark.judge


@pytest.mark.parametrize("generator", ["typescript-fetch", "typescript-axios"])
def test_clients_of_openapi_generator_compile(
    node: Path, description: Path, tmp_path: Path, generator: str
) -> None:
    program = Path(sys.executable).with_name("openapi-generator-cli")
    output = tmp_path / "client"

    _run(tmp_path, program, "generate", "-i", description, "-g", generator, "-o", output)

    _compile(node, tmp_path, [output / "index.ts"])


def test_the_client_and_the_validators_of_hey_api_compile(
    node: Path, description: Path, tmp_path: Path
) -> None:
    """Its plugin for zod writes each pattern as a regular expression of JavaScript."""
    (tmp_path / "node_modules").symlink_to(MODULES)
    generator = MODULES / "@hey-api" / "openapi-ts" / "bin" / "run.js"
    output = tmp_path / "client"

    _run(
        tmp_path, node, generator, "--input", description, "--output", output,
        "--plugins", "@hey-api/client-fetch", "@hey-api/sdk", "zod",
    )  # fmt: skip

    _compile(node, tmp_path, [output / "index.ts", output / "zod.gen.ts"])


def _compile(node: Path, folder: Path, files: Sequence[Path]) -> None:
    """Check the types of TypeScript files by `tsc --strict`; an error of types fails the test."""
    modules = folder / "node_modules"
    if not modules.is_symlink():
        modules.symlink_to(MODULES)
    _run(folder, node, MODULES / "typescript" / "bin" / "tsc", *STRICT, *files)


def _run(folder: Path, *command: str | Path) -> None:
    """Run a program, which must succeed."""
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8_000:]
