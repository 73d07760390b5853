"""Digests that decide whether the result of an earlier run is used again (BLAKE3).

The version of the code is one text: the digests of our own files, and the versions of the libraries that determine the
bytes of a shard. A resumed build compares it and builds shards of another version again; a Dask worker of another
version is refused.

Records and folders that are kept between two runs have a digest of their own, and are checked before they are believed.
A flipped bit in a record is mostly still JSON, such as another count or another date. The digest is a key of the
record, over all others.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import orjson
from blake3 import blake3

# Libraries that determine the bytes of a shard.
_LIBRARIES: Final = ("blake3", "lmdb", "msgpack", "numpy", "orjson", "polars", "zstandard")
_ROOMS: Final = ("pipeline", "shards")
_DIGEST: Final = "empreinte"  # the key of a record
LIST: Final = "digests.json"  # the digests of the files of a folder


@cache
def code_version() -> str:
    """The digests of our own files and the versions of the libraries."""
    root = Path(__file__).parents[1]
    own = [folder_digest(root / room, "*.py") for room in _ROOMS]
    return " ".join([*own, *(f"{name} {version(name)}" for name in _LIBRARIES)])


def folder_digest(folder: Path, pattern: str) -> str:
    """The digest of the files in `folder` that match `pattern`, names included."""
    found = sorted(folder.rglob(pattern))
    return digest((str(path.relative_to(folder)).encode(), path.read_bytes()) for path in found)


def digest(named: Iterable[tuple[bytes, bytes]]) -> str:
    """The BLAKE3 digest of (name, content) pairs, each part preceded by its length."""
    found = blake3()
    for name, content in named:
        for part in (name, content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


# -- records and folders --------------------------------------------------------------


def dump_record(record: Mapping[str, Any], option: int = 0) -> bytes:
    """The record as JSON, with its digest.

    >>> load_record(dump_record({"gardes": 3}))
    {'gardes': 3}
    """
    return orjson.dumps({**record, _DIGEST: _record_digest(record)}, option=option)


def load_record(content: bytes) -> dict[str, Any]:
    """The record of `dump_record`.

    Raises:
        ValueError: no JSON, no digest, or that of another record.

    >>> load_record(dump_record({"gardes": 3}).replace(b"3", b"2", 1))
    Traceback (most recent call last):
        ...
    ValueError: the record is not the one that was written
    """
    record = orjson.loads(content)
    if not isinstance(record, dict) or record.pop(_DIGEST, None) != _record_digest(record):
        raise ValueError("the record is not the one that was written")
    return record


def seal_folder(folder: Path) -> None:
    """Write the digests of all files below `folder` into it."""
    (folder / LIST).write_bytes(dump_record(_file_digests(folder)))


def is_whole(folder: Path) -> bool:
    """Whether `folder` has the files that it had when it was sealed, and no other; reads all of them."""
    try:
        return load_record((folder / LIST).read_bytes()) == _file_digests(folder)
    except (OSError, ValueError):
        return False


def _record_digest(record: Mapping[str, Any]) -> str:
    return blake3(orjson.dumps(record)).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): blake3(max_threads=blake3.AUTO).update_mmap(path).hexdigest()
        for path in paths
        if path != folder / LIST
    }
