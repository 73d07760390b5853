"""The generation that is being served, and how the next one takes its place.

DATA/CURRENT is looked at every second, and at once on SIGHUP. A new generation is read whole and
compared with its manifest in a thread, then opened, then one reference is swapped: a request sees
the old one or the new one, never both, and none waits. A request holds a lease; the old generation
is closed when its last lease ends. One that is damaged is refused: that is logged once, remembered,
and the old one goes on serving.

The very first generation is opened without reading it whole, so that a server is ready at once;
`python -m shards verify` is the tool for that. All of this lives on the thread of the event loop
but the comparison, so there is no lock.
"""

import asyncio
import logging
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final

from serve import edition as editions
from serve import errors
from serve.edition import Edition
from shards import generations, pointer
from shards.errors import ShardError

POLL_SECONDS: Final = 1.0

_log: Final = logging.getLogger("serve.published")

# What tells one CURRENT from another without reading it: inode, size, time of change.
_Signature = tuple[int, int, int]

# What opening a generation can raise: its files are wrong, or its lists are of another version.
_REFUSED: Final = (ShardError, OSError, ValueError, TypeError, KeyError)


class _Lent:
    """An open edition and how many requests are using it; `with` is a lease of it."""

    __slots__ = ("edition", "retired", "users")

    def __init__(self, edition: Edition) -> None:
        self.edition = edition
        self.users = 0
        self.retired = False

    def __enter__(self) -> Edition:
        self.users += 1
        return self.edition

    def __exit__(self, *_: object) -> None:
        self.users -= 1
        self._close_if_done()

    def retire(self) -> None:
        """Close the edition, now or when its last user is done."""
        self.retired = True
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self.retired and not self.users:
            self.edition.close()


class Published:
    """Follows DATA/CURRENT. Open from `start` to `close`."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._lent: _Lent | None = None
        self._seen: _Signature | None = None
        self._wake = asyncio.Event()
        self._since: datetime | None = None

    @property
    def data(self) -> Path:
        """The folder of generations."""
        return self._data

    @property
    def generation(self) -> str | None:
        """The generation being served, or None; any thread may ask."""
        lent = self._lent
        return lent.edition.id if lent else None

    @property
    def since(self) -> datetime | None:
        """When the generation being served was published, or None."""
        return self._since

    def lease(self) -> AbstractContextManager[Edition]:
        """The edition to answer a request from; it stays open until the lease ends.

        Raises:
            ApiError: 503 `indisponible`: there is none yet (G9).
        """
        if self._lent is None:
            raise errors.indisponible(errors.NO_GENERATION)
        return self._lent

    def start(self) -> None:
        """Open what is published, if anything is."""
        self._seen = _signature(self._data)
        try:
            known = pointer.published(self._data)
            if known is None:
                _log.warning("nothing is published in %s yet", self._data)
                return
            self._swap(editions.load(self._data, known.generation), known)
        except _REFUSED as error:
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
        try:
            known = pointer.published(self._data)
            if known is not None and known.generation != self.generation:
                await asyncio.to_thread(_verify, self._data / known.generation)
                self._swap(editions.load(self._data, known.generation), known)
        except _REFUSED as error:
            _log.error(
                "the published generation is refused, %s serves on: %s", self.generation, error
            )

    def wake(self) -> None:
        """Look at CURRENT now (SIGHUP)."""
        self._wake.set()

    def close(self) -> None:
        if self._lent:
            self._lent.retire()
            self._lent = None

    def _swap(self, edition: Edition, known: pointer.Published) -> None:
        old, self._lent = self._lent, _Lent(edition)
        self._since = datetime.fromisoformat(known.published)
        _log.info("generation %s is served", edition.id)
        if old:
            old.retire()


def _verify(folder: Path) -> None:
    """Every byte of a generation, before a request meets it."""
    generations.verify_digests(folder, generations.read_manifest(folder))


def _signature(data: Path) -> _Signature | None:
    try:
        stat = (data / pointer.CURRENT).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
