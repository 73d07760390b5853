"""The HTTP side of `/api/v1/reconciliation`: tokens in the path, forms, and what each path of the service answers."""

from collections.abc import Mapping
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
from serve.contract.parameters import PINNED, VERSION, Parameter, names
from serve.features.matching import line_list, reconciliation
from serve.generation.open_generation import OpenGeneration
from serve.http import body_reader
from serve.request import json_body, reader, values
from serve.request.reader import Pairs

# The variable parts of the paths.
JETON: Final = Parameter("jeton", "visiteur")
QUOI: Final = Parameter("quoi", "entity")
SOCIETE: Final = Parameter("societe", "UK:09418436")
_JSON: Final = "application/json"
QUERIES: Final = Parameter("queries", '{"q0": {"query": "Royal Tool Control"}}', media=_JSON)
EXTEND: Final = Parameter(
    "extend", '{"ids": ["UK:00944111"], "properties": [{"id": "ville"}]}', media=_JSON
)
CHAMPS: Final = Parameter("limit", "10", pattern="^0*[1-9][0-9]*$", longest=9, text="limit-champs")
PREFIX: Final = Parameter("prefix", "royal to")
PARAMETERS: Final = (QUERIES, EXTEND, VERSION)
SUGGESTIONS: Final = (PREFIX, VERSION)

_FORM: Final = "application/x-www-form-urlencoded"
# Fields of a form; the protocol has two.
_FIELDS: Final = 16
# Seconds that a client may be told to wait. OpenRefine sleeps for as long as it is told, midnight included, and shows
# nothing meanwhile; without the header it shows the refusal.
_LONGEST_WAIT: Final = 60
# A preview is shown in a frame of the client's own page.
_FRAMED: Final = "default-src 'none'; frame-ancestors *"

# In the place of a token, for paths below the service of a caller without one.
OPEN: Final = "visiteur"

# Parameters of the protocol, and those that OpenRefine and its widgets add: they change nothing here.
_OF_CLIENTS: Final = frozenset((
    "callback", "_", "cursor", "lang", "type", "type_strict", "all_types", "exact", "spell", "filter", "key",
    "html_escape", "indent", "output", "mql_output", "limit", "start", "user_lang", "domain", "flyout",
))  # fmt: skip
# The parameters of the parts of the service; the others take those of the queries.
_ALLOWED: Final[Mapping[str, tuple[Parameter, ...]]] = {
    "champs": (CHAMPS,),
    "suggestions": SUGGESTIONS,
    "vue": PINNED,
    "apercu": PINNED,
}
# The parts of the service that show one company.
_SHOWN: Final = ("vue", "apercu")


