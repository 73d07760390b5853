"""The operations: parameters and answers of every path of serve/api/routes.py.

Every path also has HEAD and OPTIONS, which the description of the whole document mentions once. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from serve.contract import parameters
from serve.contract.parameters import Parameter, SeedWords
from serve.guests.docs.openapi import answers, headers, prose
from serve.guests.docs.openapi.answers import answer, export_file, linked, not_modified, refusals
from serve.guests.docs.openapi.matching import reconciliation
from serve.guests.docs.openapi.schema import Schema, ref
from serve.guests.docs.viewer import FILES, TRIAL

# With or without a key; only with a key; only without.
_EITHER: Final[list[Schema]] = [{}, {"cle": []}]
_KEY: Final[list[Schema]] = [{"cle": []}]
_PUBLIC: Final[list[Schema]] = []

Operation = dict[str, Any]


def operations() -> Mapping[str, Mapping[str, Operation]]:
    """The operations by the name of their path, then by method."""
    made: Mapping[str, Callable[[], Mapping[str, Operation]]] = {
        "pays": _pays, "secteurs": _secteurs, "sous-secteurs": _sous_secteurs,
        "sources": _sources, "suggestions": _suggestions, "societes": _societes, "societe": _societe,
        "modifications": _modifications, "identifiants": _identifiants,
        "analyse-entreprise": _company_analysis, "analyse-marche": _market_analysis,
        "comparables": _comparables, "groupe": _groupe,
        "rapprochement": _rapprochement, "repartition": _repartition,
        "export": _export, "compte": _compte, "docs-markdown": _docs_markdown, "llms": _llms,
        "llms-full": _llms_full, "openapi": _openapi, "docs-file": _docs_file,
        "healthz": _healthz, "readyz": _readyz, "metrics": _metrics,
    }  # fmt: skip
    return {**{name: make() for name, make in made.items()}, **reconciliation.operations()}


def variables(name: str) -> tuple[str, ...]:
    """The names of the variable parts of a path."""
    return {
        "societe": parameters.names(parameters.RECORD),
        "analyse-entreprise": parameters.names(parameters.RECORD),
        "comparables": parameters.names(parameters.RECORD),
        "groupe": parameters.names(parameters.RECORD),
        "identifiants": (parameters.VALEUR.name,),
        "docs-file": ("file",),
        **reconciliation.VARIABLES,
    }.get(name, ())


def _get(
    operation: str,
    tag: str,
    text: tuple[str, str],
    responses: Mapping[str, Schema],
    *given: Schema,
    security: list[Schema] = _PUBLIC,
) -> dict[str, Operation]:
    """A path with GET only; `text` is summary and description."""
    return {"get": _operation(operation, tag, text, responses, given, security)}


def _operation(
    operation: str,
    tag: str,
    text: tuple[str, str],
    responses: Mapping[str, Schema],
    given: tuple[Schema, ...],
    security: list[Schema],
) -> Operation:
    return {
        "operationId": operation,
        "tags": [tag],
        "summary": text[0],
        "description": text[1],
        "security": security,
        "parameters": list(given),
        "responses": dict(sorted(responses.items())),
    }


def in_query(*given: Parameter) -> list[Schema]:
    """Parameters of a query string, by reference."""
    refs = {
        parameters.EXPORT_LIMIT: "limit-export",
        parameters.SECTEUR_REQUIS: "secteur-requis",
        parameters.Q_REQUIS: "q-requis",
    }
    return [ref(refs.get(one, one.name), "parameters") for one in given]


_IF_NONE_MATCH: Final = ref("If-None-Match", "parameters")


def _list(
    operation: str,
    text: tuple[str, str],
    shape: str,
    example: str,
    *given: Schema,
    **links: tuple[str, Mapping[str, str]],
) -> Mapping[str, Operation]:
    responses = {
        "200": linked(answer(f"{text[0]}.", ref(shape), headers.TAGGED, example), **links),
        "304": not_modified(),
        **refusals(400, 409, 429, 503),
    }
    return _get(operation, "Lists", text, responses, *given, _IF_NONE_MATCH)


def _pays() -> Mapping[str, Operation]:
    first = {"pays": "$response.body#/pays/0/iso2"}
    return _list(
        "listCountries", prose.PAYS, "ListePays", "pays", *in_query(*parameters.PINNED),
        companies=("searchCompanies", first),
    )  # fmt: skip


def _secteurs() -> Mapping[str, Operation]:
    given = in_query(*parameters.SECTORS)
    first = {"secteur": "$response.body#/secteurs/0/slug"}
    return _list(
        "listSectors", prose.SECTEURS, "ListeSecteurs", "secteurs", *given,
        companies=("searchCompanies", first), sub_sectors=("listSubSectors", first),
    )  # fmt: skip


def _sous_secteurs() -> Mapping[str, Operation]:
    given = in_query(*parameters.SUB_SECTORS)
    first = {
        "secteur": "$request.query.secteur",
        "sous_secteur": "$response.body#/sous_secteurs/0/sous_secteur",
    }
    return _list(
        "listSubSectors", prose.SOUS_SECTEURS, "ListeSousSecteurs", "sous-secteurs", *given,
        companies=("searchCompanies", first),
    )  # fmt: skip


def _sources() -> Mapping[str, Operation]:
    given = in_query(*parameters.SOURCES)
    first = {"pays": "$response.body#/pays/0/iso2"}
    return _list(
        "listSources", prose.SOURCES, "ListeSources", "sources", *given,
        companies=("searchCompanies", first),
    )  # fmt: skip


def _of_companies(
    operation: str,
    text: tuple[str, str],
    found: tuple[str, str],
    own: tuple[str, ...],
    refused: Mapping[str, Schema],
    *given: Schema,
    examples: tuple[str, ...] = (),
    first: str = "",
    security: list[Schema] = _EITHER,
) -> Mapping[str, Operation]:
    """A GET of companies, or of what is computed from them.

    Args:
        found: the description of the answer, and the name of its object.
        own: headers that the answer has beside those of every tagged one; a 304 has them, too.
        first: the place of the first company in the answer, whose record may be read next.
    """
    made = answer(found[0], ref(found[1]), (*headers.TAGGED, *own), *examples)
    if first:
        place = {"iso": f"$response.body#/{first}/iso2", "id": f"$response.body#/{first}/id"}
        made = linked(made, company=("readCompany", place))
    responses = {"200": made, "304": not_modified(*own), **refused}
    return _get(operation, "Companies", text, responses, *given, _IF_NONE_MATCH, security=security)


def _suggestions() -> Mapping[str, Operation]:
    return _of_companies(
        "suggest", prose.SUGGESTIONS, ("What completes the text.", "Suggestions"), ("Vary",),
        refusals(400, 401, 409, 429, 503, route="suggestions"), *in_query(*parameters.SUGGESTIONS),
        examples=("suggestions",), first="societes/0",
    )  # fmt: skip


def _societes() -> Mapping[str, Operation]:
    names = (*headers.TAGGED, "Link", *headers.CALLS)
    examples = ("societes-visiteur", "societes-data", "societes-nommees")
    page = answer("A page of companies.", ref("Recherche"), names, *examples)
    first = {"iso": "$response.body#/societes/0/iso2", "id": "$response.body#/societes/0/id"}
    responses = {
        "200": linked(page, company=("readCompany", first)),
        "304": not_modified(*headers.CALLS),
        **refusals(400, 401, 409, 429, 503, route="societes"),
    }
    given = (*in_query(*parameters.SEARCH), _IF_NONE_MATCH)
    return _get("searchCompanies", "Companies", prose.SOCIETES, responses, *given, security=_EITHER)


_OF_RECORD: Final = ("Content-Location", *headers.CALLS, *headers.CREDITS)


def _record() -> list[Schema]:
    return [ref(one.name, "parameters") for one in parameters.RECORD]


def _societe() -> Mapping[str, Operation]:
    return _of_companies(
        "readCompany", prose.SOCIETE, ("The company.", "Fiche"), _OF_RECORD,
        refusals(400, 401, 402, 404, 409, 429, 503, route="societe"),
        *_record(), *in_query(*parameters.PINNED),
        examples=("societe-visiteur", "societe-data"),
    )  # fmt: skip


def _company_analysis() -> Mapping[str, Operation]:
    return _of_companies(
        "analyseCompany", prose.ANALYSE_ENTREPRISE, ("The analysis.", "AnalyseEntreprise"),
        ("Content-Language", *_OF_RECORD),
        refusals(400, 401, 402, 403, 404, 409, 429, 503, route="analyse-entreprise"),
        *_record(), *in_query(*parameters.PINNED), security=_KEY,
    )  # fmt: skip


def _market_analysis() -> Mapping[str, Operation]:
    return _of_companies(
        "analyseMarket", prose.ANALYSE_MARCHE, ("The analysis.", "AnalyseMarche"),
        ("Vary", "Content-Language", *headers.CALLS, *headers.CREDITS),
        refusals(400, 401, 402, 403, 409, 429, 503, route="analyse-marche"),
        *in_query(*parameters.MARCHE), security=_KEY,
    )  # fmt: skip


def _comparables() -> Mapping[str, Operation]:
    return _of_companies(
        "findComparables", prose.COMPARABLES, ("The companies.", "Comparables"),
        ("Content-Location", "Content-Language", *headers.CALLS),
        refusals(400, 401, 404, 409, 429, 503, route="comparables"),
        *_record(), *in_query(*parameters.COMPARABLES),
        examples=("comparables",), first="comparables/0/societe",
    )  # fmt: skip


def _groupe() -> Mapping[str, Operation]:
    return _of_companies(
        "readGroup", prose.GROUPE, ("The group.", "Groupe"),
        ("Content-Location", "Content-Language", *headers.CALLS),
        refusals(400, 401, 404, 409, 429, 503, route="groupe"),
        *_record(), *in_query(*parameters.PINNED), examples=("groupe",),
        first="parents/0/societe",
    )  # fmt: skip


def _identifiants() -> Mapping[str, Operation]:
    return _of_companies(
        "lookUp", prose.IDENTIFIANTS, ("The companies.", "Identification"),
        ("Vary", *headers.CALLS),
        refusals(400, 401, 404, 409, 429, 503, route="identifiants"),
        ref(parameters.VALEUR.name, "parameters"), *in_query(*parameters.PINNED),
        first="candidats/0",
    )  # fmt: skip


def _repartition() -> Mapping[str, Operation]:
    return _of_companies(
        "countCompanies", prose.REPARTITION, ("The counts.", "Repartition"),
        ("Vary", *headers.CALLS), refusals(400, 401, 409, 429, 503, route="repartition"),
        *in_query(*parameters.REPARTITION), examples=("repartition",),
    )  # fmt: skip


def _modifications() -> Mapping[str, Operation]:
    names = (*headers.TAGGED, *headers.CALLS)
    further = {"depuis": "$response.body#/jusque"}
    page = answer("A page of changes.", ref("Modifications"), names)
    responses = {
        "200": linked(page, further=("listChanges", further)),
        "304": not_modified(*headers.CALLS),
        **refusals(400, 401, 409, 429, 503),
    }
    given = (*in_query(*parameters.MODIFICATIONS), _IF_NONE_MATCH)
    get = _operation("listChanges", "Companies", prose.MODIFICATIONS, responses, given, _KEY)
    return {"get": get, "post": _watch()}


def _watch() -> Operation:
    page = answer(
        "A page of changes.", ref("ModificationsSuivies"),
        ("Cache-Control", "X-Donnees-Version", *headers.CALLS),
    )  # fmt: skip
    responses = {"200": page, **refusals(400, 401, 409, 413, 415, 429, 503)}
    found = _operation("watchChanges", "Companies", prose.WATCH, responses, (), _KEY)
    examples = {
        "ids": {"depuis": parameters.DEPUIS.example, "ids": ["UK:00944111", "EE:16325572"]},
        "recherche": {
            "depuis": parameters.DEPUIS.example,
            "recherche": {"pays": "FR,UK", "secteur": "restauration", "ca_min": 1_000_000},
        },
    }
    summaries = {"ids": "Two companies", "recherche": "Restaurants of over a million euros"}
    found["requestBody"] = {
        "description": "What to watch: either `ids` or `recherche`.",
        "required": True,
        "content": {
            answers.JSON: {
                "schema": ref("DemandeModifications"),
                "examples": {
                    name: {"summary": summaries[name], "value": value}
                    for name, value in examples.items()
                },
            }
        },
    }
    return found


def watch_body(words: SeedWords) -> Schema:
    """The schema of the body of POST /api/v1/modifications (X8)."""
    members = {one.name: _member(one, words) for one in parameters.WATCH}
    ids = {
        "type": "array",
        "description": "Companies, each as country and identifier: `UK:00944111`.",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": parameters.MOST_IDS,
    }
    filters = {one.name: _member(one, words) for one in parameters.WATCHED}
    search = {
        "type": "object",
        "description": "The filters of a search; an empty object is the whole base.",
        "properties": filters,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": "What to watch, and since when.",
        "properties": {**members, "ids": ids, "recherche": search},
        "required": [parameters.DEPUIS.name],
        "additionalProperties": False,
    }


def _export() -> Mapping[str, Operation]:
    responses = {"200": export_file(), **refusals(400, 401, 406, 409, 429, 503)}
    given = tuple(in_query(*parameters.EXPORT))
    post = _operation(
        "exportCompaniesFromBody", "Companies", prose.EXPORT_POST,
        {**responses, **refusals(413, 415)}, (), _KEY,
    )  # fmt: skip
    post["requestBody"] = {
        "description": "The parameters of GET, as members of an object.",
        "required": True,
        "content": {
            answers.JSON: {
                "schema": ref("DemandeExport"),
                "examples": {
                    "export": {
                        "summary": "British companies with `steel` in their name, in English",
                        "value": {"pays": "UK", "q": "steel", "limit": 50, "lang": "en"},
                    }
                },
            }
        },
    }
    get = _operation("exportCompanies", "Companies", prose.EXPORT, responses, given, _KEY)
    return {"get": get, "post": post}


def _rapprochement() -> Mapping[str, Operation]:
    names = (
        "Cache-Control", "Vary", "Content-Language", "X-Donnees-Version", *headers.CALLS,
    )  # fmt: skip
    responses = {
        "200": answer("The answers.", ref("Rapprochement"), names),
        **refusals(400, 401, 409, 413, 415, 429, 503, route="rapprochement"),
    }
    post = _operation("matchCompanies", "Companies", prose.RAPPROCHEMENT, responses, (), _EITHER)
    line = {"cle": "1", "nom": "Royal Tool Control Limited", "pays": "UK", "ville": "Sheffield"}
    example = {"summary": "A British company", "value": {"lignes": [line]}}
    schema = {"schema": ref("DemandeRapprochement"), "examples": {"lines": example}}
    post["requestBody"] = {
        "description": "The lines.",
        "required": True,
        "content": {answers.JSON: schema},
    }
    return {"post": post}


def request_body(words: SeedWords) -> Schema:
    """The schema of the body of POST /api/v1/export (§4.7, contract F3)."""
    return {
        "type": "object",
        "description": "What to export; an empty object is the whole base.",
        "properties": {one.name: _member(one, words) for one in parameters.EXPORT},
        "additionalProperties": False,
    }


def _member(parameter: Parameter, words: SeedWords) -> Schema:
    """A member of a body. Its default is only described: generated clients require what has one."""
    schema = parameter.schema(words)
    default = schema.pop("default", None)
    text = parameter.description.en
    if default is not None:
        text += f" By default `{default}`."
    return {**schema, "description": text, "examples": [parameter.example]}


def _compte() -> Mapping[str, Operation]:
    responses = {
        "200": answer(
            "The account.", ref("Compte"), ("Cache-Control", "Vary", *headers.CALLS), "compte"
        ),
        **refusals(400, 401, 429, 503),
    }
    return _get("readAccount", "Account", prose.COMPTE, responses, security=_KEY)


_PAGE: Final = ("ETag", "Cache-Control", "Vary")
_TEXT: Final[Schema] = {"type": "string"}


def _document(
    operation: str,
    text: tuple[str, str],
    kinds: Mapping[str, Schema],
    *given: Schema,
) -> Mapping[str, Operation]:
    """A document: `kinds` has the schema of each media type."""
    made = answer(f"{text[0]}.", {}, _PAGE)
    made["content"] = {kind: {"schema": schema} for kind, schema in kinds.items()}
    unchanged = {"description": "The caller has it already.", "headers": headers.of(*_PAGE)}
    refused = refusals(400, *((404,) if given else ()))
    responses = {"200": made, "304": unchanged, **refused}
    return _get(operation, "Documents", text, responses, *given, _IF_NONE_MATCH)


def _openapi() -> Mapping[str, Operation]:
    return _document("readDescription", prose.OPENAPI, {answers.JSON: {"type": "object"}})


def _docs_markdown() -> Mapping[str, Operation]:
    kinds: dict[str, Schema] = {"text/markdown": _TEXT}
    return _document("readDocumentationText", prose.DOCS_MARKDOWN, kinds)


def _llms() -> Mapping[str, Operation]:
    return _document("readSummary", prose.LLMS, {"text/plain": _TEXT})


def _llms_full() -> Mapping[str, Operation]:
    return _document("readWhole", prose.LLMS_FULL, {"text/plain": _TEXT})


def _docs_file() -> Mapping[str, Operation]:
    file = {
        "name": "file",
        "in": "path",
        "required": True,
        "description": "Name of the file.",
        "schema": {"type": "string", "enum": [TRIAL, *FILES]},
    }
    kinds: dict[str, Schema] = {kind: {"type": "string"} for _, kind in FILES.values()}
    kinds["text/html"] = _TEXT
    kinds["image/png"] = {"type": "string", "format": "binary"}
    return _document("readDocumentationFile", prose.DOCS_FILE, kinds, file)


def _healthz() -> Mapping[str, Operation]:
    responses = {"200": answer("Alive.", ref("Vivant"), ("Cache-Control",)), **refusals()}
    return _get("checkAlive", "Service", prose.HEALTHZ, responses)


def _readyz() -> Mapping[str, Operation]:
    responses = {"200": answer("Ready.", ref("Pret"), ("Cache-Control",)), **refusals(503)}
    return _get("checkReady", "Service", prose.READYZ, responses)


def _metrics() -> Mapping[str, Operation]:
    figures = answer("The figures.", {"type": "string"}, ("Cache-Control",), kind="text/plain")
    return _get("readMetrics", "Service", prose.METRICS, {"200": figures, **refusals()})
