"""The store of counters in a serving process, and the calls of keys.

A server without counters still serves visitors (G9). So the server starts even if the store cannot be opened, and tries
again every second. Once open, the store recovers by itself (quota/store/lmdb_store.py). A store of another version
stops the server: waiting would not help.
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

# The time between two attempts to open the store.
PAUSE_SECONDS: Final = 1.0
# The time between two log lines about the same failure of the store.
LOG_SECONDS: Final = 60.0

# The time between two writes of the calls of keys to the store.
ADD_SECONDS: Final = 60.0

# The longest wait for the last write, at the end of the process.
FLUSH_SECONDS: Final = 2.0

_log: Final = logging.getLogger("serve.access.store_holder")


class StoreHolder:
    """The store that `opener` opens, between `start` and `close`; it may open later than `start`."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        """Begin without a store; `opener` opens it."""
        self._opener = opener
        self._store: Store | None = None
        self._refused = 0  # the refused calls since the last log line about refused calls
        self._failure = ""  # the message of the last logged failure
        self._logged = -LOG_SECONDS  # the time of that log line, by the monotonic clock

    @property
    def store(self) -> Store:
        """The open store.

        Raises:
            StoreUnavailable: the store is not open yet.
        """
        if self._store is None:
            raise StoreUnavailable("the store is not open yet; try again")
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether the store has been opened; an open store can still fail."""
        return self._store is not None

    async def find(self, key: str) -> Account | None:
        """The account of a key; None if the text is not an active key.

        Raises:
            StoreUnavailable: the text has the form of a key, and the store cannot be read.
        """
        # Without this check, a text that is not a key would get 503 until the store opens, and not 401.
        if self._store is None and not is_well_formed(key):
            return None
        return await self.store.identify(key)

    def start(self) -> None:
        """Open the store; log a failure that `keep_open` can retry.

        Raises:
            WrongStoreError: another version of this code wrote it.
            NumberTakenError: another container uses this process id; a process with another id can open the store.
        """
        try:
            self._store = self._opener()
        except NumberTakenError:  # a StoreUnavailable that a retry cannot mend
            raise
        except StoreUnavailable as error:
            _log.error("keys are answered with 503 until the store opens: %s", error)

    async def keep_open(self) -> None:
        """Try to open the store every PAUSE_SECONDS until it is open; a failure is logged when its message changes.

        Raises:
            NumberTakenError: another container uses this process id; a process with another id can open the store.
        """
        last_message = ""
        while self._store is None:
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                self._store = await asyncio.to_thread(self._opener)
                _log.info("the store is open; %d calls were answered with 503", self._refused)
                self._refused = 0
            except NumberTakenError:  # the process id stays taken, so a retry would fail too
                raise
            except Exception as error:  # noqa: BLE001 - this task is awaited only at the end
                message = str(error) if isinstance(error, QuotaError) else repr(error)
                if message != last_message:
                    _log.error("the store cannot be opened: %s", message)
                last_message = message

    def note_failure(self, error: StoreUnavailable, request_id: str) -> None:
        """Log a call that the store could not count: a new failure at once, a repeated one every LOG_SECONDS.

        A store that is not open has been logged already; the line about its opening has the number of refused calls.
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
        """Close the store, if it is open."""
        if self._store is not None:
            self._store.close()
            self._store = None


class KeyUsage:
    """Counts the calls of each key by day, for /compte: in memory, and added to the store every ADD_SECONDS.

    These counts are statistics and are not billed. A killed process or a failing store loses a minute of counts. A page
    adds `unsaved_calls` to the counts of the store.
    """

    def __init__(self) -> None:
        self._day = date.min
        self._counts: Counter[bytes] = Counter()

    def note(self, store: Store, authorization: str, day: date) -> None:
        """Count a call on `day` with the key of an Authorization header; add counts of an earlier day to the store."""
        if day != self._day:
            self.add(store)
            self._day = day
        self._counts[credentials.secret_digest(authorization.split()[-1])] += 1

    @property
    def unsaved_calls(self) -> tuple[Mapping[bytes, int], date]:
        """The calls that are not in the store yet, by the SHA-256 of their keys, and their day."""
        return self._counts, self._day

    async def flush(self, store: Store) -> None:
        """Add the counts to the store, and wait for the write; if the store fails, the counts are lost."""
        with suppress(QuotaError, TimeoutError):
            if pending_write := self.add(store):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await pending_write

    def add(self, store: Store) -> StoreFuture[None] | None:
        """Begin to add the counts to the store; return the pending write.

        None if there is nothing to add, or if the store has no keys, as on an edge.
        """
        counts, self._counts = self._counts, Counter()
        if not counts or store.ledger is None:
            return None
        with suppress(QuotaError):
            pending_write = store.ledger.add_key_calls(counts, self._day)
            pending_write.add_done_callback(_ignore_failure)
            return pending_write
        return None

    async def run(self, holder: StoreHolder) -> None:
        """Add the counts to the store every ADD_SECONDS until cancelled, and once more at the end.

        While the store is not open, the counts are kept for the next time.
        """
        try:
            while True:
                await asyncio.sleep(ADD_SECONDS)
                with suppress(StoreUnavailable):
                    self.add(holder.store)
        finally:
            with suppress(StoreUnavailable):
                await self.flush(holder.store)


def _ignore_failure(done: "Future[None]") -> None:
    """Read the exception of a write, so that it is not logged as an exception that nobody has read."""
    if not done.cancelled():
        done.exception()
