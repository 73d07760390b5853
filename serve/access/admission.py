"""The admission of a call, whichever way it came, in the order of contract D5:

    key → burst 429 → data 503 → parameters 400 → 304 → daily 429 → work → charge

`admit` does the first two steps, `perform` the others (the last four in `billing.run`); `answer` does all. The routes,
the tools (serve/surfaces/mcp), the export and the website all come through here, so they have the same rights,
the same meters and the same order of checks.

The status of a call with an invalid key is 401, whatever else is wrong with the call (A1). Its body
is what a visitor would get, and reports what else is wrong: nothing is ignored silently.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from quota.errors import StoreUnavailable
from serve.access import billing, loop_guard, own_matches
from serve.access.billing import UnchargedError
from serve.access.call import (
    NO_STORE,
    Content,
    Prepare,
    PublicList,
    Request,
    Response,
    Result,
    error_response,
    not_modified,
)
from serve.access.counter_headers import Headers
from serve.access.rights import identify, tool_remedy
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.feature import Operation
from serve.generation.open_generation import OpenGeneration

# The headers of a visitor's response that are also true of a 401: a tag or a location is not.
_TRUE_OF_401: Final = (
    "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit",
    "RateLimit-Policy",
)  # fmt: skip

# Bytes of a body of a caller without an account.
VISITOR_BODY: Final = 64 << 10

T = TypeVar("T", bound=Content)

# The headers that report the meter of a route, for a response that costs nothing.
MeterHeaders = Callable[[Request], Awaitable[Headers]]


async def answer(
    request: Request, operation: Operation, run: Callable[[Request, OpenGeneration], Any]
) -> Result[Any]:
    """The result of a list or of a call without a body, for a route and for its tool.

    Args:
        run: a `PublicList` for an operation of kind `list`, else a `Prepare`.

    Raises:
        ApiError: as `public_list`, `free_list`, or `admit` and `perform`.
        StoreUnavailable: not counted, or `maybe_done`; the key cannot be looked up.
    """
    if operation.kind == "list":
        return public_list(request, run)
    if operation.kind == "free":
        return await free_list(request, run)
    await admit(request)
    if operation.account:
        require_account(request)
    return await perform(request, run)


async def admit(request: Request, meter_headers: MeterHeaders = billing.current_headers) -> None:
    """Identify the caller by its Authorization headers, and check its burst limits.

    Raises:
        ApiError: 429 `trop_de_requetes`, with `meter_headers`.
        StoreUnavailable: the key cannot be looked up.
    """
    context, sent = request.context, request.authorization
    request.caller = await identify(sent, context.plans, context.holder.find)
    if request.caller.account:
        context.key_usage.note(request.store, sent[0], request.now.date())
    await admit_caller(request, meter_headers)


async def admit_caller(
    request: Request, meter_headers: MeterHeaders = billing.current_headers
) -> None:
    """Check the burst limits of a caller that is known, such as that of a session.

    Raises:
        ApiError: 429 `trop_de_requetes`, with `meter_headers`.
    """
    context, caller, trace = request.context, request.caller, request.trace
    await _enter(request)
    request.now = context.now()
    request.limits = context.gate.limits[caller.plan.slug]
    try:
        request.left = context.gate.count_call(caller, trace.address, request.now)
    except ApiError as error:
        if caller.account:
            error.add_remedy(tool_remedy(caller, context.plans, context.gate.calls_a_minute))
            # Every 429 reports the meter of its route (§7 rule 1).
            error.headers |= await meter_headers(request) | error.headers
        raise


async def _enter(request: Request) -> None:
    """Name the caller in the log; a visitor waits for a place of its network."""
    caller, trace = request.caller, request.trace
    trace.plan = caller.plan.slug
    trace.account = caller.account.id if caller.account else None
    if caller.account is None:
        await request.context.lanes.enter(trace)


def require_account(request: Request) -> None:
    """Refuse a caller without an account where only accounts have an answer. Raises ApiError 401."""
    if request.caller.account is None:
        challenge = 'Bearer error="invalid_token"' if request.caller.refused else "Bearer"
        raise ApiError("compte_requis", challenge=challenge)  # RFC 6750 §3.1


def largest_body(request: Request, most: int) -> int:
    """Bytes of a body that may have `most`: a visitor, who has two lines answered, sends no more than a few."""
    return most if request.caller.account else min(most, VISITOR_BODY)


async def perform(request: Request, prepare: Prepare[T]) -> Result[T]:
    """Make a search or a record, as far as the plan of the caller goes.

    Raises:
        ApiError: the call is invalid, a limit is reached, or there is no data to answer from.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    with request.context.published.lease() as generation:
        request.trace.generation = generation.id
        try:
            if request.size:
                prepared = await loop_guard.parse(
                    request.size, partial(prepare, request, generation)
                )
            else:
                prepared = prepare(request, generation)
            if prepared.find_named:
                await own_matches.show_named(request, await prepared.find_named())
                prepared = prepare(request, generation)
            result = await billing.run(prepared, request)
        except ApiError as error:
            if request.caller.refused:
                raise _bad_key(error) from error
            raise
        if result.matched and request.caller.account:
            await own_matches.remember(
                request.store, request.account.id, result.matched, request.trace
            )
    return _with_bad_key(result) if request.caller.refused else result


