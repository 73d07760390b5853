"""The Reconciliation Service API 0.2 of the W3C community group, as OpenRefine uses it (extensions X5).

The service describes itself by a manifest. It answers queries (the lines of `/rapprochement`), suggestions, previews
and values of fields. An entity is a company, with an identifier such as `UK:00944111`; the only type is `societe`, and
properties are the fields of a company. https://www.w3.org/community/reports/reconciliation/

A value of a query is a text, a number, or a reconciled cell: a cell of a table in OpenRefine that was matched before,
with the identifier and the name of its match.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import orjson

from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.rights import page_rows
from serve.contract import company_fields, errors
from serve.contract.errors import ApiError
from serve.contract.parameters import (
    LINES_PER_CALL,
    LONGEST_Q,
    LONGEST_VALUE,
    MOST_CANDIDATES,
    MOST_IDS,
    MOST_LINES,
    VISITOR_LINES,
)
from serve.features.matching import line_list
from serve.features.matching.rapprochement import likely_companies, match_lines
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request import json_body
from serve.request.place_names import PlaceNames
from shards.codec import record
from shards.codec.folding import fold
from shards.codec.record import CONTACTS
from shards.matching.line import SURE, UNREADABLE, Line, MatchResult
from shards.query import Query
from shards.search.search import records, search

PATH: Final = "/api/v1/reconciliation"
VERSION: Final = "0.2"  # of the Reconciliation Service API
_NAME: Final = "Sociétés européennes"  # of the service, in clients
TYPE: Final = {"id": "societe", "name": "Société"}  # the only type of the candidates
MOST_QUERIES: Final = MOST_LINES

# The properties that a query can have besides the name, and other names of two of them.
_QUERY_PROPERTIES: Final = tuple(name for name in line_list.FIELDS if name not in ("cle", "nom"))
_ALIASES: Final = {"iso2": "pays", "nace_code": "activite"}
_DEFAULT_CANDIDATES: Final = 5  # of a query without `limit`
# Properties for which a reconciled cell means its identifier; for the others it means its name.
_IDENTIFIERS: Final = ("id", "tva", "lei")
_MOST_SUGGESTIONS: Final = 10  # suggested companies
# The estimated cost of reading the fields of a company, measured: 80 ms for 1 000.
_MICROSECONDS: Final = 80.0
# The queries per request of a client with an account, so that a request of OpenRefine takes a fraction of a second.
_BATCH_SIZE: Final = 50
# OpenRefine reads an integer in 32 bits, so a greater number is sent as a float.
_LARGEST_INT: Final = 2**31 - 1
_PREVIEW: Final = {"width": 400, "height": 150}  # pixels


class JsonContent(NamedTuple):
    """A JSON value as the content of a result."""

    value: Any

    def json(self) -> bytes:
        """The value as JSON."""
        return orjson.dumps(self.value)


class ReconciliationQuery(NamedTuple):
    """A query as a line to match.

    Attributes:
        line: None if the query names no company; `error` then says why.
        limit: the most candidates.
    """

    line: Line | None
    limit: int
    error: ApiError | None = None


def manifest(origin: str, place: str, open_place: str, *, visitor: bool) -> dict[str, Any]:
    """The manifest of the service.

    Args:
        origin: the address of this server.
        place: the path of the service, with the token of the caller.
        open_place: the path of the service without a token.
        visitor: whether the caller has no account; the batch size is then the number of answered queries.
    """
    url = f"{origin}{place}"
    return {
        "versions": [VERSION],
        "name": _NAME
        if not visitor
        else f"{_NAME} (sans compte : {VISITOR_LINES} lignes à la fois)",
        "identifierSpace": f"{origin}/api/v1/societes",
        "schemaSpace": f"{origin}/openapi.json",
        "documentation": f"{origin}/docs",
        "defaultTypes": [TYPE],
        "batchSize": VISITOR_LINES if visitor else _BATCH_SIZE,
        # Without the token of the caller: OpenRefine shows this link in each matched cell, also to people with whom
        # the caller shares the table. The doubled braces give {{id}}, which OpenRefine replaces by the identifier.
        "view": {"url": f"{origin}{open_place}/view/{{{{id}}}}"},
        "preview": {"url": f"{url}/preview/{{{{id}}}}", **_PREVIEW},
        "suggest": {
            kind: {"service_url": url, "service_path": f"/suggest/{kind}"}
            for kind in ("entity", "property", "type")
        },
        "extend": {
            "propose_properties": {"service_url": url, "service_path": "/properties"},
            "property_settings": [],
        },
    }


# -- queries ---------------------------------------------------------------------------------


def reconcile(text: str, request: Request, generation: OpenGeneration) -> PreparedCall[JsonContent]:
    """Prepare the matching of a batch of queries; of a visitor, only the first VISITOR_LINES queries are matched.

    Raises:
        ApiError: 400: the text is not a batch; 413: it has too many queries.
    """
    queries = _read_batch(text, MOST_QUERIES, generation.names)
    readable = [name for name, query in queries.items() if query.line is not None]
    answered = readable if request.caller.account else readable[:VISITOR_LINES]
    most_candidates = max((queries[name].limit for name in answered), default=0)
    coordonnees = request.caller.plan.coordonnees
    lang = request.lang
    tag, headers = _tag_and_headers(request, generation, "queries", text, lang)

    async def run() -> "Result[JsonContent]":
        """Match the answered queries; a query that is not matched gets an error."""
        lines = [line for name in answered if (line := queries[name].line) is not None]
        matches = await match_lines(generation, lines, most_candidates, coordonnees=coordonnees)
        results = dict(zip(answered, matches, strict=True))
        answer = {
            name: _query_answer(results.get(name), query, lang) for name, query in queries.items()
        }
        return Result(200, JsonContent(answer), headers, matched=likely_companies(matches))

    return PreparedCall(run, tag, headers, calls=-(-len(answered) // LINES_PER_CALL))


def _read_batch(text: str, most: int, names: PlaceNames) -> dict[str, ReconciliationQuery]:
    """Read the queries of a batch, by their names.

    Raises:
        ApiError: 400: the text is not a batch; 413: it has more than `most` queries.
    """
    queries = _json_object(text, "queries")
    if len(queries) > most:
        raise ApiError("trop_de_lignes", count=len(queries), most=most)
    return {name: _query(name, query, names) for name, query in queries.items()}


def _json_object(text: str, name: str) -> dict[str, Any]:
    """Read the JSON object in a parameter.

    Raises:
        ApiError: 400: the value is not a JSON object.
    """
    raw = text.encode()
    try:
        document = json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise errors.invalid_parameter(name, json_body.why_unreadable(raw, error)) from error
    if not isinstance(document, dict):
        why = json_body.why_other_type(document, errors.text("objet"))
        raise errors.invalid_parameter(name, why)
    return document


def _query(name: str, query: Any, names: PlaceNames) -> ReconciliationQuery:
    """Read a query.

    A property that cannot be used is left out, and the candidates get the feature `propriete_inconnue`, because an
    error would refuse the whole batch for one column.

    Raises:
        ApiError: 400: the value is not a query.
    """
    if not isinstance(query, dict) or not isinstance(query.get("properties", []), list):
        example = f'{{{json.dumps(name[:50])}: {{"query": "Siemens", "properties": []}}}}'
        why = json_body.why_other_type(query, errors.text("requete", example=example))
        raise errors.invalid_parameter("queries", why)
    values: dict[str, Any] = {"cle": name, "nom": query.get("query")}
    unknown: tuple[str, ...] = ()
    for property_value in query.get("properties", []):
        if not isinstance(property_value, dict):
            why = json_body.why_other_type(property_value, errors.text("objet"))
            raise errors.invalid_parameter("properties", why)
        pid = _ALIASES.get(str(property_value.get("pid")), property_value.get("pid"))
        if pid in _QUERY_PROPERTIES:
            values[pid] = _property_value(property_value.get("v"), pid)
        else:
            unknown = ("propriete_inconnue",)
    listed = line_list.read_document({"lignes": [values]}, names).lines[0]
    line = listed.line
    if line is not None:
        line = replace(line, illisibles=line.illisibles + unknown)
    limit = _limit(query.get("limit", _DEFAULT_CANDIDATES))
    return ReconciliationQuery(line, limit, listed.error)


def _property_value(value: Any, pid: str) -> str | int | float | None:
    """The first value of a property; for `pays`, all values. A reconciled cell gives its identifier or its name.

    None for an empty value or a value of another type. A reconciled cell is an object with the keys `id` and `name`, in
    place of the text of the cell.
    """
    if isinstance(value, list):
        values = [
            item_value
            for item in value
            if (item_value := _property_value(item, pid)) not in (None, "")
        ]
        if pid == "pays" and values:
            return ",".join(map(str, values))
        return values[0] if values else None
    if isinstance(value, dict):
        preferred_key, other_key = ("id", "name") if pid in _IDENTIFIERS else ("name", "id")
        value = value.get(preferred_key) or value.get(other_key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return value[:LONGEST_VALUE] if isinstance(value, str) else value


def _limit(value: Any) -> int:
    """The most candidates of a query, from its `limit`. Raises ApiError 400."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return min(value, MOST_CANDIDATES)
    why = json_body.why_other_type(value, errors.text("entier_positif"))
    raise errors.invalid_parameter("limit", why)


