"""The commands of `python -m quota`, as functions of a store; each returns a JSON object, or a list of JSON objects.

The members of the objects have the names of the API (D4, D10), so that the output of a command can be compared with
a response.
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

# A JSON object, or a list of JSON objects.
CommandResult = Mapping[str, Any] | Sequence[Mapping[str, Any]]

_DROPPED_LISTS: Final = 20  # the most expired lists of each kind that one transaction deletes
_PASSWORD_BYTES: Final = 12  # 96 random bits, 16 characters

Plans = Mapping[str, Plan]  # by slug


class Options(Namespace):
    """The arguments of a command as argparse reads them, with the plans and the time of the command."""

    plans: Plans
    now: datetime


# -- accounts, keys, credits -------------------------------------------------------


async def create_account(store: LedgerStore, options: Options) -> CommandResult:
    """Create an organisation; the result has its id, by which other commands name it."""
    account = new_account(
        options.plan,
        options.now,
        nom=options.nom,
        api_tool=bool(options.api_tool),
        modules=options.modules or (),
    )
    await store.submit(account_rows.create_account, account, options.plans)
    return new_account_members(account, options.plans)


async def show_account(store: LedgerStore, options: Options) -> CommandResult:
    """Show one organisation."""
    return account_members(
        await store.read(account_rows.account_of, options.account), options.plans
    )


async def list_accounts(store: LedgerStore, options: Options) -> CommandResult:
    """List all organisations, the oldest first."""
    return [
        account_members(account, options.plans)
        for account in await store.read(account_rows.accounts)
    ]


async def set_plan(store: LedgerStore, options: Options) -> CommandResult:
    """Change the plan of an organisation; the new plan applies from the next call on."""
    account = await store.submit(
        account_rows.set_plan,
        options.account,
        options.plan,
        options.plans,
        api_tool=options.api_tool,
        modules=options.modules,
    )
    return account_members(account, options.plans)


async def create_key(store: LedgerStore, options: Options) -> CommandResult:
    """Create a key; its text cannot be shown again."""
    key, text = new_key(options.account, options.now, label=options.label)
    await store.submit(account_rows.create_key, key, credentials.secret_digest(text), options.plans)
    return {"account": key.account, "key_id": key.id, "key": text}


async def list_keys(store: LedgerStore, options: Options) -> CommandResult:
    """List the keys of an organisation, including revoked keys."""
    account = await store.read(account_rows.account_of, options.account)
    return [key_members(key) for key in await store.read(account_rows.keys_of, account.id)]


async def revoke_key(store: LedgerStore, options: Options) -> CommandResult:
    """End a key; the next call with it is refused."""
    return key_members(
        await store.submit(account_rows.revoke_key, options.key_id, iso(options.now))
    )


async def create_address(store: LedgerStore, options: Options) -> CommandResult:
    """Create a reconciliation address, a secret URL for OpenRefine; its path cannot be shown again."""
    address, token = new_key(options.account, options.now, label=options.label, kind=ADDRESSES)
    digest = credentials.secret_digest(token)
    await store.submit(account_rows.create_key, address, digest, options.plans, ADDRESSES)
    return {
        "account": address.account,
        "address_id": address.id,
        "path": f"/api/v1/reconciliation/{token}",
    }


async def list_addresses(store: LedgerStore, options: Options) -> CommandResult:
    """List the reconciliation addresses of an organisation, including revoked addresses."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        address_members(address)
        for address in await store.read(account_rows.keys_of, account.id, ADDRESSES)
    ]


async def revoke_address(store: LedgerStore, options: Options) -> CommandResult:
    """End a reconciliation address; the next request at it is refused."""
    return address_members(
        await store.submit(account_rows.revoke_key, options.address_id, iso(options.now), ADDRESSES)
    )


async def add_credits(store: LedgerStore, options: Options) -> CommandResult:
    """Add a pack of credits, which are used after the grant of the month."""
    left = await store.submit(calls.add_credits, options.account, options.count)
    return {"account": options.account, "ajoutes": options.count, "packs": left}


