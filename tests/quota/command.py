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
        """Run a command that must succeed; returns its standard output."""
        assert main(["--state", str(self.state), *words]) == 0
        return self._capture.readouterr().out

    def json(self, *words: str) -> Any:
        """Run a command with `--json` that must succeed; returns the parsed output."""
        return json.loads(self(*words, "--json"))

    def fails(self, *words: str, code: int) -> str:
        """Run a command that must end with the exit code `code` and print nothing; returns its error text."""
        try:
            assert main(["--state", str(self.state), *words]) == code
        except SystemExit as parser_exit:  # argparse exits by itself if words are wrong
            assert parser_exit.code == code
        printed = self._capture.readouterr()
        assert not printed.out
        return printed.err
