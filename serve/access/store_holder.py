"""The store of counters in a serving process: open, or being opened again; and the last use of keys.

A server without counters still serves visitors (G9), so a store that cannot be opened does not stop
it from starting: it tries again each second. Once open, the store recovers by itself
(quota/store/lmdb_store.py). A store of another version does stop it: waiting would not help.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from datetime import date
from typing import Final

from quota.accounts import Account
from quota.errors import QuotaError, StoreUnavailable
from quota.keys import is_well_formed
from quota.store.interface import Store

PAUSE_SECONDS: Final = 1.0

# Keys remembered by `KeyUsage`; more than are used in a day.
_REMEMBERED: Final = 100_000

_log: Final = logging.getLogger("serve.access.store_holder")


class StoreHolder:
    """The store that `opener` opens; used from `start` to `close`."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._opener = opener
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The open store.

        Raises:
            StoreUnavailable: it is not open yet.
        """
        if self._store is None:
            raise StoreUnavailable("the store is not open")
        return self._store

    async def find(self, key: str) -> Account | None:
        """The account of a key, or None.

        Raises:
            StoreUnavailable: the text could be a key, and the store cannot be asked.
        """
        # An open store checks the form first as well, so once is enough.
        if self._store is None and not is_well_formed(key):
            return None
        return await self.store.identify(key)

    def start(self) -> None:
        """Open the store if that can be done now.

        Raises:
            WrongStoreError: another version of this code wrote it.
        """
        try:
            self._store = self._opener()
        except StoreUnavailable as error:
            _log.error("keys are answered with 503 until the store opens: %s", error)

    async def keep_open(self) -> None:
        """Try again until the store is open."""
        while self._store is None:
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                self._store = await asyncio.to_thread(self._opener)
                _log.info("the store is open")
            except QuotaError as error:
                _log.error("the store cannot be opened: %s", error)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


class KeyUsage:
    """Notes the day on which a key was last used, for /compte: one write per key, day and process.

    Nobody waits for the write, and a failed one does no harm: the next day, or a restart, writes
    again. Keys are remembered as hashes that are valid in this process only (PEP 456).
    """

    def __init__(self) -> None:
        self._day = date.min
        self._seen: set[int] = set()

    def note(self, store: Store, authorization: str, day: date) -> None:
        """Record that the key of an Authorization header was used on `day`."""
        seen = hash(authorization)
        if day == self._day and seen in self._seen:
            return
        if day != self._day or len(self._seen) >= _REMEMBERED:
            self._day = day
            self._seen.clear()
        self._seen.add(seen)
        if store.accounts is None:
            return  # an edge has no accounts
        key = authorization.split()[-1]
        try:
            store.accounts.note_key_use(key, day).add_done_callback(_ignore_failure)
        except QuotaError:
            self._seen.discard(seen)


def _ignore_failure(done: "Future[None]") -> None:
    if not done.cancelled():
        done.exception()  # retrieved, or the event loop would log it
