"""What the commands print of accounts, keys and counters: JSON objects, and lines for people.

Counters have the names of the API (D4, D10), so that what a command prints can be held against
what a client was told.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from quota.accounts import Account, Key
from quota.effective import effective, has_tool
from quota.plans import Plan
from quota.results import Credits, Meter, Usage


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
