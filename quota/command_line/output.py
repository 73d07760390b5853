"""Results of the commands of `python -m quota`, as JSON objects and as text.

The members have the names of the API (D4, D10), so that the output of a command can be compared with
the response that a client got.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from quota.accounts import Account, Key, effective_plan, has_tool
from quota.ledger.people import Person
from quota.ledger.tickets import Ticket
from quota.plans import Plan
from quota.results import Credits, Meter, Usage

Plans = Mapping[str, Plan]


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
    """An object as text: one line per member, the members of a nested object on its line."""
    printed = []
    for name, value in members.items():
        if isinstance(value, Mapping):
            value = " · ".join(f"{inner} {it}" for inner, it in value.items())
        elif isinstance(value, list):
            value = ", ".join(value)
        printed.append(f"{name:16} {'–' if value in (None, '') else _word(value)}")
    return printed


def row(members: Mapping[str, Any]) -> str:
    """An object of a list as one line of text."""
    values = (", ".join(it) if isinstance(it, list) else it for it in members.values())
    return "  ".join("–" if value in (None, "") else _word(value) for value in values)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # The label of a key comes from a form and may contain anything, also a line break.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
