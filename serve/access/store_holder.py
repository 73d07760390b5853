"""The store of counters in a serving process: open, or being opened again; and the calls of keys.

A server without counters still serves visitors (G9), so a store that cannot be opened does not stop
it from starting: it tries again each second. Once open, the store recovers by itself
(quota/store/lmdb_store.py). A store of another version does stop it: waiting would not help.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import date
from typing import Final

from quota import credentials
from quota.accounts import Account
from quota.credentials import is_well_formed
from quota.errors import NumberTakenError, QuotaError, StoreUnavailable
from quota.store.future import StoreFuture
from quota.store.interface import Store

PAUSE_SECONDS: Final = 1.0
# Between two lines of the log about the same failure of the store.
LOG_SECONDS: Final = 60.0

# Between two additions of the calls of keys to the store.
ADD_SECONDS: Final = 60.0

# How long the last addition is waited for, at the end of the process.
FLUSH_SECONDS: Final = 2.0

_log: Final = logging.getLogger("serve.access.store_holder")


class StoreHolder:
    """The store that `opener` opens; used from `start` to `close`."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._opener = opener
        self._store: Store | None = None
        self._refused = 0  # calls, since the last line of the log about them
        self._failure = ""
        self._logged = -LOG_SECONDS

    @property
    def store(self) -> Store:
        """The open store.

        Raises:
            StoreUnavailable: it is not open yet.
        """
        if self._store is None:
            raise StoreUnavailable("the store is not open yet; try again")
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether the store was opened; it may fail nevertheless."""
        return self._store is not None

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
            NumberTakenError: another process of this server can open it.
        """
        try:
            self._store = self._opener()
        except NumberTakenError:
            raise
        except StoreUnavailable as error:
            _log.error("keys are answered with 503 until the store opens: %s", error)

    async def keep_open(self) -> None:
        """Try again until the store is open, whatever the opener raises.

        Raises:
            NumberTakenError: another process of this server can open it.
        """
        logged = ""
        while self._store is None:
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                self._store = await asyncio.to_thread(self._opener)
                _log.info("the store is open; %d calls were answered with 503", self._refused)
                self._refused = 0
            except NumberTakenError:
                raise
            except Exception as error:  # noqa: BLE001 - nobody awaits this task before the end
                shown = str(error) if isinstance(error, QuotaError) else repr(error)
                if shown != logged:
                    _log.error("the store cannot be opened: %s", shown)
                logged = shown

    def note_failure(self, error: StoreUnavailable, request_id: str) -> None:
        """Log a call that the store failed: each new failure at once, the same one every LOG_SECONDS with a count.

        A store that is not open is in the log already; the line that it is open has the number of calls.
        """
        self._refused += 1
        now = time.monotonic()
        if self._store is None or (
            str(error) == self._failure and now < self._logged + LOG_SECONDS
        ):
            return
        fields = {"request_id": request_id, "calls": self._refused}
        _log.error("the counters cannot be kept: %s", error, extra={"fields": fields})
        self._failure, self._logged, self._refused = str(error), now, 0

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


class KeyUsage:
    """Counts the calls of keys by day, for /compte: in memory, added to the store every ADD_SECONDS.

    Nobody waits for the write, and it bills nothing: a process that is killed, or a store that fails,
    loses a minute of these statistics. A page adds `unsaved_calls` to those of the store.
    """

    def __init__(self) -> None:
        self._day = date.min
        self._counts: Counter[bytes] = Counter()

    def note(self, store: Store, authorization: str, day: date) -> None:
        """Count a call on `day` with the key of an Authorization header."""
        if day != self._day:
            self.add(store)
            self._day = day
        self._counts[credentials.key_digest(authorization.split()[-1])] += 1

    @property
    def unsaved_calls(self) -> tuple[Mapping[bytes, int], date]:
        """The calls that are not added yet, by the SHA-256 of their keys, and the day of these."""
        return self._counts, self._day

    async def flush(self, store: Store) -> None:
        """Add what was counted to the store, and wait for it; a store that fails loses it."""
        with suppress(QuotaError, TimeoutError):
            if added := self.add(store):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await added

    def add(self, store: Store) -> StoreFuture[None] | None:
        """Begin to add what was counted to the store, if it has keys: an edge has none."""
        counts, self._counts = self._counts, Counter()
        if not counts or store.ledger is None:
            return None
        with suppress(QuotaError):
            added = store.ledger.add_key_calls(counts, self._day)
            added.add_done_callback(_ignore_failure)
            return added
        return None

    async def run(self, holder: StoreHolder) -> None:
        """Add what was counted, every ADD_SECONDS, until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(ADD_SECONDS)
                with suppress(StoreUnavailable):
                    self.add(holder.store)
        finally:
            with suppress(StoreUnavailable):
                await self.flush(holder.store)


def _ignore_failure(done: "Future[None]") -> None:
    if not done.cancelled():
        done.exception()  # retrieved, or the event loop would log it
