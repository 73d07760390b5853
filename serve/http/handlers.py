"""The handler of each route of the API.

A handler is one of a few ways to serve a route, bound to the function that makes its result: a public
list, a keyed call, a check. Each encodes a result as JSON. Guests bring the handlers of their routes
(serve/http/guests.py).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from quota.plans import Plan
from serve.access import admission
from serve.access.result import (
    NO_STORE,
    Check,
    Content,
    Prepare,
    PreparedCall,
    PublicList,
    Request,
    Response,
)
from serve.api import health, lists
from serve.api.analyses.comparables import comparables
from serve.api.analyses.entreprise import entreprise
from serve.api.analyses.groupe import groupe
from serve.api.analyses.marche import marche
from serve.api.analyses.repartition import repartition
from serve.api.changes.modifications import modifications
from serve.api.changes.watching import watching
from serve.api.compte import compte
from serve.api.identifiants import identifiants
from serve.api.routes import RECONCILIATION
from serve.api.societe import societe
from serve.api.societes import societes
from serve.api.sources import sources
from serve.api.suggestions import suggestions
from serve.generation.open_generation import OpenGeneration
from serve.http import body_reader, match_adapter, reconciliation_adapter
from serve.http.guests import RouteHandler
from serve.http.http_request import HttpRequest
from serve.observe.metrics import CONTENT_TYPE

# Whether a plan has the module of an analysis depends on the grid.
PrepareAnalysis = Callable[[Request, OpenGeneration, Mapping[str, Plan]], PreparedCall[Any]]


def _public_list(route: PublicList[Content]) -> RouteHandler:
    async def handle(request: HttpRequest) -> Response:
        result = admission.public_list(request.context, route, request.call(), request.trace)
        return result.response(request.lang)

    return handle


def _keyed(prepare: Prepare[Content]) -> RouteHandler:
    """A search or a record, which depends on the caller and is counted."""

    def prepare_encoded(request: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        return prepare(request, generation).encoded()

    async def handle(request: HttpRequest) -> Response:
        context, trace = request.context, request.trace
        admitted = await admission.admit(context, request.authorization, trace)
        result = await admission.perform(context, admitted, prepare_encoded, request.call(), trace)
        return result.response(request.lang)

    return handle


async def _changes(request: HttpRequest) -> Response:
    """The changes of everything (GET), or of what a body names (POST)."""
    if request.message.method != "POST":
        return await _all_changes(request)
    context, trace = request.context, request.trace
    admitted = await admission.admit(context, request.authorization, trace)
    admission.require_account(admitted)
    raw = await body_reader.json_body(request.message, request.target.query)
    call = request.call()._replace(read=tuple, if_none_match=None)

    def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        return watching(asked, generation, raw).encoded()

    return (await admission.perform(context, admitted, prepare, call, trace)).response(request.lang)


def _analysis(analyse: PrepareAnalysis) -> RouteHandler:
    """An analysis, which only accounts can have."""

    async def handle(request: HttpRequest) -> Response:
        context, trace = request.context, request.trace
        admitted = await admission.admit(context, request.authorization, trace)
        admission.require_account(admitted)

        def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
            return analyse(asked, generation, context.plans).encoded()

        result = await admission.perform(context, admitted, prepare, request.call(), trace)
        return result.response(request.lang)

    return handle


async def _suggestions(request: HttpRequest) -> Response:
    """A list that shows companies: free, as far as the caller's plan goes."""
    context, trace = request.context, request.trace
    result = await admission.free_list(
        context, request.authorization, suggestions, request.call(), trace
    )
    return result.response(request.lang)


async def _account(request: HttpRequest) -> Response:
    context = request.context
    admitted = await admission.admit(context, request.authorization, request.trace)
    counting = admission.require_account(admitted)
    result = await compte(admission.read(context, request.call(), admitted.caller), counting)
    return result.response(request.lang)


def _check(check: Check) -> RouteHandler:
    async def handle(request: HttpRequest) -> Response:
        return check(request.context.published.standing, request.lang)

    return handle


async def _metrics(request: HttpRequest) -> Response:
    context = request.context
    text = context.metrics.text(context.published.standing, context.now())
    return Response(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


_all_changes: Final = _keyed(modifications)

# By the name of a route (serve/api/routes.py).
HANDLERS: Final[Mapping[str, RouteHandler]] = {
    "pays": _public_list(lists.pays),
    "secteurs": _public_list(lists.secteurs),
    "sous-secteurs": _public_list(lists.sous_secteurs),
    "sources": _public_list(sources),
    "suggestions": _suggestions,
    "societes": _keyed(societes),
    "repartition": _keyed(repartition),
    "modifications": _changes,
    "identifiants": _keyed(identifiants),
    "societe": _keyed(societe),
    "analyse-entreprise": _analysis(entreprise),
    "comparables": _keyed(comparables),
    "groupe": _keyed(groupe),
    "analyse-marche": _analysis(marche),
    "rapprochement": match_adapter.respond,
    **{one.name: reconciliation_adapter.respond for one in RECONCILIATION},
    "compte": _account,
    "healthz": _check(health.healthz),
    "readyz": _check(health.readyz),
    "metrics": _metrics,
}
