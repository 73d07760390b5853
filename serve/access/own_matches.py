"""The companies that an account matched: a search that names them shows all of them (extensions X19).

A match says which companies its lines mean (`Result.matched`), and a search which companies it names, where the plan
would show fewer (`PreparedCall.find_named`). Without its store a match is answered and not remembered, and the plan
decides how much a search shows: neither is worth a 503.
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
from serve.generation.company_ids import FoundCompanies
from serve.observe.log import RequestTrace

_log: Final = logging.getLogger("serve.access.own_matches")


async def remember(
    store: Store, account: str, matched: Sequence[tuple[str, str]], trace: RequestTrace
) -> None:
    """Remember the companies that lines of a list mean, or that a person chose for them."""
    try:
        await store.submit(activity.note_matches, account, _texts(matched))
    except StoreUnavailable as error:
        _warn("matches are not remembered", error, trace)


async def show_named(request: Request, named: FoundCompanies) -> None:
    """Let the account see all companies that its search names, if it matched all of them that exist."""
    request.named = named
    if not named.known:
        return
    try:
        is_matched = await request.store.read(
            activity.are_matched, request.account.id, _texts(named.known)
        )
    except StoreUnavailable as error:
        _warn("matches cannot be read", error, request.trace)
        return
    if is_matched:
        plan = replace(
            request.caller.plan,
            resultats_par_recherche=max(MOST_IDS, request.caller.plan.resultats_par_recherche),
            lignes_par_appel=max(MOST_IDS, request.caller.plan.lignes_par_appel),
        )
        request.caller = request.caller._replace(plan=plan)
        request.limits = plan_limits(plan, request.context.config.debit)


def _texts(companies: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{iso2}/{identifier}" for iso2, identifier in companies]


def _warn(problem: str, error: StoreUnavailable, trace: RequestTrace) -> None:
    _log.warning("%s: %s", problem, error, extra={"fields": {"request_id": trace.request_id}})
