"""The receipt of a fetched file: its address, times, digests and validators.

    RAW/<source>/<file>                 as published
    RAW/<source>/.fetch/<file>.json     the receipt
    RAW/<source>/.fetch/<file>          the unfinished next edition, with <file>.part.json
    RAW/<source>/.fetch/<file>.refused  the last edition that was refused

A receipt is valid only if it is unchanged (`digests`) and the file has the bytes that the receipt describes. So a file
that was damaged or replaced by hand is fetched again, and so is a file whose process died before it wrote the receipt.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from pipeline import digests
from shards.generations import atomic_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File

FOLDER: Final = ".fetch"  # the folder of receipts and unfinished files, in the folder of a source


@dataclass(frozen=True, slots=True)
class Validators:
    """The validators of a representation (RFC 9110 §8.8), its entity tag and its Last-Modified; and its address."""

    etag: str
    modifie: str
    adresse: str

    def unless_changed(self) -> dict[str, str]:
        """The headers of a conditional request: the answer is 304 if nothing has changed (RFC 9110 §13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modifie}
        return {name: value for name, value in headers.items() if value}

    def if_same(self) -> str:
        """The value of If-Range, which must not be a weak tag (RFC 9110 §13.1.5)."""
        return self.modifie if self.etag.startswith("W/") else self.etag or self.modifie

    def may_have(self, etag: str, modified: str) -> bool:
        """Whether a response with this ETag and Last-Modified can be of this representation (RFC 9110 §15.3.7.2)."""
        return etag in ("", self.etag) and modified in ("", self.modifie)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a fetched file; the attributes are the keys of its JSON.

    Attributes:
        modele: the name in seeds/sources.csv, which all editions of a file share.
        octets, lignes: the size and the rows, for comparison with the next edition.
        recu, verifie: the time when the file was received, and the last time when its server had no newer file.
    """

    source: str
    fichier: str
    modele: str
    adresse: str
    etag: str
    modifie: str
    octets: int
    lignes: int
    blake3: str
    sha256: str
    recu: str
    verifie: str

    @property
    def validators(self) -> Validators:
        """The validators of the file, with which the next request asks for a newer file."""
        return Validators(self.etag, self.modifie, self.adresse)


def find_valid(folder: Path, name: str) -> Receipt | None:
    """The receipt of the file `name` in the folder of a source, if it is valid; otherwise None."""
    receipt = _read(_receipt_path(folder, name))
    if receipt is None or not (folder / name).is_file():
        return None
    file = File(receipt.octets, receipt.blake3, receipt.sha256)
    return receipt if manifests.has_digest(folder / name, file) else None


def read_all(folder: Path, modele: str) -> list[Receipt]:
    """The receipts of all editions of the file `modele`, the last received first; the files themselves are not read."""
    receipts = (_read(path) for path in (folder / FOLDER).glob("*.json"))
    of_file = [receipt for receipt in receipts if receipt and receipt.modele == modele]
    return sorted(of_file, key=lambda receipt: receipt.recu, reverse=True)


def write(folder: Path, receipt: Receipt) -> None:
    """Write the receipt into the folder of its source."""
    document = digests.dump_record(asdict(receipt), orjson.OPT_INDENT_2)
    atomic_files.write(_receipt_path(folder, receipt.fichier), document + b"\n")


def remove(folder: Path, receipt: Receipt) -> None:
    """Delete an edition and its receipt."""
    (folder / receipt.fichier).unlink(missing_ok=True)
    _receipt_path(folder, receipt.fichier).unlink(missing_ok=True)


def _receipt_path(folder: Path, name: str) -> Path:
    """The path of the receipt of the file `name`."""
    return folder / FOLDER / f"{name}.json"


def _read(path: Path) -> Receipt | None:
    """The receipt in a file; None if it is absent or damaged."""
    try:
        return Receipt(**digests.load_record(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # absent, damaged, or of another version
        return None
