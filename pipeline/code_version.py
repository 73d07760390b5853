"""The version of the code that decides the bytes of a shard, as one text.

A resumed build and a Dask worker compare it: shards of another version of the code are built again,
and a worker of another version is refused.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from blake3 import blake3

# Beside the code of the project, what decides the bytes of a shard.
_LIBRARIES: Final = ("blake3", "lmdb", "msgpack", "numpy", "orjson", "polars", "zstandard")
_ROOMS: Final = ("pipeline", "shards")


@cache
def code_version() -> str:
    """The digests of our own files, and the versions of the libraries that write bytes."""
    root = Path(__file__).parents[1]
    own = [folder_digest(root / room, "*.py") for room in _ROOMS]
    return " ".join([*own, *(f"{name} {version(name)}" for name in _LIBRARIES)])


def folder_digest(folder: Path, pattern: str) -> str:
    """The digest of the files of a folder, their names included."""
    found = sorted(folder.rglob(pattern))
    return digest((str(path.relative_to(folder)).encode(), path.read_bytes()) for path in found)


def digest(named: Iterable[tuple[bytes, bytes]]) -> str:
    found = blake3()
    for name, content in named:
        for part in (name, content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()
