"""The rounds of a mirror: a round fetches the published generation of a source into DATA and publishes it there.

A round reads CURRENT and the manifest of the source, checks the signature if a key is given, obtains the files
(`blobs`), and publishes the generation as a build does (`generations/publication.py`). It holds the lock of a build, so
a round excludes other rounds, builds and rollbacks in DATA.
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

# The most bytes of a pointer, which is one line.
MOST_POINTER: Final = 1 << 16
# The most files of a generation, which has one per country and a few lists. Each file costs a mirror a request.
MOST_FILES: Final = 1_000

# The remedy in messages about documents that are not valid.
_REMEDY: Final = "use another source, or build the generation there again"

# A valid file name in a manifest, which contains no folder.
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# A valid BLAKE3 digest in a manifest.
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")

# The folder in DATA with the files of a generation that is not published yet (`blobs`).
BLOBS: Final = ".mirror"
# An empty file in BLOBS, which says that persons have withdrawn values, so the older generations and changes must be
# removed. It is made before the generation without these values is published, so a round that dies after the
# publication does not keep them: the next round removes them.
_WITHDRAWN: Final = "withdrawn"

# The most attempts at a round: during each, the source can publish another generation and remove the old files.
_MOST_ATTEMPTS: Final = 5

# The share of the disk that stays free, so that a source with too large files does not stop the host.
_SPARE_SHARE: Final = 0.02

# Each wait is up to a tenth longer or shorter, so that mirrors that start together drift apart.
_SPREAD: Final = 0.1

# The longest wait between rounds that a source may ask for (Retry-After).
_LONGEST_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """The options of a mirror.

    Attributes:
        pays: the countries to mirror; empty means all.
        key: the public key of the required signatures; None if signatures are not required.
        keep: the number of generations to keep in DATA, including the published one.
        accept_old: whether a signature is accepted that has expired or is older than the last accepted signature.
        clock: returns the present time in UTC, for expiries and for the time of a round.
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
        linked: the number of its files that another generation in DATA already had.
        undated: whether its signature is of the older form, without a sequence number and an expiry.
    """

    generation: str
    fetched: int = 0
    linked: int = 0
    undated: bool = False

    @property
    def has_published(self) -> bool:
        """Whether the round published a generation; False if it was already published."""
        return self.fetched + self.linked > 0


def mirror(
    downloader: Downloader,
    data: Path,
    options: MirrorOptions,
    start: Callable[[int], object] = lambda _: None,
) -> MirrorOutcome:
    """Publish in `data` the generation that the source has published.

    Args:
        start: called once with the number of bytes to download.

    Raises:
        ShardError: the source failed or cannot be mirrored; the generation published in `data` is unchanged.
        OSError: the disk failed.
    """
    with locks.write_lock(data):
        generation = _current_generation(downloader)
        for _ in range(_MOST_ATTEMPTS):
            try:
                outcome = _round(downloader, data, options, generation, start)
                pointer.note_mirrored(data, options.clock())
                return outcome
            except AbsentError as error:
                # A source that publishes another generation can remove files of the generation being mirrored.
                absent, old_generation, generation = (
                    error,
                    generation,
                    _current_generation(downloader),
                )
                if generation == old_generation:
                    break
        raise SyncError(f"{absent}, though {generation} is published there; try again later")


def follow(
    run_round: Callable[[], None],
    seconds: float,
    report: Callable[[str], None],
    chance: Callable[[], float] = random.random,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `run_round` every `seconds` seconds, until it raises an error other than ShardError or OSError.

    ShardError and OSError can be temporary: the source comes back, the disk has room again.

    Args:
        report: called with the message of an error, unless the round before failed with the same message.
    """
    reported = ""
    while True:
        wait = seconds
        try:
            run_round()
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
    options: MirrorOptions,
    generation: str,
    start: Callable[[int], object],
) -> MirrorOutcome:
    """One round of a mirror: fetch and publish `generation`, the generation of the source, unless DATA has it already.

    The signature is checked and stored in every round. `start` gets the number of missing bytes before they are
    fetched.
    """
    _forget_if_withdrawn(data)  # if an earlier round died
    published = _published_part(data, generation, options)
    packed, manifest = published or _fetch_manifest(downloader, generation)
    # The signature is fetched in every round, because a generation can be signed (again) after it was mirrored.
    # It is not stored with a part of a generation, so without a key a part needs none.
    signed = None if options.pays and not options.key else _fetch_signature(downloader, generation)
    undated = bool(options.key) and _check_signature(data, options, generation, packed, signed)
    if published:
        _keep_signature(data, generation, signed, options)
        shutil.rmtree(data / BLOBS, ignore_errors=True)  # from a round that died after publication
        return MirrorOutcome(pointer.current_name(data) or generation, undated=undated)
    store = BlobStore(downloader, generation, data / BLOBS, local_files(data))
    own_contents: Mapping[str, bytes] = {MANIFEST: packed}
    if options.pays:
        subset.check_countries(manifest, options.pays)
        lists = store.obtain(REFERENCE, manifest.files[REFERENCE]).read_bytes()
        with _translate_errors(generation):
            manifest, own_contents = subset.make(manifest, packed, lists, options.pays)
    files = {name: file for name, file in manifest.files.items() if name not in own_contents}
    store.clear(files)
    missing_bytes = store.missing_bytes(files)
    _check_room(data, missing_bytes - store.size_of_parts())
    start(missing_bytes)
    for name, file in files.items():
        store.obtain(name, file)
    _publish(
        data,
        manifest,
        own_contents,
        {name: store.blob(file) for name, file in files.items()},
        options,
    )
    _forget_if_withdrawn(data)
    _keep_signature(data, generation, signed, options)
    shutil.rmtree(data / BLOBS)
    return MirrorOutcome(manifest.generation, store.fetched, store.linked, undated)


