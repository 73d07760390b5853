"""What all stores have in common: each method is a function of the ledger in one transaction.

A store over rows says how a transaction is had (`_read`, `_submit`). Here chance is drawn, for new
ids and keys, and a moment is brought to UTC before it is asked about.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from quota import keys
from quota.accounts import FREE, Account, Key
from quota.ledger import calls, exports, people, registry
from quota.ledger.people import Person
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.periods import iso, utc
from quota.plans import Plan
from quota.results import Charge, Meter, Refusal, Reservation, Usage
from quota.store.promise import Kept, Promise, Told

# MERGED quota/ledger_people.py
# The people of a store: `People` over its rows, in its transactions.
#
# Here chance is drawn for their ids; all else is a function of `people.py` in a transaction.


T = TypeVar("T")


class Read(Protocol):
    def __call__(self, look: Callable[[ReadTransaction], T], /) -> Told[T]: ...


class Submit(Protocol):
    def __call__(self, wish: Callable[[WriteTransaction], T], /) -> Promise[T]: ...


class LedgerPeople:
    """`quota.store.interface.People`; `read` and `submit` are those of the store that it is a part of."""

    def __init__(self, read: Read, submit: Submit) -> None:
        self._read = read
        self._submit = submit

    # -- reads ---------------------------------------------------------------------

    def by_email(self, email: str) -> Told[Person | None]:
        return self._read(lambda txn: people.by_email(txn, email))

    def of(self, account: str) -> Told[Sequence[Person]]:
        return self._read(lambda txn: people.people_of(txn, account))

    def in_session(self, person: str, token: bytes, now: datetime) -> Told[Person | None]:
        seconds = int(now.timestamp())
        return self._read(lambda txn: people.in_session(txn, person, token, seconds))

    def last_used(self, key_ids: Sequence[str]) -> Told[Mapping[str, str]]:
        def look(txn: ReadTransaction) -> Mapping[str, str]:
            days = {key_id: people.last_used(txn, key_id) for key_id in key_ids}
            return {key_id: day for key_id, day in days.items() if day}

        return self._read(look)

    # -- writes --------------------------------------------------------------------

    def sign_up(
        self, nom: str, email: str, password: str, plans: Mapping[str, Plan], now: datetime
    ) -> Promise[bool]:
        name = keys.make_id(keys.ACCOUNT_ID, secrets.randbelow)
        account = Account(name, nom, FREE, False, (), iso(now))
        person = self._person(name, email, password, now)
        return self._submit(lambda txn: people.sign_up(txn, account, person, plans))

    def add(self, account: str, email: str, password: str, now: datetime) -> Promise[Person]:
        person = self._person(account, email, password, now)
        return self._submit(lambda txn: people.add_person(txn, person))

    def set_password(self, person: str, password: str) -> Promise[Person]:
        return self._submit(lambda txn: people.set_password(txn, person, password))

    def open_session(
        self, person: str, token: bytes, now: datetime, expires: datetime
    ) -> Promise[None]:
        start, end = int(now.timestamp()), int(expires.timestamp())
        return self._submit(lambda txn: people.open_session(txn, person, token, start, end))

    def close_session(self, person: str, token: bytes) -> Promise[None]:
        return self._submit(lambda txn: people.close_session(txn, person, token))

    def used(self, key: str, day: date) -> Promise[None]:
        digest, written = keys.digest(key), day.isoformat()
        return self._submit(lambda txn: people.used(txn, digest, written))

    @staticmethod
    def _person(account: str, email: str, password: str, now: datetime) -> Person:
        name = keys.make_id(keys.PERSON_ID, secrets.randbelow)
        return Person(name, email.strip(), account, password, iso(now))


class AccountBook(ABC):
    """The methods of `Store` that are the ledger's; upkeep is each store's own."""

    @abstractmethod
    def _read(self, look: Callable[[ReadTransaction], T]) -> Told[T]:
        """What `look` makes of the rows as they stand."""

    @abstractmethod
    def _submit(self, wish: Callable[[WriteTransaction], T]) -> Promise[T]:
        """Do `wish` in a transaction; the promise is kept once that is safe."""

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> Told[Account | None]:
        if not keys.is_well_formed(key):
            return Kept(None)
        return self._identify(keys.digest(key))

    def _identify(self, digest: bytes) -> Told[Account | None]:
        return self._read(lambda txn: registry.identify(txn, digest))

    def usage(self, account: str, plan: Plan, now: datetime) -> Told[Usage]:
        return self._read(lambda txn: exports.usage(txn, account, plan, now))

    def calls(self, account: str, limit: int, now: datetime) -> Told[Meter]:
        return self._read(lambda txn: calls.calls(txn, account, limit, now))

    def account(self, account: str) -> Told[Account]:
        return self._read(lambda txn: registry.account_of(txn, account))

    def accounts(self) -> Told[Sequence[Account]]:
        return self._read(registry.accounts)

    def keys_of(self, account: str) -> Told[Sequence[Key]]:
        return self._read(lambda txn: registry.keys_of(txn, account))

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Promise[Meter]:
        moment = utc(now)
        return self._submit(lambda txn: calls.take(txn, account, limit, moment))

    def give_back(self, account: str, taken: datetime) -> Promise[None]:
        moment = utc(taken)
        return self._submit(lambda txn: calls.give_back(txn, account, moment))

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        moment = utc(now)
        return self._submit(
            lambda txn: calls.take_and_charge(txn, account, limit, company, cost, grant, moment)
        )

    def is_charged(self, account: str, company: str, now: datetime) -> Told[bool]:
        return self._read(lambda txn: calls.is_charged(txn, account, company, now))

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Promise[Reservation | Refusal]:
        moment, name = utc(now), secrets.token_hex(8)
        return self._submit(
            lambda txn: exports.reserve(txn, account, limit, at_once, ttl, name, moment)
        )

    def commit(self, reservation: Reservation, now: datetime) -> Promise[Meter]:
        moment = utc(now)
        return self._submit(lambda txn: exports.commit(txn, reservation, moment))

    def release(self, reservation: Reservation, now: datetime) -> Promise[None]:
        del now  # a place is given up at any time
        return self._submit(lambda txn: exports.release(txn, reservation))

    @property
    def people(self) -> LedgerPeople:
        return LedgerPeople(self._read, self._submit)

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
    ) -> Promise[Account]:
        name = keys.make_id(keys.ACCOUNT_ID, secrets.randbelow)
        account = Account(name, nom, plan, api_tool, tuple(modules), _iso(now))
        return self._submit(lambda txn: registry.create_account(txn, account, plans))

    def set_plan(
        self,
        account: str,
        plan: str,
        plans: Mapping[str, Plan],
        *,
        api_tool: bool | None = None,
        modules: Sequence[str] | None = None,
    ) -> Promise[Account]:
        return self._submit(
            lambda txn: registry.set_plan(txn, account, plan, api_tool, modules, plans)
        )

    def create_key(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> Promise[tuple[Key, str]]:
        text = keys.make(secrets.randbelow)
        name = keys.make_id(keys.KEY_ID, secrets.randbelow)
        key = Key(name, account, keys.last4(text), label, _iso(now), None)
        digest = keys.digest(text)
        return self._submit(lambda txn: (registry.create_key(txn, key, digest, plans), text))

    def revoke_key(self, key_id: str, now: datetime) -> Promise[Key]:
        return self._submit(partial(registry.revoke_key, key_id=key_id, now=_iso(now)))

    def add_credits(self, account: str, count: int) -> Promise[int]:
        return self._submit(lambda txn: calls.add_credits(txn, account, count))


def _iso(now: datetime) -> str:
    return utc(now).isoformat(timespec="seconds")
