"""The charge of a search, a record or an export: its price and its moment (D1, D5, D9).

This is the only module of the server that counts calls, credits and exports.

A search runs while its call is written to disk; the response waits for both. A record is made and encoded first, then
charged in one transaction with its call, so that nobody pays for a record that could not be made. The call of a failed
search is given back. A 304 costs nothing, even if the company has not been paid for this month (D13). A HEAD is refused
if GET would be; it has no statements and costs no credits (G1).
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

# The Retry-After of an export that is refused because too many are running: one of them may have ended by then.
_RETRY_SECONDS: Final = 10

T = TypeVar("T", bound=Content)


class UnchargedError(StoreUnavailable):
    """A record could not be charged; `result`, a 503 with a preview of the record, is sent instead."""

    def __init__(self, cause: StoreUnavailable, result: Result[Content]) -> None:
        super().__init__(str(cause))
        self.result = result


async def run(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Answer a prepared call: 304 → daily 429 → work → charge (D5).

    Raises:
        ApiError: 404 for a visitor; 429 `quota_api` for an account.
        StoreUnavailable: the call was not counted, or with `maybe_done` perhaps counted.
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
    """The headers of the counters of calls and, `with_credits`, of credits, for a response that costs nothing."""
    store, account, plan = request.store, request.account.id, request.caller.plan
    if not with_credits:
        meter = await store.calls(account, plan.appels_api_par_jour, request.now)
        return _account_headers(request, meter)
    usage = await store.usage(account, plan, request.now)
    return _account_headers(request, usage.calls, (0, usage.credits.left))


def _account_headers(
    request: Request, meter: Meter, credits: tuple[int, int] | None = None
) -> Headers:
    """The headers of an account's counters: calls, and `credits` (charged, left) if they are given."""
    headers = counter_headers.calls(request.limits, meter, request.left, request.now)
    return headers if credits is None else {**headers, **counter_headers.credits(*credits)}


