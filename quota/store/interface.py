"""The interface between the server and a store of accounts, keys, counters and credits.

A store runs functions of the ledger: `await store.read(people.people_of, account)`, or
`await store.submit(calls.add_credits, account, 100)`. An operation has a method of its own only where a store does it
in another way: an edge grants calls by itself, and a server of several hosts has a script for each operation of a
request.

A read or a write starts at once and returns an awaitable, so that the server can search in the meantime; when the
result of a write arrives, the write is durable. Counts and charges are exact over any number of threads, processes
and hosts that share the store (D6). `now` has a time zone; a function of the ledger that counts gets
`store.moment(now)`.

Every method and every awaitable can raise StoreUnavailable. The call was then not confirmed as counted, so the
server must respond with 503 `indisponible` instead of the result.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import ParamSpec, TypeVar

from quota import credentials
from quota.accounts import Account
from quota.ledger import account_rows, activity, calls, exports, people
from quota.ledger.account_rows import KeyKind
from quota.ledger.calls import Charge, Meter, Purchase
from quota.ledger.exports import CountedExport, Refusal, Reservation, Usage
from quota.ledger.people import Person
from quota.ledger.upkeep import AuditReport
from quota.periods import utc
from quota.plans import Plan
from quota.store.future import LedgerRead, LedgerWrite, ReadyResult, StoreFuture, StoreResult

P = ParamSpec("P")
T = TypeVar("T")


class Store(ABC):
    """The accounts, keys, counters and credits of a server, whether in LMDB, in Redis or, on an edge, at a centre."""

    @property
    @abstractmethod
    def ledger(self) -> "LedgerStore | None":
        """The store with all rows: accounts, keys and people. None at an edge, where nobody may log in."""

    @abstractmethod
    def read(
        self, operation: LedgerRead[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreResult[T]:
        """Run a function of the ledger on the rows as they are at this moment."""

    @abstractmethod
    def submit(
        self, operation: LedgerWrite[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a function of the ledger in a transaction; the future resolves once it is durable."""

    def batch_reads(self) -> AbstractContextManager[object]:
        """Start the reads of a `with` block together: a remote store sends them in one round trip."""
        return nullcontext()

    def moment(self, now: datetime) -> datetime:
        """`now` in UTC, by the clock that this store counts with."""
        return utc(now)

    @abstractmethod
    def close(self) -> None:
        """Finish the operations under way, then close."""

    # -- the operations that an edge does by itself ----------------------------------

    @abstractmethod
    def identify(self, key: str) -> Awaitable[Account | None]:
        """The account of a key; None for any text that is not an active key (A4)."""

    @abstractmethod
    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """The calls of the day so far, which responses to an account include."""

    @abstractmethod
    def usage(self, account: str, plan: Plan, now: datetime) -> Awaitable[Usage]:
        """All counters of an account, under the limits of `plan`."""

    @abstractmethod
    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """Count one call of the day if `limit` allows; a refused call is not counted."""

    @abstractmethod
    def give_back(self, account: str, counted_at: datetime) -> Awaitable[None]:
        """Undo a call that was counted at `counted_at` and whose response failed."""

    @abstractmethod
    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> Awaitable[tuple[Meter, Charge | None]]:
        """Count one call and, if it was granted, charge the record, in one transaction.

        A company is charged once per month, from the grant first and then from packs. If the grant and the packs
        together have too few credits, the charge is refused and the call stays counted. If a trial is refused, the
        call is not counted.
        """

    # -- the same in every store, by the clock of the store ----------------------------

    def is_charged(self, account: str, company: str, now: datetime) -> StoreResult[bool]:
        """Whether the company was charged in this month, so that its record is free (D9)."""
        return self.read(calls.is_charged, account, company, self.moment(now))

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> StoreFuture[Reservation | Refusal]:
        """Reserve one of the month's exports (at most `limit`) for `ttl`; at most `at_once` may be under way."""
        new_id, moment = secrets.token_hex(8), self.moment(now)
        return self.submit(exports.reserve, account, limit, at_once, ttl, new_id, moment)

    def commit(
        self, reservation: Reservation, now: datetime, export: CountedExport | None = None
    ) -> StoreFuture[Meter]:
        """Count a finished export, and add `export` to the list of last exports.

        If the returned meter is not `granted`, the export must not be sent.
        """
        moment = self.moment(now)
        return self.submit(exports.commit, reservation, moment, export)

    def release(self, account: str, reservation: str) -> StoreFuture[None]:
        """Release the reservation with this id, of an export that failed, was empty or was killed."""
        return self.submit(exports.release, account, reservation)


class LedgerStore(Store):
    """A store with all rows of the ledger: LMDB (`lmdb_store.py`) and Redis (`quota/redis/store.py`)."""

    @property
    def ledger(self) -> "LedgerStore":
        """This store, which has all rows."""
        return self

    # -- the operations of every request ---------------------------------------------

    def identify(self, key: str) -> StoreResult[Account | None]:
        """The account of an active key; a text that does not have the form of a key needs no look-up."""
        if not credentials.is_well_formed(key):
            return ReadyResult(None)
        return self.identify_by(credentials.secret_digest(key))

    def identify_by(
        self, digest: bytes, kind: KeyKind = account_rows.KEYS
    ) -> StoreResult[Account | None]:
        """The account of the key, or the reconciliation address, with this SHA-256 (`credentials.secret_digest`)."""
        return self.read(account_rows.identify, digest, kind)

    def session(
        self, person: str, token: bytes, now: int
    ) -> StoreResult[tuple[Person, Account] | None]:
        """The person of a session that is open at `now` (s since 1970), and their account."""
        return self.read(people.session, person, token, now)

    def calls(self, account: str, limit: int, now: datetime) -> StoreResult[Meter]:
        """The calls of the day that the account has made so far, of `limit` per day; counts nothing."""
        return self.read(calls.calls, account, limit, self.moment(now))

    def usage(self, account: str, plan: Plan, now: datetime) -> StoreResult[Usage]:
        """All counters of an account, under the limits of `plan`."""
        return self.read(exports.usage, account, plan, self.moment(now))

    def take(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        """Count one call of the day if fewer than `limit` were made; a refused call is not counted."""
        return self.submit(calls.take, account, limit, self.moment(now))

    def give_back(self, account: str, counted_at: datetime) -> StoreFuture[None]:
        """Undo a call that was counted at `counted_at` and whose response failed."""
        return self.submit(calls.give_back, account, self.moment(counted_at))

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> StoreFuture[tuple[Meter, Charge | None]]:
        """Count one call and, if it was granted, charge the record, in one transaction (see `Store`)."""
        return self.submit(calls.take_and_charge, purchase, self.moment(now))

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]:
        """Add calls of `day` to the statistics of keys, by the SHA-256 of each (`credentials.secret_digest`)."""
        return self.submit(activity.add_key_calls, calls, day)

    # -- upkeep ----------------------------------------------------------------------

    @abstractmethod
    def newest_month(self) -> str | None:
        """The newest month that has counters ("2026-11"); None if there are no counters."""

    @abstractmethod
    def compact(self, before: str) -> int:
        """Delete the counters of the months before `before` ("2025-10"); returns the number of rows."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a verified copy of all rows to `target`, which must not exist. Others can use the store meanwhile."""

    @abstractmethod
    def audit(self) -> AuditReport:
        """Add up all charges and compare the totals with the stored sums. Others can use the store meanwhile."""

    @abstractmethod
    def table_rows(self, table: bytes) -> Iterable[tuple[bytes, bytes]]:
        """The rows of a table. A Redis server is read in pieces, and others can write between two pieces."""
