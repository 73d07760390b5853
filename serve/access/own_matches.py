"""The companies that an account matched: remembered, and all shown by a search that names them (extensions X19).

A match says which they are (`CallResult.matched`), and a search which companies it names where the plan would show
fewer (`PreparedCall.named`). Without its store a match is answered and not remembered, and the plan decides what a
search shows: neither is worth a 503.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from quota.errors import StoreUnavailable
from quota.store.interface import Store
from serve.access import counter_headers
from serve.access.billing import Counting
from serve.access.caller import Caller
from serve.access.context import ServerContext
from serve.contract.parameters import MOST_IDS
from serve.observe.request_trace import RequestTrace

_log: Final = logging.getLogger("serve.access.own_matches")


async def note(
    store: Store, account: str, matched: Sequence[tuple[str, str]], trace: RequestTrace
) -> None:
    """Remember the companies that lines of a list mean, or that a person chose for them."""
    try:
        await store.note_matches(account, _texts(matched))
    except StoreUnavailable as error:
        _warn("matches are not remembered", error, trace)


async def are_all(
    known: Sequence[tuple[str, str]], counting: Counting, trace: RequestTrace
) -> bool:
    """Whether the account matched all companies that a search names and that exist."""
    if not known:
        return False
    try:
        return await counting.store.are_matched(counting.account.id, _texts(known))
    except StoreUnavailable as error:
        _warn("matches cannot be read", error, trace)
        return False


def with_all_rows(
    context: ServerContext, caller: Caller, counting: Counting
) -> tuple[Caller, Counting]:
    """The same caller, whose plan shows as many companies as a search may name; contacts and all else stay."""
    plan = replace(
        caller.plan,
        resultats_par_recherche=max(MOST_IDS, caller.plan.resultats_par_recherche),
        lignes_par_appel=max(MOST_IDS, caller.plan.lignes_par_appel),
    )
    limits = counter_headers.plan_limits(plan, context.config.debit)
    return caller._replace(plan=plan), counting._replace(limits=limits)


def _texts(companies: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{iso2}/{identifier}" for iso2, identifier in companies]


def _warn(what: str, error: StoreUnavailable, trace: RequestTrace) -> None:
    _log.warning("%s: %s", what, error, extra={"fields": {"request_id": trace.request_id}})
