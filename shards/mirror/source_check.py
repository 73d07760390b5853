"""Validation of the documents that a source sends, before they are used.

After this, names are file names without a folder, digests are digests and sizes are sizes. So no text of a source
becomes a path, and no file is larger than its manifest says.
"""

import re
from pathlib import Path
from typing import Final

import orjson

from shards.errors import CorruptError, ShardError
from shards.generations import manifest as manifests
from shards.generations.generation_files import MANIFEST, REFERENCE, shard_name
from shards.generations.manifest import Manifest
from shards.generations.pointer import is_name
from shards.mirror.errors import FaultError, SyncError

# Bytes of a pointer, which is one line.
MOST_POINTER: Final = 1 << 16
# Files of a generation: one for each country, and a few lists. Each costs a mirror a request.
MOST_FILES: Final = 1_000

_OTHER: Final = "take another source, or build the generation there again"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def pointer(packed: bytes, where: str) -> str:
    """The generation that CURRENT of a source names.

    Raises:
        FaultError: the bytes are no CURRENT.
    """
    try:
        name: object = orjson.loads(packed)["generation"]
    except (KeyError, TypeError, ValueError) as error:
        raise FaultError(f"{where} is no CURRENT of a folder DATA: {error}") from error
    if not is_name(name):
        raise FaultError(f"{where} names the generation {name!r}, which is not a name of one")
    return name


def manifest(packed: bytes, generation: str, where: str) -> Manifest:
    """The manifest of `generation` that these bytes encode.

    Raises:
        FaultError: the bytes are another manifest or none; they may have been damaged on the way.
        SyncError: the manifest is authentic, but has an invalid file name, size or digest, or lacks a file.
    """
    try:
        found = manifests.load(packed, Path(where))
    except ShardError as error:
        # Whatever has its own name did not suffer on the way, so to fetch it again changes nothing.
        if isinstance(error, CorruptError) and manifests.name_of(packed) == generation:
            raise SyncError(f"{error}; {_OTHER}") from error
        raise FaultError(f"the source cannot be mirrored: {error}") from error
    if found.generation != generation:
        raise FaultError(f"{where} is the manifest of {found.generation}, not of {generation}")
    if len(found.files) > MOST_FILES:
        raise SyncError(
            f"{where} names {len(found.files)} files, and {MOST_FILES} are the most; {_OTHER}"
        )
    for name, file in found.files.items():
        # Anyone can make a manifest with a correct name, so its content is checked as well.
        if name == MANIFEST or not _NAME.fullmatch(name) or not _is_file(file.size, file.blake3):
            raise SyncError(
                f"{where} names a file {name!r} ({file}), which cannot be one; {_OTHER}"
            )
    needed = {REFERENCE, *(shard_name(iso2) for iso2 in found.counts)}
    if absent := needed - set(found.files):
        raise SyncError(
            f"{where} names no {', '.join(sorted(absent))}, so it is of no use; {_OTHER}"
        )
    return found


def _is_file(size: object, blake3: object) -> bool:
    return (
        type(size) is int
        and 0 <= size < 1 << 63
        and isinstance(blake3, str)
        and _DIGEST.fullmatch(blake3) is not None
    )
