"""The commands of `python -m quota`, as functions of a store; each returns JSON objects.

Their members have the names of the API (D4, D10), so that the output of a command can be compared with
the response that a client got.
"""

import secrets
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from quota import credentials
from quota.accounts import Account, Key, effective_plan, has_tool
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, calls, exports, lists, payments, people, tickets, upkeep
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.calls import Credits, Meter
from quota.ledger.exports import Usage
from quota.ledger.people import Person
from quota.ledger.tickets import Ticket
from quota.new_values import new_account, new_key, new_person, new_ticket
from quota.periods import day, iso, months_before, seconds
from quota.plans import Plan
from quota.store.interface import LedgerStore

Result = Mapping[str, Any] | Sequence[Mapping[str, Any]]

_DROPPED_LISTS: Final = 20  # by one transaction, of at most 100 rows each
_PASSWORD_BYTES: Final = 12  # 96 random bits, 16 characters

Plans = Mapping[str, Plan]


class Options(Namespace):
    """The arguments of a command as argparse reads them, with the plans and the time of the command."""

    plans: Plans
    now: datetime


# -- accounts, keys, credits -------------------------------------------------------


async def create_account(store: LedgerStore, options: Options) -> Result:
    """Create an organisation; commands for it take its id."""
    account = new_account(
        options.plan,
        options.now,
        nom=options.nom,
        api_tool=bool(options.api_tool),
        modules=options.modules or (),
    )
    await store.submit(account_rows.create_account, account, options.plans)
    return new_account_members(account, options.plans)


async def show_account(store: LedgerStore, options: Options) -> Result:
    """Show one organisation."""
    return account_members(
        await store.read(account_rows.account_of, options.account), options.plans
    )


async def list_accounts(store: LedgerStore, options: Options) -> Result:
    """List all organisations, the oldest first."""
    return [
        account_members(account, options.plans)
        for account in await store.read(account_rows.accounts)
    ]


async def set_plan(store: LedgerStore, options: Options) -> Result:
    """Change the plan, from the next call on."""
    account = await store.submit(
        account_rows.set_plan,
        options.account,
        options.plan,
        options.plans,
        api_tool=options.api_tool,
        modules=options.modules,
    )
    return account_members(account, options.plans)


async def create_key(store: LedgerStore, options: Options) -> Result:
    """Create a key; its text cannot be shown again."""
    key, text = new_key(options.account, options.now, label=options.label)
    await store.submit(account_rows.create_key, key, credentials.key_digest(text), options.plans)
    return {"account": key.account, "key_id": key.id, "key": text}


async def list_keys(store: LedgerStore, options: Options) -> Result:
    """List the keys of an organisation, revoked ones included."""
    account = await store.read(account_rows.account_of, options.account)
    return [key_members(key) for key in await store.read(account_rows.keys_of, account.id)]


async def revoke_key(store: LedgerStore, options: Options) -> Result:
    """End a key; the next call with it is refused."""
    return key_members(
        await store.submit(account_rows.revoke_key, options.key_id, iso(options.now))
    )


async def create_address(store: LedgerStore, options: Options) -> Result:
    """Create a reconciliation address; its path cannot be shown again."""
    address, token = new_key(options.account, options.now, label=options.label, kind=ADDRESSES)
    digest = credentials.key_digest(token)
    await store.submit(account_rows.create_key, address, digest, options.plans, ADDRESSES)
    return {
        "account": address.account,
        "address_id": address.id,
        "path": f"/api/v1/reconciliation/{token}",
    }


async def list_addresses(store: LedgerStore, options: Options) -> Result:
    """List the reconciliation addresses of an organisation, revoked ones included."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        address_members(one)
        for one in await store.read(account_rows.keys_of, account.id, ADDRESSES)
    ]


async def revoke_address(store: LedgerStore, options: Options) -> Result:
    """End a reconciliation address; the next request at it is refused."""
    return address_members(
        await store.submit(account_rows.revoke_key, options.address_id, iso(options.now), ADDRESSES)
    )


async def add_credits(store: LedgerStore, options: Options) -> Result:
    """Add a pack of credits, which are used after the grant of the month."""
    left = await store.submit(calls.add_credits, options.account, options.count)
    return {"account": options.account, "ajoutes": options.count, "packs": left}


async def list_unapplied(store: LedgerStore, options: Options) -> Result:
    """List what was paid at Stripe and could not be applied."""
    return [
        {
            "paiement": one.id,
            "nature": one.kind,
            "account": one.account,
            "plan": one.plan,
            "credits": one.credits,
            "client": one.customer,
            "depuis": iso(datetime.fromtimestamp(one.since, UTC)),
            "erreur": one.error,
        }
        for one in await store.read(payments.unapplied_payments)
    ]


async def settle_unapplied(store: LedgerStore, options: Options) -> Result:
    """Forget a payment that was settled by hand."""
    if not await store.submit(payments.settle_unapplied, options.payment):
        raise UnknownError(
            f"there is no payment {options.payment!r} without effect; `payment unapplied` lists them"
        )
    return {"paiement": options.payment}


async def usage(store: LedgerStore, options: Options) -> Result:
    """Show the counters, under the limits with which the keys are served."""
    account = await store.read(account_rows.account_of, options.account)
    plan = effective_plan(account, options.plans)
    return usage_members(account, plan, await store.usage(account.id, plan, options.now))


async def list_exports(store: LedgerStore, options: Options) -> Result:
    """List the last exports of an account, the newest first."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        {"cree": one.made, "fichier": one.name, "format": one.format, "lignes": one.rows,
         "total": one.total, "cle": one.key, "recherche": one.search}
        for one in await store.read(exports.counted_exports, account.id)
    ]  # fmt: skip


