"""The rounds of a mirror: each brings the published generation of a source into DATA and publishes it there.

A round reads CURRENT and the manifest of the source, checks the signature if a key is given, obtains the files
(`download`), and publishes the generation as a build does (`publish.publication`). It holds the lock of a build, so a
round excludes other rounds, builds and rollbacks in DATA.
"""

import random
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import orjson

from shards.analyses import market
from shards.changes import comparison
from shards.errors import CorruptError, ShardError
from shards.generations import (
    atomic_files,
    change_steps,
    generation_files,
    groups,
    locks,
    pointer,
    publication,
    register_sources,
)
from shards.generations import manifest as manifests
from shards.generations.generation_files import MANIFEST, REFERENCE, shard_name
from shards.generations.manifest import Manifest
from shards.generations.pointer import is_name
from shards.mirror import signature, subset
from shards.mirror.blobs import BlobStore, Downloader, local_files
from shards.mirror.download import Retries
from shards.mirror.source import AbsentError, FaultError, SyncError, read_small

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

T = TypeVar("T")

# Bytes of a pointer, which is one line.
MOST_POINTER: Final = 1 << 16
# Files of a generation: one for each country, and a few lists. Each costs a mirror a request.
MOST_FILES: Final = 1_000

_OTHER: Final = "take another source, or build the generation there again"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")

BLOBS: Final = ".mirror"
# Inside it: a round has begun to publish a generation that honours new objections of persons.
_WITHDRAWN: Final = "withdrawn"

# The number of times that the source may publish another generation during one round.
_MOVES: Final = 5

# The share of the disk that stays free, so that a source with too large files does not stop the host.
_SPARE: Final = 0.02

# Each wait is up to a tenth longer or shorter, so that mirrors that start together drift apart.
_SPREAD: Final = 0.1

# The longest wait between rounds that a source may ask for (Retry-After).
_LONGEST_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """The options of a mirror.

    Attributes:
        pays: the countries to mirror; empty means all.
        key: the public key that generations must be signed with; None if signatures are not required.
        keep: the number of generations to keep in DATA, including the published one.
        accept_old: whether a signature may be expired, or older than one that was accepted before.
        clock: the present, in UTC, that expiries are compared with, and at which a round is noted.
    """

    pays: tuple[str, ...] = ()
    key: "Ed25519PublicKey | None" = None
    keep: int = publication.KEPT
    accept_old: bool = False
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class MirrorOutcome:
    """The result of a round.

    Attributes:
        generation: the generation that is now published in DATA.
        fetched: the number of its files that were downloaded.
        linked: the number of its files that another generation in DATA had.
        undated: whether its signature is of the older form, without a sequence number and an expiry.
    """

    generation: str
    fetched: int = 0
    linked: int = 0
    undated: bool = False

    @property
    def has_published(self) -> bool:
        """Whether the round published anything; False if the generation was published before."""
        return self.fetched + self.linked > 0


def mirror(
    downloader: Downloader,
    data: Path,
    wanted: MirrorOptions,
    begun: Callable[[int], object] = lambda _: None,
) -> MirrorOutcome:
    """Publish in `data` the generation that the source has published.

    Args:
        begun: called once with the number of bytes to download.

    Raises:
        ShardError: the source failed or cannot be mirrored; the generation published in `data` is unchanged.
        OSError: the disk failed.
    """
    with locks.write_lock(data):
        generation = _current_generation(downloader)
        for _ in range(_MOVES):
            try:
                outcome = _round(downloader, data, wanted, generation, begun)
                pointer.note_mirrored(data, wanted.clock())
                return outcome
            except AbsentError as error:
                # A source that publishes another generation may remove files of the one being mirrored.
                absent, before, generation = error, generation, _current_generation(downloader)
                if generation == before:
                    break
        raise SyncError(f"{absent}, though {generation} is published there; try again later")