def _query_answer(
    result: MatchResult | None, query: ReconciliationQuery, lang: str
) -> dict[str, Any]:
    """The answer to a query: the candidates in `result`; if the query was not matched, the reason in `erreur`.

    Without `result` the query has an error, or it is beyond the few queries that are answered for a visitor.
    """
    if result is None:
        if query.error is not None:
            return {"result": [], "erreur": query.error.erreur(lang)}
        return {
            "result": [],
            "erreur": ApiError("lignes_d_un_visiteur", lines=VISITOR_LINES).erreur(lang),
        }
    return {
        "result": [
            {
                "id": f"{candidate.iso2}:{candidate.id}",
                "name": candidate.nom,
                "description": _description(candidate.iso2, candidate.ville, candidate.etat),
                "type": [TYPE],
                "score": round(100 * candidate.note, 2),
                "match": place == 0 and result.verdict == SURE,
                "features": [
                    {"id": "note", "value": candidate.note},
                    *(
                        {"id": code, "value": True}
                        for code in candidate.raisons
                        if code in UNREADABLE
                    ),
                ],
            }
            for place, candidate in enumerate(result.candidats[: query.limit])
        ]
    }


def _description(iso2: str, ville: str | None, etat: str | None) -> str:
    """The line below a name in OpenRefine: the town, the country and the state."""
    return ", ".join(text for text in (ville, iso2, etat) if text)


