"""One round of a mirror: from the pointer of a source to the pointer here.

What the source has published is looked up, its manifest read and, if that is wanted, its signature
checked; its files are gathered (blobs.py), and what they make is published as a build publishes
(publication.py). The lock is that of a build: one round at a time, and none beside a build.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from shards.errors import ShardError
from shards.generations import atomic_files, generation_files, locks, pointer
from shards.generations import manifest as manifests
from shards.generations.generation_files import MANIFEST, REFERENCE
from shards.generations.manifest import Manifest
from shards.publish import publication
from shards.sync import blobs as stocks
from shards.sync import signature, source_check, subset
from shards.sync.blobs import BlobStore
from shards.sync.download import Downloader
from shards.sync.errors import AbsentError, FaultError, SyncError
from shards.sync.source import read_small

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


import random
import time

T = TypeVar("T")

BLOBS: Final = ".mirror"

# How often the source may publish another generation while one of it is fetched.
_MOVES: Final = 5

# Of a disk, this part stays free: a source that announces too much must not stop the host.
_SPARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """What a mirror is to hold.

    Attributes:
        pays: countries, all if none is named.
        key: whose signature a generation must have, if it must have one.
        keep: how many generations stay here, the published one included.
    """

    pays: tuple[str, ...] = ()
    key: "Ed25519PublicKey | None" = None
    keep: int = publication.KEPT


@dataclass(frozen=True, slots=True)
class MirrorOutcome:
    """What a round came to: the generation published here, how many of its files were fetched, how
    many a generation here had. None and none: it was published already."""

    generation: str
    fetched: int = 0
    linked: int = 0

    @property
    def changed(self) -> bool:
        return self.fetched + self.linked > 0


def mirror(
    fetcher: Downloader,
    data: Path,
    wish: MirrorOptions,
    begun: Callable[[int], object] = lambda _: None,
) -> MirrorOutcome:
    """Have what the source has published, published in `data`.

    Args:
        begun: told how many bytes are to come, as soon as that is known.

    Raises:
        ShardError: the source failed, or cannot be mirrored. What was published here stays so.
        OSError: the disk failed.
    """
    with locks.write_lock(data):
        generation = _pointed(fetcher)
        for _ in range(_MOVES):
            try:
                return _round(fetcher, data, wish, generation, begun)
            except AbsentError as error:
                # It removes what it does not publish any more; then it publishes another.
                absent, before, generation = error, generation, _pointed(fetcher)
                if generation == before:
                    break
        raise SyncError(f"{absent}, though {generation} is published there; try again later")


def _round(
    fetcher: Downloader,
    data: Path,
    wish: MirrorOptions,
    generation: str,
    begun: Callable[[int], object],
) -> MirrorOutcome:
    here = _here(data, generation, wish)
    packed, manifest = here or _manifest(fetcher, generation)
    # What was published yesterday may have been signed today.
    has_it = here and (wish.pays or (data / signature.path_of(generation)).exists())
    signed = None if has_it and not wish.key else _signature(fetcher, generation)
    if wish.key:
        signature.check(wish.key, generation, packed, signed)
    if here:
        if signed and not wish.pays:
            signature.keep(data, generation, signed)
        shutil.rmtree(data / BLOBS, ignore_errors=True)  # of a round that ended after CURRENT
        return MirrorOutcome(pointer.current(data) or generation)
    stock = BlobStore(fetcher, generation, data / BLOBS, stocks.local_files(data))
    own: Mapping[str, bytes] = {MANIFEST: packed}
    if wish.pays:
        subset.check(manifest, wish.pays)
        lists = stock.have(REFERENCE, manifest.files[REFERENCE]).read_bytes()
        with _understood(generation):
            manifest, own = subset.make(manifest, packed, lists, wish.pays)
    files = {name: file for name, file in manifest.files.items() if name not in own}
    stock.clear(files)
    missing = stock.missing(files)
    _room(data, missing - stock.begun())
    begun(missing)
    for name, file in files.items():
        stock.have(name, file)
    _publish(data, manifest, own, {name: stock.blob(file) for name, file in files.items()}, wish)
    if signed and not wish.pays:
        signature.keep(data, generation, signed)
    shutil.rmtree(data / BLOBS)
    return MirrorOutcome(manifest.generation, stock.fetched, stock.linked)


# -- what the source says ----------------------------------------------------------


def _pointed(fetcher: Downloader) -> str:
    where = f"{fetcher.source.name}/{pointer.CURRENT}"
    try:
        return _small(
            fetcher, pointer.CURRENT, source_check.MOST_POINTER,
            lambda packed: source_check.pointer(packed, where),
        )  # fmt: skip
    except AbsentError as error:
        raise SyncError(f"{error}: nothing is published there, or it is another place") from error


def _manifest(fetcher: Downloader, generation: str) -> tuple[bytes, Manifest]:
    path = f"{generation}/{MANIFEST}"
    where = f"{fetcher.source.name}/{path}"
    return _small(
        fetcher, path, source_check.MOST_MANIFEST,
        lambda packed: (packed, source_check.manifest(packed, generation, where)),
    )  # fmt: skip


def _signature(fetcher: Downloader, generation: str) -> bytes | None:
    """The signature of a generation, None if the source has none."""
    try:
        return _small(fetcher, signature.path_of(generation), signature.MOST_BYTES, bytes)
    except AbsentError:
        return None


def _small(fetcher: Downloader, path: str, most: int, read: Callable[[bytes], T]) -> T:
    """What `read` makes of a small file, which is asked for again if it came damaged."""
    while True:
        try:
            found = read(read_small(fetcher.source, path, most))
        except FaultError as fault:
            fetcher.patience.wait(fault)
        else:
            fetcher.patience.progress()
            return found


# -- what is here ------------------------------------------------------------------


def _here(data: Path, generation: str, wish: MirrorOptions) -> tuple[bytes, Manifest] | None:
    """The manifest of the source's generation, if what is wanted of it is published and whole."""
    name = pointer.current(data)
    if name is None or (name != generation and not wish.pays):
        return None
    folder = data / name
    try:
        manifest = generation_files.read_manifest(folder)
        manifests.check_sizes(folder, manifest.files)
    except ShardError:  # it is replaced
        return None
    if not wish.pays:
        return (folder / MANIFEST).read_bytes(), manifest
    origin = subset.origin(folder)
    if origin is None or origin[1].generation != generation or {*manifest.counts} != {*wish.pays}:
        return None
    return origin