def public_list(request: Request, route: PublicList[T]) -> Result[T]:
    """A public list: a key, valid or not, changes nothing there (A2).

    Raises:
        ApiError: 429, 503 or 400, in this order.
    """
    context, trace = request.context, request.trace
    context.gate.lists(trace.address, context.now())
    trace.plan = request.caller.plan.slug
    with context.published.lease() as generation:
        trace.generation = generation.id
        return route(request, generation)


async def free_list(request: Request, prepare: Prepare[T]) -> Result[T]:
    """A list that depends on the plan of the caller: limited as public lists are, and not counted (X0).

    Raises:
        ApiError: 429, 503 or 400, in this order.
        StoreUnavailable: the key cannot be looked up.
    """
    context = request.context
    context.gate.lists(request.trace.address, context.now())
    request.caller = await identify(request.authorization, context.plans, context.holder.find)
    await _enter(request)
    with context.published.lease() as generation:
        request.trace.generation = generation.id
        try:
            prepared = prepare(request, generation)
        except ApiError as error:
            if request.caller.refused:
                raise _bad_key(error) from error
            raise
        if prepared.is_known(request):
            return not_modified(prepared.headers)
        result = await prepared.run()
    return _with_bad_key(result) if request.caller.refused else result


def unavailable_response(request: Request, error: StoreUnavailable) -> Response:
    """503 for a call that the store could not count; the log and a metric report it (G9)."""
    context = request.context
    context.metrics.store_error()
    context.holder.note_failure(error, request.trace.request_id)
    if isinstance(error, UnchargedError):
        return error.result.response(request.lang)
    refusal = errors.uncounted(maybe_done=error.maybe_done)
    return error_response(refusal, request.lang)


def _with_bad_key(result: Result[T]) -> Result[T]:
    """401 with the complete result of a visitor; what is no JSON has no place for the error."""
    is_served = result.content is not None
    error = ApiError("cle_invalide" if is_served else "cle_sans_reponse")
    headers = NO_STORE | _true_of_401(result.headers) | error.headers
    body = result.body if is_served else None
    return result._replace(status=error.status, headers=headers, error=error, body=body)


def _bad_key(error: ApiError) -> ApiError:
    """401 where a visitor would have got `error`, which its message repeats."""
    refusal = errors.text("cle_sans_reponse")
    both = ApiError("cle_et_faute", refusal=refusal, error=error.texts)
    both.headers = _true_of_401(error.headers) | both.headers
    both.extra = error.extra
    return both


def _true_of_401(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _TRUE_OF_401 if name in headers}
