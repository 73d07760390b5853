"""The progress of a night: a bar on a terminal, and elsewhere a line a minute with the stage it is in.

A journal has no terminal. A run that says nothing for hours looks like one that hangs.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tqdm import tqdm

_EVERY_SECONDS: Final = 60.0
_MEGABYTE: Final = 1e6


@dataclass(slots=True)
class Progress:
    """What a run is doing: its stage, since when, and the bytes that have come in it."""

    bar: tqdm  # type: ignore[type-arg]  # generic in its stubs alone
    stage: str = ""
    bytes_came: int = 0
    since: float = field(default_factory=time.monotonic)

    def begin(self, stage: str) -> None:
        """Enter a stage."""
        self.stage, self.bytes_came, self.since = stage, 0, time.monotonic()

    def add_bytes(self, size: int) -> None:
        """Count bytes that were fetched."""
        self.bytes_came += size
        self.bar.update(size)

    def say(self, message: str) -> None:
        """Print a message, above the bar."""
        tqdm.write(f"pipeline: {message}", file=sys.stderr)

    def line(self) -> str:
        """What it is doing, for a log."""
        came = f", {self.bytes_came / _MEGABYTE:,.1f} MB have come" if self.bytes_came else ""
        return f"{self.stage}: {time.monotonic() - self.since:,.0f} s{came}"


@contextmanager
def show_progress(stage: str) -> Iterator[Progress]:
    """The progress of a command that begins with `stage`, shown until the end of the block."""
    ended = threading.Event()
    with tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
        progress = Progress(bar, stage)

        def report() -> None:
            while not ended.wait(_EVERY_SECONDS):
                progress.say(progress.line())

        reporter = threading.Thread(target=report, name="progress", daemon=True)
        if bar.disable:
            reporter.start()
        try:
            yield progress
        finally:
            ended.set()
            if reporter.is_alive():
                reporter.join()
