"""The HTTP side of `/api/v1/reconciliation`: tokens in the path, forms, and the response to each path."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from quota import credentials
from quota.accounts import effective_plan
from quota.ledger.account_rows import ADDRESSES
from serve.access import admission
from serve.access.call import (
    NO_STORE,
    PRIVATE,
    Content,
    PreparedCall,
    Request,
    Response,
    Result,
    etag,
    respond_by_tag,
)
from serve.access.rights import Caller
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import VERSION, Parameter, names
from serve.features.matching import line_list, reconciliation
from serve.generation.open_generation import OpenGeneration
from serve.http import body_reader
from serve.request import json_body, reader, values
from serve.request.place_names import country_code
from serve.request.reader import Pairs

# The variable parts of the paths: the token of a caller, the kind of a suggestion, a company.
JETON: Final = Parameter("jeton", "visiteur")
QUOI: Final = Parameter("quoi", "entity")
SOCIETE: Final = Parameter("societe", "UK:09418436", pattern="^[A-Za-z]{2}:.+$")
_JSON: Final = "application/json"
QUERIES: Final = Parameter("queries", '{"q0": {"query": "Royal Tool Control"}}', media=_JSON)
EXTEND: Final = Parameter(
    "extend", '{"ids": ["UK:00944111"], "properties": [{"id": "ville"}]}', media=_JSON
)
# The parameters of the proposed properties and of the suggestions.
CHAMPS: Final = Parameter("limit", "10", pattern="^0*[1-9][0-9]*$", longest=9, text="limit-champs")
PREFIX: Final = Parameter("prefix", "royal to")
# The parameters of the service itself, and those of its suggestions.
PARAMETERS: Final = (QUERIES, EXTEND, VERSION)
SUGGESTIONS: Final = (PREFIX, VERSION)

_FORM_TYPE: Final = "application/x-www-form-urlencoded"
# The most fields of a form; the protocol uses two.
_MOST_FIELDS: Final = 16
# The longest `Retry-After` that is sent, in seconds. OpenRefine would wait for the whole time, even until midnight,
# and show nothing meanwhile; without the header it shows the error.
_LONGEST_WAIT: Final = 60
# The content policy of a preview, which clients show in a frame of their own page.
_PREVIEW_POLICY: Final = "default-src 'none'; frame-ancestors *"

# Replaces the token in the paths of callers without one.
NO_TOKEN: Final = "visiteur"
_OPEN_PLACE: Final = f"{reconciliation.PATH}/{NO_TOKEN}"

# Parameters of the protocol, of OpenRefine and of its widgets that have no effect here.
_CLIENT_PARAMETERS: Final = frozenset((
    "callback", "_", "cursor", "lang", "type", "type_strict", "all_types", "exact", "spell", "filter", "key",
    "html_escape", "indent", "output", "mql_output", "limit", "start", "user_lang", "domain", "flyout",
))  # fmt: skip


async def respond(request: Request) -> Response:
    """Respond to queries or to an extension; without either, with the manifest.

    Raises:
        ApiError: 400, 401, 404, 413, 415, 429, 503; also raised by the other functions for routes.
        StoreUnavailable: not counted, or `maybe_done`; also raised by the other functions for routes.
    """
    parameters, version = await _read_parameters(request)
    if "queries" not in parameters and "extend" not in parameters:
        origin = request.context.config.base_url or f"http://{request.header('Host') or ''}"
        place = f"{reconciliation.PATH}/{_token(request)}"
        # With a key in the header, the caller has an account at the open address, too.
        visitor = request.caller.account is None
        return _tagged_response(
            request, reconciliation.manifest(origin, place, _OPEN_PLACE, visitor=visitor)
        )

    def prepare(call: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        """Prepare the queries, or the extension."""
        generation = generation.pinned_to(version)
        if "queries" in parameters:
            return reconciliation.reconcile(parameters["queries"], call, generation)
        return reconciliation.extend(parameters["extend"], call, generation)

    return await _perform(request, prepare)


async def propose_fields(request: Request) -> Response:
    """Respond with the properties that a client can add to its lines."""
    parameters, _ = await _read_parameters(request)
    limit = _limit(parameters.get("limit"))
    return _tagged_response(request, reconciliation.proposed_fields(limit))


async def suggest(request: Request) -> Response:
    """Respond with companies, properties or types whose name begins with a text."""
    parameters, version = await _read_parameters(request)
    prefix, kind = parameters.get("prefix", ""), request.segments[1]
    if kind == "property":
        return _tagged_response(request, {"result": reconciliation.properties(prefix)})
    if kind == "type":
        return _tagged_response(request, {"result": [reconciliation.TYPE]})
    if kind != "entity":
        raise request.context.product.unknown_path(request.path)
    return await _perform(
        request,
        lambda call, generation: reconciliation.suggest_entities(
            prefix, call, generation.pinned_to(version)
        ),
    )


async def redirect_to_company(request: Request) -> Response:
    """Redirect to the page of a company."""
    return await _show_company(request, _redirect)


async def preview_company(request: Request) -> Response:
    """Respond with the preview of a company, a small page."""
    return await _show_company(request, _preview)


async def _show_company(
    request: Request, show: Callable[[Mapping[str, Any]], PreparedCall[Content]]
) -> Response:
    """Respond with what `show` makes of the company in the path. It is free: clients load previews unasked (X0).

    Raises:
        ApiError: 400 for an item of another form or an unknown country, 404, and those of `respond`.
    """
    _, version = await _read_parameters(request, needs_valid_key=True)

    def prepare(_: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        """Find the company, and show it."""
        identifier = request.segments[1]
        pinned = generation.pinned_to(version)
        country, separator, number = identifier.partition(":")
        if not separator:
            shown = repr(identifier[:100])
            raise errors.invalid_parameter(
                SOCIETE.name, "forme_identifiant", shown=shown, example=SOCIETE.example
            )
        iso2 = country_code(pinned.names, country)
        company = reconciliation.find_company(identifier, pinned, coordonnees=False)
        if company is None:
            raise errors.no_company(iso2, number)
        return show(company)

    return await _perform(request, prepare)


def _redirect(company: Mapping[str, Any]) -> PreparedCall[Content]:
    """A redirect to the page of a company."""
    headers = {**NO_STORE, "Location": reconciliation.page_path(company)}
    return _prepared(Result(303, None, headers, body=b""), None)


def _preview(company: Mapping[str, Any]) -> PreparedCall[Content]:
    """The preview of a company."""
    body = reconciliation.preview(company).encode()
    tag = etag("reconciliation", body)
    headers = {
        "ETag": tag,
        **PRIVATE,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": _PREVIEW_POLICY,
    }
    return _prepared(Result(200, None, headers, body=body), tag)


def _prepared(result: Result[Content], tag: str | None) -> PreparedCall[Content]:
    """A free call whose result is made already."""

    async def run() -> Result[Content]:
        """The result."""
        return result

    return PreparedCall(run, tag, result.headers, calls=0)


async def _perform(
    request: Request, prepare: Callable[[Request, OpenGeneration], PreparedCall[Content]]
) -> Response:
    """Perform a call of the service, with the headers that its clients need."""
    posted = request.method == "POST"
    if posted:
        request.if_none_match = None
    try:
        result = await admission.perform(request, prepare)
    except ApiError as error:
        if int(error.headers.get("Retry-After", 0)) > _LONGEST_WAIT:
            del error.headers["Retry-After"]
        raise
    if posted:  # no address identifies the answer to a form, so no cache may store it
        headers = {name: text for name, text in result.headers.items() if name != "ETag"}
        result = result._replace(headers={**headers, **NO_STORE})
    return result.response(request.lang)


async def _read_parameters(
    request: Request, *, needs_valid_key: bool = False
) -> tuple[dict[str, str], str | None]:
    """Admit the caller, and read the parameters of the request and the generation to which it is pinned.

    Args:
        needs_valid_key: refuse an invalid key. Otherwise its answer is that of a visitor with `erreur` added, which a
            page cannot have.
    """
    assert request.operation
    await _admit(request, _token(request))
    if needs_valid_key and request.caller.refused:
        raise ApiError("cle_sans_reponse")
    pairs = await _parameters(request)
    # An unknown parameter is refused, even without a value, except those that clients are known to send. A form has
    # the parameters of queries.
    allowed = PARAMETERS if request.method == "POST" else request.operation.parameters
    reader.check_names(
        [pair for pair in pairs if pair[0] not in _CLIENT_PARAMETERS], names(allowed)
    )
    # An empty parameter counts as absent, and a repeated one must have one value (contract B, B5).
    parameters = {
        parameter.name: values.single_text(texts, parameter)
        for parameter in allowed
        if (texts := [text for name, text in pairs if name == parameter.name and text.strip()])
    }
    if "queries" in parameters and "extend" in parameters:
        raise errors.invalid_parameter("extend", "queries_et_extend")
    version: str | None = None
    if VERSION.name in parameters:
        with request.context.published.lease() as generation:
            version = values.value((parameters[VERSION.name],), VERSION, generation.names)
    return parameters, version


def _token(request: Request) -> str:
    """The token in the path of a request; NO_TOKEN at the open address."""
    return request.segments[0] if request.segments else NO_TOKEN


def _limit(text: str | None) -> int | None:
    """The most properties to propose, from the parameter `limit`; None for all.

    Raises:
        ApiError: 400: the text is not a whole number greater than 0.
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    why = json_body.why_other_type(text, errors.text("entier_positif"))
    raise errors.invalid_parameter("limit", why)


