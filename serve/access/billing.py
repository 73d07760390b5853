"""The price of a search, a record or an export, and the moment it is charged (D1, D5, D9).

This is the only module of the server that counts calls, credits and exports. The call is requested first and the search
made meanwhile, since a call is only safe after a write to disk; the response waits for both. A record
is made and encoded first, then charged in one transaction with its call, so that nobody pays for a
record that could not be made. A call that fails is given back. A 304 brings the client nothing and
costs nothing, even where the company was not paid for this month (D13). A HEAD is refused where GET would be; it brings
no statements and costs no credits (G1).
"""

from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from quota.errors import StoreUnavailable
from quota.ledger.calls import Meter, Purchase
from quota.ledger.exports import CountedExport, Refusal, Reservation
from quota.store.interface import Store
from serve.access import counter_headers
from serve.access.call import (
    NO_STORE,
    Content,
    PreparedCall,
    Request,
    Result,
    not_modified,
)
from serve.access.counter_headers import Headers
from serve.access.rights import first_plan_with, remedy, tool_remedy
from serve.contract import errors
from serve.contract.errors import ApiError

# Seconds until one of the exports that run at once may have ended.
_RETRY_AFTER: Final = 10

T = TypeVar("T", bound=Content)


class UnchargedError(StoreUnavailable):
    """A record could not be charged; `result` is what may be sent instead."""

    def __init__(self, cause: StoreUnavailable, result: Result[Content]) -> None:
        super().__init__(str(cause))
        self.result = result


