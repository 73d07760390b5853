"""One file of a source: resumed where it stopped, bounded, compared, and only then named.

It grows as `<digest>.part` and becomes `<digest>` by a rename, after it was compared and synced. As
the name is the digest of what it will be, a part is of use to any later round, whatever happened in
between, and no If-Range is needed. Bytes are appended only at the place where they belong; a source
that begins anew is begun anew with; one that sends a wrong file is asked for all of it again, but
not for ever.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from shards.generations import atomic_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File
from shards.sync.errors import FaultError
from shards.sync.pacing import Backoff, RateLimit
from shards.sync.source import MirrorSource

PART: Final = ".part"

# How often a file may come whole and wrong: a line that flips bits now and then, or a bad source?
_WRONG: Final = 5

# A body that brings less in a window is one that does not come: the next try may do better.
_WINDOW_SECONDS: Final = 30.0
_LEAST_BYTES: Final = 30 << 10

# As many new bytes, or the end of the file, are progress; a byte at a time is not.
_PROGRESS_BYTES: Final = 1 << 16


@dataclass(slots=True)
class Downloader:
    """How files are fetched, and what it came to."""

    source: MirrorSource
    patience: Backoff = field(default_factory=Backoff)
    rate: RateLimit = field(default_factory=lambda: RateLimit(None))
    came: Callable[[int], object] = lambda _: None  # told bytes, for a bar; negative: in vain
    clock: Callable[[], float] = time.monotonic
    read: int = 0  # bytes that were sent, those in vain too
    resumed: int = 0  # bytes that an interrupted round had left
    wrong: int = 0  # files that came whole and were others

    def fetch(self, path: str, file: File, blob: Path) -> None:
        """Have the file at `path` of the source, which must be `file`, as `blob`.

        Raises:
            FaultError: the source failed too often. What came stays for the next time.
            SyncError: it cannot be had.
        """
        part = blob.with_name(blob.name + PART)
        had = part.stat().st_size if part.exists() else 0
        self.resumed += had
        self.came(had)
        for _ in range(_WRONG):
            self._complete(path, file, part)
            if manifests.has_digest(part, file):
                atomic_files.appear(part, blob)
                self.patience.progress()
                return
            self.wrong += 1
            self.came(-file.size)
            part.unlink()
        raise FaultError(
            f"{self.source.name}/{path} came {_WRONG} times with other bytes than its manifest "
            "says; `python -m shards verify` there, or take another source"
        )

    def _complete(self, path: str, file: File, part: Path) -> None:
        """Bring `part` to the size of `file`, however often the source must be asked."""
        reached = 0
        while True:
            try:
                with part.open("ab") as out:
                    self._append(path, file, out)
                return
            except FaultError as fault:
                if (size := part.stat().st_size) >= reached + _PROGRESS_BYTES:
                    reached = size
                    self.patience.progress()
                self.patience.wait(fault)

    def _append(self, path: str, file: File, out: IO[bytes]) -> None:
        """Read on where `out` ends, until it has the size of `file`.

        Raises:
            FaultError: it has not.
        """
        at = out.tell() if out.tell() <= file.size else self._again(out, out.tell())
        if at == file.size:
            return
        where = f"{self.source.name}/{path}"
        with self.source.open(path, at) as body:
            if body.start != at:  # a source that ignores ranges
                at = self._again(out, at)
            since, brought = self.clock(), 0
            for piece in body.pieces:
                self.rate.take(len(piece))
                self.read += len(piece)
                if at + len(piece) > file.size:
                    self._again(out, at)
                    raise FaultError(f"{where} has more than the {file.size} bytes announced")
                out.write(piece)
                self.came(len(piece))
                at, brought = at + len(piece), brought + len(piece)
                if self.clock() - since > _WINDOW_SECONDS:
                    if brought < _LEAST_BYTES:
                        raise FaultError(f"{where} comes too slowly")
                    since, brought = self.clock(), 0
        if at != file.size:
            raise FaultError(f"{where} ends at byte {at} of {file.size}")

    def _again(self, out: IO[bytes], at: int) -> int:
        """Forget what is in `out`."""
        self.came(-at)
        out.truncate(0)
        return 0
