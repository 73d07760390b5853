"""An open generation: its shards, the words that callers may use for them, and its caches.

The caches hold values that depend on the generation alone, and are closed with it: parsed searches,
the bodies of the public lists, open files of changes. Its threads read its shards.
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

# Parsed searches that are remembered, if their values are short: a few megabytes at most.
_REMEMBERED: Final = 1_024
_LONGEST: Final = 200

# Bodies of public lists that are remembered: the common scopes, some 15 kB each.
_DOCUMENTS: Final = 64

# A search that may take longer runs in a thread, so that other requests do not wait for it. The compiled search frees
# Python's lock, so such threads run beside the event loop. There are as many as a small machine has processors, and one
# more, so that lists, which take two where nothing else runs, always leave one to searches.
EXPENSIVE_MICROSECONDS: Final = 1_000.0
THREADS: Final = 3
# Callers without an account have one thread of a lower priority: they wait for one another, and never before others.
# It is not the lowest, since the thread has Python's lock at times, which others wait for. Linux has a nice value for
# each thread.
VISITS_NICE: Final = 5

# Whether the caller of the request that this task answers has no account (serve/access/loop_guard.py).
VISIT: Final[ContextVar[bool]] = ContextVar("visit", default=False)


class GroupsRead(NamedTuple):
    """The groups of a generation, and the imports that they come from."""

    groups: Groups
    imports: Sequence[RegisterImport]


@dataclass(frozen=True, slots=True)
class OpenGeneration:
    """Everything that changes when a new generation is published; a request uses one of them.

    Attributes:
        market: the figures of all its companies, where the build has written them and their file is whole.
        names: the words that callers may send for its countries and sectors.
        sources: where the companies of each country come from.
        steps: the known changes from one generation to another (`/modifications`), by the first.
        peers: quantiles of ratios by country, sector and ratio, as far as they were asked for.
        markets: analyses of markets without other filters than countries and sectors, of late.
        changed_companies: the companies that the steps of several generations changed, of late.
    """

    generation: Generation
    market: MarketFigures | None
    names: PlaceNames
    sources: Mapping[str, CountrySources]
    _read: Callable[[tuple[tuple[str, str], ...]], ParsedParameters]
    steps: Mapping[str, Sequence[ChangeStep]] = field(default_factory=dict)
    peers: dict[tuple[str, str, str], Quantiles] = field(default_factory=dict)
    markets: dict[Query, Any] = field(default_factory=dict)
    changed_companies: CompanyMemo = field(default_factory=CompanyMemo)
    _documents: dict[Hashable, Any] = field(default_factory=dict)
    _previous: dict[str, "OpenGeneration"] = field(default_factory=dict)
    _changes: dict[tuple[Path, str], ChangeFile] = field(default_factory=dict)
    _visits: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, initializer=lambda: os.nice(VISITS_NICE))
    )
    _lists: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _running: "set[asyncio.Future[Any]]" = field(default_factory=set)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS))

    @property
    def id(self) -> str:
        return self.generation.id

    @property
    def written_at(self) -> datetime:
        """The time at which its files were written here (UTC)."""
        manifest = self.generation.folder / generation_files.MANIFEST
        return datetime.fromtimestamp(manifest.stat().st_mtime, UTC)

    @property
    def reference(self) -> Reference:
        return self.generation.reference

    @property
    def shards(self) -> ShardSet:
        return self.generation.shards

    def at_version(self, version: str | None) -> "OpenGeneration":
        """The generation that a request names (G10): this one, or the previous one.

        Raises:
            ApiError: 409 `version_expiree`: the named one is not open any more.
        """
        if version is None or version == self.id:
            return self
        previous = self._previous.get(version)
        if previous is None:
            raise ApiError("version_expiree", version=version, versions=[self.id, *self._previous])
        return previous

    def at_version_of(self, pairs: Pairs) -> "OpenGeneration":
        """The generation that a request names whose only parameter is `version`.

        Raises:
            ApiError: 400; 409 for a `version` that is not open any more.
        """
        return self.at_version(reader.read(pairs, parameters.PINNED, self.names).version)

    def read(
        self, pairs: Pairs, declared: tuple[Parameter, ...], accepted: str | None = None
    ) -> "tuple[OpenGeneration, ParsedParameters]":
        """The generation that a request names, and its parameters as that generation understands them.

        It is chosen before they are checked, since each generation has legal forms of its own.

        Args:
            accepted: the header Accept, of a request for a file.

        Raises:
            ApiError: 400; 406; 409 for a `version` that is not open any more.
        """
        named = self
        for name, value in pairs if self._previous else ():
            if name == VERSION.name and value.strip() in self._previous:
                named = self._previous[value.strip()]
                break
        if declared is parameters.SEARCH:
            asked = named.search(pairs)
        else:
            asked = reader.read(pairs, declared, named.names, accepted)
        return named.at_version(asked.version), asked

    @property
    def groups(self) -> GroupsRead:
        """The groups of companies, and where they come from (X12)."""
        return self.get_or_make("groups", lambda: _groups(self.generation))

    @property
    def newest_year(self) -> int:
        """The last year of the data, that of all countries; counted once where the build has not written it."""
        if self.market is not None:
            return self.market.newest
        return self.get_or_make("newest year", lambda: market.newest_year(self.shards))

    def set_previous(self, previous: "OpenGeneration | None") -> None:
        """Let requests name `previous`, which stays open as long as this one is leased."""
        self._previous.clear()
        if previous is not None:
            self._previous[previous.id] = previous

    def changes(self, step: ChangeStep, iso2: str) -> ChangeFile:
        """The open file of what a step changed in a country.

        Raises:
            ShardError: the file is damaged.
            FileNotFoundError: the step was removed.
        """
        place = (step.folder, f"{iso2} {step.backwards}")
        found = self._changes.get(place)
        if found is None:
            found = self._changes[place] = change_file.of_step(step, iso2)
        return found

    def search(self, pairs: Pairs) -> ParsedParameters:
        """`reader.read` of a search with a memo: a 304 would spend most of its time parsing parameters.

        Raises:
            ApiError: 400.
        """
        if len(pairs) > len(parameters.SEARCH) or any(len(value) > _LONGEST for _, value in pairs):
            return reader.read(pairs, parameters.SEARCH, self.names)
        return self._read(tuple(pairs))

    def get_or_make(self, what: Hashable, make: Callable[[], T]) -> T:
        """The value that `what` determines, made once and kept while there is room."""
        found: T | None = self._documents.get(what)
        if found is None:
            found = make()
            if len(self._documents) < _DOCUMENTS:
                self._documents[what] = found
        return found

    def peek(self, what: Hashable) -> Any:
        """The value of `get_or_make` if it was made before, else None."""
        return self._documents.get(what)

    async def in_thread(self, cost: float, make: Callable[[], T]) -> T:
        """Run `make`, in a thread if its `cost` in microseconds is high.

        A cancelled caller still waits for the thread, which cannot be stopped: the lease of the caller
        must not end while the thread reads.
        """
        if cost < EXPENSIVE_MICROSECONDS:
            return make()
        return await self._in_thread(make)

    async def _in_thread(self, make: Callable[[], T]) -> T:
        return await run_in(self._visits if VISIT.get() else self._threads, make, self._running)

    async def in_shared_thread(self, make: Callable[[], T]) -> T:
        """Like `in_thread`, for long jobs: they share one thread, so that searches keep the others."""
        if VISIT.get():  # they share one already, and jobs of others must not wait for it
            return await self._in_thread(make)
        async with self._lists:
            return await self._in_thread(make)

    async def in_shared_threads(self, jobs: Iterator[Callable[[], T]]) -> list[T]:
        """The results of long jobs: one after the other as in `in_shared_thread`, two at a time while no thread works.

        A search that comes then finds the third thread.
        """
        results: list[T] = []
        for job in jobs:
            at_once = [self.in_shared_thread(job)]
            if not self._running and (other := next(jobs, None)) is not None:
                at_once.append(self.in_thread(EXPENSIVE_MICROSECONDS, other))
            # All of them end before an error is told: the lease of the caller must not end before.
            made = await asyncio.gather(*at_once, return_exceptions=True)
            for result in made:
                if isinstance(result, BaseException):
                    raise result
                results.append(result)
        return results

    def in_free_threads(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """The results of jobs of a caller that has a thread: all but the first run in another one, if one is free.

        All have ended when this returns or raises. It is not for visitors, who share one thread.
        """
        first, *others = jobs
        started = [self._threads.submit(job) for job in others]
        try:
            results = [first()]
            for job, future in zip(others, started, strict=True):
                results.append(job() if future.cancel() else future.result())
            return results
        finally:
            wait([future for future in started if not future.cancel()])

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
    """The result of `make` in a thread, which also a cancelled caller waits for; it is in `running` until then.

    Where the thread has not begun by then, it never does.
    """
    job = threads.submit(make)
    made = asyncio.wrap_future(job)
    if running is not None:
        running.add(made)
        made.add_done_callback(running.discard)
    try:
        return await asyncio.shield(made)
    finally:
        job.cancel()
        while not made.done():
            try:
                await asyncio.wait([made])
            except asyncio.CancelledError:
                continue


def _groups(generation: Generation) -> GroupsRead:
    known, folder = generation.manifest.files, generation.folder
    if groups.GROUPS not in known:
        return GroupsRead(groups.NO_GROUPS, ())
    sources = register_sources.load((folder / groups.GROUP_SOURCES).read_bytes())
    imports = [one for entries in sources.values() for one in entries]
    return GroupsRead(groups.read(folder / groups.GROUPS), imports)


def _legal_forms(generation: Generation) -> frozenset[str]:
    """The legal forms (`forme`) that its companies have, as the filter takes them (extensions X2)."""
    lists = [shard.code_texts("forme") for shard in generation.shards.values()]
    return frozenset(formes[place].decode() for formes in lists for place in range(len(formes)))


def load(data: Path, generation: str, without: Collection[str] = ()) -> OpenGeneration:
    """Open a generation of `data`, without the shards of some countries.

    Raises:
        ShardError: the generation is absent, not whole, or of another format.
        ValueError: its sources or its quality report are damaged.
    """
    opened = generation_files.load(data, generation, without)
    try:
        known = place_names.read(opened.reference, _legal_forms(opened))
        sources = country_sources.read(opened)
        figures = market.read_stored(opened.folder, opened.manifest)
    except BaseException:
        opened.close()
        raise
    read = lru_cache(_REMEMBERED)(lambda pairs: reader.read(pairs, parameters.SEARCH, known))
    return OpenGeneration(opened, figures, known, sources, read, change_steps.steps(data))