# -- people ------------------------------------------------------------------------
#
# A link is printed once, as a path of the servers, to be handed over; with --mail a server that has
# the section [courriel] sends it instead. A password that is made here is random and printed once.


async def add_person(store: LedgerStore, options: Options) -> Result:
    """Add a person to an organisation, with a password that is printed once."""
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    hashed = credentials.hash_password(password)
    new = new_person(options.account, options.email, hashed, options.now, options.role)
    person = await store.submit(people.add_person, new)
    return {**person_members(person), "password": password}


async def new_password(store: LedgerStore, options: Options) -> Result:
    """Replace the password of a person by one that is printed once."""
    person = await _person(store, options.email)
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    await store.submit(tickets.replace_password, person.id, credentials.hash_password(password))
    return {**person_members(person), "password": password}


async def list_people(store: LedgerStore, options: Options) -> Result:
    """List the people of an organisation."""
    account = await store.read(account_rows.account_of, options.account)
    return [person_members(person) for person in await store.read(people.people_of, account.id)]


async def invite(store: LedgerStore, options: Options) -> Result:
    """Invite somebody into an organisation by a link, or by mail."""
    new = new_ticket(
        tickets.INVITATION, options.email, options.now,
        mail=options.mail, account=options.account, role=options.role, lang=options.lang,
    )  # fmt: skip
    ticket = await store.submit(tickets.issue, new.ticket, new.digest)
    return ticket_members(ticket) | _link("invitation", new.token)


