"""The price of a search, a record or an export, and the moment it is charged (D1, D5, D9).

This is the only module of the server that counts calls, credits and exports. The call is requested first and the search
made meanwhile, since a call is only safe after a write to disk; the response waits for both. A record
is made and encoded first, then charged in one transaction with its call, so that nobody pays for a
record that could not be made. A call that fails is given back. A 304 brings the client nothing and
costs nothing, even where the company was not paid for this month (D13). A HEAD is refused where GET would be; it brings
no statements and costs no credits (G1).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeVar

from quota.accounts import Account
from quota.errors import StoreUnavailable
from quota.ledger.calls import Meter, Purchase
from quota.ledger.exports import CountedExport, Refusal, Reservation
from quota.plans import Plan
from quota.store.interface import Store
from serve.access import counter_headers
from serve.access.call import (
    NO_STORE,
    CallResult,
    Content,
    PreparedCall,
    Request,
    not_modified,
)
from serve.access.counter_headers import BurstRemaining, Headers, PlanLimits
from serve.access.rights import Caller, first_plan_with, remedy, tool_remedy
from serve.contract import errors
from serve.contract.errors import ApiError

# Seconds until one of the exports that run at once may have ended.
_RETRY_AFTER: Final = 10

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
    limits: PlanLimits
    left: BurstRemaining
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
        StoreUnavailable: not counted, or `maybe_done`.
    """
    if counting is None:
        return await _run_for_visitor(prepared, request, headers)
    bill = _Bill(prepared, request, counting)
    if prepared.is_known(request):
        return await bill.of_known()
    if prepared.is_charged:
        return await (bill.of_head() if request.head else bill.of_record())
    if prepared.calls != 1:
        return await bill.of_calls()
    return await bill.of_call()


async def current_headers(plan: Plan, counting: Counting, *, with_credits: bool = False) -> Headers:
    """The quota headers for a response that costs nothing."""
    store, account, now = counting.store, counting.account.id, counting.now
    if not with_credits:
        meter = await store.calls(account, plan.appels_api_par_jour, now)
        return _headers(counting, meter)
    usage = await store.usage(account, plan, now)
    return _headers(counting, usage.calls, (0, usage.credits.left))


def _headers(counting: Counting, meter: Meter, credits: tuple[int, int] | None = None) -> Headers:
    """The counters of an account; `credits` are those that the call cost, and those that are left."""
    found = counter_headers.calls(counting.limits, meter, counting.left, counting.now)
    return found if credits is None else {**found, **counter_headers.credits(*credits)}


