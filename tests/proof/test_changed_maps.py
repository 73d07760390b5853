"""Files that change under open shards: a search answers or raises CorruptError, and never touches other memory."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHANGES = os.environ.get("PROOF_CHANGES", "500")
SECONDS = os.environ.get("PROOF_SECONDS", "100")
ROOT = Path(__file__).parents[2]
COPIED = ("pyproject.toml", "setup.py", "pipeline", "quota", "seeds", "serve", "shards", "tests")
FLAGS = "-fsanitize=address,undefined"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 2 * int(SECONDS))]


def test_changes_under_an_open_shard_end_no_search_otherwise_than_by_an_answer_or_an_error() -> (
    None
):
    """500 changes of every table, or as many as there is time for; `before` the search, after it, meanwhile"""
    _try(ROOT, {})


def test_the_same_changes_under_the_sanitizers(tmp_path: Path) -> None:
    """What would read or write outside an array of the heap ends the program here"""
    libraries = [_library(name) for name in ("libasan.so", "libubsan.so")]
    if not all(libraries):
        if os.environ.get("CI"):
            pytest.fail("gcc has no sanitizers here")
        pytest.skip("gcc and its sanitizers are not installed")
    _copy(tmp_path)
    flags = {"CFLAGS": f"{FLAGS} -fno-sanitize-recover=undefined", "LDFLAGS": FLAGS}
    _run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], tmp_path, flags)
    _try(
        tmp_path,
        {
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "LD_PRELOAD": " ".join(libraries),
        },
    )


def _library(name: str) -> str:
    """The path of a library of gcc; nothing if there is none."""
    if not shutil.which("gcc"):
        return ""
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return found if "/" in found else ""


def _copy(folder: Path) -> None:
    """The sources in another folder; the compiled modules here stay as they are."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            left_out = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, folder)


def _try(folder: Path, environment: dict[str, str]) -> None:
    program = ["-m", "tests.proof.changed_maps", "--changes", CHANGES, "--seconds", SECONDS]
    output = _run([sys.executable, *program], folder, environment)
    sys.stdout.write(output)  # pytest -s shows it
    found = re.search(r"(\d+) of a table at least", output)
    assert found
    assert int(found[1]) > 0


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr[-6_000:]}"
    return done.stdout
