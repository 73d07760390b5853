"""Generations of some countries, derived from a complete generation.

Such a generation is complete by itself: its lists and its manifest have only its countries, and it has its own name. A
server treats it like any other generation; other countries are unknown there. It has no `market.json`, whose figures
are of all countries: a server computes its own figures at the first request. `origin.json` is the manifest of
the whole generation, byte for byte; it has the digests of the shards and the name that a signature refers to.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from blake3 import blake3

from shards.errors import ShardError
from shards.generations import generation_files, publication
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.generation_files import MANIFEST, REFERENCE
from shards.generations.manifest import File, Manifest
from shards.mirror.source import SyncError

ORIGIN: Final = "origin.json"


def check_countries(whole: Manifest, pays: Sequence[str]) -> None:
    """Check that `whole` has all these countries.

    Raises:
        SyncError: names the countries that are missing.
    """
    if absent := [iso2 for iso2 in pays if iso2 not in whole.counts]:
        raise SyncError(
            f"generation {whole.generation} has no {', '.join(absent)}; "
            f"--pays may name {', '.join(whole.counts)}"
        )


def make(
    whole: Manifest, packed_manifest: bytes, packed_reference: bytes, pays: Sequence[str]
) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest of the part of `whole` with these countries, and the files that only the part has.

    Args:
        packed_manifest: the bytes of the manifest of `whole`.
        packed_reference: the bytes of `reference.json` of `whole`.
    """
    reference = references.load(packed_reference)
    reference = replace(
        reference,
        pays=tuple(country for country in reference.pays if country.iso2 in pays),
        counts={iso2: reference.counts[iso2] for iso2 in sorted(pays)},
    )
    own_contents = {REFERENCE: references.dump(reference), ORIGIN: packed_manifest}
    left_out = {generation_files.shard_name(iso2) for iso2 in whole.counts if iso2 not in pays}
    left_out.add(generation_files.MARKET)
    files = {name: file for name, file in whole.files.items() if name not in left_out}
    manifest = manifests.make(
        files=files | {name: _file_entry(content) for name, content in own_contents.items()},
        sources=whole.sources,
        counts={iso2: whole.counts[iso2] for iso2 in pays},
        secteurs=publication.counts_by_sector(reference),
        forced=whole.forced,
    )
    return manifest, own_contents | {MANIFEST: manifests.dump(manifest)}


def origin(folder: Path) -> tuple[bytes, Manifest] | None:
    """The manifest of the complete generation, as bytes and as a value; None if `folder` is not a part of one."""
    path = folder / ORIGIN
    try:
        manifest_bytes = path.read_bytes()
        return manifest_bytes, manifests.load(manifest_bytes, path)
    except (FileNotFoundError, ShardError):
        return None


def _file_entry(content: bytes) -> File:
    """The entry of a file with this content in a manifest."""
    return File(len(content), blake3(content).hexdigest(), sha256(content).hexdigest())
