"""Digests (BLAKE3) that decide whether the result of an earlier run is used again.

The version of the code is a text: the digests of the project's code, and the versions of the libraries that determine
the bytes of a shard. A resumed build compares this version, and builds the shards of another version again. A Dask
worker of another version is refused.

Records and folders that stay between two runs contain their own digest, which is checked before they are used: a record
with a flipped bit is usually still valid JSON, with another count or another date. The digest of a record is one of its
keys, and covers all other keys.
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
# Folders whose code determines the bytes of a shard.
_CODE_FOLDERS: Final = ("pipeline", "shards")
_DIGEST_KEY: Final = "empreinte"  # the key of the digest in a record
DIGESTS_FILE: Final = "digests.json"  # the file with the digests of all other files of a folder


@cache
def code_version() -> str:
    """The version of the code: the digests of _CODE_FOLDERS, and the versions of _LIBRARIES."""
    root = Path(__file__).parents[1]
    folder_digests = [folder_digest(root / folder, "*.py") for folder in _CODE_FOLDERS]
    return " ".join([*folder_digests, *(f"{name} {version(name)}" for name in _LIBRARIES)])


def folder_digest(folder: Path, pattern: str) -> str:
    """The digest of the files in `folder` that match `pattern`, names included."""
    paths = sorted(folder.rglob(pattern))
    return digest((str(path.relative_to(folder)).encode(), path.read_bytes()) for path in paths)


def digest(contents: Iterable[tuple[bytes, bytes]]) -> str:
    """The BLAKE3 digest of pairs of a name and a content; the length before each part makes it unambiguous."""
    hasher = blake3()
    for name, content in contents:
        for part in (name, content):
            hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()


# -- records and folders --------------------------------------------------------------


def dump_record(record: Mapping[str, Any], option: int = 0) -> bytes:
    """The record as JSON, with its digest.

    >>> load_record(dump_record({"gardes": 3}))
    {'gardes': 3}
    """
    return orjson.dumps({**record, _DIGEST_KEY: _record_digest(record)}, option=option)


def load_record(content: bytes) -> dict[str, Any]:
    """The record in the bytes that `dump_record` wrote, without its digest.

    Raises:
        ValueError: the content is not JSON, has no digest, or has changed.

    >>> load_record(dump_record({"gardes": 3}).replace(b"3", b"2", 1))
    Traceback (most recent call last):
        ...
    ValueError: the record is not the one that was written
    """
    record = orjson.loads(content)
    if not isinstance(record, dict) or record.pop(_DIGEST_KEY, None) != _record_digest(record):
        raise ValueError("the record is not the one that was written")
    return record


def seal_folder(folder: Path) -> None:
    """Write DIGESTS_FILE into `folder`: the digests of all files in it and in its subfolders."""
    (folder / DIGESTS_FILE).write_bytes(dump_record(_file_digests(folder)))


def is_intact(folder: Path) -> bool:
    """Whether `folder` has exactly the files that it had when it was sealed; this reads all files."""
    try:
        return load_record((folder / DIGESTS_FILE).read_bytes()) == _file_digests(folder)
    except (OSError, ValueError):
        return False


def _record_digest(record: Mapping[str, Any]) -> str:
    """The digest of a record without its own digest."""
    return blake3(orjson.dumps(record)).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    """The digest of each file in `folder` and its subfolders, except DIGESTS_FILE, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): blake3(max_threads=blake3.AUTO).update_mmap(path).hexdigest()
        for path in paths
        if path != folder / DIGESTS_FILE
    }