async def respond(request: Request) -> Response:
    """The answer of the service.

    Raises:
        ApiError: 400, 401, 404, 413, 415, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    assert request.operation
    part = request.operation.route.removeprefix("reconciliation").removeprefix("-")
    allowed = _ALLOWED.get(part, PARAMETERS)
    token, *rest = request.segments or (OPEN,)
    await _admit(request, token)
    if part in _SHOWN and request.caller.refused:
        raise ApiError("cle_sans_reponse")  # no page of a company has an error in it
    pairs = await _parameters(request)
    # Nothing unknown is ignored, even without a value, but what the protocol and its clients send beside it.
    reader.check_names([pair for pair in pairs if pair[0] not in _OF_CLIENTS], names(allowed))
    # An empty parameter counts as absent, as everywhere in the API (contract B).
    given = {name: value for name, value in pairs if value.strip()}
    version: str | None = None
    if VERSION.name in given:
        with request.context.published.lease() as generation:
            version = values.value((given[VERSION.name],), VERSION, generation.names)
    if part == "champs":
        return _tagged_response(request, reconciliation.proposed_fields(_limit(given.get("limit"))))
    if part == "suggestions":
        if rest == ["property"]:
            properties = reconciliation.properties(given.get("prefix", ""))
            return _tagged_response(request, {"result": properties})
        if rest == ["type"]:
            return _tagged_response(request, {"result": [reconciliation.TYPE]})
        if rest != ["entity"]:
            raise request.context.product.unknown_path(request.path)
    elif part not in _SHOWN and "queries" not in given and "extend" not in given:
        origin = request.context.config.base_url or f"http://{request.header('Host') or ''}"
        place, open_place = f"{reconciliation.PATH}/{token}", f"{reconciliation.PATH}/{OPEN}"
        # A key in the header has an account at the open address, too.
        visitor = request.caller.account is None
        return _tagged_response(
            request, reconciliation.manifest(origin, place, open_place, visitor=visitor)
        )

    def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        generation = generation.at_version(version)
        if part in _SHOWN:
            return _company(part, rest[0], generation)
        if part == "suggestions":
            prefix = given.get("prefix", "")
            return reconciliation.suggest_entities(prefix, asked, generation)
        if "queries" in given:
            return reconciliation.reconcile(given["queries"], asked, generation)
        return reconciliation.extend(given["extend"], asked, generation)

    posted = request.method == "POST"
    if posted:
        request.if_none_match = None
    try:
        result = await admission.perform(request, prepare)
    except ApiError as error:
        if int(error.headers.get("Retry-After", 0)) > _LONGEST_WAIT:
            del error.headers["Retry-After"]
        raise
    if posted:  # what a form asked for has no address to keep it under
        kept = {name: text for name, text in result.headers.items() if name != "ETag"}
        result = result._replace(headers={**kept, **NO_STORE})
    return result.response(request.lang)


def _limit(given: str | None) -> int | None:
    """How many properties to propose.

    Raises:
        ApiError: 400: it is no whole number over 0.
    """
    if given is None:
        return None
    if given.isascii() and given.isdigit() and len(given) < 10 and int(given):
        return int(given)
    why = json_body.why_other_type(given, errors.text("entier_positif"))
    raise errors.invalid_parameter("limit", why)


async def _admit(request: Request, token: str) -> None:
    """Admit the caller behind a token, or behind the Authorization header."""
    context, trace = request.context, request.trace
    if token == OPEN:
        await admission.admit(request)
        return
    ledger = context.holder.store.ledger  # an edge has none
    digest = credentials.key_digest(token)
    account = await ledger.identify_by(digest, ADDRESSES) if ledger else None
    if account is None:
        await context.lanes.enter(trace)
        context.gate.files(trace.address, context.now())
        raise ApiError("adresse_invalide", address=reconciliation.PATH)
    request.caller = Caller(effective_plan(account, context.plans), account=account)
    await admission.admit_caller(request)


async def _parameters(request: Request) -> Pairs:
    """The parameters, of the query string or of a form. Clients send more than the service reads."""
    sent = reader.query_pairs(request.query)
    request.size = len(request.query)
    if request.method != "POST":
        return sent
    kind = request.message.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise ApiError("type_non_supporte", media_type=kind[:100], wanted=_FORM)
    largest = line_list.LARGEST
    raw = await body_reader.body(request, largest, admission.largest_body(request, largest))
    request.size = len(raw)
    fields = await body_reader.form_fields(raw, _FIELDS)
    return [*sent, *fields]


def _company(what: str, identifier: str, generation: OpenGeneration) -> PreparedCall[Content]:
    """The page of a company, or a preview of it. Both are free: a client asks for previews by itself (X0).

    Raises:
        ApiError: 404.
    """
    company = reconciliation.find(identifier, generation, coordonnees=False)
    if company is None:
        raise errors.no_company(*identifier.partition(":")[::2])
    status, body, tag = 200, b"", None
    if what == "vue":
        status, headers = 303, {**NO_STORE, "Location": reconciliation.page_of(company)}
    else:
        body = reconciliation.preview(company).encode()
        tag = etag("reconciliation", body)
        headers = {
            "ETag": tag,
            **PRIVATE,
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": _FRAMED,
        }

    async def run() -> Result[Content]:
        return Result(status, None, headers, body=body)

    return PreparedCall(run, tag, headers, calls=0)


def _tagged_response(request: Request, value: Any) -> Response:
    """A part of the protocol that costs nothing, or a 304; a form asks for it anew."""
    body = orjson.dumps(value)
    if request.method == "POST":
        return Response(200, body, dict(NO_STORE))
    tag = etag("reconciliation", body)
    return respond_by_tag(request, Response(200, body, {"ETag": tag, **PRIVATE}))
