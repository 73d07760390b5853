"""The generation that is being served, and how the next one takes its place.

DATA/CURRENT is looked at every second, and at once on SIGHUP. A new generation is read whole and
compared with its manifest in a thread, then opened, then one reference is swapped: a request sees
the old one or the new one, never both, and none waits. A request holds a lease. The generation that
was served stays open behind the new one, for who walks through its pages (G10); the one behind that
is closed when its last lease ends. One that is damaged is refused: that is logged once, remembered,
told by /readyz and /metrics, and the old one goes on serving.

The very first generation is opened without reading it whole, so that a server is ready at once;
`python -m shards verify` is the tool for that. All of this lives on the thread of the event loop
but the comparison, so there is no lock.
"""

import asyncio
import logging
import os
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final

from serve.contract import errors
from serve.data import open_generation as editions
from serve.data.generation_status import GenerationStatus
from serve.data.open_generation import OpenGeneration
from shards.changes import change_steps
from shards.errors import ShardError
from shards.generations import generation_files, pointer
from shards.generations.pointer import Pointer as Pointer

POLL_SECONDS: Final = 1.0
# What is refused where CURRENT itself makes no sense.
UNREADABLE: Final = "illisible"

_log: Final = logging.getLogger("serve.data.current_generation")

# What tells one CURRENT from another without reading it: inode, size, time of change.
_Signature = tuple[int, int, int]

# What opening a generation can raise: its files are wrong, or its lists are of another version.
_REFUSED: Final = (ShardError, OSError, ValueError, TypeError, KeyError)


class _Lent:
    """An open edition and how many requests are using it."""

    __slots__ = ("edition", "retired", "users")

    def __init__(self, edition: OpenGeneration) -> None:
        self.edition = edition
        self.users = 0
        self.retired = False

    def retire(self) -> None:
        """Close the edition, now or when its last user is done."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self) -> None:
        if self.retired and not self.users:
            self.edition.close()


class _Lease:
    """Keeps an edition open within its block, and the one that a caller may be pinned to."""

    __slots__ = ("_lents",)

    def __init__(self, *lents: _Lent) -> None:
        self._lents = lents

    def __enter__(self) -> OpenGeneration:
        for lent in self._lents:
            lent.users += 1
        return self._lents[0].edition

    def __exit__(self, *_: object) -> None:
        for lent in self._lents:
            lent.users -= 1
            lent.close_if_done()


class CurrentGeneration:
    """Follows DATA/CURRENT. Open from `start` to `close`."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._lents: tuple[_Lent, ...] = ()  # the one that is served, then the one behind it
        self._seen: _Signature | None = None
        self._wake = asyncio.Event()
        self._since: datetime | None = None
        self._refused: str | None = None

    @property
    def data(self) -> Path:
        """The folder of generations."""
        return self._data

    @property
    def generation(self) -> str | None:
        """The generation being served, or None; any thread may ask."""
        return self.standing.generation

    @property
    def standing(self) -> GenerationStatus:
        """What is known of the generations; any thread may ask."""
        served, behind, *_ = (*(lent.edition.id for lent in self._lents), None, None)
        return GenerationStatus(served, behind, self._since, self._refused, os.getpid())

    def lease(self) -> AbstractContextManager[OpenGeneration]:
        """The edition to answer a request from; it stays open until the lease ends.

        Raises:
            ApiError: 503 `indisponible`: there is none yet (G9).
        """
        if not self._lents:
            raise errors.indisponible(errors.NO_GENERATION)
        return _Lease(*self._lents)

    def start(self) -> None:
        """Open what is published, if anything is, without reading it whole."""
        self._seen = _signature(self._data)
        known: Pointer | None = None
        try:
            known = pointer.published(self._data)
            if known is None:
                _log.warning("nothing is published in %s yet", self._data)
                return
            self._swap(known, _Lent(editions.load(self._data, known.generation)))
        except _REFUSED as error:
            self._refused = known.generation if known else None
            _log.error("nothing is served: %s", error)

    async def follow(self) -> None:
        """Take up new generations, until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)
            except TimeoutError:
                await self.refresh()
            else:
                self._wake.clear()
                await self.refresh(again=True)

    async def refresh(self, *, again: bool = False) -> None:
        """Take up what CURRENT names, if CURRENT has changed.

        Args:
            again: look even if it has not, so that a generation that was refused gets a second
                chance once it has been repaired.
        """
        seen = _signature(self._data)
        # A CURRENT that has gone takes nothing away: what is open stays whole.
        if seen is None or (seen == self._seen and not again):
            return
        self._seen = seen
        known: Pointer | None = None
        try:
            known = pointer.published(self._data)
            if known is not None and known.generation != self.generation:
                new = await asyncio.to_thread(_verified, self._data, known.generation)
                self._swap(known, _Lent(new))
            self._refused = None
        except _REFUSED as error:
            self._refused = known.generation if known else UNREADABLE
            _log.error(
                "the published generation is refused, %s serves on: %s", self.generation, error
            )

    def wake(self) -> None:
        """Look at CURRENT now (SIGHUP)."""
        self._wake.set()

    def close(self) -> None:
        lents, self._lents = self._lents, ()
        for lent in lents:
            lent.retire()

    def _swap(self, known: Pointer, new: _Lent) -> None:
        """Serve `new`, and keep the one open that was published before it."""
        old = self._lents
        behind = [lent for lent in old if lent.edition.id == known.previous]
        if known.previous is not None and not behind:
            behind = self._behind(known.previous)
        new.edition.stand_before(behind[0].edition if behind else None)
        self._lents = (new, *behind)
        self._since = datetime.fromisoformat(known.published)
        _log.info("generation %s is served", new.edition.id)
        for lent in old:
            if lent not in behind:
                lent.retire()

    def _behind(self, generation: str) -> list[_Lent]:
        """The previous generation, where it can be opened: nobody has to have it."""
        try:
            return [_Lent(editions.load(self._data, generation))]
        except _REFUSED as error:
            _log.warning("the previous generation cannot be asked for: %s", error)
            return []


def _verified(data: Path, generation: str) -> OpenGeneration:
    """An open generation, every byte of which was read before a request meets it."""
    folder = data / generation
    generation_files.verify_digests(folder, generation_files.read_manifest(folder))
    for step in change_steps.folders(data):
        if step.name.endswith(f"-{generation}"):
            change_steps.verify(step)
    return editions.load(data, generation)


def _signature(data: Path) -> _Signature | None:
    try:
        stat = (data / pointer.CURRENT).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
