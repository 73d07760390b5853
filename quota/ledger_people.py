"""The people of a store: `People` over its rows, in its transactions.

Here chance is drawn for their ids; all else is a function of `people.py` in a transaction.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol, TypeVar

from quota import keys, people
from quota.accounts import Account
from quota.effective import FREE
from quota.people import Person
from quota.periods import iso
from quota.plans import Plan
from quota.promise import Promise, Told
from quota.transaction import Reading, Writing



class Read(Protocol):
    def __call__(self, look: Callable[[Reading], T], /) -> Told[T]: ...


class Submit(Protocol):
    def __call__(self, wish: Callable[[Writing], T], /) -> Promise[T]: ...


class LedgerPeople:
    """`quota.store.People`; `read` and `submit` are those of the store that it is a part of."""

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
        def look(txn: Reading) -> Mapping[str, str]:
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
