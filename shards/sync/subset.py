"""A generation of some countries, made of one of all.

It is a generation like any other: its lists name its countries alone, its manifest counts them
alone, and its name is its own. So a server of it needs to know nothing, and says of another country
that there is none. What it is a part of, `origin.json` says: the manifest of the whole, byte for
byte as it came, in which the digests of the shards and the name that may be signed are found.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from blake3 import blake3

from shards.errors import ShardError
from shards.generations import generation_files
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.generation_files import MANIFEST, REFERENCE
from shards.generations.manifest import File, Manifest
from shards.publish import publication
from shards.sync.errors import SyncError

ORIGIN: Final = "origin.json"


def check(whole: Manifest, pays: Sequence[str]) -> None:
    """
    Raises:
        SyncError: `whole` does not have all these countries.
    """
    if absent := [iso2 for iso2 in pays if iso2 not in whole.counts]:
        raise SyncError(
            f"generation {whole.generation} has no {', '.join(absent)}; "
            f"--pays may name {', '.join(whole.counts)}"
        )


def make(
    whole: Manifest, packed: bytes, lists: bytes, pays: Sequence[str]
) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest of the part of `whole` that has these countries, and the files of its own.

    Args:
        packed: the manifest of the whole, as it came.
        lists: its `reference.json`.
    """
    reference = references.load(lists)
    reference = replace(
        reference,
        pays=tuple(one for one in reference.pays if one.iso2 in pays),
        counts={iso2: reference.counts[iso2] for iso2 in sorted(pays)},
    )
    own = {REFERENCE: references.dump(reference), ORIGIN: packed}
    left_out = {generation_files.shard_name(iso2) for iso2 in whole.counts if iso2 not in pays}
    files = {name: file for name, file in whole.files.items() if name not in left_out}
    manifest = manifests.make(
        files=files | {name: _file(content) for name, content in own.items()},
        sources=whole.sources,
        counts={iso2: whole.counts[iso2] for iso2 in pays},
        secteurs=publication.by_sector(reference),
        forced=whole.forced,
    )
    return manifest, own | {MANIFEST: manifests.dump(manifest)}


def origin(folder: Path) -> tuple[bytes, Manifest] | None:
    """The manifest of the whole of which `folder` holds a part, None if it holds no part."""
    path = folder / ORIGIN
    try:
        packed = path.read_bytes()
        return packed, manifests.load(packed, path)
    except (FileNotFoundError, ShardError):
        return None


def _file(content: bytes) -> File:
    return File(len(content), blake3(content).hexdigest(), sha256(content).hexdigest())