async def list_unapplied(store: LedgerStore, options: Options) -> CommandResult:
    """The payments made at Stripe whose plan or credits could not be given to the account, with the error of each."""
    return [
        {
            "paiement": payment.id,
            "nature": payment.kind,
            "account": payment.account,
            "plan": payment.plan,
            "credits": payment.credits,
            "client": payment.customer,
            "depuis": iso(datetime.fromtimestamp(payment.since, UTC)),
            "erreur": payment.error,
        }
        for payment in await store.read(payments.unapplied_payments)
    ]


async def settle_unapplied(store: LedgerStore, options: Options) -> CommandResult:
    """Remove the note of a payment that was settled by hand."""
    if not await store.submit(payments.settle_unapplied, options.payment):
        raise UnknownError(
            f"there is no payment {options.payment!r} without effect; `payment unapplied` lists them"
        )
    return {"paiement": options.payment}


async def usage(store: LedgerStore, options: Options) -> CommandResult:
    """Show the counters of an organisation, under the limits of the plan that its keys are served with."""
    account = await store.read(account_rows.account_of, options.account)
    plan = effective_plan(account, options.plans)
    return usage_members(account, plan, await store.usage(account.id, plan, options.now))


async def list_exports(store: LedgerStore, options: Options) -> CommandResult:
    """List the last exports of an account, the newest first."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        {"cree": export.made, "fichier": export.name, "format": export.format, "lignes": export.rows,
         "total": export.total, "cle": export.key, "recherche": export.search}
        for export in await store.read(exports.counted_exports, account.id)
    ]  # fmt: skip


# -- people ------------------------------------------------------------------------
#
# A link is printed once, as a path of the servers; the operator sends the link. With --mail a server with the
# section [courriel] mails the link instead. Passwords are random, and printed once.


async def add_person(store: LedgerStore, options: Options) -> CommandResult:
    """Add a person to an organisation, with a password that is printed once."""
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    hashed = credentials.hash_password(password)
    new_member = new_person(options.account, options.email, hashed, options.now, options.role)
    person = await store.submit(people.add_person, new_member)
    return {**person_members(person), "password": password}


async def new_password(store: LedgerStore, options: Options) -> CommandResult:
    """Replace the password of a person; the new password is printed once."""
    person = await _person_by_email(store, options.email)
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    await store.submit(tickets.replace_password, person.id, credentials.hash_password(password))
    return {**person_members(person), "password": password}


async def list_people(store: LedgerStore, options: Options) -> CommandResult:
    """List the people of an organisation."""
    account = await store.read(account_rows.account_of, options.account)
    return [person_members(person) for person in await store.read(people.people_of, account.id)]


async def invite(store: LedgerStore, options: Options) -> CommandResult:
    """Invite somebody into an organisation by a link, or by mail."""
    ticket_and_token = new_ticket(
        tickets.INVITATION, options.email, options.now,
        mail=options.mail, account=options.account, role=options.role, lang=options.lang,
    )  # fmt: skip
    ticket = await store.submit(tickets.issue, ticket_and_token.ticket, ticket_and_token.digest)
    return ticket_members(ticket) | _link_member("invitation", ticket_and_token.token)


async def invitations(store: LedgerStore, options: Options) -> CommandResult:
    """List the links of an organisation that still work, with the state of their mails."""
    account = await store.read(account_rows.account_of, options.account)
    return [
        ticket_members(ticket)
        for ticket in await store.read(tickets.valid_tickets, account.id, seconds(options.now))
    ]


async def reset(store: LedgerStore, options: Options) -> CommandResult:
    """Make a link by which a person can choose a new password.

    The link is in the result, or with --mail a server sends it to the person.
    """
    person = await _person_by_email(store, options.email)
    ticket_and_token = new_ticket(
        tickets.PASSWORD, person.email, options.now, mail=options.mail, lang=options.lang
    )
    ticket = await store.submit(
        tickets.ask_for_link, ticket_and_token.ticket, ticket_and_token.digest
    )
    return ticket_members(ticket) | _link_member("mot-de-passe", ticket_and_token.token)


async def confirm(store: LedgerStore, options: Options) -> CommandResult:
    """Confirm the address of a person, without a mailed link."""
    person = await _person_by_email(store, options.email)
    return person_members(await store.submit(people.confirm, person.id))


async def set_role(store: LedgerStore, options: Options) -> CommandResult:
    """Give a person another role."""
    person = await _person_by_email(store, options.email)
    return person_members(
        await store.submit(people.set_role, person.account, person.id, options.role)
    )


async def remove_person(store: LedgerStore, options: Options) -> CommandResult:
    """Remove a person from the organisation; all sessions of the person end."""
    person = await _person_by_email(store, options.email)
    return person_members(await store.submit(tickets.remove_person, person.account, person.id))


async def _person_by_email(store: LedgerStore, email: str) -> Person:
    """The person with this address. Raises UnknownError."""
    person = await store.read(people.find_by_email, email)
    if person is None:
        raise UnknownError(
            f"nobody has the address {email!r}; `person list ACCOUNT` shows the addresses of an account"
        )
    return person


def _link_member(path: str, token: str) -> dict[str, Any]:
    """The path of a link as the member `lien`; {} without a token, because a server then mails the link."""
    return {"lien": f"/{path}/{token}"} if token else {}


# -- upkeep ------------------------------------------------------------------------


async def compact(store: LedgerStore, options: Options) -> CommandResult:
    """Delete the counters of old months, and expired lists.

    The command refuses to run if the clock is far ahead: all calls would then count in a future month.
    """
    # For Redis this is the time of the server's clock, if the clock of this machine differs.
    now = store.moment(options.now)
    first_kept_month = months_before(now, options.keep_months)
    newest = store.newest_month()
    if newest is None:
        return {"before": first_kept_month, "rows": 0, "lists": await drop_lists(store, now)}
    if first_kept_month > newest:
        raise NotAllowedError(
            f"the counters of all months before {first_kept_month} would go, and the newest are of {newest}: the clock "
            f"says {now:%Y-%m-%d}; set it, or keep more months (--keep-months)"
        )
    rows = store.compact(first_kept_month)
    return {"before": first_kept_month, "rows": rows, "lists": await drop_lists(store, now)}


async def drop_lists(store: LedgerStore, now: datetime) -> int:
    """Delete expired matched lists, in several transactions so that others can write; returns their number."""
    total = 0
    while dropped := await store.submit(lists.drop_expired, seconds(now), _DROPPED_LISTS):
        total += dropped
    return total


async def repair(store: LedgerStore, options: Options) -> CommandResult:
    """Lower the floor (the first month whose counters are kept), after the clock was ahead.

    Returns the floor now, and `before` (None if there was none). A month in the future is refused.
    """
    month = options.floor
    if month > (latest := months_before(store.moment(options.now), 0)):
        raise NotAllowedError(f"{month} is in the future; give {latest} or an earlier month")
    previous_floor = await store.submit(calls.lower_floor, month)
    return {
        "floor": month if previous_floor is None else min(month, previous_floor),
        "before": previous_floor,
    }


async def purge(store: LedgerStore, options: Options) -> CommandResult:
    """Remove free organisations that were never used and are `unused_days` old; without --yes only list them.

    Returns a row for each of them; `removed` says whether it was removed.
    """
    created_before, today = (
        iso(options.now - timedelta(days=options.unused_days)),
        day(options.now).key,
    )
    accounts = []
    for account in upkeep.unused_accounts(store.table_rows, created_before):
        removed = options.yes and await store.submit(
            upkeep.remove_unused, account.id, created_before, today
        )
        accounts.append(
            {
                "account": account.id,
                "nom": account.nom,
                "created": account.created,
                "removed": removed,
            }
        )
    return accounts


async def backup(store: LedgerStore, options: Options) -> CommandResult:
    """Write a verified copy of the store."""
    store.backup(options.file)
    return {"file": str(options.file), "bytes": options.file.stat().st_size}


async def audit(store: LedgerStore, options: Options) -> CommandResult:
    """Compare all charges with the stored sums; return how many were compared.

    Raises:
        AuditError: a sum differs.
    """
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
    """A new account as a JSON object, with the members that scripts rely on."""
    return {
        "account": account.id,
        "plan": account.plan,
        "outil_api": has_tool(account, plans),
    }


def account_members(account: Account, plans: Plans) -> dict[str, Any]:
    """An account as a JSON object; `plan_effectif` is the plan that its keys are served with (A7)."""
    return new_account_members(account, plans) | {
        "plan_effectif": effective_plan(account, plans).slug,
        "nom": account.nom,
        "modules": list(account.modules),
        "created": account.created,
    }


def key_members(key: Key) -> dict[str, Any]:
    """A key without its secret, as a JSON object."""
    return {
        "account": key.account,
        "key_id": key.id,
        "last4": key.last4,
        "label": key.label,
        "created": key.created,
        "revoked": key.revoked,
    }


def address_members(address: Key) -> dict[str, Any]:
    """A reconciliation address without its token: the members of a key, with `address_id` in place of `key_id`."""
    members = key_members(address)
    return {"address_id" if name == "key_id" else name: value for name, value in members.items()}


def person_members(person: Person) -> dict[str, Any]:
    """A person without the hash of the password, as a JSON object."""
    return {
        "account": person.account,
        "person": person.id,
        "email": person.email,
        "created": person.created,
        "role": person.role,
        "confirmed": person.confirmed,
    }


def ticket_members(ticket: Ticket) -> dict[str, Any]:
    """A ticket as a JSON object: an invitation, or a link for a new password; `courriel` is the state of its mail."""
    expires = datetime.fromtimestamp(ticket.expires, UTC)
    return {
        "account": ticket.account,
        "ticket": ticket.id,
        "nature": ticket.kind,
        "email": ticket.email,
        "role": ticket.role,
        "expires": _moment_text(expires),
        "courriel": ticket.mail,
        "essais": ticket.attempts,
        "erreur": ticket.error,
    }


def usage_members(account: Account, plan: Plan, usage: Usage) -> dict[str, Any]:
    """The counters of an account under the limits of `plan`, as a JSON object."""
    return {
        "account": account.id,
        "plan": plan.slug,
        "appels_jour": _meter_members(usage.calls),
        "exports_mois": _meter_members(usage.exports),
        "credits": _credit_members(usage.credits),
    }


def _meter_members(meter: Meter) -> dict[str, Any]:
    """A counter with a limit, as members of `usage`."""
    return {
        "limite": meter.limit,
        "utilise": meter.used,
        "restant": max(0, meter.limit - meter.used),
        "reinitialisation": _moment_text(meter.reset),
    }


def _credit_members(credit: Credits) -> dict[str, Any]:
    """The credits of the month, as members of `usage`."""
    return {
        "dotation": credit.grant,
        "utilise": credit.used,
        "packs": credit.packs,
        "solde": credit.left,
        "reinitialisation": _moment_text(credit.reset),
    }


def _moment_text(moment: datetime) -> str:
    """A moment in UTC as the API writes it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


# -- results as text -----------------------------------------------------------------


def object_lines(members: Mapping[str, Any]) -> list[str]:
    """An object as text: one line per member; the members of a nested object are on one line."""
    lines = []
    for name, value in members.items():
        if isinstance(value, Mapping):
            value = " · ".join(f"{inner} {inner_value}" for inner, inner_value in value.items())
        elif isinstance(value, list):
            value = ", ".join(value)
        lines.append(f"{name:16} {'–' if value in (None, '') else _printable(value)}")
    return lines


def object_row(members: Mapping[str, Any]) -> str:
    """An object of a list as one line of text."""
    values = (", ".join(value) if isinstance(value, list) else value for value in members.values())
    return "  ".join("–" if value in (None, "") else _printable(value) for value in values)


def _printable(value: object) -> str:
    """A value as text; characters that cannot be printed are escaped."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    # The label of a key comes from a form and can contain any character, even a line break.
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in str(value)
    )
