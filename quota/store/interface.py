"""The interface between the server and a store of accounts, keys, counters and credits.

A method starts its operation at once and returns an awaitable, so that the server can search in the
meantime; a write has been made durable when its result arrives. Every method that depends on the
time takes `now`, which has a time zone. Counts and charges are exact over any number of threads,
processes and hosts that share the store (D6).

Every method and every awaitable may raise StoreUnavailable. Nothing was acknowledged then, and the
server must not send what it found (503 `indisponible`).
"""

from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Protocol

from quota.accounts import Account, Key
from quota.ledger.calls import Charge, Meter, Purchase
from quota.ledger.exports import CountedExport, Refusal, Reservation, Usage
from quota.plans import Plan
from quota.store.account_book import AccountBook
from quota.store.list_book import ListBook


class Store(Protocol):
    """What a server counts with."""

    @property
    def accounts(self) -> AccountBook | None:
        """The accounts, keys and people of the store; None at an edge, which has none."""
        ...

    @property
    def lists(self) -> ListBook:
        """The matched lists of the store; StoreUnavailable at an edge whose centre cannot be reached."""
        ...

    def batch_reads(self) -> AbstractContextManager[object]:
        """Begin the reads of a `with` together: a store at a distance asks for all of them at once."""
        return nullcontext()

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> Awaitable[Account | None]:
        """The account of a key; None for any text that is no key in force (A4)."""
        ...

    def keys_of(self, account: str) -> Awaitable[Sequence[Key]]:
        """The keys of an account, revoked ones included, the oldest first."""
        ...

    def usage(self, account: str, plan: Plan, now: datetime) -> Awaitable[Usage]:
        """All counters of an account, under the limits of `plan`."""
        ...

    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """The calls of the day: the part of `usage` that a response to an account states."""
        ...

    def is_charged(self, account: str, company: str, now: datetime) -> Awaitable[bool]:
        """Whether the company was charged in this month, so that its record is free (D9)."""
        ...

    # -- companies that were matched -----------------------------------------------

    def are_matched(self, account: str, companies: Sequence[str]) -> Awaitable[bool]:
        """Whether an account matched all of these companies ("EE/10000018") by lines of its lists."""
        ...

    def note_matches(self, account: str, companies: Sequence[str]) -> Awaitable[None]:
        """Remember companies that lines of an account's lists meant; the oldest of very many go."""
        ...

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """Count one call of the day if `limit` allows; a refused call is not counted."""
        ...

    def give_back(self, account: str, taken: datetime) -> Awaitable[None]:
        """Undo a call that was counted at `taken` and whose response failed."""
        ...

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> Awaitable[tuple[Meter, Charge | None]]:
        """Count one call and, if it was granted, charge the record, in one transaction.

        A company is charged once per month, from the grant first and then from packs. If both
        together do not suffice, the charge is refused and the call stays counted; it does not where a trial is
        refused.
        """
        ...

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Awaitable[Reservation | Refusal]:
        """Reserve one of the month's exports for `ttl`."""
        ...

    def commit(
        self, reservation: Reservation, now: datetime, export: CountedExport | None = None
    ) -> Awaitable[Meter]:
        """Count a finished export, and list it; if not `granted`, it is too late and must not be sent."""
        ...

    def release(self, account: str, reservation: str) -> Awaitable[None]:
        """Give up the reservation of this id, of an export that failed, was empty or was killed."""
        ...

    def close(self) -> None:
        """Finish the operations under way, then close."""
        ...
