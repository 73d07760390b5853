"""The admission of a call, whichever way it came, in the order of contract D5:

    key → burst 429 → data 503 → parameters 400 → 304 → daily 429 → work → charge

`admit` does the first two steps, `perform` the others (the last four in `billing.run`). The routes,
the tools (serve/surfaces/mcp), the export and the website all come through here, so they have the same rights,
the same meters and the same order of checks.

The status of a call with an invalid key is 401, whatever else is wrong with the call (A1). Its body
is what a visitor would get, and reports what else is wrong: nothing is ignored silently.

The companies that an account matched are remembered, and a search that names them shows all of them (extensions X19).
A match says which they are (`CallResult.matched`), and a search which companies it names where the plan would show
fewer (`PreparedCall.named`). Without its store a match is answered and not remembered, and the plan decides what a
search shows: neither is worth a 503.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from quota.errors import StoreUnavailable
from quota.ledger import activity
from quota.plans import Plan
from quota.store.interface import Store
from serve.access import billing, counter_headers, loop_guard
from serve.access.billing import Counting, UnchargedError
from serve.access.call import (
    NO_STORE,
    CallResult,
    Content,
    Prepare,
    PreparedCall,
    PublicList,
    Request,
    Response,
    not_modified,
    of_error,
)
from serve.access.context import ServerContext
from serve.access.counter_headers import BurstRemaining, Headers
from serve.access.rights import VISITOR, Caller, identify, tool_remedy
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import MOST_IDS
from serve.observe.log import RequestTrace
from serve.request.reader import Pairs

# The headers of a visitor's response that are also true of a 401: a tag or a location is not.
_TRUE_OF_401: Final = (
    "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit",
    "RateLimit-Policy",
)  # fmt: skip

# Bytes of a body of a caller without an account.
VISITOR_BODY: Final = 64 << 10

_log: Final = logging.getLogger("serve.access.admission")

T = TypeVar("T", bound=Content)

# The headers that report the meter of a route, for a response that costs nothing.
MeterHeaders = Callable[[Plan, Counting], Awaitable[Headers]]


class Call(NamedTuple):
    """A request whose parameters are not read yet.

    Attributes:
        segments: the variable parts of its path, decoded.
        read: reads the parameters when it is their turn; raises ApiError 400.
        lang: the language of texts, `fr` or `en`.
        sent: bytes of the body that is parsed when it is prepared.
    """

    path: str
    segments: tuple[str, ...]
    read: Callable[[], Pairs]
    if_none_match: str | None = None
    head: bool = False
    lang: str = "fr"
    sent: int = 0


class AdmittedCaller(NamedTuple):
    """A caller that has passed the burst limits.

    Attributes:
        counting: None for a visitor.
        headers: the quota headers of a visitor; empty for an account.
    """

    caller: Caller
    left: BurstRemaining
    counting: Counting | None
    headers: Headers

    def largest_body(self, most: int) -> int:
        """Bytes of a body that may have `most`: a visitor, who has two lines answered, sends no more than a few."""
        return most if self.counting else min(most, VISITOR_BODY)


async def admit(
    context: ServerContext,
    authorization: Sequence[str],
    trace: RequestTrace,
    meter_headers: MeterHeaders = billing.current_headers,
) -> AdmittedCaller:
    """Identify the caller by its Authorization headers, and check its burst limits.

    Raises:
        ApiError: 429 `trop_de_requetes`, with `meter_headers`.
        StoreUnavailable: the key cannot be looked up.
    """
    caller = await identify(authorization, context.plans, context.holder.find)
    if caller.account:
        context.key_usage.note(context.holder.store, authorization[0], context.now().date())
    return await admit_caller(context, caller, trace, meter_headers)


async def admit_caller(
    context: ServerContext,
    caller: Caller,
    trace: RequestTrace,
    meter_headers: MeterHeaders = billing.current_headers,
) -> AdmittedCaller:
    """Check the burst limits of a caller that is known, such as that of a session.

    Raises:
        ApiError: 429 `trop_de_requetes`, with `meter_headers`.
    """
    trace.plan = caller.plan.slug
    trace.account = caller.account.id if caller.account else None
    if caller.account is None:
        await context.lanes.enter(trace)
    now = context.now()
    try:
        left = context.gate.count_call(caller, trace.address, now)
    except ApiError as error:
        counting = _make_counting(context, caller, BurstRemaining(0), now)
        if counting is not None:
            error.add_remedy(tool_remedy(caller, context.plans, context.gate.calls_a_minute))
            # Every 429 reports the meter of its route (§7 rule 1).
            error.headers |= await meter_headers(caller.plan, counting) | error.headers
        raise
    counting = _make_counting(context, caller, left, now)
    if counting is not None:
        return AdmittedCaller(caller, left, counting, {})
    limits = context.gate.limits[caller.plan.slug]
    return AdmittedCaller(caller, left, None, counter_headers.visitor(limits, left, now))


def require_account(admitted: AdmittedCaller) -> Counting:
    """The counting of a call to a resource that only accounts have. Raises ApiError 401."""
    if admitted.counting is None:
        raise errors.compte_requis(refused=admitted.caller.refused)
    return admitted.counting


async def perform(
    context: ServerContext,
    admitted: AdmittedCaller,
    prepare: Prepare[T],
    call: Call,
    trace: RequestTrace,
) -> CallResult[T]:
    """Make a search or a record, as far as the plan of the caller goes.

    Raises:
        ApiError: the call is invalid, a limit is reached, or there is no data to answer from.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    caller, counting = admitted.caller, admitted.counting
    with context.published.lease() as generation:
        trace.generation = generation.id

        def ready() -> tuple[Request, PreparedCall[T]]:
            request = read(context, call, caller)
            return request, prepare(request, generation)

        try:
            request, prepared = await loop_guard.parse(call.sent, ready)
            if prepared.named and counting:
                named = await prepared.named()
                if await _are_matched(named.known, counting, trace):
                    caller, counting = _with_all_rows(context, caller, counting)
                request = request._replace(caller=caller, named=named)
                prepared = prepare(request, generation)
            result = await billing.run(prepared, request, counting, admitted.headers)
            if result.matched and counting:
                account = counting.account.id
                await remember_matches(counting.store, account, result.matched, trace)
        except ApiError as error:
            if caller.refused:
                raise _bad_key(error) from error
            raise
    return _with_bad_key(result) if caller.refused else result


