"""The price of a search or a record, and the moment it is charged (D1, D5, D9).

This is the only module of the server that moves counters. The call is requested first and the search
made meanwhile, since a call is only safe after a write to disk; the response waits for both. A record
is made and encoded first, then charged in one transaction with its call, so that nobody pays for a
record that could not be made. A call that fails is given back. A 304 brings the client nothing and
costs nothing, even where the company was not paid for this month (D13). A HEAD brings no statements
and costs no credits (G1).
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from quota.accounts import Account
from quota.errors import StoreUnavailable
from quota.ledger.purchase import Purchase
from quota.plans import Plan
from quota.results import Charge, Meter
from quota.store.interface import Store
from serve.access import counter_headers
from serve.access.counter_headers import Headers, Left, Terms
from serve.access.modules import opening
from serve.access.next_plan import remedy
from serve.access.result import (
    NO_STORE,
    CallResult,
    Content,
    PreparedCall,
    Request,
    not_modified,
)
from serve.contract import errors
from serve.contract.errors import ApiError

T = TypeVar("T", bound=Content)


class UnchargedError(StoreUnavailable):
    """A record could not be charged; `result` is what may be sent instead."""

    def __init__(self, cause: StoreUnavailable, result: CallResult[Content]) -> None:
        super().__init__(str(cause))
        self.result = result


class Counting(NamedTuple):
    """The account of an identified call, and what the call is counted in."""

    store: Store
    account: Account
    terms: Terms
    left: Left
    plans: Mapping[str, Plan]
    now: datetime


async def run(
    prepared: PreparedCall[T], request: Request, counting: Counting | None, headers: Headers
) -> CallResult[T]:
    """Answer a prepared call: 304 → daily 429 → work → charge (D5).

    Args:
        counting: None for a visitor, who is not metered (A10).
        headers: the quota headers of a visitor; those of an account are made here.

    Raises:
        ApiError: 404 for a visitor; 429 `quota_api` for an account.
        StoreUnavailable: nothing was counted.
    """
    if counting is None:
        return await _unmetered(prepared, request, headers)
    if prepared.is_known(request):
        current = await current_headers(
            request.caller.plan, counting, with_credits=prepared.cost > 0
        )
        return not_modified({**prepared.headers, **current})
    if prepared.is_charged and not request.head:
        return await _record(prepared, request, counting)
    if prepared.calls != 1:
        return await _calls(prepared, request, counting)
    return await _call(prepared, request, counting)


async def current_headers(plan: Plan, counting: Counting, *, with_credits: bool = False) -> Headers:
    """The quota headers for a response that costs nothing."""
    store, account, now = counting.store, counting.account.id, counting.now
    if not with_credits:
        meter = await store.calls(account, plan.appels_api_par_jour, now)
        return counter_headers.calls(counting.terms, meter, counting.left, now)
    usage = await store.usage(account, plan, now)
    headers = counter_headers.calls(counting.terms, usage.calls, counting.left, now)
    return {**headers, **counter_headers.credits(0, usage.credits.left)}


async def _unmetered(
    prepared: PreparedCall[T], request: Request, headers: Headers
) -> CallResult[T]:
    """A visitor's search or preview (A10, D14)."""
    if prepared.is_known(request):
        return not_modified({**prepared.headers, **headers})
    try:
        result = await prepared.run()
    except ApiError as error:
        error.headers |= headers
        raise
    return CallResult(result.status, result.content, {**result.headers, **headers})


async def _call(prepared: PreparedCall[T], request: Request, counting: Counting) -> CallResult[T]:
    """A call that costs no credits."""
    store, account, now = counting.store, counting.account.id, counting.now
    taken = store.take(account, request.caller.plan.appels_api_par_jour, now)
    result: CallResult[T] | None = None
    try:
        result = await _made(prepared)
    finally:
        # Also when the search failed: only then is it known whether there is a call to give back.
        meter = await taken
        if result is None and meter.granted:
            await store.give_back(account, now)
    if not meter.granted:
        raise _quota_api(meter, request, counting)
    headers = {**result.headers, **counter_headers.calls(counting.terms, meter, counting.left, now)}
    if prepared.cost:
        headers |= await _current_credits(request, counting)
    return CallResult(result.status, result.content, headers, "taken", result.error)


async def _calls(prepared: PreparedCall[T], request: Request, counting: Counting) -> CallResult[T]:
    """Work that counts as several calls, or as none; all are granted before it begins, or none is counted."""
    store, account, now = counting.store, counting.account.id, counting.now
    limit = request.caller.plan.appels_api_par_jour
    taken = [store.take(account, limit, now) for _ in range(prepared.calls)]
    meters = [await one for one in taken]  # the store commits them together
    meter = meters[-1] if meters else await store.calls(account, limit, now)
    granted = sum(one.granted for one in meters)
    if granted < prepared.calls:
        await _give_back(granted, counting)
        before = await store.calls(account, limit, now)
        raise _quota_api(before, request, counting, prepared.calls)
    try:
        result = await _made(prepared)
    except BaseException:
        await _give_back(granted, counting)
        raise
    headers = {**result.headers, **counter_headers.calls(counting.terms, meter, counting.left, now)}
    outcome = "taken" if meters else "free"
    return CallResult(result.status, result.content, headers, outcome, result.error)


async def _give_back(calls: int, counting: Counting) -> None:
    for _ in range(calls):
        await counting.store.give_back(counting.account.id, counting.now)


