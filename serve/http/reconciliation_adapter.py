"""The HTTP side of `/api/v1/reconciliation`: tokens in the path, forms, and what each path of the service answers."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson

from quota.accounts import effective
from serve.access import admission
from serve.access.admission import Admitted
from serve.access.caller import Caller
from serve.access.result import NO_STORE, Content, PreparedCall, Request, Response
from serve.api import routes
from serve.api.matching import reconciliation
from serve.contract import errors
from serve.data.open_generation import OpenGeneration
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import line_list, params

_FORM: Final = "application/x-www-form-urlencoded"
# In the place of a token, for paths below the service of a caller without one.
OPEN: Final = "visiteur"


async def respond(request: HttpRequest) -> Response:
    """The answer of the service.

    Raises:
        ApiError: 400, 401, 404, 413, 415, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    token, *path = request.target.segments or (OPEN,)
    admitted = await _admitted(request, token)
    given = await _parameters(request)
    if not path and "queries" not in given and "extend" not in given:
        origin = request.context.config.base_url or f"http://{request.header('Host') or ''}"
        return _json(reconciliation.manifest(origin, f"{routes.RECONCILIATION_PATH}/{token}"))
    if path in (["suggest", "property"], ["properties"]):
        found = reconciliation.properties(given.get("prefix", ""))
        proposed = {"type": reconciliation.TYPE["id"], "properties": found}
        return _json({"result": found} if path[0] == "suggest" else proposed)
    if path == ["suggest", "type"]:
        return _json({"result": [reconciliation.TYPE]})
    if len(path) == 2 and path[0] in ("view", "preview"):
        return _company(request, path[0], path[1])
    if path and path != ["suggest", "entity"]:
        raise errors.route_inconnue()

    def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        if path:
            prefix = given.get("prefix", "")
            return reconciliation.suggest_entities(prefix, asked, generation).encoded()
        if "queries" in given:
            return reconciliation.reconcile(
                given["queries"], asked, generation, request.lang
            ).encoded()
        return reconciliation.extend(given["extend"], asked, generation).encoded()

    call = request.call()._replace(read=tuple, if_none_match=None)
    result = await admission.perform(request.context, admitted, prepare, call, request.trace)
    return result.response(request.lang)


async def _admitted(request: HttpRequest, token: str) -> Admitted:
    """The caller behind a token, or behind the Authorization header."""
    context, trace = request.context, request.trace
    if token == OPEN:
        return await admission.admit(context, request.authorization, trace)
    accounts = context.holder.store.accounts  # an edge has none
    account = await accounts.by_address(token) if accounts else None
    if account is None:
        raise errors.cle_invalide()
    caller = Caller(effective(account, context.plans), account=account)
    return await admission.admit_caller(context, caller, trace)


async def _parameters(request: HttpRequest) -> Mapping[str, str]:
    """The parameters, of the query string or of a form. Clients send more than the service reads."""
    message = request.message
    found = dict(params.pairs(request.target.query))
    if message.method != "POST":
        return found
    kind = message.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise errors.type_non_supporte(kind[:100], _FORM)
    raw = await body_reader.body(message, line_list.LARGEST)
    try:
        return found | dict(parse_qsl(raw.decode(), keep_blank_values=True, errors="strict"))
    except ValueError as error:
        raise errors.corps_invalide(
            ("ce n'est pas un formulaire en UTF-8", "it is not a form in UTF-8")
        ) from error


def _company(request: HttpRequest, what: str, identifier: str) -> Response:
    """The page of a company, or a preview of it."""
    with request.context.published.lease() as generation:
        company = reconciliation.find(identifier, generation, coordonnees=False)
    if company is None:
        raise errors.societe_introuvable(*identifier.partition(":")[::2])
    if what == "view":
        return Response(303, b"", {**NO_STORE, "Location": reconciliation.page_of(company)})
    headers = {**NO_STORE, "Content-Type": "text/html; charset=utf-8"}
    return Response(200, reconciliation.preview(company).encode(), headers)


def _json(value: Any) -> Response:
    return Response(200, orjson.dumps(value), dict(NO_STORE))