def public_list(
    context: ServerContext, route: PublicList[T], call: Call, trace: RequestTrace
) -> CallResult[T]:
    """A public list: a key, valid or not, changes nothing there (A2).

    Raises:
        ApiError: 429, 503 or 400, in this order.
    """
    context.gate.lists(trace.address, context.now())
    visitor = Caller(context.plans[VISITOR])
    trace.plan = visitor.plan.slug
    with context.published.lease() as generation:
        trace.generation = generation.id
        return route(read(context, call, visitor), generation)


async def free_list(
    context: ServerContext,
    authorization: Sequence[str],
    prepare: Prepare[T],
    call: Call,
    trace: RequestTrace,
) -> CallResult[T]:
    """A list that depends on the plan of the caller: limited as public lists are, and not counted (X0).

    Raises:
        ApiError: 429, 503 or 400, in this order.
        StoreUnavailable: the key cannot be looked up.
    """
    context.gate.lists(trace.address, context.now())
    caller = await identify(authorization, context.plans, context.holder.find)
    trace.plan = caller.plan.slug
    trace.account = caller.account.id if caller.account else None
    if caller.account is None:
        await context.lanes.enter(trace)
    with context.published.lease() as generation:
        trace.generation = generation.id
        try:
            request = read(context, call, caller)
            prepared = prepare(request, generation)
        except ApiError as error:
            if caller.refused:
                raise _bad_key(error) from error
            raise
        if prepared.is_known(request):
            return not_modified(prepared.headers)
        result = await prepared.run()
    return _with_bad_key(result) if caller.refused else result


def read(context: ServerContext, call: Call, caller: Caller) -> Request:
    """The request of a call, with the text of its parameters. Raises ApiError 400."""
    return Request(
        path=call.path,
        segments=call.segments,
        pairs=call.read(),
        caller=caller,
        offer=context.offers[caller.plan.slug],
        base_url=context.config.base_url,
        if_none_match=None if caller.refused else call.if_none_match,
        head=call.head,
        lang=call.lang,
    )


def unavailable_response(
    context: ServerContext, error: StoreUnavailable, trace: RequestTrace, lang: str
) -> Response:
    """503 for a call that the store could not count; the log and a metric report it (G9)."""
    context.metrics.store_error()
    context.holder.note_failure(error, trace.request_id)
    if isinstance(error, UnchargedError):
        return error.result.response(lang)
    refusal = errors.indisponible(errors.NO_COUNTERS, maybe_counted=error.maybe_done)
    return of_error(refusal, lang)


def _make_counting(
    context: ServerContext, caller: Caller, left: BurstRemaining, now: datetime
) -> Counting | None:
    if caller.account is None:
        return None
    limits = context.gate.limits[caller.plan.slug]
    return Counting(context.holder.store, caller.account, limits, left, context.plans, now)


def _with_bad_key(result: CallResult[T]) -> CallResult[T]:
    """401 with the complete result of a visitor, if that is JSON: a page has no place for the error."""
    content = None if "Content-Type" in result.headers else result.content
    error = errors.cle_invalide(served=content is not None)
    headers = NO_STORE | _true_of_401(result.headers) | error.headers
    return result._replace(status=error.status, content=content, headers=headers, error=error)


def _bad_key(error: ApiError) -> ApiError:
    """401 where a visitor would have got `error`, which its message repeats."""
    refusal = errors.cle_invalide(served=False)
    texts = errors.part("cle_et_faute", refusal=refusal.texts, error=error.texts)
    headers = _true_of_401(error.headers) | refusal.headers
    return ApiError(refusal.code, texts, headers=headers, **error.extra)


def _true_of_401(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _TRUE_OF_401 if name in headers}


async def remember_matches(
    store: Store, account: str, matched: Sequence[tuple[str, str]], trace: RequestTrace
) -> None:
    """Remember the companies that lines of a list mean, or that a person chose for them."""
    try:
        await store.submit(activity.note_matches, account, _texts(matched))
    except StoreUnavailable as error:
        _warn_of_matches("matches are not remembered", error, trace)


async def _are_matched(
    known: Sequence[tuple[str, str]], counting: Counting, trace: RequestTrace
) -> bool:
    """Whether the account matched all companies that a search names and that exist."""
    if not known:
        return False
    try:
        return await counting.store.read(activity.are_matched, counting.account.id, _texts(known))
    except StoreUnavailable as error:
        _warn_of_matches("matches cannot be read", error, trace)
        return False


def _with_all_rows(
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


def _warn_of_matches(what: str, error: StoreUnavailable, trace: RequestTrace) -> None:
    _log.warning("%s: %s", what, error, extra={"fields": {"request_id": trace.request_id}})
