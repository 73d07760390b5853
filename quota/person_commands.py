"""The commands `person …`: who opens the pages of an organisation.

No mail is sent, so a password that was lost is replaced here: the new one is drawn by chance and
printed once, and whoever gets it changes it under /compte. All sessions of the person end.
"""

import secrets
from argparse import Namespace
from datetime import datetime
from typing import Any

from quota import passwords
from quota.commands import Answer, Plans
from quota.errors import UnknownError
from quota.people import Person
from quota.store import Ledger

_BYTES = 12  # 96 bits of chance, 16 characters


async def add_person(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """One more person of an organisation, with a password that is printed this once."""
    password = secrets.token_urlsafe(_BYTES)
    hashed = passwords.hashed(password)
    person = await store.people.add(options.account, options.email, hashed, now)
    return {**_members(person), "password": password}


async def new_password(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A new password for who lost the old one; it is printed this once."""
    person = await store.people.by_email(options.email)
    if person is None:
        raise UnknownError(
            f"nobody has the address {options.email!r}; `person list ACCOUNT` shows those there are"
        )
    password = secrets.token_urlsafe(_BYTES)
    await store.people.set_password(person.id, passwords.hashed(password))
    return {**_members(person), "password": password}


async def list_people(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """The people of an organisation."""
    account = await store.account(options.account)
    return [_members(person) for person in await store.people.of(account.id)]


def _members(person: Person) -> dict[str, Any]:
    return {
        "account": person.account,
        "person": person.id,
        "email": person.email,
        "created": person.created,
    }
