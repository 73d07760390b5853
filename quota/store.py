"""The interface between the server and whatever keeps accounts, keys, counters and credits.

Reads answer at once and from here. A write returns a promise, kept when the write is safe; the
server searches meanwhile, and then awaits it. Every method that depends on the time takes it:
`now` has a time zone. All of it is exact over any number of threads, processes and hosts that share
the store (D6).

Every method may raise, and every promise may hold, StoreUnavailable: then nothing was acknowledged
and what was found must not be sent (503 `indisponible`).
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Protocol

from quota.accounts import Account, Key
from quota.people import Person
from quota.plans import Plan
from quota.promise import Promise
from quota.results import Charge, Meter, Refusal, Reservation, Usage


class People(Protocol):
    """People and their sessions (`quota/people.py`), and the days on which keys were used."""

    def sign_up(
        self, nom: str, email: str, password: str, plans: Mapping[str, Plan], now: datetime
    ) -> Promise[bool]:
        """A new free organisation with its first person; False if the address is known already.

        `password` is a hash, here and below. Both answers take the same time.
        """
        ...

    def add(self, account: str, email: str, password: str, now: datetime) -> Promise[Person]:
        """One more person of an account; NotAllowedError where the address is in use."""
        ...

    def by_email(self, email: str) -> Promise[Person | None]: ...

    def of(self, account: str) -> Promise[Sequence[Person]]: ...

    def set_password(self, person: str, password: str) -> Promise[Person]:
        """Another password; it ends all sessions."""
        ...

    def open_session(
        self, person: str, token: bytes, now: datetime, expires: datetime
    ) -> Promise[None]: ...

    def in_session(self, person: str, token: bytes, now: datetime) -> Promise[Person | None]: ...

    def close_session(self, person: str, token: bytes) -> Promise[None]: ...

    def used(self, key: str, day: date) -> Promise[None]:
        """Note that a key was used on a day."""
        ...

    def last_used(self, key_ids: Sequence[str]) -> Promise[Mapping[str, str]]:
        """The day on which each key was used last, of those that were."""
        ...


class Store(Protocol):
    """Accounts, keys, counters and credits."""

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> Account | None:
        """Whose key this is; None for any text that is no key in force (A4)."""
        ...

    def usage(self, account: str, plan: Plan, now: datetime) -> Usage:
        """All counters of an account, under the limits of `plan`."""
        ...

    def calls(self, account: str, limit: int, now: datetime) -> Meter:
        """The calls of the day as they stand: the part of `usage` that every answer tells."""
        ...

    def account(self, account: str) -> Account:
        """The account of this id; UnknownError where there is none."""
        ...

    def accounts(self) -> Sequence[Account]: ...

    def keys_of(self, account: str) -> Sequence[Key]: ...

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Promise[Meter]:
        """One call of the day, if `limit` allows; a refused one is not counted."""
        ...

    def give_back(self, account: str, taken: datetime) -> Promise[None]:
        """Undo a call taken at `taken` whose answer failed."""
        ...

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        """One call and, if it was granted, the full record of `company` ("EE/10000018"), at once.

        A company is charged once a month, from `grant` first and then from packs; where they do
        not suffice the charge is refused and the call stays counted.
        """
        ...

    def is_charged(self, account: str, company: str, now: datetime) -> bool:
        """Was the record of `company` charged in this calendar month, so that it is free?"""
        ...

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Promise[Reservation | Refusal]:
        """Hold one of the month's exports for `ttl`."""
        ...

    def commit(self, reservation: Reservation, now: datetime) -> Promise[Meter]:
        """Count a finished export; not `granted`, it came too late and must not be sent."""
        ...

    def release(self, reservation: Reservation, now: datetime) -> Promise[None]:
        """Give up an export that failed or was empty."""
        ...

    # -- accounts and keys ---------------------------------------------------------

    def create_account(
        self,
        plan: str,
        plans: Mapping[str, Plan],
        now: datetime,
        *,
        nom: str = "",
        api_tool: bool = False,
        modules: Sequence[str] = (),
    ) -> Promise[Account]: ...

    def set_plan(
        self,
        account: str,
        plan: str,
        plans: Mapping[str, Plan],
        *,
        api_tool: bool | None = None,
        modules: Sequence[str] | None = None,
    ) -> Promise[Account]:
        """Give an account another plan; None leaves the option, or the modules, as they are."""
        ...

    def create_key(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> Promise[tuple[Key, str]]:
        """A new key and its secret text, never seen again; NotAllowedError over the cap (A9)."""
        ...

    def revoke_key(self, key_id: str, now: datetime) -> Promise[Key]: ...

    def add_credits(self, account: str, count: int) -> Promise[int]:
        """Buy a pack; returns what packs have left."""
        ...

    @property
    def people(self) -> People:
        """Those who open the pages of an account."""
        ...

    # -- upkeep --------------------------------------------------------------------

    def compact(self, before: str) -> int:
        """Drop the counters of months before `before` ("2025-10"); returns how many rows."""
        ...

    def backup(self, target: Path) -> None:
        """Write a verified copy of everything to `target`, which must not exist, while in use."""
        ...

    def close(self) -> None:
        """Finish what was asked for, then close."""
        ...
