"""The admission of a call, in the order of contract D5:

    key → burst 429 → data 503 → parameters 400 → 304 → daily 429 → work → charge

`admit` does the first two steps, `perform` the others (the last four in `billing.run`); `answer` does all of them.
Routes, tools (serve/surfaces/mcp), exports and the website all use this module, so these callers have the same rights,
counters and order of checks.

A call with an invalid key has status 401, even if it has other errors (A1). Its body is a visitor's answer, and
reports the other errors.
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

# The headers of a visitor's response that a 401 keeps. Its ETag and its Content-Location are dropped, because they
# identify the visitor's answer and not the error.
_HEADERS_OF_401: Final = (
    "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit",
    "RateLimit-Policy",
)  # fmt: skip

# The most bytes of a body of a caller without an account, of whose list only two lines are answered.
VISITOR_BODY: Final = 64 << 10

T = TypeVar("T", bound=Content)

# Reads a counter and returns its headers, for a response that costs nothing: of calls or, for an export, of exports.
MeterHeaders = Callable[[Request], Awaitable[Headers]]


async def answer(
    request: Request, operation: Operation, run: Callable[[Request, OpenGeneration], Any]
) -> Result[Any]:
    """Answer a list or a call without a body, for a route or its tool.

    Args:
        run: a `PublicList` for an operation of kind `list`, else a `Prepare`.

    Raises:
        ApiError: as `public_list`, `free_list`, or `admit` and `perform`.
        StoreUnavailable: the call was not counted, or with `maybe_done` perhaps counted; or the key cannot be
            looked up.
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

    Args:
        meter_headers: makes the headers of the counter of this route, for a 429.

    Raises:
        ApiError: 429 `trop_de_requetes`.
        StoreUnavailable: the key cannot be looked up.
    """
    context, authorization = request.context, request.authorization
    request.caller = await identify(authorization, context.plans, context.holder.find)
    if request.caller.account:  # so there is exactly one header, and it has a valid key
        context.key_usage.note(request.store, authorization[0], request.now.date())
    await admit_caller(request, meter_headers)


async def admit_caller(
    request: Request, meter_headers: MeterHeaders = billing.current_headers
) -> None:
    """Check the burst limits of an identified caller, such as the person of a session.

    Args:
        meter_headers: makes the headers of the counter of this route, for a 429.

    Raises:
        ApiError: 429 `trop_de_requetes`.
    """
    context, caller, trace = request.context, request.caller, request.trace
    await _log_and_wait(request)
    # The time is read again, because the wait can pass midnight, when the counters of the day begin again.
    request.now = context.now()
    request.limits = context.gate.limits[caller.plan.slug]
    try:
        request.left = context.gate.count_call(caller, trace.address, request.now)
    except ApiError as error:
        if caller.account:
            error.add_remedy(tool_remedy(caller, context.plans, context.gate.calls_a_minute))
            # Every 429 reports the counter of its route (§7 rule 1).
            error.headers |= await meter_headers(request) | error.headers
        raise


async def _log_and_wait(request: Request) -> None:
    """Write the caller into the log line; a visitor then waits until its network has a free place (`loop_guard`)."""
    caller, trace = request.caller, request.trace
    trace.plan = caller.plan.slug
    trace.account = caller.account.id if caller.account else None
    if caller.account is None:
        await request.context.lanes.enter(trace)


def require_account(request: Request) -> None:
    """Refuse a caller without an account. Raises ApiError 401."""
    if request.caller.account is None:
        challenge = 'Bearer error="invalid_token"' if request.caller.refused else "Bearer"
        raise ApiError("compte_requis", challenge=challenge)  # RFC 6750 §3.1


def largest_body(request: Request, most: int) -> int:
    """The most bytes that a body may have: `most` with an account, at most VISITOR_BODY for a visitor."""
    return most if request.caller.account else min(most, VISITOR_BODY)


async def perform(request: Request, prepare: Prepare[T]) -> Result[T]:
    """Answer an admitted call, within the limits of the caller's plan; remember the companies that it matched (X19).

    Raises:
        ApiError: the call is invalid, a limit is reached, or no data are loaded.
        StoreUnavailable: the call was not counted, or with `maybe_done` perhaps counted.
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
                # `show_named` may have given the caller the right to more companies, so the call is prepared again.
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
    return _add_key_error(result) if request.caller.refused else result


def public_list(request: Request, route: PublicList[T]) -> Result[T]:
    """Answer a public list. No key is read (A2), so the caller is always a visitor.

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
    """Answer a list that depends on the caller's plan. It has the limits of public lists and is not counted (X0).

    Raises:
        ApiError: 429, 503 or 400, in this order.
        StoreUnavailable: the key cannot be looked up.
    """
    context = request.context
    context.gate.lists(request.trace.address, context.now())
    request.caller = await identify(request.authorization, context.plans, context.holder.find)
    await _log_and_wait(request)
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
    return _add_key_error(result) if request.caller.refused else result


def unavailable_response(request: Request, error: StoreUnavailable) -> Response:
    """The 503 for a call that the store could not count; the failure is logged and counted in a metric (G9)."""
    context = request.context
    context.metrics.store_errors.inc()
    context.holder.note_failure(error, request.trace.request_id)
    if isinstance(error, UnchargedError):  # its result is the 503 with a preview of the record
        return error.result.response(request.lang)
    unavailable = errors.store_unavailable(maybe_done=error.maybe_done)
    return error_response(unavailable, request.lang)


def _add_key_error(result: Result[T]) -> Result[T]:
    """The 401 for a call with a bad key: a visitor's result with an error added, or the error alone without content."""
    has_content = result.content is not None
    error = ApiError("cle_invalide" if has_content else "cle_sans_reponse")
    headers = NO_STORE | _headers_of_401(result.headers) | error.headers
    body = result.body if has_content else None
    return result._replace(status=error.status, headers=headers, error=error, body=body)


def _bad_key(error: ApiError) -> ApiError:
    """The 401 for an invalid key in a call that also has `error`; its message has the texts of both errors."""
    key_text = errors.text("cle_sans_reponse")
    combined = ApiError("cle_et_faute", refusal=key_text, error=error.texts)
    combined.headers = _headers_of_401(error.headers) | combined.headers
    combined.extra = error.extra
    return combined


def _headers_of_401(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of `headers` that a 401 keeps."""
    return {name: headers[name] for name in _HEADERS_OF_401 if name in headers}
