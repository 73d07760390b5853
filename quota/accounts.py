"""Accounts and their keys: the values, the JSON that is stored, and the plan an account is served with.

An account has the counters (A8); a key only identifies it. Both are stored as JSON, because there
are few of them, because a person must be able to read them in a damaged store, and because members
may be added. A stored value with an unknown member is refused.

The plan that an account is served with (§5 rule 3, contract A7) may not be the plan it pays for: if
the API tool is an option of that plan and was not taken, its keys are served as `free`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

from quota.errors import NotAllowedError, StoreUnavailable, UnknownError
from quota.plans import Plan

# The plan of an account that has no API tool.
FREE: Final = "free"

# How a plan has the API tool (`plans.API_TOOL`).
OPTION: Final = "option"
INCLUDED: Final = "inclus"
NONE: Final = "aucun"


@dataclass(frozen=True, slots=True)
class Account:
    """An organisation.

    Attributes:
        plan: slug of the plan that it pays for.
        outil_api: it took the API tool, where that is an option (§8.1).
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
    """The stored form: a JSON object with its members in the order of the fields."""
    return orjson.dumps(asdict(value))


def load_account(stored: bytes) -> Account:
    """The account that `dump` stored."""
    members = orjson.loads(stored)
    return Account(**_known_members(members, Account) | {"modules": tuple(members["modules"])})


def load_key(stored: bytes) -> Key:
    """The key that `dump` stored."""
    return Key(**_known_members(orjson.loads(stored), Key))


def _known_members(members: dict[str, Any], kind: type[Account | Key]) -> dict[str, Any]:
    if tuple(members) != kind.__slots__:
        raise StoreUnavailable(
            f"a stored {kind.__name__.lower()} has {list(members)}, this code reads "
            f"{list(kind.__slots__)}; use the version that wrote it"
        )
    return members


# -- the plan of an account --------------------------------------------------------


def effective_plan(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan with whose rights and limits the keys of the account are served (A7)."""
    subscribed = subscribed_plan(account, plans)
    if subscribed.outil_api == OPTION and not account.outil_api:
        return plans[FREE]
    return subscribed


def subscribed_plan(account: Account, plans: Mapping[str, Plan]) -> Plan:
    """The plan that the account pays for.

    Raises:
        UnknownError: the grid no longer has this plan.
    """
    if account.plan not in plans:
        raise UnknownError(
            f"{account.id} has the plan {account.plan!r}, which is in no row of the plan grid; "
            "`account set-plan` gives it another"
        )
    return plans[account.plan]


def has_tool(account: Account, plans: Mapping[str, Plan]) -> bool:
    """Whether the account has the API tool, included in its plan or taken as an option."""
    offered = subscribed_plan(account, plans).outil_api
    return offered == INCLUDED or (offered == OPTION and account.outil_api)


def check_plan(
    slug: str,
    api_tool: bool,
    plans: Mapping[str, Plan],
    modules: Sequence[str] | None = None,
) -> Plan:
    """The plan of this slug, if an account may have it with these options.

    Raises:
        UnknownError: no such plan exists, or accounts cannot have it (`visiteur` has no keys).
        NotAllowedError: the plan does not allow the tool, or modules.
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
        custom = ", ".join(name for name, other in plans.items() if other.sur_mesure)
        raise NotAllowedError(
            f"--modules {','.join(modules)} cannot be had with the plan {slug!r}, which is as it "
            f"is: leave it out, or take the plan {custom}"
        )
    return plan