def follow(
    once: Callable[[], None],
    seconds: float,
    report: Callable[[str], None],
    chance: Callable[[], float] = random.random,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `once` every so many seconds, until it raises anything but ShardError or OSError.

    The cause of an error may be gone in the next round: the source is back, the disk has room again.

    Args:
        report: called with the message of an error, unless the round before failed with the same message.
    """
    reported = ""
    while True:
        wait = seconds
        try:
            once()
            reported = ""
        except (ShardError, OSError) as error:
            if str(error) != reported:
                reported = str(error)
                report(reported)
            if isinstance(error, FaultError):
                wait = max(seconds, min(_LONGEST_SECONDS, error.after or 0.0))
        sleep(wait * (1 + _SPREAD * (2 * chance() - 1)))


def _round(
    downloader: Downloader,
    data: Path,
    wanted: MirrorOptions,
    generation: str,
    begun: Callable[[int], object],
) -> MirrorOutcome:
    """One round for the generation that CURRENT of the source names."""
    _forget_if_withdrawn(data)  # where a round has died
    here = _published_part(data, generation, wanted)
    packed, manifest = here or _manifest(downloader, generation)
    # A generation may be signed after it was published and mirrored, and again before the signature expires.
    signed = None if wanted.pays and not wanted.key else _signature(downloader, generation)
    undated = bool(wanted.key) and _check_signature(data, wanted, generation, packed, signed)
    if here:
        _keep_signature(data, generation, signed, wanted)
        shutil.rmtree(
            data / BLOBS, ignore_errors=True
        )  # left by a round that died after publication
        return MirrorOutcome(pointer.current_name(data) or generation, undated=undated)
    store = BlobStore(downloader, generation, data / BLOBS, local_files(data))
    own: Mapping[str, bytes] = {MANIFEST: packed}
    if wanted.pays:
        subset.check(manifest, wanted.pays)
        lists = store.obtain(REFERENCE, manifest.files[REFERENCE]).read_bytes()
        with _translate_errors(generation):
            manifest, own = subset.make(manifest, packed, lists, wanted.pays)
    files = {name: file for name, file in manifest.files.items() if name not in own}
    store.clear(files)
    missing = store.missing_bytes(files)
    _check_room(data, missing - store.size_of_parts())
    begun(missing)
    for name, file in files.items():
        store.obtain(name, file)
    _publish(data, manifest, own, {name: store.blob(file) for name, file in files.items()}, wanted)
    _forget_if_withdrawn(data)
    _keep_signature(data, generation, signed, wanted)
    shutil.rmtree(data / BLOBS)
    return MirrorOutcome(manifest.generation, store.fetched, store.linked, undated)


# -- signatures --------------------------------------------------------------------


def _check_signature(
    data: Path, wanted: MirrorOptions, generation: str, manifest: bytes, signed: bytes | None
) -> bool:
    """Check a signature, its sequence number and its expiry; return whether it is of the older form without these."""
    assert wanted.key is not None
    statement = signature.check(wanted.key, generation, manifest, signed)
    signature.admit(data, wanted.key, statement, wanted.clock(), accept_old=wanted.accept_old)
    return statement.expires is None


def _keep_signature(
    data: Path, generation: str, signed: bytes | None, wanted: MirrorOptions
) -> None:
    """Store the signature for further mirrors; a part of a generation has none."""
    if signed and not wanted.pays and signed != signature.read_stored(data, generation):
        signature.keep(data, generation, signed)


# -- documents of the source -------------------------------------------------------


def _current_generation(downloader: Downloader) -> str:
    """The generation that CURRENT of the source names."""
    where = f"{downloader.source.name}/{pointer.CURRENT}"
    try:
        return _fetch_small(
            downloader, pointer.CURRENT, MOST_POINTER,
            lambda packed: checked_pointer(packed, where),
        )  # fmt: skip
    except AbsentError as error:
        raise SyncError(
            f"{error}: nothing is published there, or it is another place; give the address of a folder DATA"
        ) from error


def _manifest(downloader: Downloader, generation: str) -> tuple[bytes, Manifest]:
    """The manifest of a generation of the source, as bytes and as a value."""
    path = f"{generation}/{MANIFEST}"
    where = f"{downloader.source.name}/{path}"
    return _fetch_small(
        downloader, path, manifests.MOST_MANIFEST,
        lambda packed: (packed, checked_manifest(packed, generation, where)),
    )  # fmt: skip


def _signature(downloader: Downloader, generation: str) -> bytes | None:
    """The signature of a generation, None if the source has none."""
    try:
        return _fetch_small(downloader, signature.path_of(generation), signature.MOST_BYTES, bytes)
    except AbsentError:
        return None


def _fetch_small(downloader: Downloader, path: str, most: int, read: Callable[[bytes], T]) -> T:
    """A small file of the source, parsed by `read`; it is fetched again if it arrives damaged."""
    retries = Retries(downloader.report, downloader.chance)
    while True:
        try:
            return read(read_small(downloader.source, path, most))
        except FaultError as fault:
            time.sleep(retries.next_wait(fault))


# -- the state of DATA -------------------------------------------------------------


def _published_part(
    data: Path, generation: str, wanted: MirrorOptions
) -> tuple[bytes, Manifest] | None:
    """The manifest of the source's generation, if the wanted part of it is published and complete in DATA."""
    name = pointer.current_name(data)
    if name is None or (name != generation and not wanted.pays):
        return None
    folder = data / name
    try:
        manifest = generation_files.read_manifest(folder)
        manifests.check_sizes(folder, manifest.files)
    except ShardError:  # a damaged generation is replaced
        return None
    if not wanted.pays:
        return (folder / MANIFEST).read_bytes(), manifest
    origin = subset.origin(folder)
    if origin is None or origin[1].generation != generation or {*manifest.counts} != {*wanted.pays}:
        return None
    return origin


def _check_room(data: Path, missing: int) -> None:
    """Check that the disk has room for so many bytes.

    Raises:
        SyncError: it has not.
    """
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
    wanted: MirrorOptions,
) -> None:
    """Assemble the generation, check that this code can open it, and publish it."""
    staged = publication.make_staging_folder(data)
    for name, blob in blobs.items():
        atomic_files.link(blob, staged / name)
    for name, content in own.items():
        atomic_files.write(staged / name, content)
    # Without this, a server would be the first to find a shard that cannot be opened.
    with _translate_errors(manifest.generation):
        with generation_files.open_folder(staged, manifest) as opened:
            _load_documents(staged, manifest)
            opened.shards.own_session()
        if _has_new_objections(data, staged, manifest):
            (data / BLOBS).mkdir(exist_ok=True)
            (data / BLOBS / _WITHDRAWN).touch()
    publication.adopt(data, staged, manifest, compare=comparison.compare_all, keep=wanted.keep)


