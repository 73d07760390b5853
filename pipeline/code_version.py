"""The version of the code that determines the bytes of a shard, as one text.

A resumed build compares it and builds shards of another version again; a Dask worker of another
version is refused.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from blake3 import blake3

# Libraries that determine the bytes of a shard.
_LIBRARIES: Final = ("blake3", "lmdb", "msgpack", "numpy", "orjson", "polars", "zstandard")
_ROOMS: Final = ("pipeline", "shards")


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