# -- signatures --------------------------------------------------------------------


def _check_signature(
    data: Path, options: MirrorOptions, generation: str, manifest: bytes, signed: bytes | None
) -> bool:
    """Check a signature, its sequence number and its expiry; return whether it is of the older form, without both."""
    assert options.key is not None
    statement = signature.check(options.key, generation, manifest, signed)
    signature.admit(data, options.key, statement, options.clock(), accept_old=options.accept_old)
    return statement.expires is None


def _keep_signature(
    data: Path, generation: str, signed: bytes | None, options: MirrorOptions
) -> None:
    """Store the signature for further mirrors; a part of a generation has no signature."""
    if signed and not options.pays and signed != signature.read_stored(data, generation):
        signature.store(data, generation, signed)


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
            f"{error}: nothing is published there, or the address is wrong; give the address of a folder DATA"
        ) from error


def _fetch_manifest(downloader: Downloader, generation: str) -> tuple[bytes, Manifest]:
    """The manifest of a generation of the source, as bytes and as a value."""
    path = f"{generation}/{MANIFEST}"
    where = f"{downloader.source.name}/{path}"
    return _fetch_small(
        downloader, path, manifests.MOST_MANIFEST,
        lambda packed: (packed, checked_manifest(packed, generation, where)),
    )  # fmt: skip


def _fetch_signature(downloader: Downloader, generation: str) -> bytes | None:
    """The signature of a generation; None if the source has no signature."""
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
    data: Path, generation: str, options: MirrorOptions
) -> tuple[bytes, Manifest] | None:
    """The manifest of the source's generation, if the requested part is published and complete in DATA; else None.

    The manifest is returned as bytes and as a value. A part of a generation has some of its countries (`--pays`).
    """
    name = pointer.current_name(data)
    if name is None or (name != generation and not options.pays):
        return None
    folder = data / name
    try:
        manifest = generation_files.read_manifest(folder)
        manifests.check_sizes(folder, manifest.files)
    except ShardError:  # a damaged generation is replaced
        return None
    if not options.pays:
        return (folder / MANIFEST).read_bytes(), manifest
    origin = subset.origin(folder)
    if (
        origin is None
        or origin[1].generation != generation
        or {*manifest.counts} != {*options.pays}
    ):
        return None
    return origin


def _check_room(data: Path, missing: int) -> None:
    """Check that the disk has room for `missing` bytes.

    Raises:
        SyncError: the disk has less room.
    """
    disk = shutil.disk_usage(data)
    room = max(0, disk.free - int(_SPARE_SHARE * disk.total))
    if missing > room:
        raise SyncError(
            f"{missing:,} bytes are missing and {data} has room for {room:,}; make room, "
            "or mirror fewer countries (--pays)"
        )


# -- publication -------------------------------------------------------------------


def _publish(
    data: Path,
    manifest: Manifest,
    own_contents: Mapping[str, bytes],
    blobs: Mapping[str, Path],
    options: MirrorOptions,
) -> None:
    """Assemble the generation in a staging folder, check that this code can open it, and publish it.

    `blobs` are the fetched files by name, `own_contents` the contents of the other files, such as the manifest.
    """
    staged = publication.make_staging_folder(data)
    for name, blob in blobs.items():
        atomic_files.link(blob, staged / name)
    for name, content in own_contents.items():
        atomic_files.write(staged / name, content)
    # Without this, a server would be the first program to fail on a shard that cannot be opened.
    with _translate_errors(manifest.generation):
        with generation_files.open_folder(staged, manifest) as opened:
            _load_documents(staged, manifest)
            opened.shards.own_session()
        if _has_new_objections(data, staged, manifest):
            (data / BLOBS).mkdir(exist_ok=True)
            (data / BLOBS / _WITHDRAWN).touch()
    publication.adopt(data, staged, manifest, compare=comparison.compare_all, keep=options.keep)