async def run(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Answer a prepared call: 304 → daily 429 → work → charge (D5).

    Raises:
        ApiError: 404 for a visitor; 429 `quota_api` for an account.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    if request.caller.account is None:
        return await _run_for_visitor(prepared, request)
    if prepared.is_known(request):
        current = await current_headers(request, with_credits=prepared.cost > 0)
        return not_modified({**prepared.headers, **current})
    if prepared.is_charged:
        return await (_run_head if request.head else _run_charged)(prepared, request)
    if prepared.calls != 1:
        return await _run_several(prepared, request)
    return await _run_call(prepared, request)


async def current_headers(request: Request, *, with_credits: bool = False) -> Headers:
    """The quota headers for a response that costs nothing."""
    store, account, plan = request.store, request.account.id, request.caller.plan
    if not with_credits:
        meter = await store.calls(account, plan.appels_api_par_jour, request.now)
        return _headers(request, meter)
    usage = await store.usage(account, plan, request.now)
    return _headers(request, usage.calls, (0, usage.credits.left))


def _headers(request: Request, meter: Meter, credits: tuple[int, int] | None = None) -> Headers:
    """The counters of an account; `credits` are those that the call cost, and those that are left."""
    headers = counter_headers.calls(request.limits, meter, request.left, request.now)
    return headers if credits is None else {**headers, **counter_headers.credits(*credits)}


async def _run_for_visitor(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """A visitor's search or preview, which is not metered (A10, D14)."""
    headers = counter_headers.visitor(request.limits, request.left, request.now)
    if prepared.is_known(request):
        return not_modified({**prepared.headers, **headers})
    try:
        result = await prepared.run()
    except ApiError as error:
        error.headers |= headers
        raise
    return result._replace(headers={**result.headers, **headers})


async def _run_call(
    prepared: PreparedCall[T], request: Request, ready: Result[T] | None = None
) -> Result[T]:
    """A call that costs no credits; `ready` is its result, if that was made already."""
    store, account, plan, now = request.store, request.account.id, request.caller.plan, request.now
    taken = store.take(account, plan.appels_api_par_jour, now)
    result: Result[T] | None = None
    try:
        result = ready or await _make_or_refuse(prepared, request)
    finally:
        # Also when the search failed: only then is it known whether there is a call to give back.
        meter = await taken
        if result is None and meter.granted:
            await store.give_back(account, now)
    if not meter.granted:
        raise _quota_api(request, meter)
    if not prepared.cost:
        return _with_counters(request, result, meter, "taken")
    try:
        usage = await store.usage(account, plan, now)
    except StoreUnavailable:
        await store.give_back(account, now)
        raise
    return _with_counters(request, result, meter, "taken", (0, usage.credits.left))


async def _run_several(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Work that counts as several calls, or as none; all are granted before it begins, or none is counted."""
    store, account, now = request.store, request.account.id, request.now
    limit, wanted = request.caller.plan.appels_api_par_jour, prepared.calls
    taken = [store.take(account, limit, now) for _ in range(wanted)]
    meters = [await one for one in taken]  # the store commits them together
    meter = meters[-1] if meters else await store.calls(account, limit, now)
    granted = sum(one.granted for one in meters)
    if granted < wanted:
        await _give_back(request, granted)
        raise _quota_api(request, await store.calls(account, limit, now), wanted)
    try:
        result = await _make_or_refuse(prepared, request)
    except BaseException:
        await _give_back(request, granted)
        raise
    return _with_counters(request, result, meter, "taken" if meters else "free")


async def _give_back(request: Request, calls: int) -> None:
    for _ in range(calls):
        await request.store.give_back(request.account.id, request.now)


async def _run_charged(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """A full record: a call, and credits if the company was not paid for this month."""
    plan = request.caller.plan
    if prepared.trials is not None and (refusal := await _trials_spent(prepared, request)):
        return refusal
    result = await _make_or_refuse(prepared, request)
    if result.free:
        return await _run_call(prepared, request, result)
    assert prepared.company
    purchase = Purchase(
        account=request.account.id,
        call_limit=plan.appels_api_par_jour,
        company=prepared.company,
        cost=prepared.cost,
        grant=plan.credits_par_mois,
        trials=prepared.trials,
    )
    try:
        meter, charge = await request.store.take_and_charge(purchase, request.now)
    except StoreUnavailable as error:
        if prepared.preview is None:
            raise
        unsent = errors.uncounted(maybe_done=error.maybe_done)
        raise UnchargedError(error, _preview(prepared, unsent, unsent.headers)) from error
    if charge is None:
        raise _quota_api(request, meter)
    credits = (charge.cost, charge.left)
    if charge.outcome == "no_trial":
        return _essai_epuise(prepared, request, charge.reset, _headers(request, meter, credits))
    if charge.outcome == "refused":
        headers = _headers(request, meter, credits)
        return _credits_epuises(prepared, request, charge.left, charge.reset, headers)
    return _with_counters(request, result, meter, charge.outcome, credits)


async def _run_head(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """A HEAD of what has a price: a call, or the refusal that GET would get now."""
    if prepared.trials is not None and (refusal := await _trials_spent(prepared, request)):
        return refusal
    result = await _make_or_refuse(prepared, request)
    unpaid = None if result.free or not prepared.cost else await _unpaid(prepared, request)
    return await _run_call(prepared, request, unpaid or result)


async def _unpaid(prepared: PreparedCall[T], request: Request) -> Result[T] | None:
    """402 without its meters; None where the company was paid for this month, or can be."""
    store, account, now = request.store, request.account.id, request.now
    assert prepared.company
    credits = (await store.usage(account, request.caller.plan, now)).credits
    if credits.left >= prepared.cost or await store.is_charged(account, prepared.company, now):
        return None
    return _credits_epuises(prepared, request, credits.left, credits.reset, {})


def _with_counters(
    request: Request,
    result: Result[T],
    meter: Meter,
    outcome: str,
    credits: tuple[int, int] | None = None,
) -> Result[T]:
    headers = {**result.headers, **_headers(request, meter, credits)}
    return result._replace(headers=headers, outcome=outcome)


def _credits_epuises(
    prepared: PreparedCall[T], request: Request, left: int, reset: datetime, headers: Headers
) -> Result[T]:
    """402 with what a visitor would see (D10); of an analysis, nothing."""
    missing = tool_remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("credits_par_mois", count=plan.credits_par_mois),
    )
    credits = {"cout": prepared.cost, "solde": left, "reinitialisation": counter_headers.iso(reset)}
    error = ApiError("credits_epuises", credits=credits)
    error.add_remedy(missing)
    if prepared.preview is not None:
        return _preview(prepared, error, headers)
    located = {name: text for name, text in prepared.headers.items() if name == "Content-Location"}
    return _refusal(error, {**located, **headers})


async def _trials_spent(prepared: PreparedCall[T], request: Request) -> Result[T] | None:
    """The 403 of an analysis for which no trial is left, before anything is made; None if it may be made."""
    store, account, now = request.store, request.account.id, request.now
    assert prepared.company
    usage = await store.usage(account, request.caller.plan, now)
    if usage.trials.granted or not usage.calls.granted:  # the second is a 429, which `take` makes
        return None
    if await store.is_charged(account, prepared.company, now):
        return None
    headers = _headers(request, usage.calls, (0, usage.credits.left))
    return _essai_epuise(prepared, request, usage.trials.reset, headers)


def _essai_epuise(
    prepared: PreparedCall[T], request: Request, reset: datetime, headers: Headers
) -> Result[T]:
    """403 with the plan that has the module of the analysis (X11); it costs no call."""
    assert prepared.company
    module = prepared.company.partition("/")[0]
    offer = first_plan_with(module, request.caller.plan, request.context.plans)
    error = ApiError(
        "essai_epuise",
        analyses=prepared.trials or 0,
        offre=offer,
        reinitialisation=counter_headers.iso(reset),
    )
    return _refusal(error, headers)


def _quota_api(request: Request, meter: Meter, wanted: int = 1) -> ApiError:
    """429 with its meters (D3, D4); the remedy is the next plan, or the API tool if it is missing.

    `wanted`: calls that were asked for at once.
    """
    remedies = remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("appels_par_jour", count=plan.appels_api_par_jour),
        errors.text("offre_la_plus_haute"),
    )
    if wanted > 1:
        remedies = errors.text("plusieurs_appels", count=wanted, remedy=remedies)
    quota, seconds = _daily_refusal(meter, request.now)
    error = ApiError("quota_api", quota=quota, retry_after=seconds, remedy=remedies)
    error.headers |= _headers(request, meter)
    return error


def _refusal(error: ApiError, headers: Headers) -> Result[T]:
    return Result(error.status, None, {**NO_STORE, **headers}, error.code, error)


def _preview(prepared: PreparedCall[T], error: ApiError, headers: Headers) -> Result[T]:
    """An error with what a visitor would see: the record was not charged, so it is not sent."""
    assert prepared.preview
    located = {"Content-Location": prepared.headers["Content-Location"]}
    all_headers = {**NO_STORE, **located, **headers}
    return Result(error.status, prepared.preview(error), all_headers, error.code, error)


async def _make_or_refuse(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """The result, which may be the error that there is no such company.

    That of the API is encoded here, before anything is charged for it.
    """
    try:
        result = await prepared.run()
        return result.encoded() if request.as_json else result
    except ApiError as error:
        return Result(error.status, None, NO_STORE | error.headers, "", error)


def _daily_refusal(meter: Meter, now: datetime) -> tuple[dict[str, Any], int]:
    """The object of D4 of a meter that refuses, and the seconds until it begins again."""
    quota = counter_headers.quota(meter.type, meter.limit, meter.used, meter.reset)
    return quota, counter_headers.seconds(meter.reset, now)


async def reserve_export(request: Request, at_once: int, held: timedelta) -> Reservation:
    """Hold an export of the month until it is counted or released, or `held` is over (F5).

    Raises:
        ApiError: 429 `quota_export`, or `trop_de_requetes` if the organisation makes `at_once` already.
        StoreUnavailable: nothing was held.
    """
    limit, now = request.caller.plan.exports_par_mois, request.now
    answer = await request.store.reserve(request.account.id, limit, at_once, held, now)
    if not isinstance(answer, Refusal):
        return answer
    if answer.reason == "quota":
        raise _quota_export(request, answer.meter)
    quota = counter_headers.quota("debit", at_once, at_once, now + timedelta(seconds=_RETRY_AFTER))
    error = ApiError("exports_simultanes", quota=quota, retry_after=_RETRY_AFTER)
    error.headers |= export_headers(request, answer.meter)
    raise error


async def count_export(
    request: Request, reservation: Reservation, export: CountedExport, now: datetime
) -> Headers:
    """Count a file that was made, unless it found nothing (F5); return the headers of the exports after it.

    Raises:
        ApiError: 429 `quota_export`: the reservation had expired, and others have used up the quota.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    store = request.store
    if not export.total:
        await release_export(store, reservation.account, reservation.id)
        usage = await store.usage(request.account.id, request.caller.plan, now)
        return export_headers(request, usage.exports)
    meter = await store.commit(reservation, now, export)
    if not meter.granted:
        raise _quota_export(request, meter)
    return export_headers(request, meter)


async def count_abandoned_export(
    store: Store, reservation: Reservation, export: CountedExport, now: datetime
) -> None:
    """Count an export that its client did not wait for, though nothing was made. Raises StoreUnavailable."""
    await store.commit(reservation, now, export)


async def release_export(store: Store, account: str, reservation: str) -> None:
    """Give back an export that was not made. Raises StoreUnavailable: it is held until it expires."""
    await store.release(account, reservation)


async def current_exports(request: Request) -> Headers:
    """The exports of the month, for a response that costs none."""
    usage = await request.store.usage(request.account.id, request.caller.plan, request.now)
    return export_headers(request, usage.exports)


def export_headers(request: Request, meter: Meter) -> Headers:
    """The exports of the month."""
    return counter_headers.exports(request.limits, meter, request.left, request.now)


def _quota_export(request: Request, meter: Meter) -> ApiError:
    """429 with its meters; the remedy is the next plan, or else the date of the reset (F10)."""
    reset = counter_headers.iso(meter.reset)
    remedies = remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("exports_par_mois", count=plan.exports_par_mois),
        errors.text("exports_a_venir", reset=reset),
    )
    quota, seconds = _daily_refusal(meter, request.now)
    error = ApiError("quota_export", quota=quota, retry_after=seconds, remedy=remedies)
    error.headers |= export_headers(request, meter)
    return error
