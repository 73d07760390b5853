"""Golden files: bytes and answers that must not change by accident.

`make golden` rewrites them and fails on purpose: read the diff, then run the tests again.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = Path(__file__).parent / "golden"


def check(name: str, content: str) -> None:
    """Compare `content` with the golden file `name`."""
    check_files({FOLDER / name: content})


def check_files(contents: Mapping[Path, str]) -> None:
    """Compare contents with the golden files at these paths; with UPDATE_GOLDEN set, rewrite the files and fail."""
    if os.environ.get("UPDATE_GOLDEN"):
        for path, content in contents.items():
            path.write_text(content)
        names = ", ".join(sorted({path.name for path in contents}))
        pytest.fail(f"{names} were rewritten; run the tests again and read the diff")

    assert contents == {path: path.read_text() for path in contents}