def _tag_and_headers(
    request: Request, generation: OpenGeneration, *inputs: str
) -> tuple[str, Mapping[str, str]]:
    """The ETag and the headers of an answer; `inputs` are the values that it depends on."""
    caller = request.caller
    tag = etag(generation.id, caller.plan.slug, caller.account is None, "reconciliation", *inputs)
    return tag, private_headers(tag, generation.id, lang=request.lang)


# -- companies and their fields ---------------------------------------------------------------


def find_company(
    identifier: str, generation: OpenGeneration, *, coordonnees: bool
) -> dict[str, Any] | None:
    """The company with an identifier such as `UK:00944111`, or None."""
    iso2, _, id_ = identifier.partition(":")
    shard = generation.shards.get(generation.names.country(iso2) or "")
    row = shard.find(id_) if shard else None
    if shard is None or row is None:
        return None
    return record.company(shard.record(row, coordonnees=coordonnees))


def extend(text: str, request: Request, generation: OpenGeneration) -> PreparedCall[JsonContent]:
    """Prepare the reading of fields of companies, which OpenRefine adds to a table as columns.

    `text` is JSON with `ids` and `properties`. For a visitor only the first VISITOR_LINES companies have values.

    Raises:
        ApiError: 400: the text is not an extend query, or names an unknown field; 413: too many companies.
    """
    query = _json_object(text, "extend")
    ids, requested_properties = query.get("ids"), query.get("properties")
    if not isinstance(ids, list) or not isinstance(requested_properties, list):
        example = '{"ids": ["UK:00944111"], "properties": [{"id": "ville"}]}'
        arrays = {"`ids`": ids, "`properties`": requested_properties}
        wrong = ", ".join(name for name, given in arrays.items() if not isinstance(given, list))
        raise errors.invalid_parameter("extend", "champs_et_societes", names=wrong, example=example)
    if len(ids) > MOST_IDS:
        raise ApiError("trop_de_lignes", count=len(ids), most=MOST_IDS)
    names = {field["id"]: field["name"] for field in properties()}
    # A field that is named several times is one column, and costs as one.
    fields = list(
        dict.fromkeys(
            str(item.get("id")) if isinstance(item, dict) else "" for item in requested_properties
        )
    )
    if unknown := [field for field in fields if field not in names]:
        field = repr(unknown[0][:50])
        raise errors.invalid_parameter(
            "extend", "champ_inconnu_admis", shown=field, known=", ".join(names)
        )
    answered_ids = list(dict.fromkeys(map(str, ids)))
    if request.caller.account is None:
        answered_ids = answered_ids[:VISITOR_LINES]
    coordonnees = request.caller.plan.coordonnees
    tag, headers = _tag_and_headers(request, generation, "extend", text)

    def read() -> dict[str, dict[str, list[Any]]]:
        """The cells of each company; empty cells for the companies of a visitor that are not answered."""
        rows = {
            text_id: _cells(find_company(text_id, generation, coordonnees=coordonnees), fields)
            for text_id in answered_ids
        }
        return rows | {id_: _cells(None, fields) for id_ in map(str, ids) if id_ not in rows}

    async def run() -> "Result[JsonContent]":
        """Read the cells in a thread."""
        rows = await generation.run(_MICROSECONDS * len(answered_ids), read)
        meta = [{"id": field, "name": names[field]} for field in fields]
        return Result(200, JsonContent({"meta": meta, "rows": rows}), headers)

    return PreparedCall(run, tag, headers, calls=-(-len(answered_ids) // LINES_PER_CALL))


def _cells(company: Mapping[str, Any] | None, fields: Sequence[str]) -> dict[str, list[Any]]:
    """The values of these fields; all are empty for an unknown company."""
    return {field: cell(company[field] if company else None) for field in fields}


def cell(value: Any) -> list[dict[str, Any]]:
    """A value in the form of the protocol: an empty list for null, an item for each value of a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [entry for item in value for entry in cell(item)]
    if isinstance(value, bool):
        return [{"str": "oui" if value else "non"}]
    if isinstance(value, int) and abs(value) <= _LARGEST_INT:
        return [{"int": value}]
    return [{"float": value}] if isinstance(value, int | float) else [{"str": str(value)}]


def properties(prefix: str = "") -> list[dict[str, str]]:
    """The fields whose names or headings begin with `prefix`; the properties of queries come first."""
    folded_prefix = fold(prefix)
    fields = [
        {
            "id": field.champ,
            "name": field.title["fr"],
            "description": "pour rapprocher"
            if _is_query_property(field.champ)
            else "à ajouter ensuite",
        }
        for field in company_fields.fields()
        if any(
            fold(name).startswith(folded_prefix) for name in (field.champ, *field.title.values())
        )
    ]
    return sorted(fields, key=lambda field: not _is_query_property(field["id"]))


def _is_query_property(champ: str) -> bool:
    """Whether a query can have a field of a company as a property, also under another name (`_ALIASES`)."""
    return _ALIASES.get(champ, champ) in _QUERY_PROPERTIES


def proposed_fields(limit: int | None) -> dict[str, Any]:
    """The fields that `extend` can read, at most `limit`."""
    fields = [{"id": field.champ, "name": field.title["fr"]} for field in company_fields.fields()]
    return {
        "type": TYPE["id"],
        "properties": fields[:limit],
        **({} if limit is None else {"limit": limit}),
    }


def suggest_entities(
    prefix: str, request: Request, generation: OpenGeneration
) -> PreparedCall[JsonContent]:
    """Suggest companies whose number is `prefix` or whose name contains it."""
    most_rows = page_rows(request.caller.plan, _MOST_SUGGESTIONS)
    tag, headers = _tag_and_headers(request, generation, "suggest", prefix)

    async def run() -> "Result[JsonContent]":
        """Find companies by their number, then by their name."""
        companies: list[Mapping[str, Any]] = []
        if fold(prefix):
            base, query = generation.shards, Query(q=prefix[:LONGEST_Q], tri="score")
            page = await generation.run(
                EXPENSIVE_MICROSECONDS, lambda: search(base, query, offset=0, limit=most_rows)
            )
            by_number = company_ids.find_by_number(base, prefix, most=most_rows)
            by_name = record.companies(records(base, page.rows, coordonnees=False))
            distinct = {
                (company["iso2"], company["id"]): company for company in (*by_number, *by_name)
            }
            companies = list(distinct.values())[:most_rows]
        rows = [
            {
                "id": f"{company['iso2']}:{company['id']}",
                "name": company["nom"],
                "description": _description(company["iso2"], company["ville"], company["etat"]),
                "notable": [TYPE],
            }
            for company in companies
        ]
        return Result(200, JsonContent({"result": rows}), headers)

    return PreparedCall(run, tag, headers, calls=0)


def preview(company: Mapping[str, Any]) -> str:
    """An HTML page of a few lines about a company, without contact fields."""
    assert not any(company.get(name) for name in CONTACTS)
    facts = [
        company["forme"],
        company["adresse"] or company["ville"],
        company["secteur"],
        company["etat"],
    ]
    identifier = f"{company['iso2']} {company['id']}"
    lines = "<br>".join(escape(str(fact)) for fact in (identifier, *facts) if fact)
    return (
        f'<!doctype html><html lang="fr"><meta charset="utf-8"><title>{escape(identifier)}</title>'
        f"<body><h3>{escape(company['nom'])}</h3><p>{lines}</p></body></html>"
    )


def page_path(company: Mapping[str, Any]) -> str:
    """The path of the page of a company."""
    return f"/societes/{company['iso2']}/{quote(company['id'], safe='')}"
