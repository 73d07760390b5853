"""The interface between the server and whatever keeps accounts, keys, counters and credits.

What is asked for is begun by the call; its answer is awaited, and is there once a write is safe:
the server searches meanwhile. A store on the same host has what it reads at once. Every method that
depends on the time takes it: `now` has a time zone. All of it is exact over any number of threads,
processes and hosts that share the store (D6).

Every method, and every answer, may raise StoreUnavailable: then nothing was acknowledged and what
was found must not be sent (503 `indisponible`).
"""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Protocol

from quota.accounts import Account, Key
from quota.ledger.people import Person
from quota.plans import Plan
from quota.results import Charge, Meter, Refusal, Reservation, Usage
from quota.store.promise import Promise, Told


class People(Protocol):
    """People and their sessions (`quota/ledger/people.py`), and the days on which keys were used."""

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

    def by_email(self, email: str) -> Told[Person | None]: ...

    def of(self, account: str) -> Told[Sequence[Person]]: ...

    def set_password(self, person: str, password: str) -> Promise[Person]:
        """Another password; it ends all sessions."""
        ...

    def open_session(
        self, person: str, token: bytes, now: datetime, expires: datetime
    ) -> Promise[None]: ...

    def in_session(self, person: str, token: bytes, now: datetime) -> Told[Person | None]: ...

    def close_session(self, person: str, token: bytes) -> Promise[None]: ...

    def used(self, key: str, day: date) -> Promise[None]:
        """Note that a key was used on a day."""
        ...

    def last_used(self, key_ids: Sequence[str]) -> Told[Mapping[str, str]]:
        """The day on which each key was used last, of those that were."""
        ...


class Store(Protocol):
    """What a server asks for: who calls, and what it may."""

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> Awaitable[Account | None]:
        """Whose key this is; None for any text that is no key in force (A4)."""
        ...

    def usage(self, account: str, plan: Plan, now: datetime) -> Awaitable[Usage]:
        """All counters of an account, under the limits of `plan`."""
        ...

    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """The calls of the day as they stand: the part of `usage` that every answer tells."""
        ...

    def keys_of(self, account: str) -> Awaitable[Sequence[Key]]: ...

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """One call of the day, if `limit` allows; a refused one is not counted."""
        ...

    def give_back(self, account: str, taken: datetime) -> Awaitable[None]:
        """Undo a call taken at `taken` whose answer failed."""
        ...

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Awaitable[tuple[Meter, Charge | None]]:
        """One call and, if it was granted, the full record of `company` ("EE/10000018"), at once.

        A company is charged once a month, from `grant` first and then from packs; where they do
        not suffice the charge is refused and the call stays counted.
        """
        ...

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Awaitable[Reservation | Refusal]:
        """Hold one of the month's exports for `ttl`."""
        ...

    def commit(self, reservation: Reservation, now: datetime) -> Awaitable[Meter]:
        """Count a finished export; not `granted`, it came too late and must not be sent."""
        ...

    def release(self, reservation: Reservation, now: datetime) -> Awaitable[None]:
        """Give up an export that failed or was empty."""
        ...

    def close(self) -> None:
        """Finish what was asked for, then close."""
        ...


class Ledger(Store, Protocol):
    """What its commands ask for besides: accounts, keys, packs, upkeep (`python -m quota`)."""

    # -- accounts and keys ---------------------------------------------------------

    def account(self, account: str) -> Awaitable[Account]:
        """The account of this id; UnknownError where there is none."""
        ...

    def accounts(self) -> Awaitable[Sequence[Account]]: ...

    def create_account(
        self,
        plan: str,
        plans: Mapping[str, Plan],
        now: datetime,
        *,
        nom: str = "",
        api_tool: bool = False,
        modules: Sequence[str] = (),
    ) -> Awaitable[Account]: ...

    def set_plan(
        self,
        account: str,
        plan: str,
        plans: Mapping[str, Plan],
        *,
        api_tool: bool | None = None,
        modules: Sequence[str] | None = None,
    ) -> Awaitable[Account]:
        """Give an account another plan; None leaves the option, or the modules, as they are."""
        ...

    def create_key(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> Awaitable[tuple[Key, str]]:
        """A new key and its secret text, never seen again; NotAllowedError over the cap (A9)."""
        ...

    def revoke_key(self, key_id: str, now: datetime) -> Awaitable[Key]: ...

    def add_credits(self, account: str, count: int) -> Awaitable[int]:
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
