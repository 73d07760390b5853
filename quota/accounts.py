"""Organisations and their keys, as values and as the JSON that is stored.

An account has the counters (A8); a key only leads to it. Stored as JSON because they are few, read
by people in a damaged store, and of a form that may grow; a member that is not known is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from quota.errors import NotAllowedError, UnknownError, WrongStoreError
from quota.plans import Plan


@dataclass(frozen=True, slots=True)
class Account:
    """An organisation. `outil_api`: it took the API tool where that is an option (§8.1)."""

    id: str
    nom: str
    plan: str
    outil_api: bool
    modules: tuple[str, ...]
    created: str  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret; `revoked` is the moment (ISO 8601, UTC) since which it is none."""

    id: str
    account: str
    last4: str
    label: str
    created: str
    revoked: str | None


def dump(value: Account | Key) -> bytes:
    """What is stored: a JSON object, its members in the order of the fields."""
    return orjson.dumps(asdict(value))


# A value of the stored bytes and nothing else, so that what was read before can be used again: a
# change is other bytes. It saves 2 µs of each look-up of a key.
@lru_cache(maxsize=4096)
def load_account(stored: bytes) -> Account:
    """The account that `dump` stored."""
    members = orjson.loads(stored)
    return Account(**_known(members, Account) | {"modules": tuple(members["modules"])})


@lru_cache(maxsize=4096)
def load_key(stored: bytes) -> Key:
    """The key that `dump` stored."""
    return Key(**_known(orjson.loads(stored), Key))


def _known(members: dict[str, Any], kind: type[Account | Key]) -> dict[str, Any]:
    if tuple(members) != kind.__slots__:
        raise WrongStoreError(
            f"a stored {kind.__name__.lower()} has {list(members)}, this code reads "
            f"{list(kind.__slots__)}; use the version that wrote it"
        )
    return members


# MERGED quota/effective.py
# The plan that an account is served with (§5 rule 3, contract A7), which may not be the one it
# pays for: where the API tool is an option and was not taken, its keys are served as `free`.

FREE: Final = "free"

OPTION: Final = "option"
INCLUDED: Final = "inclus"
NONE: Final = "aucun"


def effective(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan whose rights and limits a key of this account has."""
    subscribed = subscribed_plan(account, plans)
    if subscribed.outil_api == OPTION and not account.outil_api:
        return plans[FREE]
    return subscribed


def subscribed_plan(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan that the account pays for.

    Raises:
        UnknownError: the grid has it no more.
    """
    if account.plan not in plans:
        raise UnknownError(
            f"{account.id} has the plan {account.plan!r}, which is in no row of the plan grid; "
            "`account set-plan` gives it another"
        )
    return plans[account.plan]


def has_tool(account: Account, plans: Mapping[str, Plan]) -> bool:
    """Does the account have the API tool: included in its plan, or taken as an option?"""
    offered = subscribed_plan(account, plans).outil_api
    return offered == INCLUDED or (offered == OPTION and account.outil_api)


def check_plan(
    slug: str,
    api_tool: bool,
    plans: Mapping[str, Plan],
    modules: Sequence[str] | None = None,
) -> Plan:
    """The plan an account may take, with the tool or without.

    Raises:
        UnknownError: there is no such plan, or none for an account (`visiteur` has no keys).
        NotAllowedError: the tool, or modules, cannot be had with this plan.
    """
    if slug not in plans or plans[slug].outil_api == NONE:
        allowed = ", ".join(name for name, plan in plans.items() if plan.outil_api != NONE)
        raise UnknownError(f"{slug!r} is no plan of an account; use one of {allowed}")
    plan = plans[slug]
    if api_tool and plan.outil_api not in (OPTION, INCLUDED):
        raise NotAllowedError(
            f"--api-tool cannot be had with the plan {slug!r}, which has the API without it; "
            "leave it out"
        )
    if modules and not plan.sur_mesure:
        custom = ", ".join(name for name, one in plans.items() if one.sur_mesure)
        raise NotAllowedError(
            f"--modules {','.join(modules)} cannot be had with the plan {slug!r}, which is as it "
            f"is: leave it out, or take the plan {custom}"
        )
    return plan