def _load_documents(staged: Path, manifest: Manifest) -> None:
    """Load the documents of the generation as a server does, so that a malformed document fails here.

    Raises:
        ValueError, …: a document has another shape.
    """
    for name in (register_sources.SOURCES, groups.GROUP_SOURCES):
        if name in manifest.files:
            register_sources.load((staged / name).read_bytes())
    if groups.GROUPS in manifest.files:
        groups.check_values(groups.read(staged / groups.GROUPS))
        if groups.GROUP_SOURCES not in manifest.files:
            raise KeyError(groups.GROUP_SOURCES)
    if generation_files.MARKET in manifest.files:
        market.load_figures((staged / generation_files.MARKET).read_bytes(), manifest)
    if generation_files.QUALITY in manifest.files:
        report = orjson.loads((staged / generation_files.QUALITY).read_bytes())
        for country in report.get("pays", {}).values():
            for number in country.get("renseignees", {}).values():
                if type(number) is not int:
                    raise TypeError(f"{number!r} is not a number of companies")


def _has_new_objections(data: Path, staged: Path, manifest: Manifest) -> bool:
    """Whether the report counts more objections of persons than the report of the published generation."""
    published = pointer.current_name(data)
    if published is None or not manifest.counts.keys() & _objections(staged).keys():
        return False
    objections_before = _objections(data / published)
    return any(
        number > objections_before.get(iso2, {}).get(kind, 0)
        for iso2, counts in _objections(staged).items()
        if iso2 in manifest.counts
        for kind, number in counts.items()
    )


def _objections(folder: Path) -> Mapping[str, Mapping[str, int]]:
    """The numbers of values left out by objections, by country and kind; empty if the report is damaged."""
    try:
        report = orjson.loads((folder / generation_files.QUALITY).read_bytes())
        return {
            iso2: {kind: int(number) for kind, number in country.get("oppositions", {}).items()}
            for iso2, country in report.get("pays", {}).items()
        }
    except (AttributeError, OSError, TypeError, ValueError):
        # An absent file, no JSON, or JSON of another shape.
        return {}


def _forget_if_withdrawn(data: Path) -> None:
    """After new objections, remove everything except the published generation.

    A mirror does not know whose values are withdrawn, so it removes all changes from older generations.
    """
    if not (data / BLOBS / _WITHDRAWN).exists():
        return
    shutil.rmtree(data / change_steps.FOLDER, ignore_errors=True)
    publication.keep_published(data)
    (data / BLOBS / _WITHDRAWN).unlink()


@contextmanager
def _translate_errors(generation: str) -> Iterator[None]:
    """Translate errors into SyncError for documents that have the right digest but malformed content."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SyncError(
            f"the lists of generation {generation} cannot be understood ({error!r}); build it again"
        ) from error


# -- documents of the source, before they are used ---------------------------------------------


# After these checks, names are file names without a folder, and digests and sizes are valid. So no text of a source
# becomes a path with folders.


def checked_pointer(packed: bytes, where: str) -> str:
    """The generation that CURRENT of a source names.

    Raises:
        FaultError: the bytes are no CURRENT.
    """
    try:
        name: object = orjson.loads(packed)["generation"]
    except (KeyError, TypeError, ValueError) as error:
        raise FaultError(f"{where} is not a CURRENT of a folder DATA: {error}") from error
    if not is_name(name):
        raise FaultError(f"{where} names the generation {name!r}, which is not a valid name")
    return name


def checked_manifest(packed: bytes, generation: str, where: str) -> Manifest:
    """The manifest of `generation` that these bytes encode.

    Raises:
        FaultError: the bytes are another manifest or no manifest, maybe because they were damaged in transit.
        SyncError: the manifest is authentic, but has an invalid file name, size or digest, or lacks a file.
    """
    try:
        manifest = manifests.load(packed, Path(where))
    except ShardError as error:
        # A manifest that matches its name was not damaged in transit, so fetching it again would not help.
        if isinstance(error, CorruptError) and manifests.name_of(packed) == generation:
            raise SyncError(f"{error}; {_REMEDY}") from error
        raise FaultError(f"the source cannot be mirrored: {error}") from error
    if manifest.generation != generation:
        raise FaultError(f"{where} is the manifest of {manifest.generation}, not of {generation}")
    if len(manifest.files) > MOST_FILES:
        raise SyncError(
            f"{where} names {len(manifest.files)} files, and the maximum is {MOST_FILES}; {_REMEDY}"
        )
    for name, file in manifest.files.items():
        # Anyone can write a manifest with a correct name, so its content is checked as well.
        if (
            name == MANIFEST
            or not _FILE_NAME.fullmatch(name)
            or not _is_valid_entry(file.size, file.blake3)
        ):
            raise SyncError(
                f"{where} names a file {name!r} ({file}), which is not valid; {_REMEDY}"
            )
    needed = {REFERENCE, *(shard_name(iso2) for iso2 in manifest.counts)}
    if absent := needed - set(manifest.files):
        raise SyncError(
            f"{where} does not list {', '.join(sorted(absent))}, so it cannot be used; {_REMEDY}"
        )
    return manifest


def _is_valid_entry(size: object, blake3: object) -> bool:
    """Whether the size and the digest of a file in a manifest are valid."""
    return (
        type(size) is int
        and 0 <= size < 1 << 63
        and isinstance(blake3, str)
        and _DIGEST.fullmatch(blake3) is not None
    )