async def _run_for_visitor(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Run a visitor's search or preview, which counts as no call (A10, D14); burst limits have been checked before."""
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
    """Run a call that costs no credits, and count it; a call that fails is given back.

    Args:
        ready: its result, if that was made before.

    Raises:
        ApiError: the calls of the day are used up, or the call itself is refused.
    """
    store, account, plan, now = request.store, request.account.id, request.caller.plan, request.now
    pending_meter = store.take(account, plan.appels_api_par_jour, now)
    result: Result[T] | None = None
    try:
        result = ready or await _make_or_refuse(prepared, request)
    finally:
        # Also if the search failed: the call may have been counted, and is then given back.
        meter = await pending_meter
        if result is None and meter.granted:
            await store.give_back(account, now)
    if not meter.granted:
        raise _quota_api(request, meter)
    if not prepared.cost:
        return _add_counters(request, result, meter, "taken")
    # The call could have cost credits, such as a HEAD: its headers report the credits that are left.
    try:
        usage = await store.usage(account, plan, now)
    except StoreUnavailable:
        await store.give_back(account, now)
        raise
    return _add_counters(request, result, meter, "taken", (0, usage.credits.left))


async def _run_several(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Run a request that counts as `prepared.calls` calls of the day: several, or none.

    The request is answered only if all its calls are granted; else those that were granted are given back.
    """
    store, account, now = request.store, request.account.id, request.now
    limit, calls = request.caller.plan.appels_api_par_jour, prepared.calls
    pending_meters = [store.take(account, limit, now) for _ in range(calls)]
    meters = [await meter for meter in pending_meters]  # the store commits them together
    meter = meters[-1] if meters else await store.calls(account, limit, now)
    granted = sum(meter.granted for meter in meters)
    if granted < calls:
        await _give_back(request, granted)
        raise _quota_api(request, await store.calls(account, limit, now), calls)
    try:
        result = await _make_or_refuse(prepared, request)
    except BaseException:
        await _give_back(request, granted)
        raise
    return _add_counters(request, result, meter, "taken" if meters else "free")


async def _give_back(request: Request, calls: int) -> None:
    """Give back a number of calls that were counted for this request."""
    for _ in range(calls):
        await request.store.give_back(request.account.id, request.now)


async def _run_charged(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Run a call with a price: it costs a call, and a trial or credits if the company has not been paid this month.

    A charge that is refused gives a 402 or 403, which is returned as a result.

    Raises:
        ApiError: 429: the calls of the day are used up.
        UnchargedError: the store failed; it has a preview of the record.
    """
    plan = request.caller.plan
    if prepared.trials is not None and (refusal := await _trial_refusal(prepared, request)):
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
        unavailable = errors.store_unavailable(maybe_done=error.maybe_done)
        raise UnchargedError(
            error, _refuse_with_preview(prepared, unavailable, unavailable.headers)
        ) from error
    if charge is None:
        raise _quota_api(request, meter)
    credits = (charge.cost, charge.left)
    if charge.outcome == "no_trial":
        return _essai_epuise(
            prepared, request, charge.reset, _account_headers(request, meter, credits)
        )
    if charge.outcome == "refused":
        headers = _account_headers(request, meter, credits)
        return _credits_epuises(prepared, request, charge.left, charge.reset, headers)
    return _add_counters(request, result, meter, charge.outcome, credits)


async def _run_head(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Run a HEAD of a call with a price: it costs a call but no credits, and is refused if GET would be."""
    if prepared.trials is not None and (refusal := await _trial_refusal(prepared, request)):
        return refusal
    result = await _make_or_refuse(prepared, request)
    credit_refusal = (
        None if result.free or not prepared.cost else await _credit_refusal(prepared, request)
    )
    return await _run_call(prepared, request, credit_refusal or result)


async def _credit_refusal(prepared: PreparedCall[T], request: Request) -> Result[T] | None:
    """The 402 for a HEAD request, if GET would get a 402; `_run_call` adds the headers of the counters.

    None if the company is paid for this month, or if the credits suffice.
    """
    store, account, now = request.store, request.account.id, request.now
    assert prepared.company
    credits = (await store.usage(account, request.caller.plan, now)).credits
    if credits.left >= prepared.cost or await store.is_charged(account, prepared.company, now):
        return None
    return _credits_epuises(prepared, request, credits.left, credits.reset, {})


def _add_counters(
    request: Request,
    result: Result[T],
    meter: Meter,
    outcome: str,
    credits: tuple[int, int] | None = None,
) -> Result[T]:
    """The result with the headers of the counters; the log gets `outcome`, the change of the counters."""
    headers = {**result.headers, **_account_headers(request, meter, credits)}
    return result._replace(headers=headers, outcome=outcome)


def _credits_epuises(
    prepared: PreparedCall[T], request: Request, left: int, reset: datetime, headers: Headers
) -> Result[T]:
    """The 402 of an account without enough credits, with a visitor's view of the record (D10); alone for an analysis.

    Args:
        left: the credits that are left.
        reset: the moment when the monthly credits are renewed.
    """
    tool = tool_remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("credits_par_mois", count=plan.credits_par_mois),
    )
    credits = {"cout": prepared.cost, "solde": left, "reinitialisation": counter_headers.iso(reset)}
    error = ApiError("credits_epuises", credits=credits)
    error.add_remedy(tool)
    if prepared.preview is not None:
        return _refuse_with_preview(prepared, error, headers)
    location = {name: text for name, text in prepared.headers.items() if name == "Content-Location"}
    return _refusal(error, {**location, **headers})


async def _trial_refusal(prepared: PreparedCall[T], request: Request) -> Result[T] | None:
    """The 403 if no trial is left, so that no analysis is made in vain; None if the analysis can be made."""
    store, account, now = request.store, request.account.id, request.now
    assert prepared.company
    usage = await store.usage(account, request.caller.plan, now)
    # If the calls of the day are used up, the caller goes on to the charge, which refuses with 429.
    if usage.trials.granted or not usage.calls.granted:
        return None
    # An analysis that is paid for this month needs no trial.
    if await store.is_charged(account, prepared.company, now):
        return None
    headers = _account_headers(request, usage.calls, (0, usage.credits.left))
    return _essai_epuise(prepared, request, usage.trials.reset, headers)


def _essai_epuise(
    prepared: PreparedCall[T], request: Request, reset: datetime, headers: Headers
) -> Result[T]:
    """The 403 for used-up trials, which names the plan with the module of the analysis (X11); it costs no call."""
    assert prepared.company
    module = prepared.company.partition("/")[0]  # `entreprise` of `entreprise/EE/10000018`
    plan_slug = first_plan_with(module, request.caller.plan, request.context.plans)
    error = ApiError(
        "essai_epuise",
        analyses=prepared.trials or 0,
        offre=plan_slug,
        reinitialisation=counter_headers.iso(reset),
    )
    return _refusal(error, headers)


def _quota_api(request: Request, meter: Meter, calls: int = 1) -> ApiError:
    """The 429 for used-up calls of the day, with the headers of the counters (D3, D4).

    The remedy is the next plan, or the API tool if the plan lacks this tool. The request counts as `calls` calls.
    """
    remedies = remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("appels_par_jour", count=plan.appels_api_par_jour),
        errors.text("offre_la_plus_haute"),
    )
    if calls > 1:
        remedies = errors.text("plusieurs_appels", count=calls, remedy=remedies)
    quota, seconds = _quota_and_seconds(meter, request.now)
    error = ApiError("quota_api", quota=quota, retry_after=seconds, remedy=remedies)
    error.headers |= _account_headers(request, meter)
    return error


def _refusal(error: ApiError, headers: Headers) -> Result[T]:
    """The result that has an error and no content."""
    return Result(error.status, None, {**NO_STORE, **headers}, error.code, error)


def _refuse_with_preview(prepared: PreparedCall[T], error: ApiError, headers: Headers) -> Result[T]:
    """The result for a record that was not charged: `error` with a visitor's view of the record."""
    assert prepared.preview
    location = {"Content-Location": prepared.headers["Content-Location"]}
    all_headers = {**NO_STORE, **location, **headers}
    return Result(error.status, prepared.preview(error), all_headers, error.code, error)


async def _make_or_refuse(prepared: PreparedCall[T], request: Request) -> Result[T]:
    """Make the result of a call; an ApiError, such as a 404, becomes a result too.

    The result of an API call is encoded here, before the charge, so that nobody pays for what cannot be encoded.
    """
    try:
        result = await prepared.run()
        return result.encode() if request.as_json else result
    except ApiError as error:
        return Result(error.status, None, NO_STORE | error.headers, "", error)


def _quota_and_seconds(meter: Meter, now: datetime) -> tuple[dict[str, Any], int]:
    """The `quota` object of an exhausted counter (D4), and the seconds until the counter is reset."""
    quota = counter_headers.quota(meter.type, meter.limit, meter.used, meter.reset)
    return quota, counter_headers.seconds(meter.reset, now)


async def reserve_export(request: Request, most_running: int, lifetime: timedelta) -> Reservation:
    """Reserve an export of the month until it is counted or released, but at most for `lifetime` (F5).

    Raises:
        ApiError: 429 `quota_export`, or `trop_de_requetes` if the organisation has `most_running` exports running.
        StoreUnavailable: nothing was reserved.
    """
    limit, now = request.caller.plan.exports_par_mois, request.now
    outcome = await request.store.reserve(request.account.id, limit, most_running, lifetime, now)
    if not isinstance(outcome, Refusal):
        return outcome
    if outcome.reason == "quota":
        raise _quota_export(request, outcome.meter)
    quota = counter_headers.quota(
        "debit", most_running, most_running, now + timedelta(seconds=_RETRY_SECONDS)
    )
    error = ApiError("exports_simultanes", quota=quota, retry_after=_RETRY_SECONDS)
    error.headers |= export_headers(request, outcome.meter)
    raise error


async def count_export(
    request: Request, reservation: Reservation, export: CountedExport, now: datetime
) -> Headers:
    """Count an exported file, unless it has no companies (F5); return the headers of the counter of exports.

    Raises:
        ApiError: 429 `quota_export`: the reservation had expired, and others have used up the quota.
        StoreUnavailable: the export was not counted, or with `maybe_done` perhaps counted.
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
    """Count an export whose client disconnected before the file was ready. Raises StoreUnavailable."""
    await store.commit(reservation, now, export)


async def release_export(store: Store, account: str, reservation_id: str) -> None:
    """Release the reservation of an export. Raises StoreUnavailable: the reservation stays until it expires."""
    await store.release(account, reservation_id)


async def current_exports(request: Request) -> Headers:
    """The headers of the counter of exports of the month, for a response that costs no export."""
    usage = await request.store.usage(request.account.id, request.caller.plan, request.now)
    return export_headers(request, usage.exports)


def export_headers(request: Request, meter: Meter) -> Headers:
    """The headers of `meter`, the exports of the month, for an account."""
    return counter_headers.exports(request.limits, meter, request.left, request.now)


def _quota_export(request: Request, meter: Meter) -> ApiError:
    """The 429 for used-up exports of the month, with their counter (F10).

    The remedy is the next plan, or for the highest plan the date of the reset.
    """
    reset = counter_headers.iso(meter.reset)
    remedies = remedy(
        request.caller,
        request.context.plans,
        lambda plan: errors.text("exports_par_mois", count=plan.exports_par_mois),
        errors.text("exports_a_venir", reset=reset),
    )
    quota, seconds = _quota_and_seconds(meter, request.now)
    error = ApiError("quota_export", quota=quota, retry_after=seconds, remedy=remedies)
    error.headers |= export_headers(request, meter)
    return error
