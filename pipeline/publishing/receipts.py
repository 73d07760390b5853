"""Receipts: the countries that an interrupted build has finished.

When the shard of a country is whole, a receipt is written beside it: the result of the country, the
digests of its files, and a key, the digest of everything they depend on. A later build takes the
shard if its own key is the same and no byte has changed, of the receipt neither. So it publishes what an uninterrupted
build would publish. A receipt that does not match is deleted with its shard.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unicodedata import unidata_version

import orjson
from blake3 import blake3

from pipeline import code_version
from pipeline.stages.quality_report import Quality
from shards.format import FORMAT_VERSION
from shards.generations import atomic_files, generation_files, manifest, sealed_record
from shards.generations.manifest import File
from shards.generations.reference import CellCount


@dataclass(frozen=True, slots=True)
class BuiltCountry:
    """The result of a country: its cells in layout order, its report, the digest of its shard."""

    iso2: str
    cells: tuple[CellCount, ...]
    quality: Quality
    file: File


def key(iso2: str, *parts: str) -> str:
    """The digest of everything that the shard of a country depends on: the code, and `parts`."""
    return blake3(
        orjson.dumps([iso2, FORMAT_VERSION, unidata_version, code_version.code_version(), *parts])
    ).hexdigest()


def write_receipt(
    done: Path, country: BuiltCountry, key: str, rejected: Sequence[Path], work: Path
) -> None:
    """Write the receipt of a country whose shard is in `done`, whole and synced.

    The receipt is written in `work`, a folder of the task's own, and moved.
    """
    receipt = {"key": key, "rejetees": _digest_of(rejected), **asdict(country)}
    path = receipt_path(done, country.iso2)
    partial = work / path.name
    partial.write_bytes(sealed_record.dump(receipt))
    atomic_files.sync(partial)
    partial.replace(path)


def find_done(done: Path, iso2: str, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The finished country, if its shard equals the one that would be built now; else None.

    A shard or receipt that does not match is deleted.

    Args:
        rejected: the files of its rejected rows, which must be those of the receipt.
    """
    path, shard = receipt_path(done, iso2), done / generation_files.shard_name(iso2)
    country = read_receipt(path, key, rejected)
    if country and shard.exists() and manifest.digest(shard) == country.file:
        return country
    path.unlink(missing_ok=True)
    shard.unlink(missing_ok=True)
    return None


def read_receipt(path: Path, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The content of a receipt, if its key and its digest of rejected rows match; else None."""
    try:
        receipt = sealed_record.load(path.read_bytes())
        if (receipt["key"], receipt["rejetees"]) != (key, _digest_of(rejected)):
            return None
        return BuiltCountry(
            receipt["iso2"],
            tuple(CellCount(**cell) for cell in receipt["cells"]),
            Quality(**receipt["quality"]),
            File(**receipt["file"]),
        )
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None  # missing, damaged, or of another version


def receipt_path(folder: Path, iso2: str) -> Path:
    """The path of the receipt of a country."""
    return folder / f"{iso2}.json"


def discard_others(done: Path, wanted: Collection[str]) -> None:
    """Delete the shards and receipts of countries that are not in `wanted`."""
    for path in done.iterdir():
        if path.stem not in wanted:
            path.unlink()


def _digest_of(files: Iterable[Path]) -> str:
    """The digest of the files that exist."""
    return code_version.digest(
        (path.name.encode(), path.read_bytes()) for path in files if path.exists()
    )
