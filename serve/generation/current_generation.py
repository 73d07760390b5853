"""The generation that is being served, and its replacement by the next one.

DATA/CURRENT is checked every second, and at once on SIGHUP. A thread reads a new generation whole and
compares it with its manifest; then it is opened and one reference is swapped. A request holds a lease
on one generation: it sees the old one or the new one, never both, and never waits. The previous
generation stays open for clients that page through it (G10); the one before that is closed when its
last lease ends. A damaged generation is refused: the fault is logged once, /readyz and /metrics
report it, and the old generation goes on serving.

The first generation after a start is opened without reading it whole, so that the server is ready at
once; it is compared with its manifest while it is read ahead (serve/process/read_ahead.py). A shard that
is found damaged, then or later, or by the search that gathers its arrays, is served no longer: a
generation that CURRENT still names takes the place of its own, or, if all of them have damaged shards,
the newest is served without these. The sizes of the shards are compared each second, since a file that
shrinks under its map ends the process that reads it.

STATE/damaged.json lists the files that were found damaged, for all workers of a server: one worker reads ahead, the
others learn from the list what it found, and so does the next start. A file is known by its inode, size and time of
change: a repaired file is another one, and so not damaged.

Generations are compared, opened and closed beside the event loop. All else runs on its thread, so there is no lock.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Final, NamedTuple

import orjson

from serve.contract.errors import ApiError
from serve.generation import open_generation
from serve.generation.country_sources import CountrySources
from serve.generation.open_generation import OpenGeneration
from shards.errors import REMEDY, CorruptError, ShardError
from shards.generations import atomic_files, change_steps, generation_files, pointer
from shards.generations import manifest as manifests
from shards.generations.generation_files import MARKET, Generation, shard_name
from shards.generations.manifest import Manifest
from shards.generations.pointer import Pointer

POLL_SECONDS: Final = 1.0
# Reported as the refused generation if CURRENT itself cannot be read.
UNREADABLE: Final = "illisible"

DAMAGED: Final = "damaged.json"

_log: Final = logging.getLogger("serve.generation.current_generation")

# Inode, size and time of change of CURRENT: they differ for another file, without reading it.
_Signature = tuple[int, int, int]

# The files that have other digests than these.
CompareFiles = Callable[[Mapping[Path, str]], Awaitable[Sequence[Path]]]

# Opening a generation raises these: its files are wrong, or its lists are of another version.
_REFUSED: Final = (ShardError, OSError, ValueError, TypeError, LookupError, AttributeError)

_Identity = tuple[int, int, int, int]


class GenerationStatus(NamedTuple):
    """The generations that one process serves and refuses at a moment.

    Attributes:
        generation: the current one, or None.
        previous: the one before it, which requests may still name, or None.
        since: the time at which the current one was published; of one that an older CURRENT named, that of its
            files.
        refused: the published one, if it is damaged and another one is therefore served.
        missing: the countries of the current one that are damaged, and so are answered with 503.
        pid: the process.
        is_reading: the shards are being read into memory after a start.
    """

    generation: str | None
    previous: str | None
    since: datetime | None
    refused: str | None
    missing: tuple[str, ...]
    pid: int
    is_reading: bool = False


class _RefCounted:
    """An open generation and the number of requests that use it."""

    __slots__ = ("generation", "retired", "users")

    def __init__(self, generation: OpenGeneration) -> None:
        self.generation = generation
        self.users = 0
        self.retired = False

    def retire(self) -> None:
        """Close the generation, now or when its last request is done."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self) -> None:
        if self.retired and not self.users:
            # Its threads may work on, and unmapping gigabytes takes tenths of a second.
            Thread(target=self.generation.close, name="close").start()


class _Lease:
    """Keeps the current generation open within its block, and the previous one."""

    __slots__ = ("_open",)

    def __init__(self, *leased: _RefCounted) -> None:
        self._open = leased

    def __enter__(self) -> OpenGeneration:
        for entry in self._open:
            entry.users += 1
        return self._open[0].generation

    def __exit__(self, *_: object) -> None:
        for entry in self._open:
            entry.users -= 1
            entry.close_if_done()


