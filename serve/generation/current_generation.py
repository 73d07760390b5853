"""The served generation, and its replacement by the next generation.

DATA/CURRENT is checked every second, and at once on SIGHUP. A new generation is compared with its manifest, every byte
of it; then it is opened and takes the place of the old generation. A request has a lease on a generation, so it sees
the old generation or the new one, not both, and does not wait for the change. The previous generation stays open for
clients that page through it (G10); an older one is closed when its last lease ends. A damaged generation is refused:
the fault is logged once, /readyz and /metrics report it, and the old generation stays in service.

The first generation after a start is opened before all of it is read, so that the server is ready at once. It is
compared with its manifest while it is read ahead (serve/process/read_ahead.py). This comparison, or a search, can find
a damaged shard. A damaged shard is no longer served: another generation of CURRENT takes the place of its generation,
or, if all generations have damaged shards, the newest is served without its damaged shards. The sizes of the shards are
checked every second, since a mapped file that shrinks kills the process that reads it.

STATE/damaged.json lists the damaged files for all workers of a server, and for the next start: one worker reads ahead,
and the others read its findings there. A file is identified by its device, inode, size and modification time, so a
repaired file is a different file.

Generations are compared, opened and closed in threads or another process. All other code runs on the event loop, so
there are no locks.
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

POLL_SECONDS: Final = 1.0  # between two checks of CURRENT and of the open shards
# Reported as the refused generation if CURRENT itself cannot be read.
UNREADABLE: Final = "illisible"

DAMAGED: Final = "damaged.json"  # in STATE: the list of damaged files

_log: Final = logging.getLogger("serve.generation.current_generation")

# Inode, size and modification time of CURRENT: they show a change of the file before it is read.
_Signature = tuple[int, int, int]

# Returns the files that do not have the expected digest; the argument is the expected digest (BLAKE3) by path.
CompareFiles = Callable[[Mapping[Path, str]], Awaitable[Sequence[Path]]]

# The exceptions that opening a generation raises if its files are wrong, or its lists are of another version.
_OPENING_ERRORS: Final = (ShardError, OSError, ValueError, TypeError, LookupError, AttributeError)

# Device, inode, size and modification time of a file.
_Identity = tuple[int, int, int, int]


class GenerationStatus(NamedTuple):
    """The generations that a process serves and refuses.

    Attributes:
        generation: the current generation, or None.
        previous: the previous generation, which requests may still name, or None.
        since: the publication time of the current generation; if it is not the published one, the time of its files.
        refused: the published generation, if it is damaged and another one is served.
        missing: the countries of the current generation with damaged shards; requests for them get a 503.
        pid: the id of the process.
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
        """Begin without users; a `retired` generation gets no new users and is closed after the last one."""
        self.generation = generation
        self.users = 0
        self.retired = False

    def retire(self) -> None:
        """Close the generation, now or when its last request is done."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self) -> None:
        """Close the generation in a thread if it is retired and no request uses it."""
        if self.retired and not self.users:
            # A thread closes it: its own threads may still work, and unmapping gigabytes takes tenths of a second.
            Thread(target=self.generation.close, name="close").start()


class _Lease:
    """Keeps the current and the previous generation open within its block."""

    __slots__ = ("_open",)

    def __init__(self, *leased: _RefCounted) -> None:
        """Prepare a lease of these generations; the first is the current one."""
        self._open = leased

    def __enter__(self) -> OpenGeneration:
        """Count a user of each generation, so that they stay open; returns the current generation."""
        for entry in self._open:
            entry.users += 1
        return self._open[0].generation

    def __exit__(self, *_: object) -> None:
        """Remove the user; a retired generation is closed with its last user."""
        for entry in self._open:
            entry.users -= 1
            entry.close_if_done()


class DamageList:
    """The list of damaged files in a STATE folder; without a folder, the files that this process has reported."""

    def __init__(self, state: Path | None) -> None:
        """Begin with no damaged files; with a STATE folder, the list is shared in its file DAMAGED."""
        self._shared_file = state / DAMAGED if state else None
        # The identity of `_shared_file` when it was last read: another identity means that the list has changed.
        self._identity_at_last_read: _Identity | None = None
        self._damaged_files: set[_Identity] = set()

    def add(self, path: Path) -> None:
        """List the file at `path`; any thread may call this."""
        self._damaged_files.add(_identity(path))
        self._save()

    def clear(self) -> None:
        """Clear the list: all files have been compared again, and none is damaged."""
        if self._damaged_files:
            self._damaged_files = set()
            self._save()

    def countries(self, folder: Path, manifest: Manifest, among: Iterable[str]) -> frozenset[str]:
        """The countries of `among` whose shards in `folder` are damaged: listed, missing, or of a wrong size."""
        self._load()
        damaged_countries = set()
        for iso2 in among:
            name = shard_name(iso2)
            try:
                identity = _identity(folder / name)
            except OSError:
                damaged_countries.add(iso2)
                continue
            # identity[2] is the size of the file.
            if identity in self._damaged_files or identity[2] != manifest.files[name].size:
                damaged_countries.add(iso2)
        return frozenset(damaged_countries)

    def _load(self) -> None:
        """Read the list of damaged files in STATE, which another worker may have changed, into `_damaged_files`."""
        if self._shared_file is None:
            return
        try:
            identity = _identity(self._shared_file)
            if identity != self._identity_at_last_read:
                self._damaged_files = set(map(tuple, orjson.loads(self._shared_file.read_bytes())))
                self._identity_at_last_read = identity
        except FileNotFoundError:
            pass
        except (OSError, TypeError, ValueError) as error:
            self._identity_at_last_read = None
            _log.error("%s cannot be read, remove it: %s", self._shared_file, error)

    def _save(self) -> None:
        """Write the list of damaged files to STATE, for other workers and the next start; a failure is only logged."""
        if self._shared_file is None:
            return
        try:
            atomic_files.write(self._shared_file, orjson.dumps(sorted(self._damaged_files)))
        except OSError as error:  # such as a full disk; this process still has the list in memory
            _log.error(
                "the list of damaged files cannot be shared with other workers: %s; give STATE space and write access",
                error,
            )


def _identity(path: Path) -> _Identity:
    """The device, inode, size and modification time of a file; a repaired file has other values."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class CurrentGeneration:
    """Opens and replaces the generation that DATA/CURRENT names, from `start` to `close`."""

    def __init__(self, data: Path, state: Path | None = None) -> None:
        """Prepare to follow the generations of the folder DATA; nothing is opened before `start`.

        Args:
            state: the folder with the list of damaged files that the workers share; None for a list of this process.
        """
        self._data = data
        self._damage = DamageList(state)
        self._on_unchecked: Callable[[Generation], None] | None = None  # set by `on_unchecked`
        # Set by `prepare_with`: prepares a generation before it is served.
        self._prepare: Callable[[OpenGeneration], Awaitable[object]] | None = None
        # Damaged generations that are served because no other can be opened.
        self._left_open: list[str] = []
        self._open: tuple[_RefCounted, ...] = ()  # the current generation, then the previous one
        # The previous generation that CURRENT names, open or not.
        self._published_previous: str | None = None
        self._last_signature: _Signature | None = None  # of CURRENT, when it was last read
        self._wake = asyncio.Event()  # set at SIGHUP
        # The attributes of the same names in `GenerationStatus`.
        self._since: datetime | None = None
        self._refused: str | None = None
        self._compare_files: CompareFiles | None = None
        self.is_reading = False  # reported by `status`; set by the reader

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
        """The sources of the current generation by country; empty while no generation is served."""
        return self._open[0].generation.sources if self._open else {}

    @property
    def status(self) -> GenerationStatus:
        """The status of the generations; any thread may call this."""
        # None stands for a generation that is not open.
        current, previous, *_ = (*(entry.generation.id for entry in self._open), None, None)
        missing = tuple(sorted(self._missing_countries))
        return GenerationStatus(
            current, previous, self._since, self._refused, missing, os.getpid(), self.is_reading
        )

    @property
    def damage(self) -> DamageList:
        """The list of damaged files."""
        return self._damage

    @property
    def _missing_countries(self) -> frozenset[str]:
        """The countries of the current generation whose damaged shards are not served."""
        return self._open[0].generation.shards.missing if self._open else frozenset()

    def lease(self) -> AbstractContextManager[OpenGeneration]:
        """Lease the current generation for a request; it stays open until the lease ends.

        Raises:
            ApiError: 503 `indisponible`: there is no generation yet (G9).
        """
        if not self._open:
            raise ApiError("indisponible", "sans_generation")
        return _Lease(*self._open)

    def start(self, *, compare_first: bool = False) -> None:
        """Open the published generation, if there is one, without reading all of it.

        Args:
            compare_first: compare the shards with their digests first; reading a damaged shard can kill the process.
        """
        self._last_signature = _signature(self._data)
        try:
            published = pointer.read(self._data)
            if published is None:
                _log.warning(
                    "nothing is published in %s yet; `python -m pipeline build` or `shards sync` publishes there",
                    self._data,
                )
                return
            if compare_first:
                self._list_damaged(published)
            self._open_best(published)
        except _OPENING_ERRORS as error:
            self._refused = UNREADABLE
            _log.error("nothing is served: %s", error)

    def on_unchecked(self, check: Callable[[Generation], None]) -> None:
        """Call `check` with each generation that is served before its files were read and compared.

        `check` is called with the present generation now, and with each later one when it is served.
        """
        self._on_unchecked = check
        if self._open:
            check(self._open[0].generation.generation)

    def prepare_with(self, prepare: Callable[[OpenGeneration], Awaitable[object]]) -> None:
        """Await `prepare` with each later generation before it is served; an exception refuses the generation."""
        self._prepare = prepare

    def compare_with(self, compare: CompareFiles) -> None:
        """Use `compare`, instead of a thread, to compare the files of later generations with their digests."""
        self._compare_files = compare

    async def follow(self) -> None:
        """Replace the generation whenever CURRENT changes, until cancelled.

        CURRENT is read every POLL_SECONDS, when damaged shards are left as well, and at SIGHUP.
        """
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
        """Open the generation that CURRENT names, if CURRENT has changed; a damaged generation is refused and logged.

        Args:
            again: check even if CURRENT has not changed, so that a repaired generation is opened.
        """
        signature = _signature(self._data)
        # Without CURRENT, the open generation stays in service.
        if signature is None or (signature == self._last_signature and not again):
            return
        self._last_signature = signature
        published: Pointer | None = None
        try:
            published = pointer.read(self._data)
            if published is not None and (
                published.generation != self.generation or self._missing_countries
            ):
                new_generation = await self._open_verified(published.generation)
                await self._prepare_or_close(new_generation)
                previous = await self._open_previous(published.previous)
                self._damage.clear()
                self._swap(published, _RefCounted(new_generation), previous)
            elif published is not None and published.previous != self._published_previous:
                # Only `previous` has changed, because a person has objected: the withdrawn generations are closed at
                # once, and the files of changes, which have been replaced, are opened again.
                self._open_best(published)
            self._refused = None
        except _OPENING_ERRORS as error:
            self._refused = published.generation if published else UNREADABLE
            _log.error(
                "the published generation is refused, %s is still served: %s",
                self.generation,
                error,
            )

    async def _open_verified(self, name: str) -> OpenGeneration:
        """Open a generation after comparing every file with its digest in the manifest.

        The function that `compare_with` has set compares the files; without it, or if it fails, this process does.

        Raises:
            CorruptError: a file differs.
        """
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

    async def _prepare_or_close(self, new_generation: OpenGeneration) -> None:
        """Call the function of `prepare_with` for a generation; close the generation if the function fails."""
        try:
            if self._prepare:
                await self._prepare(new_generation)
        except BaseException:
            new_generation.close()
            raise

    def leave_damaged(self) -> None:
        """Add the shards that a search found damaged to the list, and stop serving them.

        Another generation, or the same without their countries, is opened; if none can be, they remain in use.
        """
        for entry in self._open:
            for path in sorted(entry.generation.shards.found_damaged):
                _log.error("%s is damaged, a search found it; %s", path, REMEDY)
                self._damage.add(Path(path))
            entry.generation.shards.found_damaged.clear()
        damaged = [entry.generation.id for entry in self._open if not self._is_undamaged(entry)]
        # Generations in `_left_open` stay open, because no other could be opened in their place.
        if not damaged or damaged == self._left_open:
            return
        self._left_open = []
        try:
            self._open_best(pointer.require(self._data))
        except _OPENING_ERRORS as error:
            self._left_open = damaged
            _log.error(
                "damaged shards are still served, because there is no other generation: %s", error
            )

    def _open_best(self, published: Pointer) -> None:
        """Serve the first undamaged generation of CURRENT, else the first one without its damaged shards.

        Raises:
            ShardError, OSError, ValueError, …: no generation can be opened; the error of the newest.
        """
        generations = published.generations
        failures: list[Exception] = []
        for partly in (False, True):
            for position, name in enumerate(generations):
                try:
                    new_generation = self._load(name, partly=partly)
                    # CURRENT has only the publication time of the first generation; an older one was published when its
                    # files were written.
                    published_at = (
                        published.published
                        if position == 0
                        else new_generation.publication_time.isoformat(timespec="seconds")
                    )
                    older = generations[position + 1 :]
                    next_older = next(iter(older), None)
                    previous = self._find_open(next_older) or self._load_previous(next_older)
                    self._swap(
                        Pointer(name, next_older, published_at),
                        _RefCounted(new_generation),
                        previous,
                    )
                except _OPENING_ERRORS as error:
                    _log.error("generation %s is refused: %s", name, error)
                    failures.append(error)
                    continue
                self._refused = published.generation if failures else None
                if self._on_unchecked:
                    self._on_unchecked(new_generation.generation)
                return
        self._refused = published.generation
        raise failures[0]

    def _load(self, name: str, *, partly: bool) -> OpenGeneration:
        """Open a generation; if `partly`, without its damaged shards, else only if no shard is damaged."""
        folder = self._data / name
        manifest = generation_files.read_manifest(folder)
        for file, entry in manifest.files.items():
            # The file MARKET (figures of sectors) is optional, and is compared with its digest when it is read.
            is_needed = not file.endswith(generation_files.SHARD) and file != MARKET
            if is_needed and not manifests.has_digest(folder / file, entry):
                raise CorruptError(f"{folder / file} is damaged; {REMEDY}")
        damaged = self._damage.countries(folder, manifest, manifest.counts)
        if partly:
            damaged |= generation_files.unreadable_countries(folder, damaged, manifest)
        if damaged and (not partly or len(damaged) == len(manifest.counts)):
            raise CorruptError(
                f"{folder}: damaged shards of {', '.join(sorted(damaged))}; {REMEDY}"
            )
        return open_generation.load(self._data, name, damaged)

    def _list_damaged(self, published: Pointer) -> None:
        """Compare the files of the published generation with their digests, and list the damaged files."""
        folder = self._data / published.generation
        for name, file in generation_files.read_manifest(folder).files.items():
            path = folder / name
            try:
                fault = "" if manifests.has_digest(path, file) else "is damaged"
            except FileNotFoundError:  # a missing file has no identity to list
                continue
            except OSError as error:
                fault = f"cannot be read ({error.strerror})"
            if fault:
                _log.error("%s %s; %s", path, fault, REMEDY)
                self._damage.add(path)

    def _is_undamaged(self, entry: _RefCounted) -> bool:
        """Whether none of the open shards of a generation is listed as damaged."""
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

    def _find_open(self, name: str | None) -> list[_RefCounted]:
        """The generation with this id, alone in a list; an empty list if it is not open, or damaged."""
        return [
            entry
            for entry in self._open
            if entry.generation.id == name and self._is_undamaged(entry)
        ]

    async def _open_previous(self, name: str | None) -> list[_RefCounted]:
        """A list with the previous generation, which is opened in a thread unless it is open; [] if it cannot be."""
        return self._find_open(name) or await asyncio.to_thread(self._load_previous, name)

    def _swap(
        self, published: Pointer, new_entry: _RefCounted, previous: list[_RefCounted]
    ) -> None:
        """Serve `new_entry`, keep the generations of `previous` open, and retire all others, which close after use."""
        old_entries = self._open
        new_entry.generation.set_previous(previous[0].generation if previous else None)
        self._open = (new_entry, *previous)
        self._published_previous = published.previous
        self._since = datetime.fromisoformat(published.published)
        _log.info("generation %s is served", new_entry.generation.id)
        for entry in old_entries:
            if entry not in previous:
                entry.retire()

    def _load_previous(self, generation: str | None) -> list[_RefCounted]:
        """The previous generation, newly opened, alone in a list; it is optional, so a failure gives an empty list."""
        if generation is None:
            return []
        try:
            return [_RefCounted(self._load(generation, partly=False))]
        except _OPENING_ERRORS as error:
            _log.warning("the previous generation cannot be served: %s", error)
            return []


def _verify_digests(folder: Path) -> None:
    """Compare the files of a generation with the digests of its manifest. Raises ShardError."""
    generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def _check_files(folder: Path) -> Manifest:
    """The manifest of a generation, after a check that the folder has exactly its files, with their sizes."""
    manifest = generation_files.read_manifest(folder)
    manifests.check_listed(folder, manifest.files, generation_files.MANIFEST)
    return manifest


def _open_compared(data: Path, generation: str) -> OpenGeneration:
    """Open a generation whose files have been compared; first compare the files of the changes to it."""
    for step in change_steps.folders(data):
        if step.name.endswith(f"-{generation}"):
            change_steps.verify(step)
    return open_generation.load(data, generation)


def _signature(data: Path) -> _Signature | None:
    """The inode, size and modification time of CURRENT, which show a change; None if there is no CURRENT."""
    try:
        stat = (data / pointer.CURRENT).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
