"""The plan that an account is served with (§5 rule 3, contract A7), which may not be the one it
pays for: where the API tool is an option and was not taken, its keys are served as `free`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from quota.accounts import Account
from quota.errors import NotAllowedError, UnknownError
from quota.plans import Plan

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