class DamageList:
    """The damaged files that a STATE folder lists; without a folder, those that this process found."""

    def __init__(self, state: Path | None) -> None:
        self._file = state / DAMAGED if state else None
        self._seen: _Identity | None = None
        self._known: set[_Identity] = set()

    def add(self, path: Path) -> None:
        """List the file at `path`; any thread may call this."""
        self._known.add(_identity(path))
        self._save()

    def clear(self) -> None:
        """Forget everything: the files were read again and are whole."""
        if self._known:
            self._known = set()
            self._save()

    def countries(self, folder: Path, manifest: Manifest, among: Iterable[str]) -> frozenset[str]:
        """The countries of these whose shards are listed, are missing or have another size."""
        self._load()
        damaged_countries = set()
        for iso2 in among:
            name = shard_name(iso2)
            try:
                identity = _identity(folder / name)
            except OSError:
                damaged_countries.add(iso2)
                continue
            if identity in self._known or identity[2] != manifest.files[name].size:
                damaged_countries.add(iso2)
        return frozenset(damaged_countries)

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            seen = _identity(self._file)
            if seen != self._seen:
                self._known = set(map(tuple, orjson.loads(self._file.read_bytes())))
                self._seen = seen
        except FileNotFoundError:
            pass
        except (OSError, TypeError, ValueError) as error:
            self._seen = None
            _log.error("%s cannot be read, remove it: %s", self._file, error)

    def _save(self) -> None:
        if self._file is None:
            return
        try:
            atomic_files.write(self._file, orjson.dumps(sorted(self._known)))
        except OSError as error:  # a full disk: this process knows it all the same
            _log.error(
                "other workers do not learn what is damaged: %s; give STATE space and write access",
                error,
            )