async def _admit(request: Request, token: str) -> None:
    """Admit the caller of a token, or of the Authorization header at the open address.

    A token is the secret part of a reconciliation address, and stands for a key of the account; the open address has no
    token. Sets `request.caller`. Raises ApiError, also for an unknown token.
    """
    context, trace = request.context, request.trace
    if token == NO_TOKEN:
        await admission.admit(request)
        return
    # An edge has no ledger, so it knows no tokens.
    ledger = context.holder.store.ledger
    digest = credentials.secret_digest(token)
    account = await ledger.identify_by(digest, ADDRESSES) if ledger else None
    if account is None:
        # An unknown token is limited by its address, so that nobody can try many tokens.
        await context.lanes.enter(trace)
        context.gate.files(trace.address, context.now())
        raise ApiError("adresse_invalide", address=reconciliation.PATH)
    request.caller = Caller(effective_plan(account, context.plans), account=account)
    await admission.admit_caller(request)


async def _parameters(request: Request) -> Pairs:
    """The parameters of the query string and of a form. Sets `request.size`. Raises ApiError, as for another body."""
    query_pairs = reader.query_pairs(request.query)
    # By `size`, admission decides whether the request is parsed in a thread.
    request.size = len(request.query)
    if request.method != "POST":
        return query_pairs
    media_type = request.message.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != _FORM_TYPE:
        raise ApiError("type_non_supporte", media_type=media_type[:100], wanted=_FORM_TYPE)
    largest = line_list.LARGEST
    form = await body_reader.body(request, largest, admission.largest_body(request, largest))
    request.size = len(form)
    fields = await body_reader.form_fields(form, _MOST_FIELDS)
    return [*query_pairs, *fields]


def _tagged_response(request: Request, value: Any) -> Response:
    """The response with a free part of the protocol, or a 304. The response to a form has no tag."""
    body = orjson.dumps(value)
    if request.method == "POST":
        return Response(200, body, dict(NO_STORE))
    tag = etag("reconciliation", body)
    return respond_by_tag(request, Response(200, body, {"ETag": tag, **PRIVATE}))