async def _current_credits(request: Request, counting: Counting) -> Headers:
    """The credit headers for a call that was taken; if they cannot be read it is given back."""
    try:
        usage = await counting.store.usage(counting.account.id, request.caller.plan, counting.now)
    except StoreUnavailable:
        await counting.store.give_back(counting.account.id, counting.now)
        raise
    return counter_headers.credits(0, usage.credits.left)


async def _record(prepared: PreparedCall[T], request: Request, counting: Counting) -> CallResult[T]:
    """A full record: a call, and credits if the company was not paid for this month."""
    plan = request.caller.plan
    if prepared.trials is not None and (
        refusal := await _trials_spent(prepared, request, counting)
    ):
        return refusal
    result = await _made(prepared)
    if result.free:
        return await _call(prepared._replace(run=partial(_known, result)), request, counting)
    assert prepared.company
    try:
        meter, charge = await counting.store.take_and_charge(
            Purchase(
                account=counting.account.id,
                call_limit=plan.appels_api_par_jour,
                company=prepared.company,
                cost=prepared.cost,
                grant=plan.credits_par_mois,
                trials=prepared.trials,
            ),
            counting.now,
        )
    except StoreUnavailable as error:
        if prepared.preview is None:
            raise
        raise UnchargedError(error, _uncharged(prepared)) from error
    if charge is None:
        raise _quota_api(meter, request, counting)
    headers = counter_headers.calls(counting.terms, meter, counting.left, counting.now)
    headers |= counter_headers.credits(charge.cost, charge.left)
    if charge.outcome == "no_trial":
        return _essai_epuise(prepared, request, counting, charge.reset, headers)
    if charge.outcome == "refused":
        return _refused(prepared, charge, headers)
    all_headers = {**result.headers, **headers}
    return CallResult(result.status, result.content, all_headers, charge.outcome, result.error)


def _refused(prepared: PreparedCall[T], charge: Charge, headers: Headers) -> CallResult[T]:
    """402 with what a visitor would see (D10); of an analysis, nothing."""
    reset = counter_headers.iso(charge.reset)
    error = errors.credits_epuises(prepared.cost, charge.left, reset)
    if prepared.preview is None:
        located = {
            name: text for name, text in prepared.headers.items() if name == "Content-Location"
        }
        return CallResult(error.status, None, {**NO_STORE, **located, **headers}, error.code, error)
    return _preview(prepared, error, headers)


async def _trials_spent(
    prepared: PreparedCall[T], request: Request, counting: Counting
) -> CallResult[T] | None:
    """The 403 of an analysis for which no trial is left, before anything is made; None if it may be made."""
    assert prepared.company
    store, account, now = counting.store, counting.account.id, counting.now
    usage = await store.usage(account, request.caller.plan, now)
    if usage.trials.granted or not usage.calls.granted:  # the second is a 429, which `take` makes
        return None
    if await store.is_charged(account, prepared.company, now):
        return None
    headers = counter_headers.calls(counting.terms, usage.calls, counting.left, now)
    headers |= counter_headers.credits(0, usage.credits.left)
    return _essai_epuise(prepared, request, counting, usage.trials.reset, headers)


def _essai_epuise(
    prepared: PreparedCall[T],
    request: Request,
    counting: Counting,
    reset: datetime,
    headers: Headers,
) -> CallResult[T]:
    """403 with the plan that has the module of the analysis (X11); it costs no call."""
    assert prepared.company
    module = prepared.company.partition("/")[0]
    offer = opening(module, request.caller.plan, counting.plans)
    error = errors.essai_epuise(prepared.trials or 0, offer, counter_headers.iso(reset))
    return CallResult(error.status, None, {**NO_STORE, **headers}, error.code, error)


def _uncharged(prepared: PreparedCall[T]) -> CallResult[T]:
    """503 with what a visitor would see: the record could not be charged, so it is not sent."""
    error = errors.indisponible(errors.NO_COUNTERS)
    return _preview(prepared, error, error.headers)


def _preview(prepared: PreparedCall[T], error: ApiError, headers: Headers) -> CallResult[T]:
    assert prepared.preview
    located = {"Content-Location": prepared.headers["Content-Location"]}
    return CallResult(
        error.status,
        prepared.preview(error),
        {**NO_STORE, **located, **headers},
        error.code,
        error,
    )


async def _known(result: CallResult[T]) -> CallResult[T]:
    return result


async def _made(prepared: PreparedCall[T]) -> CallResult[T]:
    """The result, which may be the error that there is no such company."""
    try:
        return await prepared.run()
    except ApiError as error:
        return CallResult(error.status, None, NO_STORE | error.headers, "", error)


def _quota_api(meter: Meter, request: Request, counting: Counting, wanted: int = 1) -> ApiError:
    """429 with its meters (D3, D4); the remedy is the next plan, or the API tool if it is missing.

    `wanted`: calls that were asked for at once.
    """
    quota = counter_headers.quota(meter.type, meter.limit, meter.used, meter.reset)
    wait = counter_headers.seconds(meter.reset, counting.now)
    remedies = remedy(
        request.caller,
        counting.plans,
        lambda plan: (
            f"{plan.appels_api_par_jour} appels par jour",
            f"{plan.appels_api_par_jour} calls a day",
        ),
        ("Votre offre est la plus haute", "Your plan is the highest"),
    )
    if wanted > 1:
        remedies = (
            f"La demande compte pour {wanted} appels. {remedies[0]}",
            f"The request counts as {wanted} calls. {remedies[1]}",
        )
    error = errors.quota_api(quota, wait, remedies)
    error.headers |= counter_headers.calls(counting.terms, meter, counting.left, counting.now)
    return error