async def _run_for_visitor(
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


class _Bill(Generic[T]):
    """A call of an account, from its work to its charge."""

    __slots__ = ("_counting", "_prepared", "_request")

    def __init__(self, prepared: PreparedCall[T], request: Request, counting: Counting) -> None:
        self._prepared = prepared
        self._request = request
        self._counting = counting

    async def of_known(self) -> CallResult[T]:
        """A 304."""
        plan, with_credits = self._request.caller.plan, self._prepared.cost > 0
        current = await current_headers(plan, self._counting, with_credits=with_credits)
        return not_modified({**self._prepared.headers, **current})

    async def of_call(self, ready: CallResult[T] | None = None) -> CallResult[T]:
        """A call that costs no credits; `ready` is its result, if that was made already."""
        store, account, now = self._in_store()
        taken = store.take(account, self._limit, now)
        result: CallResult[T] | None = None
        try:
            result = ready or await _run(self._prepared)
        finally:
            # Also when the search failed: only then is it known whether there is a call to give back.
            meter = await taken
            if result is None and meter.granted:
                await store.give_back(account, now)
        if not meter.granted:
            raise self._quota_api(meter)
        if not self._prepared.cost:
            return self._with_counters(result, meter, "taken")
        try:
            usage = await store.usage(account, self._request.caller.plan, now)
        except StoreUnavailable:
            await store.give_back(account, now)
            raise
        return self._with_counters(result, meter, "taken", (0, usage.credits.left))

    async def of_calls(self) -> CallResult[T]:
        """Work that counts as several calls, or as none; all are granted before it begins, or none is counted."""
        store, account, now = self._in_store()
        wanted = self._prepared.calls
        taken = [store.take(account, self._limit, now) for _ in range(wanted)]
        meters = [await one for one in taken]  # the store commits them together
        meter = meters[-1] if meters else await store.calls(account, self._limit, now)
        granted = sum(one.granted for one in meters)
        if granted < wanted:
            await self._give_back(granted)
            raise self._quota_api(await store.calls(account, self._limit, now), wanted)
        try:
            result = await _run(self._prepared)
        except BaseException:
            await self._give_back(granted)
            raise
        return self._with_counters(result, meter, "taken" if meters else "free")

    async def of_record(self) -> CallResult[T]:
        """A full record: a call, and credits if the company was not paid for this month."""
        prepared, plan = self._prepared, self._request.caller.plan
        if prepared.trials is not None and (refusal := await self._trials_spent()):
            return refusal
        result = await _run(prepared)
        if result.free:
            return await self.of_call(result)
        assert prepared.company
        try:
            meter, charge = await self._counting.store.take_and_charge(
                Purchase(
                    account=self._counting.account.id,
                    call_limit=self._limit,
                    company=prepared.company,
                    cost=prepared.cost,
                    grant=plan.credits_par_mois,
                    trials=prepared.trials,
                ),
                self._counting.now,
            )
        except StoreUnavailable as error:
            if prepared.preview is None:
                raise
            unsent = errors.indisponible(errors.NO_COUNTERS, maybe_counted=error.maybe_done)
            raise UnchargedError(error, _preview(prepared, unsent, unsent.headers)) from error
        if charge is None:
            raise self._quota_api(meter)
        credits = (charge.cost, charge.left)
        if charge.outcome == "no_trial":
            return self._essai_epuise(charge.reset, meter, credits)
        if charge.outcome == "refused":
            headers = _headers(self._counting, meter, credits)
            return self._credits_epuises(charge.left, charge.reset, headers)
        return self._with_counters(result, meter, charge.outcome, credits)

    async def of_head(self) -> CallResult[T]:
        """A HEAD of what has a price: a call, or the refusal that GET would get now."""
        prepared = self._prepared
        if prepared.trials is not None and (refusal := await self._trials_spent()):
            return refusal
        result = await _run(prepared)
        unpaid = None if result.free or not prepared.cost else await self._unpaid()
        return await self.of_call(unpaid or result)

    async def _unpaid(self) -> CallResult[T] | None:
        """402 without its meters; None where the company was paid for this month, or can be."""
        store, account, now = self._in_store()
        cost, company = self._prepared.cost, self._prepared.company
        assert company
        credits = (await store.usage(account, self._request.caller.plan, now)).credits
        if credits.left >= cost or await store.is_charged(account, company, now):
            return None
        return self._credits_epuises(credits.left, credits.reset, {})

    def _with_counters(
        self,
        result: CallResult[T],
        meter: Meter,
        outcome: str,
        credits: tuple[int, int] | None = None,
    ) -> CallResult[T]:
        headers = {**result.headers, **_headers(self._counting, meter, credits)}
        return CallResult(
            result.status, result.content, headers, outcome, result.error, matched=result.matched
        )

    @property
    def _limit(self) -> int:
        """Calls a day."""
        return self._request.caller.plan.appels_api_par_jour

    def _in_store(self) -> tuple[Store, str, datetime]:
        return self._counting.store, self._counting.account.id, self._counting.now

    async def _give_back(self, calls: int) -> None:
        store, account, now = self._in_store()
        for _ in range(calls):
            await store.give_back(account, now)

    def _credits_epuises(self, left: int, reset: datetime, headers: Headers) -> CallResult[T]:
        """402 with what a visitor would see (D10); of an analysis, nothing."""
        prepared = self._prepared
        missing = tool_remedy(
            self._request.caller,
            self._counting.plans,
            lambda plan: errors.part("credits_par_mois", count=plan.credits_par_mois),
        )
        error = errors.credits_epuises(prepared.cost, left, counter_headers.iso(reset), missing)
        if prepared.preview is not None:
            return _preview(prepared, error, headers)
        located = {
            name: text for name, text in prepared.headers.items() if name == "Content-Location"
        }
        return _refusal(error, {**located, **headers})

    async def _trials_spent(self) -> CallResult[T] | None:
        """The 403 of an analysis for which no trial is left, before anything is made; None if it may be made."""
        store, account, now = self._in_store()
        assert self._prepared.company
        usage = await store.usage(account, self._request.caller.plan, now)
        if (
            usage.trials.granted or not usage.calls.granted
        ):  # the second is a 429, which `take` makes
            return None
        if await store.is_charged(account, self._prepared.company, now):
            return None
        return self._essai_epuise(usage.trials.reset, usage.calls, (0, usage.credits.left))

    def _essai_epuise(
        self, reset: datetime, meter: Meter, credits: tuple[int, int]
    ) -> CallResult[T]:
        """403 with the plan that has the module of the analysis (X11); it costs no call."""
        prepared = self._prepared
        assert prepared.company
        module = prepared.company.partition("/")[0]
        offer = first_plan_with(module, self._request.caller.plan, self._counting.plans)
        error = errors.essai_epuise(prepared.trials or 0, offer, counter_headers.iso(reset))
        return _refusal(error, _headers(self._counting, meter, credits))

    def _quota_api(self, meter: Meter, wanted: int = 1) -> ApiError:
        """429 with its meters (D3, D4); the remedy is the next plan, or the API tool if it is missing.

        `wanted`: calls that were asked for at once.
        """
        remedies = remedy(
            self._request.caller,
            self._counting.plans,
            lambda plan: errors.part("appels_par_jour", count=plan.appels_api_par_jour),
            errors.part("offre_la_plus_haute"),
        )
        if wanted > 1:
            remedies = errors.part("plusieurs_appels", count=wanted, remedy=remedies)
        error = errors.quota_api(*_daily_refusal(meter, self._counting), remedies)
        error.headers |= _headers(self._counting, meter)
        return error


def _refusal(error: ApiError, headers: Headers) -> CallResult[T]:
    return CallResult(error.status, None, {**NO_STORE, **headers}, error.code, error)


def _preview(prepared: PreparedCall[T], error: ApiError, headers: Headers) -> CallResult[T]:
    """An error with what a visitor would see: the record was not charged, so it is not sent."""
    assert prepared.preview
    located = {"Content-Location": prepared.headers["Content-Location"]}
    all_headers = {**NO_STORE, **located, **headers}
    return CallResult(error.status, prepared.preview(error), all_headers, error.code, error)


async def _run(prepared: PreparedCall[T]) -> CallResult[T]:
    """The result, which may be the error that there is no such company."""
    try:
        return await prepared.run()
    except ApiError as error:
        return CallResult(error.status, None, NO_STORE | error.headers, "", error)


def _daily_refusal(meter: Meter, counting: Counting) -> tuple[dict[str, Any], int]:
    """The object of D4 of a meter that refuses, and the seconds until it begins again."""
    quota = counter_headers.quota(meter.type, meter.limit, meter.used, meter.reset)
    return quota, counter_headers.seconds(meter.reset, counting.now)


async def reserve_export(
    caller: Caller, counting: Counting, at_once: int, held: timedelta
) -> Reservation:
    """Hold an export of the month until it is counted or released, or `held` is over (F5).

    Raises:
        ApiError: 429 `quota_export`, or `trop_de_requetes` if the organisation makes `at_once` already.
        StoreUnavailable: nothing was held.
    """
    limit = caller.plan.exports_par_mois
    answer = await counting.store.reserve(counting.account.id, limit, at_once, held, counting.now)
    if not isinstance(answer, Refusal):
        return answer
    if answer.reason == "quota":
        raise _quota_export(answer.meter, caller, counting)
    retry = counting.now + timedelta(seconds=_RETRY_AFTER)
    quota = counter_headers.quota("debit", at_once, at_once, retry)
    error = errors.exports_simultanes(quota, _RETRY_AFTER)
    error.headers |= export_headers(counting, answer.meter)
    raise error


async def count_export(
    reservation: Reservation,
    export: CountedExport,
    caller: Caller,
    counting: Counting,
    now: datetime,
) -> Headers:
    """Count a file that was made, unless it found nothing (F5); return the headers of the exports after it.

    Raises:
        ApiError: 429 `quota_export`: the reservation had expired, and others have used up the quota.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    store = counting.store
    if not export.total:
        await release_export(store, reservation.account, reservation.id)
        usage = await store.usage(counting.account.id, caller.plan, now)
        return export_headers(counting, usage.exports)
    meter = await store.commit(reservation, now, export)
    if not meter.granted:
        raise _quota_export(meter, caller, counting)
    return export_headers(counting, meter)


async def count_abandoned_export(
    store: Store, reservation: Reservation, export: CountedExport, now: datetime
) -> None:
    """Count an export that its client did not wait for, though nothing was made. Raises StoreUnavailable."""
    await store.commit(reservation, now, export)


async def release_export(store: Store, account: str, reservation: str) -> None:
    """Give back an export that was not made. Raises StoreUnavailable: it is held until it expires."""
    await store.release(account, reservation)


async def current_exports(plan: Plan, counting: Counting) -> Headers:
    """The exports of the month, for a response that costs none."""
    usage = await counting.store.usage(counting.account.id, plan, counting.now)
    return export_headers(counting, usage.exports)


def export_headers(counting: Counting, meter: Meter) -> Headers:
    """The exports of the month."""
    return counter_headers.exports(counting.limits, meter, counting.left, counting.now)


def _quota_export(meter: Meter, caller: Caller, counting: Counting) -> ApiError:
    """429 with its meters; the remedy is the next plan, or else the date of the reset (F10)."""
    reset = counter_headers.iso(meter.reset)
    remedies = remedy(
        caller,
        counting.plans,
        lambda plan: errors.part("exports_par_mois", count=plan.exports_par_mois),
        errors.part("exports_a_venir", reset=reset),
    )
    error = errors.quota_export(*_daily_refusal(meter, counting), remedies)
    error.headers |= export_headers(counting, meter)
    return error
