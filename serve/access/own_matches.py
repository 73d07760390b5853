"""The companies that an account has matched: a search for these companies shows all of them (extensions X19).

`Result.matched` has the companies that a match assigned to its lines. `PreparedCall.find_named` looks up the companies
that a search names, if the plan would show fewer. If the store fails, the request is still answered: a match is not
remembered, and a search shows as many companies as the plan allows.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from quota.errors import StoreUnavailable
from quota.ledger import activity
from quota.store.interface import Store
from serve.access.call import Request
from serve.access.counter_headers import plan_limits
from serve.contract.parameters import MOST_IDS
from serve.generation.company_ids import ResolvedCompanies
from serve.observe.log import RequestTrace

_log: Final = logging.getLogger("serve.access.own_matches")


async def remember(
    store: Store, account: str, matched: Sequence[tuple[str, str]], trace: RequestTrace
) -> None:
    """Remember in the store which companies were matched to lines of a list, by the server or by a person."""
    try:
        await store.submit(activity.note_matches, account, _stored_names(matched))
    except StoreUnavailable as error:
        _warn("matches are not remembered", error, trace)


async def show_named(request: Request, named: ResolvedCompanies) -> None:
    """Let an account see all companies that its search names, if the account has matched each one that exists.

    `request.named` is set. If all are matched, the plan and limits of the request grow to the size of any such list.
    """
    request.named = named
    if not named.existing:
        return
    try:
        is_matched = await request.store.read(
            activity.are_matched, request.account.id, _stored_names(named.existing)
        )
    except StoreUnavailable as error:
        _warn("matches cannot be read", error, request.trace)
        return
    if is_matched:  # the plan of this request gets limits that no list of `ids` can pass
        plan = replace(
            request.caller.plan,
            resultats_par_recherche=max(MOST_IDS, request.caller.plan.resultats_par_recherche),
            lignes_par_appel=max(MOST_IDS, request.caller.plan.lignes_par_appel),
        )
        request.caller = request.caller._replace(plan=plan)
        request.limits = plan_limits(plan, request.context.config.debit)


def _stored_names(companies: Sequence[tuple[str, str]]) -> list[str]:
    """Companies as the store writes them: `EE/10000018`."""
    return [f"{iso2}/{identifier}" for iso2, identifier in companies]


def _warn(problem: str, error: StoreUnavailable, trace: RequestTrace) -> None:
    """Log a failure of the store that the caller does not see."""
    _log.warning("%s: %s", problem, error, extra={"fields": {"request_id": trace.request_id}})
