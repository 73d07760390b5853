"""Golden files: bytes and answers that must not change by accident.

`make golden` rewrites them and fails on purpose: read the diff, then run the tests again.
"""

import os
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = Path(__file__).parent / "golden"


def check(name: str, content: str) -> None:
    """Compare `content` with the golden file `name`."""
    check_file(FOLDER / name, content)


def check_file(path: Path, content: str) -> None:
    """Compare `content` with a golden file of another folder."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(content)
        pytest.fail(f"{path.name} was rewritten; run the tests again and read the diff")

    assert content == path.read_text()
