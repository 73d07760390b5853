"""The base of the stores that keep the ledger's rows: LMDB (`lmdb_store.py`) and Redis.

Each method is a function of the ledger in one transaction. A subclass supplies the transactions
(`read`, `submit`) and the upkeep; this module draws random names and brings every moment to UTC.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from quota import credentials
from quota.accounts import Account, Key
from quota.ledger import account_rows, activity, calls, exports, lists, people, upkeep
from quota.ledger.account_rows import KeyKind
from quota.ledger.calls import Charge, Meter, Purchase
from quota.ledger.exports import CountedExport, Refusal, Reservation, Usage
from quota.ledger.people import Person
from quota.ledger.upkeep import AuditReport
from quota.periods import day, iso, utc
from quota.plans import Plan
from quota.store.account_book import AccountBook
from quota.store.future import Reading, ReadyResult, StoreFuture, StoreResult, Writing
from quota.store.interface import Store
from quota.store.list_book import ListBook

P = ParamSpec("P")
T = TypeVar("T")

_DROPPED_LISTS: Final = 20  # by one transaction, of at most 100 rows each


class LedgerStore(Store, ABC):
    """A store with all rows of the ledger."""

    @abstractmethod
    def read(
        self, operation: Reading[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreResult[T]:
        """Run a function of the ledger on the rows as they are at this moment."""

    @abstractmethod
    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a function of the ledger in a transaction; the future resolves once it is durable."""

    def submit_of(
        self, work: str, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """`submit` one of two transactions on the same rows, which a store at a distance keeps for the second."""
        return self.submit(operation, *args, **kwargs)

    @abstractmethod
    def newest_month(self) -> str | None:
        """The newest month that has counters ("2026-11"), None without any."""

    @abstractmethod
    def compact(self, before: str) -> int:
        """Drop the counters of the months before `before` ("2025-10"); returns how many rows."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a verified copy of all rows to `target`, which must not exist, while in use."""

    @abstractmethod
    def audit(self) -> AuditReport:
        """Count all charges again and compare them with the sums, while in use."""

    @abstractmethod
    def table_rows(self, table: bytes) -> Iterable[tuple[bytes, bytes]]:
        """The rows of a table, while in use: with a server in pieces, between which others write."""

    def unused_accounts(self, before: datetime) -> Sequence[Account]:
        """The free accounts created before a moment that were never used (`ledger/upkeep.py`)."""
        return upkeep.unused_accounts(self.table_rows, iso(before))

    def remove_unused(self, account: str, before: datetime, now: datetime) -> StoreFuture[bool]:
        """Remove an account that `unused_accounts` found; False if it was used since."""
        moment, today = iso(before), day(now).key
        return self.submit(upkeep.remove, account, moment, today)

    @property
    def accounts(self) -> AccountBook:
        return AccountBook(self)

    @property
    def lists(self) -> ListBook:
        return ListBook(self)

    def drop_lists(self, now: datetime) -> int:
        """Delete the matched lists that have expired, in pieces between which others write; returns how many."""
        seconds, total = int(self.moment(now).timestamp()), 0
        while dropped := self.submit(lists.drop_expired, seconds, _DROPPED_LISTS).result():
            total += dropped
        return total

    def moment(self, now: datetime) -> datetime:
        """`now` in UTC, by the clock that this store counts with."""
        return utc(now)

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> StoreResult[Account | None]:
        if not credentials.is_well_formed(key):
            return ReadyResult(None)
        return self.identify_by(credentials.key_digest(key))

    def identify_by(
        self, digest: bytes, kind: KeyKind = account_rows.KEYS
    ) -> StoreResult[Account | None]:
        """The account of the key, or the address, with this SHA-256."""
        return self.read(account_rows.identify, digest, kind)

    def session(
        self, person: str, token: bytes, now: int
    ) -> StoreResult[tuple[Person, Account] | None]:
        """The person of a session that is open at `now` (s since 1970), and their account."""
        return self.read(people.session, person, token, now)

    def keys_of(self, account: str) -> StoreResult[Sequence[Key]]:
        return self.read(account_rows.keys_of, account)

    def usage(self, account: str, plan: Plan, now: datetime) -> StoreResult[Usage]:
        return self.read(exports.usage, account, plan, self.moment(now))

    def calls(self, account: str, limit: int, now: datetime) -> StoreResult[Meter]:
        return self.read(calls.calls, account, limit, self.moment(now))

    def is_charged(self, account: str, company: str, now: datetime) -> StoreResult[bool]:
        return self.read(calls.is_charged, account, company, self.moment(now))

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        moment = self.moment(now)
        return self.submit(calls.take, account, limit, moment)

    def give_back(self, account: str, taken: datetime) -> StoreFuture[None]:
        moment = self.moment(taken)
        return self.submit(calls.give_back, account, moment)

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> StoreFuture[tuple[Meter, Charge | None]]:
        moment = self.moment(now)
        return self.submit(calls.take_and_charge, purchase, moment)

    # -- companies that were matched -----------------------------------------------

    def are_matched(self, account: str, companies: Sequence[str]) -> StoreResult[bool]:
        return self.read(activity.are_matched, account, companies)

    def note_matches(self, account: str, companies: Sequence[str]) -> StoreFuture[None]:
        return self.submit(activity.note_matches, account, companies)

    # -- statistics ----------------------------------------------------------------

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]:
        """Add calls of `day` to the statistics of keys, by the SHA-256 of each (`credentials.key_digest`)."""
        return self.submit(activity.add_key_calls, calls, day)

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> StoreFuture[Reservation | Refusal]:
        moment, name = self.moment(now), secrets.token_hex(8)
        return self.submit_of(name, exports.reserve, account, limit, at_once, ttl, name, moment)

    def commit(
        self, reservation: Reservation, now: datetime, export: CountedExport | None = None
    ) -> StoreFuture[Meter]:
        moment = self.moment(now)
        return self.submit_of(reservation.id, exports.commit, reservation, moment, export)

    def release(self, account: str, reservation: str) -> StoreFuture[None]:
        return self.submit_of(reservation, exports.release, account, reservation)
