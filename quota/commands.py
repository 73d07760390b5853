"""The commands of `python -m quota`: each asks the store and returns what is to be printed."""

import secrets
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quota.accounts import Account, Key, effective, has_tool
from quota.errors import UnknownError
from quota.ledger import passwords
from quota.ledger.people import Person
from quota.periods import months_before
from quota.plans import Plan
from quota.results import Credits, Meter, Usage
from quota.store.interface import Ledger

# MERGED quota/shown.py
# What the commands print of accounts, keys and counters: JSON objects, and lines for people.
#
# Counters have the names of the API (D4, D10), so that what a command prints can be held against
# what a client was told.


def created(account: Account, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """A new account, with the members that design.md fixes."""
    return {
        "account": account.id,
        "plan": account.plan,
        "outil_api": has_tool(account, plans),
    }


def account_members(account: Account, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """All of an account; `plan_effectif` is the one its keys are served with (A7)."""
    return created(account, plans) | {
        "plan_effectif": effective(account, plans).slug,
        "nom": account.nom,
        "modules": list(account.modules),
        "created": account.created,
    }


def key_members(key: Key) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "account": key.account,
        "key_id": key.id,
        "last4": key.last4,
        "label": key.label,
        "created": key.created,
        "revoked": key.revoked,
    }


def usage_members(account: Account, plan: Plan, usage: Usage) -> dict[str, Any]:
    """The counters of an account under the limits of `plan`."""
    return {
        "account": account.id,
        "plan": plan.slug,
        "appels_jour": _meter(usage.calls),
        "exports_mois": _meter(usage.exports),
        "credits": _credits(usage.credits),
    }


def _meter(meter: Meter) -> dict[str, Any]:
    return {
        "limite": meter.limit,
        "utilise": meter.used,
        "restant": max(0, meter.limit - meter.used),
        "reinitialisation": _moment(meter.reset),
    }


def _credits(credit: Credits) -> dict[str, Any]:
    return {
        "dotation": credit.grant,
        "utilise": credit.used,
        "packs": credit.packs,
        "solde": credit.left,
        "reinitialisation": _moment(credit.reset),
    }


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def lines(members: Mapping[str, Any]) -> list[str]:
    """An object for people: a line a member, the members of its members behind its name."""
    shown = []
    for name, value in members.items():
        if isinstance(value, Mapping):
            value = " · ".join(f"{inner} {it}" for inner, it in value.items())
        elif isinstance(value, list):
            value = ", ".join(value)
        shown.append(f"{name:16} {'–' if value in (None, '') else _word(value)}")
    return shown


def row(members: Mapping[str, Any]) -> str:
    """An object of a list, on one line."""
    values = (", ".join(it) if isinstance(it, list) else it for it in members.values())
    return "  ".join("–" if value in (None, "") else _word(value) for value in values)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return {True: "oui", False: "non"}[value]
    # A label of a form may hold anything, and lists have a line each.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


Plans = Mapping[str, Plan]
Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]


async def create_account(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A new organisation; its id is what every other command wants."""
    account = await store.create_account(
        options.plan,
        plans,
        now,
        nom=options.nom,
        api_tool=bool(options.api_tool),
        modules=options.modules or (),
    )
    return created(account, plans)


async def show_account(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """One organisation."""
    return account_members(await store.account(options.account), plans)


async def list_accounts(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """All organisations, the oldest first."""
    return [account_members(account, plans) for account in await store.accounts()]


async def set_plan(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Another plan, from the next call on."""
    account = await store.set_plan(
        options.account, options.plan, plans, api_tool=options.api_tool, modules=options.modules
    )
    return account_members(account, plans)


async def create_key(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A new key; the only time that its text is seen."""
    key, text = await store.create_key(options.account, plans, now, label=options.label)
    return {"account": key.account, "key_id": key.id, "key": text}


async def list_keys(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """The keys of an organisation, ended ones too."""
    account = await store.account(options.account)
    return [key_members(key) for key in await store.keys_of(account.id)]


async def revoke_key(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """End a key; the next call with it is refused."""
    return key_members(await store.revoke_key(options.key_id, now))


async def add_credits(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A pack of credits, after what the month grants."""
    left = await store.add_credits(options.account, options.count)
    return {"account": options.account, "ajoutes": options.count, "packs": left}


async def usage(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """What is used and left, under the limits that its keys are served with."""
    account = await store.account(options.account)
    plan = effective(account, plans)
    return usage_members(account, plan, await store.usage(account.id, plan, now))


async def compact(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Drop the counters of old months."""
    before = months_before(now, options.keep_months)
    return {"before": before, "rows": store.compact(before)}


async def backup(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Write a verified copy."""
    store.backup(options.file)
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


# MERGED quota/person_commands.py
# The commands `person …`: who opens the pages of an organisation.
#
# No mail is sent, so a password that was lost is replaced here: the new one is drawn by chance and
# printed once, and whoever gets it changes it under /compte. All sessions of the person end.

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
