"""The bytes of an edition that has not come whole, and the record that says which of them are to be believed.

The bytes grow in `.fetch/<file>`; `<file>.part.json` has the validators of the representation they belong to
(RFC 9110 §8.8), and a digest of the bytes that were there at the last checkpoint. A later night keeps those alone:
after a power cut the end of a file may be zeros, and a bit may flip between two nights.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Final

from blake3 import blake3

from pipeline.nightly.receipt import Validators
from shards.generations import atomic_files, sealed_record

_CHECKPOINT_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class PartState:
    """What is known of an unfinished file.

    Attributes:
        octets: its whole size, if announced.
        recus, blake3: how many of its bytes had come at the last checkpoint, and their digest.
    """

    validators: Validators
    octets: int | None
    recus: int = 0
    blake3: str = ""


class PartFile:
    """An unfinished file; `at` of its bytes have come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        self.begun: PartState | None = None
        self._digest = blake3()
        self._recorded = 0.0

    def resume(self, address: str) -> None:
        """Take up what an earlier night has left of `address`, up to its last checkpoint."""
        found = _read(self._record)
        if found is None or found.validators.adresse != address or not self.path.exists():
            return
        if not 0 < found.recus <= self.path.stat().st_size:
            return
        with self.path.open("r+b") as file:
            file.truncate(found.recus)
        digest = blake3().update_mmap(self.path)
        if digest.hexdigest() == found.blake3:
            self.begun, self.at, self._digest = found, found.recus, digest

    def can_continue(self) -> bool:
        """Whether a request may ask for the rest alone (RFC 9110 §13.1.5)."""
        return bool(self.begun and self.at and self.begun.validators.if_same())

    def start(self, validators: Validators, octets: int | None) -> None:
        """Begin anew, with nothing."""
        self.forget()
        self.begun = PartState(validators, octets)

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece that has come to `out`, which is open for appending."""
        out.write(piece)
        self._digest.update(piece)
        self.at += len(piece)
        if time.monotonic() - self._recorded > _CHECKPOINT_SECONDS:
            self.checkpoint(out)

    def checkpoint(self, out: IO[bytes]) -> None:
        """Record what has come."""
        assert self.begun
        out.flush()
        self.begun = replace(self.begun, recus=self.at, blake3=self._digest.hexdigest())
        atomic_files.write(self._record, sealed_record.dump(asdict(self.begun)))
        self._recorded = time.monotonic()

    def forget(self) -> None:
        """Delete the bytes and the record."""
        self.path.unlink(missing_ok=True)
        self.end()
        self.begun, self.at, self._digest = None, 0, blake3()

    def end(self) -> None:
        """Delete the record of a file that is whole."""
        self._record.unlink(missing_ok=True)

    @property
    def _record(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part.json")


def _read(path: Path) -> PartState | None:
    try:
        found = sealed_record.load(path.read_bytes())
        return PartState(**{**found, "validators": Validators(**found["validators"])})
    except (OSError, ValueError, KeyError, TypeError):  # absent, damaged, or of another version
        return None
