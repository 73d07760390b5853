"""Golden files: what was promised, kept beside the code that keeps the promise.

`make golden` rewrites them and never counts as a pass: run the tests again, and read the diff.
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
    """Compare `content` with a golden file that has its place elsewhere."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(content)
        pytest.fail(f"{path.name} was rewritten; run the tests again and read the diff")

    assert content == path.read_text()