def _load_documents(staged: Path, manifest: Manifest) -> None:
    """Load the documents beside the shards as a server does, which would refuse them, or answer 500.

    Raises:
        ValueError, …: one has another shape.
    """
    for name in (register_sources.SOURCES, groups.GROUP_SOURCES):
        if name in manifest.files:
            register_sources.load((staged / name).read_bytes())
    if groups.GROUPS in manifest.files:
        groups.check_values(groups.read(staged / groups.GROUPS))
        if groups.GROUP_SOURCES not in manifest.files:
            raise KeyError(groups.GROUP_SOURCES)
    if generation_files.MARKET in manifest.files:
        market.load_of((staged / generation_files.MARKET).read_bytes(), manifest)
    if generation_files.QUALITY in manifest.files:
        report = orjson.loads((staged / generation_files.QUALITY).read_bytes())
        for country in report.get("pays", {}).values():
            for number in country.get("renseignees", {}).values():
                if type(number) is not int:
                    raise TypeError(f"{number!r} is no number of companies")


def _has_new_objections(data: Path, staged: Path, manifest: Manifest) -> bool:
    """Whether persons have objected to more than in the published generation, as both reports count it."""
    before = pointer.current_name(data)
    if before is None or not manifest.counts.keys() & _objections(staged).keys():
        return False
    known = _objections(data / before)
    return any(
        number > known.get(iso2, {}).get(what, 0)
        for iso2, counts in _objections(staged).items()
        if iso2 in manifest.counts
        for what, number in counts.items()
    )


def _objections(folder: Path) -> Mapping[str, Mapping[str, int]]:
    """What is left out of a generation by objections, by country; nothing, if the report is damaged."""
    try:
        report = orjson.loads((folder / generation_files.QUALITY).read_bytes())
        return {
            iso2: {what: int(number) for what, number in one.get("oppositions", {}).items()}
            for iso2, one in report.get("pays", {}).items()
        }
    except (AttributeError, OSError, TypeError, ValueError):
        # An absent file, no JSON, or JSON of another shape.
        return {}


def _forget_if_withdrawn(data: Path) -> None:
    """After new objections, keep nothing but the published generation.

    A mirror is not told whose values they are, so all differences from older generations go.
    """
    if not (data / BLOBS / _WITHDRAWN).exists():
        return
    shutil.rmtree(data / change_steps.FOLDER, ignore_errors=True)
    publication.keep_published(data)
    (data / BLOBS / _WITHDRAWN).unlink()


@contextmanager
def _translate_errors(generation: str) -> Iterator[None]:
    """Translate the errors of documents whose digests are right but whose content is malformed."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SyncError(
            f"the lists of generation {generation} cannot be understood ({error!r}); build it again"
        ) from error


# -- documents of the source, before they are used ---------------------------------------------


# After this, names are file names without a folder, digests are digests and sizes are sizes. So no text of a source
# becomes a path, and no file is larger than its manifest says.


def checked_pointer(packed: bytes, where: str) -> str:
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


def checked_manifest(packed: bytes, generation: str, where: str) -> Manifest:
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