async def invitations(store: LedgerStore, options: Options) -> Result:
    """List the links of an organisation that can still be used, with the state of their mails."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        ticket_members(one)
        for one in await store.read(tickets.of_account, account.id, seconds(options.now))
    ]


async def reset(store: LedgerStore, options: Options) -> Result:
    """Let a person choose another password by a link, or by mail."""
    person = await _person(store, options.email)
    new = new_ticket(
        tickets.PASSWORD, person.email, options.now, mail=options.mail, lang=options.lang
    )
    ticket = await store.submit(tickets.ask_for_link, new.ticket, new.digest)
    return ticket_members(ticket) | _link("mot-de-passe", new.token)


async def confirm(store: LedgerStore, options: Options) -> Result:
    """Let the address of a person count, without the link that would be mailed to it."""
    person = await _person(store, options.email)
    return person_members(await store.submit(people.confirm, person.id))


async def set_role(store: LedgerStore, options: Options) -> Result:
    """Give a person another role."""
    person = await _person(store, options.email)
    return person_members(
        await store.submit(people.set_role, person.account, person.id, options.role)
    )


async def remove_person(store: LedgerStore, options: Options) -> Result:
    """Remove a person from the organisation; all sessions of the person end."""
    person = await _person(store, options.email)
    return person_members(await store.submit(tickets.remove_person, person.account, person.id))


async def _person(store: LedgerStore, email: str) -> Person:
    person = await store.read(people.by_email, email)
    if person is None:
        raise UnknownError(
            f"nobody has the address {email!r}; `person list ACCOUNT` shows those there are"
        )
    return person


def _link(path: str, token: str) -> dict[str, Any]:
    return {"lien": f"/{path}/{token}"} if token else {}


# -- upkeep ------------------------------------------------------------------------


async def compact(store: LedgerStore, options: Options) -> Result:
    """Drop the counters of old months, and lists that have expired. A clock that is ahead would freeze the counters
    until then."""
    now = store.moment(options.now)  # a server's clock counts where this machine's differs
    before = months_before(now, options.keep_months)
    newest = store.newest_month()
    if newest is None:
        return {"before": before, "rows": 0, "lists": await drop_lists(store, now)}
    if before > newest:
        raise NotAllowedError(
            f"the counters of all months before {before} would go, and the newest are of {newest}: the clock "
            f"says {now:%Y-%m-%d}; set it, or keep more months (--keep-months)"
        )
    rows = store.compact(before)
    return {"before": before, "rows": rows, "lists": await drop_lists(store, now)}


async def drop_lists(store: LedgerStore, now: datetime) -> int:
    """Delete the matched lists that have expired, in pieces between which others write; returns how many."""
    total = 0
    while dropped := await store.submit(lists.drop_expired, seconds(now), _DROPPED_LISTS):
        total += dropped
    return total


async def repair(store: LedgerStore, options: Options) -> Result:
    """Go back to an earlier first month after a clock that was ahead."""
    month = options.floor
    if month > (latest := months_before(store.moment(options.now), 0)):
        raise NotAllowedError(f"{month} is still to come; give {latest} or an earlier month")
    before = await store.submit(calls.lower_floor, month)
    return {"floor": month if before is None else min(month, before), "before": before}


async def purge(store: LedgerStore, options: Options) -> Result:
    """Remove free organisations that were never used; without --yes only list them."""
    before, today = iso(options.now - timedelta(days=options.unused_days)), day(options.now).key
    found = []
    for account in upkeep.unused_accounts(store.table_rows, before):
        gone = options.yes and await store.submit(upkeep.remove, account.id, before, today)
        found.append(
            {"account": account.id, "nom": account.nom, "created": account.created, "removed": gone}
        )
    return found


async def backup(store: LedgerStore, options: Options) -> Result:
    """Write a verified copy."""
    store.backup(options.file)
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


async def audit(store: LedgerStore, options: Options) -> Result:
    """Compare all charges with the sums; a difference is an error."""
    report = store.audit()
    report.require()
    return {
        "accounts": report.accounts,
        "months": report.months,
        "charges": report.charges,
        "credits": report.credits,
    }


# -- results as JSON objects ---------------------------------------------------------


def new_account_members(account: Account, plans: Plans) -> dict[str, Any]:
    """A new account, with the members that scripts rely on."""
    return {
        "account": account.id,
        "plan": account.plan,
        "outil_api": has_tool(account, plans),
    }


def account_members(account: Account, plans: Plans) -> dict[str, Any]:
    """An account; `plan_effectif` is the plan that its keys are served with (A7)."""
    return new_account_members(account, plans) | {
        "plan_effectif": effective_plan(account, plans).slug,
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


def address_members(address: Key) -> dict[str, Any]:
    """A reconciliation address without its token."""
    members = key_members(address)
    return {"address_id" if name == "key_id" else name: it for name, it in members.items()}


def person_members(person: Person) -> dict[str, Any]:
    """A person without the hash of the password."""
    return {
        "account": person.account,
        "person": person.id,
        "email": person.email,
        "created": person.created,
        "role": person.role,
        "confirmed": person.confirmed,
    }


def ticket_members(ticket: Ticket) -> dict[str, Any]:
    """An invitation, or the right to choose another password; `courriel` is the state of its mail."""
    expires = datetime.fromtimestamp(ticket.expires, UTC)
    return {
        "account": ticket.account,
        "ticket": ticket.id,
        "nature": ticket.kind,
        "email": ticket.email,
        "role": ticket.role,
        "expires": _moment(expires),
        "courriel": ticket.mail,
        "essais": ticket.attempts,
        "erreur": ticket.error,
    }


def usage_members(account: Account, plan: Plan, usage: Usage) -> dict[str, Any]:
    """The counters of an account under the limits of `plan`."""
    return {
        "account": account.id,
        "plan": plan.slug,
        "appels_jour": _meter_members(usage.calls),
        "exports_mois": _meter_members(usage.exports),
        "credits": _credit_members(usage.credits),
    }


def _meter_members(meter: Meter) -> dict[str, Any]:
    return {
        "limite": meter.limit,
        "utilise": meter.used,
        "restant": max(0, meter.limit - meter.used),
        "reinitialisation": _moment(meter.reset),
    }


def _credit_members(credit: Credits) -> dict[str, Any]:
    return {
        "dotation": credit.grant,
        "utilise": credit.used,
        "packs": credit.packs,
        "solde": credit.left,
        "reinitialisation": _moment(credit.reset),
    }


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


# -- results as text -----------------------------------------------------------------


def object_lines(members: Mapping[str, Any]) -> list[str]:
    """An object as text: one line per member, the members of a nested object on its line."""
    printed = []
    for name, value in members.items():
        if isinstance(value, Mapping):
            value = " · ".join(f"{inner} {it}" for inner, it in value.items())
        elif isinstance(value, list):
            value = ", ".join(value)
        printed.append(f"{name:16} {'–' if value in (None, '') else _word(value)}")
    return printed


def object_row(members: Mapping[str, Any]) -> str:
    """An object of a list as one line of text."""
    values = (", ".join(it) if isinstance(it, list) else it for it in members.values())
    return "  ".join("–" if value in (None, "") else _word(value) for value in values)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # The label of a key comes from a form and may contain anything, also a line break.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