def _identity(path: Path) -> _Identity:
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class CurrentGeneration:
    """Opens and replaces the generation that DATA/CURRENT names, from `start` to `close`."""

    def __init__(self, data: Path, state: Path | None = None) -> None:
        """Follow DATA; `state` has the list of damaged files that the workers share."""
        self._data = data
        self._damage = DamageList(state)
        self._on_unread: Callable[[Generation], None] | None = None
        self._prepare: Callable[[OpenGeneration], Awaitable[object]] | None = None
        self._left_open: list[str] = []  # damaged, and nothing else can be served
        self._open: tuple[_RefCounted, ...] = ()  # the current one, then the previous one
        self._behind: str | None = None  # the previous one that CURRENT named, open or not
        self._seen: _Signature | None = None
        self._wake = asyncio.Event()
        self._since: datetime | None = None
        self._refused: str | None = None
        self._compare_files: CompareFiles | None = None
        self.is_reading = False  # reported by `status`; the one who reads sets it

    @property
    def data(self) -> Path:
        """The folder of generations."""
        return self._data

    @property
    def generation(self) -> str | None:
        """The id of the current generation, or None; any thread may call this."""
        return self.status.generation

    @property
    def sources(self) -> Mapping[str, CountrySources]:
        """The sources of the current generation by country; none while nothing is served."""
        return self._open[0].generation.sources if self._open else {}

    @property
    def status(self) -> GenerationStatus:
        """The status of the generations; any thread may call this."""
        current, previous, *_ = (*(entry.generation.id for entry in self._open), None, None)
        missing = tuple(sorted(self._missing_countries))
        return GenerationStatus(
            current, previous, self._since, self._refused, missing, os.getpid(), self.is_reading
        )

    @property
    def damage(self) -> DamageList:
        """The files that were found damaged."""
        return self._damage

    @property
    def _missing_countries(self) -> frozenset[str]:
        return self._open[0].generation.shards.missing if self._open else frozenset()

    def lease(self) -> AbstractContextManager[OpenGeneration]:
        """The current generation for one request; it stays open until the lease ends.

        Raises:
            ApiError: 503 `indisponible`: there is no generation yet (G9).
        """
        if not self._open:
            raise ApiError("indisponible", "sans_generation")
        return _Lease(*self._open)

    def start(self, *, doubted: bool = False) -> None:
        """Open the published generation, if there is one, without reading it whole.

        Args:
            doubted: compare the shards with their digests first, since reading them ended a process.
        """
        self._seen = _signature(self._data)
        try:
            published = pointer.read(self._data)
            if published is None:
                _log.warning(
                    "nothing is published in %s yet; `python -m pipeline build` or `shards sync` publishes there",
                    self._data,
                )
                return
            if doubted:
                self._compare(published)
            self._open_best(published)
        except _REFUSED as error:
            self._refused = UNREADABLE
            _log.error("nothing is served: %s", error)

    def read_unread(self, read: Callable[[Generation], None]) -> None:
        """Call `read` with each generation that is served without having been read whole, now and later."""
        self._on_unread = read
        if self._open:
            read(self._open[0].generation.generation)

    def prepare_with(self, prepare: Callable[[OpenGeneration], Awaitable[object]]) -> None:
        """Await `prepare` with each later generation before it is served; what it raises refuses it."""
        self._prepare = prepare

    def compare_with(self, compare: CompareFiles) -> None:
        """Have `compare` find the files of a later generation that differ from their digests, in place of a thread."""
        self._compare_files = compare

    async def follow(self) -> None:
        """Replace the generation whenever CURRENT changes, until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)
            except TimeoutError:
                self.leave_damaged()
                await self.refresh()
            else:
                self._wake.clear()
                await self.refresh(again=True)

    async def refresh(self, *, again: bool = False) -> None:
        """Open the generation that CURRENT names, if CURRENT has changed.

        Args:
            again: check even if it has not, so that a refused generation is opened once it has been
                repaired.
        """
        seen = _signature(self._data)
        # Without CURRENT, nothing changes: the files that are open stay whole.
        if seen is None or (seen == self._seen and not again):
            return
        self._seen = seen
        published: Pointer | None = None
        try:
            published = pointer.read(self._data)
            if published is not None and (
                published.generation != self.generation or self._missing_countries
            ):
                new = await self._open_verified(published.generation)
                await self._prepare_or_close(new)
                previous = await self._open_previous(published.previous)
                self._damage.clear()
                self._swap(published, _RefCounted(new), previous)
            elif published is not None and published.previous != self._behind:
                # A person has objected: what is withdrawn ends at once, files of changes are others now.
                self._open_best(published)
            self._refused = None
        except _REFUSED as error:
            self._refused = published.generation if published else UNREADABLE
            _log.error(
                "the published generation is refused, %s serves on: %s", self.generation, error
            )

    async def _open_verified(self, name: str) -> OpenGeneration:
        """Open a generation after comparing every byte with its manifest."""
        folder = self._data / name
        manifest = await asyncio.to_thread(_check_files, folder)
        digests = {folder / file: entry.blake3 for file, entry in manifest.files.items()}
        damaged: Sequence[Path] | None = None
        if self._compare_files is not None:
            try:
                damaged = await self._compare_files(digests)
            except OSError as error:
                _log.warning("the files of %s are compared in this process: %s", name, error)
        if damaged is None:
            await asyncio.to_thread(_verify_digests, folder)
        elif damaged:
            raise CorruptError(
                f"{damaged[0]} is not the file of the manifest (BLAKE3 differs); {REMEDY}"
            )
        return await asyncio.to_thread(_open_compared, self._data, name)

    async def _prepare_or_close(self, new: OpenGeneration) -> None:
        try:
            if self._prepare:
                await self._prepare(new)
        except BaseException:
            new.close()
            raise

    def leave_damaged(self) -> None:
        """Serve another generation, or fewer countries, if a shard that is open is damaged."""
        for entry in self._open:
            for path in sorted(entry.generation.shards.found_damaged):
                _log.error("%s is damaged, a search found it; %s", path, REMEDY)
                self._damage.add(Path(path))
            entry.generation.shards.found_damaged.clear()
        damaged = [entry.generation.id for entry in self._open if not self._is_whole(entry)]
        if not damaged or damaged == self._left_open:
            return
        self._left_open = []
        try:
            self._open_best(pointer.require(self._data))
        except _REFUSED as error:
            self._left_open = damaged
            _log.error("damaged shards are served on, as nothing else can be: %s", error)

    def _open_best(self, published: Pointer) -> None:
        """Serve the first generation of CURRENT that is whole, else the first without its damaged shards.

        Raises:
            ShardError, OSError, ValueError, …: none can be opened; the error is that of the newest.
        """
        kept = published.kept_generations
        failures: list[Exception] = []
        for partly in (False, True):
            for place, name in enumerate(kept):
                try:
                    new = self._load(name, partly=partly)
                    at = (
                        published.published
                        if place == 0
                        else new.written_at.isoformat(timespec="seconds")
                    )
                    behind = kept[place + 1 :]
                    follower = next(iter(behind), None)
                    previous = self._previous(follower) or self._load_previous(follower)
                    self._swap(Pointer(name, follower, at), _RefCounted(new), previous)
                except _REFUSED as error:
                    _log.error("generation %s is refused: %s", name, error)
                    failures.append(error)
                    continue
                self._refused = published.generation if failures else None
                if self._on_unread:
                    self._on_unread(new.generation)
                return
        self._refused = published.generation
        raise failures[0]

    def _load(self, name: str, *, partly: bool) -> OpenGeneration:
        """Open a generation, whole or, if `partly`, without its damaged shards."""
        folder = self._data / name
        manifest = generation_files.read_manifest(folder)
        for file, known in manifest.files.items():
            # The market is compared where it is read, and done without.
            is_needed = not file.endswith(generation_files.SHARD) and file != MARKET
            if is_needed and not manifests.has_digest(folder / file, known):
                raise CorruptError(f"{folder / file} is damaged; {REMEDY}")
        damaged = self._damage.countries(folder, manifest, manifest.counts)
        if partly:
            damaged |= generation_files.unreadable_countries(folder, damaged, manifest)
        if damaged and (not partly or len(damaged) == len(manifest.counts)):
            raise CorruptError(
                f"{folder}: damaged shards of {', '.join(sorted(damaged))}; {REMEDY}"
            )
        return open_generation.load(self._data, name, damaged)

    def _compare(self, published: Pointer) -> None:
        """Compare the shards of the published generation with their digests."""
        folder = self._data / published.generation
        for name, file in generation_files.read_manifest(folder).files.items():
            path = folder / name
            try:
                fault = "" if manifests.has_digest(path, file) else "is damaged"
            except FileNotFoundError:  # a missing file is no file that is listed
                continue
            except OSError as error:
                fault = f"cannot be read ({error.strerror})"
            if fault:
                _log.error("%s %s; %s", path, fault, REMEDY)
                self._damage.add(path)

    def _is_whole(self, entry: _RefCounted) -> bool:
        """Whether no shard that it has open is known to be damaged."""
        opened = entry.generation.generation
        return not self._damage.countries(opened.folder, opened.manifest, opened.shards)

    def wake(self) -> None:
        """Check CURRENT now (SIGHUP)."""
        self._wake.set()

    def close(self) -> None:
        """Close each generation, at once or when its last lease ends."""
        retired, self._open = self._open, ()
        for entry in retired:
            entry.retire()

    def _previous(self, name: str | None) -> list[_RefCounted]:
        """The generation of this name, if it is open and whole."""
        return [
            entry for entry in self._open if entry.generation.id == name and self._is_whole(entry)
        ]

    async def _open_previous(self, name: str | None) -> list[_RefCounted]:
        """The previous generation, opened in a thread unless it is open."""
        return self._previous(name) or await asyncio.to_thread(self._load_previous, name)

    def _swap(self, published: Pointer, new: _RefCounted, previous: list[_RefCounted]) -> None:
        """Serve `new`, and keep the generation open that was published before it."""
        old = self._open
        new.generation.set_previous(previous[0].generation if previous else None)
        self._open = (new, *previous)
        self._behind = published.previous
        self._since = datetime.fromisoformat(published.published)
        _log.info("generation %s is served", new.generation.id)
        for entry in old:
            if entry not in previous:
                entry.retire()

    def _load_previous(self, generation: str | None) -> list[_RefCounted]:
        """Open the previous generation if that is possible; a server can do without it."""
        if generation is None:
            return []
        try:
            return [_RefCounted(self._load(generation, partly=False))]
        except _REFUSED as error:
            _log.warning("the previous generation cannot be asked for: %s", error)
            return []


def _verify_digests(folder: Path) -> None:
    generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def _check_files(folder: Path) -> Manifest:
    """The manifest of a generation whose files are all there, of their sizes, and no others."""
    manifest = generation_files.read_manifest(folder)
    manifests.check_listed(folder, manifest.files, generation_files.MANIFEST)
    return manifest


def _open_compared(data: Path, generation: str) -> OpenGeneration:
    """Open a generation whose files were compared, after comparing the changes that led to it."""
    for step in change_steps.folders(data):
        if step.name.endswith(f"-{generation}"):
            change_steps.verify(step)
    return open_generation.load(data, generation)


def _signature(data: Path) -> _Signature | None:
    try:
        stat = (data / pointer.CURRENT).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