def _room(data: Path, missing: int) -> None:
    disk = shutil.disk_usage(data)
    room = max(0, disk.free - int(_SPARE * disk.total))
    if missing > room:
        raise SyncError(
            f"{missing:,} bytes are missing and {data} has room for {room:,}; make room, "
            "or mirror fewer countries (--pays)"
        )


# -- publication -------------------------------------------------------------------


def _publish(
    data: Path,
    manifest: Manifest,
    own: Mapping[str, bytes],
    blobs: Mapping[str, Path],
    wish: MirrorOptions,
) -> None:
    staged = publication.staging(data)
    for name, blob in blobs.items():
        atomic_files.link(blob, staged / name)
    for name, content in own.items():
        atomic_files.write(staged / name, content)
    # Can this code read it, and is it what it says? Else the server would find out.
    with _understood(manifest.generation):
        generation_files.open_folder(staged, manifest).close()
    publication.adopt(data, staged, manifest, keep=wish.keep)


@contextmanager
def _understood(generation: str) -> Iterator[None]:
    """What is rightly signed and digested can still be nonsense."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SyncError(
            f"the lists of generation {generation} cannot be understood ({error!r}); build it again"
        ) from error


# MERGED shards/sync/follow.py
# Round after round, until told to stop.
#
# Whatever a round fails of, the next one may not: the source is away, the disk is full, somebody
# rolls back. So an error is said once, and again when it has become another one.

# Each wait is up to a tenth longer or shorter, so that mirrors started together do not stay so.
_SPREAD: Final = 0.1

# What a source may ask for (Retry-After) and get.
_LONGEST_SECONDS: Final = 3_600.0


def follow(
    once: Callable[[], None],
    seconds: float,
    complain: Callable[[str], None],
    chance: Callable[[], float] = random.random,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `once` every so many seconds; whoever wants it to end raises through it.

    Args:
        complain: told each error that is not the one of the round before.
    """
    said = ""
    while True:
        wait = seconds
        try:
            once()
            said = ""
        except (ShardError, OSError) as error:
            if str(error) != said:
                said = str(error)
                complain(said)
            if isinstance(error, FaultError):
                wait = max(seconds, min(_LONGEST_SECONDS, error.after or 0.0))
        sleep(wait * (1 + _SPREAD * (2 * chance() - 1)))
