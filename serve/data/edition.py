"""A generation as the server holds it: open shards, and the words that callers may use for them.

With it lives what follows from it and from nothing else: searches that were understood, the bodies
of the public lists, and the threads that read its shards.
"""

import asyncio
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from serve.contract import errors
from serve.request import params, place_names
from serve.request.params import Pairs, Search
from serve.request.place_names import PlaceNames
from shards.changes import change_steps
from shards.changes.change_file import ChangeFile
from shards.changes.change_steps import ChangeStep
from shards.generations import generation_files
from shards.generations.generation_files import Generation
from shards.generations.reference import Reference
from shards.search.search import Base

# MERGED serve/switching.py
# How long a thread that wants Python's lock waits before it is given it.
#
# Python lets it wait 5 ms. A search that was put aside gives the lock up at each large array, some
# hundred times, and would get it back after 5 ms each time while the event loop is busy: it hardly
# moved beside cheap searches. So while one runs the wait is shorter; else it stays as it is, for the
# writer of the counters needs the lock as often, and each hand-over costs (tests/bench/RESULTS.md).

# About half a cheap search; at a fifth of it hand-overs cost more than the waits.
FINE_SECONDS: Final = 50e-6


class Switching:
    """The interval of the process while some of its threads do dear work; for the event loop."""

    def __init__(self) -> None:
        self._running = 0
        self._usual = 0.0

    @contextmanager
    def fine(self) -> Iterator[None]:
        """Switch finely within the block, or until the last of several blocks ends."""
        if not self._running:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(FINE_SECONDS)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._usual)


# Python has one interval, whatever the number of editions.
PROCESS: Final = Switching()


T = TypeVar("T")

# Searches that are remembered, if their values are short: a few megabytes at most.
_REMEMBERED: Final = 1_024
_LONGEST: Final = 200

# Bodies of public lists that are kept: the common scopes, some 15 kB each.
_DOCUMENTS: Final = 64

# A search that may take longer is made in a thread, so that the others do not wait for it; the two
# take turns under Python's lock (serve/data/edition.py). More threads would only take more turns.
DEAR_MICROSECONDS: Final = 2_000.0
THREADS: Final = 2


@dataclass(frozen=True, slots=True)
class OpenGeneration:
    """Everything that changes when a new generation is published; never mixed with another.

    Attributes:
        steps: the ways from one generation to another that are known (`/modifications`).
    """

    generation: Generation
    names: PlaceNames
    _read: Callable[[tuple[tuple[str, str], ...]], Search]
    steps: Mapping[str, Sequence[ChangeStep]] = field(default_factory=dict)
    _documents: dict[Hashable, Any] = field(default_factory=dict)
    _others: dict[str, "OpenGeneration"] = field(default_factory=dict)
    _changes: dict[tuple[Path, str], ChangeFile] = field(default_factory=dict)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS))

    @property
    def id(self) -> str:
        return self.generation.id

    @property
    def reference(self) -> Reference:
        return self.generation.reference

    @property
    def shards(self) -> Base:
        return self.generation.shards

    def of(self, version: str | None) -> "OpenGeneration":
        """This edition, or the one that a walk through pages is pinned to (G10).

        Raises:
            ApiError: 409 `version_expiree`: that one is not open any more.
        """
        if version is None or version == self.id:
            return self
        other = self._others.get(version)
        if other is None:
            raise errors.version_expiree(version, [self.id, *self._others])
        return other

    def stand_before(self, other: "OpenGeneration | None") -> None:
        """Let callers be pinned to `other`, which is open as long as this one is lent."""
        self._others.clear()
        if other is not None:
            self._others[other.id] = other

    def changes(self, step: ChangeStep, iso2: str) -> ChangeFile:
        """What a step changed in a country, kept open.

        Raises:
            ShardError, FileNotFoundError: the file is damaged, or gone.
        """
        place = (step.folder, f"{iso2} {step.backwards}")
        found = self._changes.get(place)
        if found is None:
            found = self._changes[place] = step.changes(iso2)
        return found

    def search(self, pairs: Pairs) -> Search:
        """`params.search`, remembered: most of a 304 would be reading the same parameters again.

        Raises:
            ApiError: 400.
        """
        if len(pairs) > len(params.SEARCH) or any(len(value) > _LONGEST for _, value in pairs):
            return params.search(pairs, self.names)
        return self._read(tuple(pairs))

    def document(self, what: Hashable, make: Callable[[], T]) -> T:
        """The value that `what` determines, made once and kept while there is room."""
        found: T | None = self._documents.get(what)
        if found is None:
            found = make()
            if len(self._documents) < _DOCUMENTS:
                self._documents[what] = found
        return found

    async def aside(self, cost: float, make: Callable[[], T]) -> T:
        """What `make` returns; made in a thread where its `cost`, in microseconds, is dear.

        Who is cancelled still waits for the thread, which nothing can stop: the lease of whoever
        calls must not end while it reads.
        """
        if cost < DEAR_MICROSECONDS:
            return make()
        with PROCESS.fine():
            made = asyncio.get_running_loop().run_in_executor(self._threads, make)
            try:
                return await asyncio.shield(made)
            finally:
                while not made.done():
                    try:
                        await asyncio.wait([made])
                    except asyncio.CancelledError:
                        continue

    def close(self) -> None:
        self._threads.shutdown()
        for changes in self._changes.values():
            changes.close()
        self.generation.close()


def load(data: Path, generation: str) -> OpenGeneration:
    """Open a generation of `data`.

    Raises:
        ShardError: it is absent, not whole, or of another format.
    """
    opened = generation_files.load(data, generation)
    known = place_names.read(opened.reference)
    read = lru_cache(_REMEMBERED)(lambda pairs: params.search(pairs, known))
    return OpenGeneration(opened, known, read, change_steps.steps(data))
