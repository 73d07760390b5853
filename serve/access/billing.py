"""What a search or a record costs, and when (D1, D5, D9): the only place where counters move.

A call is asked for first and the search made meanwhile, for a call is only safe after a write to
disk; the answer waits for both, and nothing is sent before. A record is made first and then charged
in one transaction with its call, so that nobody pays for what could not be made. An answer that
fails gives its call back. A 304 brings the client nothing, so it costs nothing, also where the
company was not paid for this month (D13); a HEAD brings no statements, so it costs no credits (G1).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from quota.accounts import Account
from quota.errors import StoreUnavailable
from quota.plans import Plan
from quota.purchase import Purchase
from quota.results import Charge, Meter
from quota.store.interface import Store
from serve.access import quota_headers
from serve.access.next_plan import remedy
from serve.access.quota_headers import Headers, Left, Terms
from serve.access.result import NO_STORE, PreparedCall, Request, Response, not_modified, of_error
from serve.contract import errors
from serve.contract.errors import ApiError

# A full record, once a calendar month for the same company (§4.5).
RECORD_CREDITS: Final = 5


class UnchargedError(StoreUnavailable):
    """A record could not be charged; `answer` is what may be sent instead."""

    def __init__(self, cause: StoreUnavailable, answer: Response) -> None:
        super().__init__(str(cause))
        self.answer = answer


class Counting(NamedTuple):
    """An identified call and what it is counted in."""

    store: Store
    account: Account
    terms: Terms
    left: Left
    plans: Mapping[str, Plan]
    now: datetime


async def unmetered(work: PreparedCall, ask: Request, headers: Headers) -> Response:
    """A visitor's search or preview; `headers` are the meters of a visitor (A10, D14).

    Raises:
        ApiError: 404.
    """
    if work.is_known(ask):
        return not_modified({**work.headers, **headers})
    try:
        answer = await work.run()
    except ApiError as error:
        error.headers |= headers
        raise
    return Response(answer.status, answer.body, {**answer.headers, **headers})


async def identified(work: PreparedCall, ask: Request, counting: Counting) -> Response:
    """An identified search or record, counted and charged.

    Raises:
        ApiError: 429 `quota_api`.
        StoreUnavailable: nothing was counted.
    """
    if work.is_known(ask):
        headers = await standing(ask.caller.plan, counting, with_credits=work.company is not None)
        return not_modified({**work.headers, **headers})
    if work.company is not None and not ask.head:
        return await _record(work, work.company, ask, counting)
    return await _call(work, ask, counting)


async def standing(plan: Plan, counting: Counting, *, with_credits: bool = False) -> Headers:
    """The meters as they stand, for an answer that costs nothing."""
    store, account, now = counting.store, counting.account.id, counting.now
    if not with_credits:
        meter = await store.calls(account, plan.appels_api_par_jour, now)
        return quota_headers.calls(counting.terms, meter, counting.left, now)
    usage = await store.usage(account, plan, now)
    headers = quota_headers.calls(counting.terms, usage.calls, counting.left, now)
    return {**headers, **_credits(0, usage.credits.left)}


async def _call(work: PreparedCall, ask: Request, counting: Counting) -> Response:
    """What costs a call and no credits."""
    store, account, now = counting.store, counting.account.id, counting.now
    taken = store.take(account, ask.caller.plan.appels_api_par_jour, now)
    answer: Response | None = None
    try:
        answer = await _run(work)
    finally:
        # Also when the search failed: whether there is a call to give back is known only then.
        meter = await taken
        if answer is None and meter.granted:
            await store.give_back(account, now)
    if not meter.granted:
        raise _quota_api(meter, ask, counting)
    headers = {**answer.headers, **quota_headers.calls(counting.terms, meter, counting.left, now)}
    if work.company is not None:
        headers |= await _standing_credits(ask, counting)
    return Response(answer.status, answer.body, headers, "taken")


async def _standing_credits(ask: Request, counting: Counting) -> Headers:
    """The credits as they stand, for a call that was taken; without them it is not answered."""
    try:
        usage = await counting.store.usage(counting.account.id, ask.caller.plan, counting.now)
    except StoreUnavailable:
        await counting.store.give_back(counting.account.id, counting.now)
        raise
    return _credits(0, usage.credits.left)


async def _record(work: PreparedCall, company: str, ask: Request, counting: Counting) -> Response:
    """A full record: a call, and credits where the company was not paid for this month."""
    plan = ask.caller.plan
    full = await _run(work)
    try:
        meter, charge = await counting.store.take_and_charge(
            Purchase(
                account=counting.account.id,
                call_limit=plan.appels_api_par_jour,
                company=company,
                cost=RECORD_CREDITS,
                grant=plan.credits_par_mois,
            ),
            counting.now,
        )
    except StoreUnavailable as error:
        raise UnchargedError(error, _uncharged(work)) from error
    if charge is None:
        raise _quota_api(meter, ask, counting)
    headers = quota_headers.calls(counting.terms, meter, counting.left, counting.now)
    headers |= _credits(charge.cost, charge.left)
    if charge.outcome == "refused":
        return _preview(work, charge, headers)
    return Response(full.status, full.body, {**full.headers, **headers}, charge.outcome)


def _preview(work: PreparedCall, charge: Charge, headers: Headers) -> Response:
    """402 with what a visitor would see (D10)."""
    reset = quota_headers.iso(charge.reset)
    return _instead(work, errors.credits_epuises(RECORD_CREDITS, charge.left, reset), headers)


def _uncharged(work: PreparedCall) -> Response:
    """503 with what a visitor would see: nothing could be charged, nothing is."""
    error = errors.indisponible(errors.NO_COUNTERS)
    return _instead(work, error, error.headers)


def _instead(work: PreparedCall, error: ApiError, headers: Headers) -> Response:
    assert work.preview
    located = {"Content-Location": work.headers["Content-Location"]}
    return Response(
        error.status, work.preview(error), {**NO_STORE, **located, **headers}, error.code
    )


async def _run(work: PreparedCall) -> Response:
    """The answer, which may be that there is no such company."""
    try:
        return await work.run()
    except ApiError as error:
        return of_error(error)


def _credits(cost: int, left: int) -> Headers:
    return {"X-Credits-Debites": str(cost), "X-Credits-Restants": str(left)}


def _quota_api(meter: Meter, ask: Request, counting: Counting) -> ApiError:
    """429 with its meters (D3, D4); the remedy is the next plan, or the tool that is missing."""
    told = quota_headers.quota(meter.type, meter.limit, meter.used, meter.reset)
    again = quota_headers.seconds(meter.reset, counting.now)
    remedies = remedy(
        ask.caller,
        counting.plans,
        lambda plan: f"{plan.appels_api_par_jour} appels par jour",
        "Votre offre est la plus haute",
    )
    error = errors.quota_api(told, again, remedies)
    error.headers |= quota_headers.calls(counting.terms, meter, counting.left, counting.now)
    return error
