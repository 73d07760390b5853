"""`python -m quota --state STATE …` for the tests, in this process, with its output."""

import json
from pathlib import Path
from typing import Any

import pytest

from quota.__main__ import main

Capture = pytest.CaptureFixture[str]


class Command:
    """The command line on one STATE folder."""

    def __init__(self, state: Path, capture: Capture) -> None:
        self.state = state
        self._capture = capture

    def __call__(self, *words: str) -> str:
        assert main(["--state", str(self.state), *words]) == 0
        return self._capture.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def fails(self, *words: str, code: int) -> str:
        try:
            assert main(["--state", str(self.state), *words]) == code
        except SystemExit as stop:
            assert stop.code == code
        printed = self._capture.readouterr()
        assert not printed.out
        return printed.err
