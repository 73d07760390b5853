"""An open generation: its shards, the words that callers may use, its caches and its threads.

The caches have values that depend only on the generation, and are closed with it: parsed searches, the bodies of public
lists, open files of changes. The threads read its shards.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from serve.contract import parameters
from serve.contract.errors import ApiError
from serve.contract.parameters import VERSION, Parameter
from serve.generation import country_sources
from serve.generation.country_sources import CountrySources
from serve.request import place_names, reader
from serve.request.place_names import PlaceNames
from serve.request.reader import Pairs, ParsedParameters
from shards.analyses import market
from shards.analyses.market import MarketFigures
from shards.changes import change_file
from shards.changes.change_file import ChangeFile
from shards.changes.net_changes import CompanyMemo
from shards.generations import change_steps, generation_files, groups, register_sources
from shards.generations.change_steps import ChangeStep
from shards.generations.generation_files import Generation
from shards.generations.groups import Groups
from shards.generations.reference import Reference
from shards.generations.register_sources import RegisterImport
from shards.query import Query
from shards.ratios.distribution import Quantiles
from shards.search.search import ShardSet

T = TypeVar("T")

# The most parsed searches in the cache, and the most characters of a value of such a search: a few megabytes at most.
_MOST_SEARCHES: Final = 1_024
_LONGEST_VALUE: Final = 200

# The most bodies of public lists in the cache: the common scopes, about 15 kB each.
_MOST_DOCUMENTS: Final = 64

# A search with a higher estimate runs in a thread, so that other requests do not wait for it. The compiled search
# releases Python's lock, so threads run at the same time as the event loop. There is one thread more than a small
# machine has processors: lists use at most two, so a thread is left for searches.
EXPENSIVE_MICROSECONDS: Final = 1_000.0
THREADS: Final = 3
# The nice value of the thread that callers without an account share. It is not the lowest priority, since the thread
# holds Python's lock at times, and others wait for the lock. Linux has a nice value for each thread.
VISITS_NICE: Final = 5

# Whether the current task answers a caller without an account (serve/access/loop_guard.py).
VISIT: Final[ContextVar[bool]] = ContextVar("visit", default=False)


class GroupsRead(NamedTuple):
    """The groups of companies of a generation, and the imports from which the relationships come."""

    groups: Groups
    imports: Sequence[RegisterImport]


@dataclass(frozen=True, slots=True)
class OpenGeneration:
    """Everything that changes when a new generation is published. A request uses a single generation.

    Attributes:
        market: the market figures of all companies; None if the build has not written them, or their file is damaged.
        names: the words that callers may send for its countries and sectors.
        sources: the sources of the companies, by country.
        steps: the known changes from one generation to another (`/modifications`), by the id of the generation
            from which a step starts.
        peers: a cache of quantiles, by country, sector and ratio.
        markets: a cache of recent market analyses with no filters other than countries and sectors.
        changed_companies: a cache of the companies that changed in several steps.
    """

    generation: Generation
    market: MarketFigures | None
    names: PlaceNames
    sources: Mapping[str, CountrySources]
    # Reads the parameters of a search, or returns them from a cache.
    _read: Callable[[tuple[tuple[str, str], ...]], ParsedParameters]
    steps: Mapping[str, Sequence[ChangeStep]] = field(default_factory=dict)
    peers: dict[tuple[str, str, str], Quantiles] = field(default_factory=dict)
    markets: dict[Query, Any] = field(default_factory=dict)
    changed_companies: CompanyMemo = field(default_factory=CompanyMemo)
    # The cached values of `get_or_make`, by key.
    _documents: dict[Hashable, Any] = field(default_factory=dict)
    # The previous generation by its id, if it is open: requests may still name it.
    _previous: dict[str, "OpenGeneration"] = field(default_factory=dict)
    # The open files of `changes`, by the folder of the step, and by country and direction.
    _changes: dict[tuple[Path, str], ChangeFile] = field(default_factory=dict)
    # The thread that callers without an account share.
    _visits: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, initializer=lambda: os.nice(VISITS_NICE))
    )
    # Long jobs, such as the matching of a list, run while they hold this semaphore: one job at a time.
    _lists: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    # The jobs of `run` and `run_long` that have not ended.
    _running: "set[asyncio.Future[Any]]" = field(default_factory=set)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS))

    @property
    def id(self) -> str:
        """The digest that names the generation."""
        return self.generation.id

    @property
    def publication_time(self) -> datetime:
        """The time at which the files of the generation were written on this host (UTC)."""
        manifest = self.generation.folder / generation_files.MANIFEST
        return datetime.fromtimestamp(manifest.stat().st_mtime, UTC)

    @property
    def reference(self) -> Reference:
        """The countries, sectors and sub-sectors with their numbers of companies."""
        return self.generation.reference

    @property
    def shards(self) -> ShardSet:
        """The open shards by country."""
        return self.generation.shards

    def pinned_to(self, version: str | None) -> "OpenGeneration":
        """The generation with the id `version` (G10): this generation, or the previous one.

        Raises:
            ApiError: 409 `version_expiree`: the generation is no longer open.
        """
        if version is None or version == self.id:
            return self
        previous = self._previous.get(version)
        if previous is None:
            raise ApiError("version_expiree", version=version, versions=[self.id, *self._previous])
        return previous

    def pinned_by(self, pairs: Pairs) -> "OpenGeneration":
        """The generation for a request whose only parameter is `version`.

        Raises:
            ApiError: 400; 409 for a `version` that is no longer open.
        """
        return self.pinned_to(reader.read(pairs, parameters.PINNED, self.names).version)

    def read(
        self, pairs: Pairs, declared: tuple[Parameter, ...], accepted: str | None = None
    ) -> "tuple[OpenGeneration, ParsedParameters]":
        """The generation that a request names, and the parameters, read with the words of that generation.

        The generation is chosen first, since each generation has its own legal forms.

        Args:
            accepted: the header Accept of a request for a file.

        Raises:
            ApiError: 400; 406; 409 for a `version` that is no longer open.
        """
        chosen = self
        for name, value in pairs if self._previous else ():
            if name == VERSION.name and value.strip() in self._previous:
                chosen = self._previous[value.strip()]
                break
        if declared is parameters.SEARCH:
            parsed = chosen.search(pairs)
        else:
            parsed = reader.read(pairs, declared, chosen.names, accepted)
        return chosen.pinned_to(parsed.version), parsed

    @property
    def groups(self) -> GroupsRead:
        """The groups of companies, and their sources (X12)."""
        return self.get_or_make("groups", lambda: _read_groups(self.generation))

    @property
    def newest_year(self) -> int:
        """The newest year of the data of all countries; computed once if the build has not written it."""
        if self.market is not None:
            return self.market.newest
        return self.get_or_make("newest year", lambda: market.newest_year(self.shards))

    def set_previous(self, previous: "OpenGeneration | None") -> None:
        """Let requests name `previous`, which must stay open as long as this generation."""
        self._previous.clear()
        if previous is not None:
            self._previous[previous.id] = previous

    def changes(self, step: ChangeStep, iso2: str) -> ChangeFile:
        """The open file of the changes of a step in a country.

        Raises:
            ShardError: the file is damaged.
            FileNotFoundError: the step was removed.
        """
        key = (step.folder, f"{iso2} {step.backwards}")
        changes = self._changes.get(key)
        if changes is None:
            changes = self._changes[key] = change_file.open_step(step, iso2)
        return changes

    def search(self, pairs: Pairs) -> ParsedParameters:
        """Read the parameters of a search, with a cache: parsing would take most of the time of a 304.

        Raises:
            ApiError: 400.
        """
        if len(pairs) > len(parameters.SEARCH) or any(
            len(value) > _LONGEST_VALUE for _, value in pairs
        ):
            return reader.read(pairs, parameters.SEARCH, self.names)
        return self._read(tuple(pairs))

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made by `make` and then cached if there is room."""
        value: T | None = self._documents.get(key)
        if value is None:
            value = make()
            if len(self._documents) < _MOST_DOCUMENTS:
                self._documents[key] = value
        return value

    def peek(self, key: Hashable) -> Any:
        """The cached value of `get_or_make`; None if there is none."""
        return self._documents.get(key)

    async def run(self, cost: float, make: Callable[[], T]) -> T:
        """Run `make`, in a thread if its `cost` in microseconds is high.

        A cancelled caller still waits for the thread, which cannot be stopped: the generation must stay leased while
        the thread reads.
        """
        if cost < EXPENSIVE_MICROSECONDS:
            return make()
        return await self._run_in_thread(make)

    async def _run_in_thread(self, make: Callable[[], T]) -> T:
        """Run `make` in a thread; the calls of visitors share one thread, which has a lower priority."""
        return await run_in(self._visits if VISIT.get() else self._threads, make, self._running)

    async def run_long(self, make: Callable[[], T]) -> T:
        """Run a long job in a thread. Long jobs use one thread at a time, so that the other threads are left for
        searches."""
        if VISIT.get():  # visitors share one thread already, and other jobs must not wait for it
            return await self._run_in_thread(make)
        async with self._lists:
            return await self._run_in_thread(make)

    async def run_long_jobs(self, jobs: Iterator[Callable[[], T]]) -> list[T]:
        """Run long jobs one after the other, or two at a time while no thread is busy; return their results.

        A third thread is left for a search.
        """
        results: list[T] = []
        for job in jobs:
            awaitables = [self.run_long(job)]
            if not self._running and (second_job := next(jobs, None)) is not None:
                # `run_long` would wait for the end of `job`. This cost makes `run` use another thread now.
                awaitables.append(self.run(EXPENSIVE_MICROSECONDS, second_job))
            # Wait for all jobs before raising: the generation must stay leased until they finish.
            outcomes = await asyncio.gather(*awaitables, return_exceptions=True)
            for result in outcomes:
                if isinstance(result, BaseException):
                    raise result
                results.append(result)
        return results

    def run_in_free_threads(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """Run jobs for a caller that already runs in a thread, and return the results.

        The first job runs in the caller's thread, the others in free threads; a job without a free thread runs in the
        caller's thread too. All jobs have ended when this method returns or raises. Visitors, who share one thread, do
        not use this method.
        """
        first_job, *other_jobs = jobs
        futures = [self._threads.submit(job) for job in other_jobs]
        try:
            results = [first_job()]
            for job, future in zip(other_jobs, futures, strict=True):
                results.append(job() if future.cancel() else future.result())
            return results
        finally:
            wait([future for future in futures if not future.cancel()])

    def close(self) -> None:
        """Wait for the threads, then close every file."""
        self._threads.shutdown()
        self._visits.shutdown()
        for changes in self._changes.values():
            changes.close()
        self.generation.close()


async def run_in(
    threads: ThreadPoolExecutor,
    make: Callable[[], T],
    running: "set[asyncio.Future[Any]] | None" = None,
) -> T:
    """Run `make` in a thread; its future is in `running` until it ends.

    If the caller is cancelled, a job that has not begun is cancelled too; the caller waits for a job that has begun.
    """
    job = threads.submit(make)
    future = asyncio.wrap_future(job)
    if running is not None:
        running.add(future)
        future.add_done_callback(running.discard)
    try:
        return await asyncio.shield(future)
    finally:
        job.cancel()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue


def _read_groups(generation: Generation) -> GroupsRead:
    """Read the groups of a generation; none if the generation has no file of groups."""
    file_names, folder = generation.manifest.files, generation.folder
    if groups.GROUPS not in file_names:
        return GroupsRead(groups.NO_GROUPS, ())
    sources = register_sources.load((folder / groups.GROUP_SOURCES).read_bytes())
    imports = [source_import for entries in sources.values() for source_import in entries]
    return GroupsRead(groups.read(folder / groups.GROUPS), imports)


def _legal_forms(generation: Generation) -> frozenset[str]:
    """The legal forms (`forme`) of the companies of a generation: the values of the filter (extensions X2)."""
    lists = [shard.code_texts("forme") for shard in generation.shards.values()]
    return frozenset(formes[code].decode() for formes in lists for code in range(len(formes)))


def load(data: Path, generation: str, without: Collection[str] = ()) -> OpenGeneration:
    """Open a generation of `data`, without the shards of some countries.

    Raises:
        ShardError: the generation is absent, incomplete, or of another format.
        ValueError: its sources or its quality report are damaged.
    """
    opened = generation_files.load(data, generation, without)
    try:
        names = place_names.read(opened.reference, _legal_forms(opened))
        sources = country_sources.read(opened)
        figures = market.read_stored(opened.folder, opened.manifest)
    except BaseException:
        opened.close()
        raise
    read_search = lru_cache(_MOST_SEARCHES)(
        lambda pairs: reader.read(pairs, parameters.SEARCH, names)
    )
    return OpenGeneration(opened, figures, names, sources, read_search, change_steps.steps(data))
