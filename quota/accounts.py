"""Accounts and their keys: the values, their stored JSON, and the plan that applies to an account.

An account has the counters (A8); a key only identifies its account. Accounts and keys are stored as JSON: there are
few of them, a person can read JSON in a damaged store, and later versions can add members. A stored value with an
unknown member is refused.

The plan that applies (§5 rule 3, contract A7) may differ from the plan that the account pays for: if the API tool
is an option of that plan and the account has not taken it, its keys are served as `free`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

from quota.errors import NotAllowedError, StoreUnavailable, UnknownError
from quota.plans import Plan

# The plan that applies to the keys of an account without the API tool.
FREE: Final = "free"

# How a plan offers the API tool (`plans.API_TOOL`): for an additional price, included in the plan, or not at all.
OPTION: Final = "option"
INCLUDED: Final = "inclus"
NONE: Final = "aucun"


@dataclass(frozen=True, slots=True)
class Account:
    """An organisation.

    Attributes:
        plan: slug of the plan that the account pays for.
        outil_api: whether the account has taken the API tool, if the tool is an option of its plan (§8.1).
        created: ISO 8601, UTC.
    """

    id: str
    nom: str
    plan: str
    outil_api: bool
    modules: tuple[str, ...]
    created: str


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret; `created` and `revoked` are moments (ISO 8601, UTC)."""

    id: str
    account: str
    last4: str
    label: str
    created: str
    revoked: str | None


def dump(value: Account | Key) -> bytes:
    """The stored form of an account or a key: a JSON object with its members in the order of the fields."""
    return orjson.dumps(asdict(value))


def load_account(stored: bytes) -> Account:
    """The account that `dump` stored."""
    members = orjson.loads(stored)
    # `modules` is a tuple in an account, and a list in JSON.
    return Account(**_checked_members(members, Account) | {"modules": tuple(members["modules"])})


def load_key(stored: bytes) -> Key:
    """The key that `dump` stored."""
    return Key(**_checked_members(orjson.loads(stored), Key))


def _checked_members(members: dict[str, Any], kind: type[Account | Key]) -> dict[str, Any]:
    """The members of a stored JSON object, after the check that they are the fields of `kind`."""
    if tuple(members) != kind.__slots__:
        raise StoreUnavailable(
            f"a stored {kind.__name__.lower()} has {list(members)}, this code reads "
            f"{list(kind.__slots__)}; use the version that wrote it"
        )
    return members


# -- the plan of an account --------------------------------------------------------


def effective_plan(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan whose rights and limits apply to the keys of the account (A7)."""
    subscribed = subscribed_plan(account, plans)
    if subscribed.outil_api == OPTION and not account.outil_api:
        return plans[FREE]
    return subscribed


def subscribed_plan(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan that the account pays for.

    Raises:
        UnknownError: the plan grid no longer has this plan.
    """
    if account.plan not in plans:
        raise UnknownError(
            f"{account.id} has the plan {account.plan!r}, which is not in the plan grid; "
            "`account set-plan` gives it another plan"
        )
    return plans[account.plan]


def has_tool(account: Account, plans: Mapping[str, Plan]) -> bool:
    """Whether the account has the API tool: its plan includes the tool, or the account has taken it as an option."""
    offer = subscribed_plan(account, plans).outil_api
    return offer == INCLUDED or (offer == OPTION and account.outil_api)


def check_plan(
    slug: str,
    api_tool: bool,
    plans: Mapping[str, Plan],
    modules: Sequence[str] | None = None,
) -> Plan:
    """The plan with this slug, after the check that an account may have it with these options.

    Raises:
        UnknownError: no such plan exists, or accounts cannot have it (`visiteur` has no keys).
        NotAllowedError: the plan does not allow the tool, or modules.
    """
    if slug not in plans or plans[slug].outil_api == NONE:
        allowed = ", ".join(name for name, plan in plans.items() if plan.outil_api != NONE)
        raise UnknownError(f"{slug!r} is not a plan of an account; use one of {allowed}")
    plan = plans[slug]
    if api_tool and plan.outil_api not in (OPTION, INCLUDED):
        raise NotAllowedError(
            f"--api-tool is not available with the plan {slug!r}, which has the API without it; "
            "leave it out"
        )
    if modules and not plan.sur_mesure:
        custom = ", ".join(name for name, other in plans.items() if other.sur_mesure)
        raise NotAllowedError(
            f"--modules {','.join(modules)} is not available with the plan {slug!r}, whose modules "
            f"are fixed: leave it out, or take the plan {custom}"
        )
    return plan
