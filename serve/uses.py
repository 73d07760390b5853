"""Notes the day on which a key was used last, for /compte: a write a key, day and process.

It is not waited for, and nobody misses it if it fails: the next day, or a restart, writes again.
"""

from concurrent.futures import Future
from datetime import date
from typing import Final

from quota.errors import QuotaError
from quota.ledger_store import LedgerStore
from quota.store import Store

# Keys that are remembered; more than are used on a day.
_KNOWN: Final = 100_000


class Uses:
    """The keys that were seen today, as hashes of this process (PEP 456)."""

    def __init__(self) -> None:
        self._day = date.min
        self._seen: set[int] = set()

    def note(self, store: Store, authorization: str, day: date) -> None:
        """A key in force was used on `day`; nearly always that is known."""
        seen = hash(authorization)
        if day == self._day and seen in self._seen:
            return
        if day != self._day or len(self._seen) >= _KNOWN:
            self._day = day
            self._seen.clear()
        self._seen.add(seen)
        if not isinstance(store, LedgerStore):
            return  # an edge keeps no accounts
        key = authorization.split()[-1]
        try:
            store.people.used(key, day).add_done_callback(_forget)
        except QuotaError:
            self._seen.discard(seen)


def _forget(done: "Future[None]") -> None:
    if not done.cancelled():
        done.exception()  # it has been looked at
