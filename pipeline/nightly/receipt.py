"""The record beside a fetched file: where it came from, when, its digests, its validators.

    RAW/<source>/<file>                 as published
    RAW/<source>/.fetch/<file>.json     the receipt
    RAW/<source>/.fetch/<file>          what has come of the next edition, with <file>.part.json
    RAW/<source>/.fetch/<file>.refused  the last edition that was refused

A receipt counts only while it is as it was written (`digests`), and the file has the bytes that it describes, so
a file that was damaged or replaced by hand is fetched again, and a process may die between the file and its receipt.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from pipeline import digests
from shards.generations import atomic_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File

FOLDER: Final = ".fetch"


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server says about a representation (RFC 9110 §8.8): its entity tag, its last change, its address."""

    etag: str
    modifie: str
    adresse: str

    def unless_changed(self) -> dict[str, str]:
        """The headers of a request that is answered 304 if nothing has changed (RFC 9110 §13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modifie}
        return {name: value for name, value in headers.items() if value}

    def if_same(self) -> str:
        """The value of If-Range; a weak tag may not stand there (RFC 9110 §13.1.5)."""
        return self.modifie if self.etag.startswith("W/") else self.etag or self.modifie


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a fetched file; the attributes are the keys of its JSON.

    Attributes:
        modele: the name in seeds/sources.csv, which all editions of a file share.
        octets, lignes: the size and the rows, for comparison with the next edition.
        recu, verifie: when the file came, and when its server last said that it is the newest.
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
        return Validators(self.etag, self.modifie, self.adresse)


def find_valid(folder: Path, name: str) -> Receipt | None:
    """The receipt of `name` in the folder of a source, if the file has the bytes it describes."""
    receipt = _read(_path(folder, name))
    if receipt is None or not (folder / name).is_file():
        return None
    file = File(receipt.octets, receipt.blake3, receipt.sha256)
    return receipt if manifests.has_digest(folder / name, file) else None


def all_of(folder: Path, modele: str) -> list[Receipt]:
    """The receipts of every edition of a file, the latest first."""
    found = (_read(path) for path in (folder / FOLDER).glob("*.json"))
    wanted = [receipt for receipt in found if receipt and receipt.modele == modele]
    return sorted(wanted, key=lambda receipt: receipt.recu, reverse=True)


def write(folder: Path, receipt: Receipt) -> None:
    """Record the receipt."""
    document = digests.dump_record(asdict(receipt), orjson.OPT_INDENT_2)
    atomic_files.write(_path(folder, receipt.fichier), document + b"\n")


def remove(folder: Path, receipt: Receipt) -> None:
    """Delete an edition and its receipt."""
    (folder / receipt.fichier).unlink(missing_ok=True)
    _path(folder, receipt.fichier).unlink(missing_ok=True)


def _path(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.json"


def _read(path: Path) -> Receipt | None:
    try:
        return Receipt(**digests.load_record(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # absent, damaged, or of another version
        return None
