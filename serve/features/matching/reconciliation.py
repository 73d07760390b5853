"""The Reconciliation Service API 0.2 of the W3C community group, as OpenRefine speaks it (extensions X5).

A protocol of its own, which describes itself: a manifest, queries (the lines of `/rapprochement`), suggestions,
previews and the values of fields. An entity is a company, its identifier is `UK:00944111`; the one type is `societe`,
and properties are the fields of a company. https://www.w3.org/community/reports/reconciliation/

A value of a query is a text, a number, or a cell that was reconciled before, with an identifier and a name.
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
from serve.features.matching.rapprochement import match_lines, meant_companies
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
VERSION: Final = "0.2"
_NAME: Final = "Sociétés européennes"
TYPE: Final = {"id": "societe", "name": "Société"}
MOST_QUERIES: Final = MOST_LINES

# The properties that a query may have, besides the name.
_GIVEN: Final = tuple(name for name in line_list.FIELDS if name not in ("cle", "nom"))
_ALIASES: Final = {"iso2": "pays", "nace_code": "activite"}
_DEFAULT_CANDIDATES: Final = 5
# Properties that identify a company, so that the identifier of a reconciled cell is meant.
_IDENTIFIERS: Final = ("id", "tva", "lei")
_SUGGESTED: Final = 10
# To read a record and the fields of a company, measured: 80 ms for 1 000.
_MICROSECONDS: Final = 80.0
# Queries in a batch of a client that asks for the size: a request of OpenRefine then takes a fraction of a second.
_BATCH: Final = 50
# A client may read an integer as one of 32 bits, as OpenRefine does.
_LARGEST_INT: Final = 2**31 - 1
_PREVIEW: Final = {"width": 400, "height": 150}


class JsonContent(NamedTuple):
    """A JSON value as the content of a result."""

    value: Any

    def json(self) -> bytes:
        return orjson.dumps(self.value)


class ReconciliationQuery(NamedTuple):
    """A query as a line, and how many candidates it may have.

    Attributes:
        line: None where the query names nothing; then `error` says so.
    """

    line: Line | None
    limit: int
    error: ApiError | None = None


def manifest(origin: str, place: str, open_place: str, *, visitor: bool) -> dict[str, Any]:
    """The manifest of the service.

    Args:
        origin: the address of this server.
        place: the path of the service, with the token of the caller.
        open_place: its path for callers without one.
        visitor: the caller has no account: batches have no more queries than are answered.
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
        "batchSize": VISITOR_LINES if visitor else _BATCH,
        # Without the token of the caller: each cell of a project that is shared has this address.
        "view": {"url": f"{origin}{open_place}/view/{{{{id}}}}"},
        "preview": {"url": f"{url}/preview/{{{{id}}}}", **_PREVIEW},
        "suggest": {
            what: {"service_url": url, "service_path": f"/suggest/{what}"}
            for what in ("entity", "property", "type")
        },
        "extend": {
            "propose_properties": {"service_url": url, "service_path": "/properties"},
            "property_settings": [],
        },
    }


# -- queries ---------------------------------------------------------------------------------


def reconcile(text: str, request: Request, generation: OpenGeneration) -> PreparedCall[JsonContent]:
    """The candidates of a batch of queries.

    Raises:
        ApiError: 400: it is no batch; 413: it has too many queries.
    """
    queries = _read_batch(text, MOST_QUERIES, generation.names)
    wanted = [name for name, query in queries.items() if query.line is not None]
    left = wanted if request.caller.account else wanted[:VISITOR_LINES]
    most = max((queries[name].limit for name in left), default=0)
    coordonnees = request.caller.plan.coordonnees
    lang = request.lang
    tag, headers = _tag_and_headers(request, generation, "queries", text, lang)

    async def run() -> "Result[JsonContent]":
        given = [line for name in left if (line := queries[name].line) is not None]
        results = await match_lines(generation, given, most, coordonnees=coordonnees)
        found = dict(zip(left, results, strict=True))
        answer = {name: _answer(found.get(name), query, lang) for name, query in queries.items()}
        return Result(200, JsonContent(answer), headers, matched=meant_companies(found.values()))

    return PreparedCall(run, tag, headers, calls=-(-len(left) // LINES_PER_CALL))


def _read_batch(text: str, most: int, names: PlaceNames) -> dict[str, ReconciliationQuery]:
    """The queries of a batch, by their names.

    Raises:
        ApiError: 400: it is no batch; 413: it has more than `most` queries.
    """
    queries = _json_object(text, "queries")
    if len(queries) > most:
        raise ApiError("trop_de_lignes", count=len(queries), most=most)
    return {name: _query(name, query, names) for name, query in queries.items()}


def _json_object(text: str, name: str) -> dict[str, Any]:
    """The JSON object that is the value of a parameter.

    Raises:
        ApiError: 400: it is none.
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
    """A query. A property that a query cannot go by is left out, and said: one column would cost the whole list.

    Raises:
        ApiError: 400: it is none.
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
        if pid in _GIVEN:
            values[pid] = _value(property_value.get("v"), pid)
        else:
            unknown = ("propriete_inconnue",)
    listed = line_list.of_document({"lignes": [values]}, names).lines[0]
    line = listed.line
    if line is not None:
        line = replace(line, illisibles=line.illisibles + unknown)
    limit = _limit(query.get("limit", _DEFAULT_CANDIDATES))
    return ReconciliationQuery(line, limit, listed.error)


def _value(given: Any, pid: str) -> str | int | float | None:
    """The first value of a property, but all countries; of a reconciled cell its identifier or its name."""
    if isinstance(given, list):
        values = [value for one in given if (value := _value(one, pid)) not in (None, "")]
        if pid == "pays" and values:
            return ",".join(map(str, values))
        return values[0] if values else None
    if isinstance(given, dict):
        first, second = ("id", "name") if pid in _IDENTIFIERS else ("name", "id")
        given = given.get(first) or given.get(second)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, str | int | float) or isinstance(given, bool):
        return None
    return given[:LONGEST_VALUE] if isinstance(given, str) else given


def _limit(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return min(given, MOST_CANDIDATES)
    why = json_body.why_other_type(given, errors.text("entier_positif"))
    raise errors.invalid_parameter("limit", why)


def _answer(result: MatchResult | None, query: ReconciliationQuery, lang: str) -> dict[str, Any]:
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
                "id": f"{one.iso2}:{one.id}",
                "name": one.nom,
                "description": _description(one.iso2, one.ville, one.etat),
                "type": [TYPE],
                "score": round(100 * one.note, 2),
                "match": place == 0 and result.verdict == SURE,
                "features": [
                    {"id": "note", "value": one.note},
                    *({"id": code, "value": True} for code in one.raisons if code in UNREADABLE),
                ],
            }
            for place, one in enumerate(result.candidats[: query.limit])
        ]
    }


def _description(iso2: str, ville: str | None, etat: str | None) -> str:
    return ", ".join(part for part in (ville, iso2, etat) if part)


def _tag_and_headers(
    request: Request, generation: OpenGeneration, *asked: str
) -> tuple[str, Mapping[str, str]]:
    """The tag of an answer, and its headers."""
    caller = request.caller
    tag = etag(generation.id, caller.plan.slug, caller.account is None, "reconciliation", *asked)
    return tag, private_headers(tag, generation.id, lang=request.lang)


# -- companies and their fields ---------------------------------------------------------------


def find(
    identifier: str, generation: OpenGeneration, *, coordonnees: bool
) -> dict[str, Any] | None:
    """The company `UK:00944111`, or None."""
    iso2, _, id_ = identifier.partition(":")
    shard = generation.shards.get(generation.names.country(iso2) or "")
    row = shard.find(id_) if shard else None
    if shard is None or row is None:
        return None
    return record.company(shard.record(row, coordonnees=coordonnees))


def extend(text: str, request: Request, generation: OpenGeneration) -> PreparedCall[JsonContent]:
    """Values of fields of companies.

    Raises:
        ApiError: 400: it is no such query, or names a field that there is not; 413: too many companies.
    """
    asked = _json_object(text, "extend")
    ids, wanted = asked.get("ids"), asked.get("properties")
    if not isinstance(ids, list) or not isinstance(wanted, list):
        example = '{"ids": ["UK:00944111"], "properties": [{"id": "ville"}]}'
        arrays = {"`ids`": ids, "`properties`": wanted}
        wrong = ", ".join(name for name, sent in arrays.items() if not isinstance(sent, list))
        raise errors.invalid_parameter("extend", "champs_et_societes", names=wrong, example=example)
    if len(ids) > MOST_IDS:
        raise ApiError("trop_de_lignes", count=len(ids), most=MOST_IDS)
    names = {field["id"]: field["name"] for field in properties()}
    # A field that is asked for a thousand times is one column, and costs as much.
    fields = list(
        dict.fromkeys(str(item.get("id")) if isinstance(item, dict) else "" for item in wanted)
    )
    if unknown := [field for field in fields if field not in names]:
        shown_field = repr(unknown[0][:50])
        raise errors.invalid_parameter(
            "extend", "champ_inconnu_admis", shown=shown_field, known=", ".join(names)
        )
    shown = list(dict.fromkeys(map(str, ids)))
    if request.caller.account is None:
        shown = shown[:VISITOR_LINES]
    coordonnees = request.caller.plan.coordonnees
    tag, headers = _tag_and_headers(request, generation, "extend", text)

    def read() -> dict[str, dict[str, list[Any]]]:
        rows = {
            text_id: _cells(find(text_id, generation, coordonnees=coordonnees), fields)
            for text_id in shown
        }
        return rows | {other: _cells(None, fields) for other in map(str, ids) if other not in rows}

    async def run() -> "Result[JsonContent]":
        rows = await generation.in_thread(_MICROSECONDS * len(shown), read)
        meta = [{"id": field, "name": names[field]} for field in fields]
        return Result(200, JsonContent({"meta": meta, "rows": rows}), headers)

    return PreparedCall(run, tag, headers, calls=-(-len(shown) // LINES_PER_CALL))


def _cells(company: Mapping[str, Any] | None, fields: Sequence[str]) -> dict[str, list[Any]]:
    return {field: cell(company[field] if company else None) for field in fields}


def cell(value: Any) -> list[dict[str, Any]]:
    """A value in the form of the protocol: none for null, several for a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [found for one in value for found in cell(one)]
    if isinstance(value, bool):
        return [{"str": "oui" if value else "non"}]
    if isinstance(value, int) and abs(value) <= _LARGEST_INT:
        return [{"int": value}]
    return [{"float": value}] if isinstance(value, int | float) else [{"str": str(value)}]


def properties(prefix: str = "") -> list[dict[str, str]]:
    """The fields whose names or headings begin with `prefix`; those that queries may have first."""
    begins = fold(prefix)
    fields = [
        {
            "id": field.champ,
            "name": field.title["fr"],
            "description": "pour rapprocher" if _is_given(field.champ) else "à ajouter ensuite",
        }
        for field in company_fields.fields()
        if any(fold(name).startswith(begins) for name in (field.champ, *field.title.values()))
    ]
    return sorted(fields, key=lambda one: not _is_given(one["id"]))


def _is_given(champ: str) -> bool:
    return _ALIASES.get(champ, champ) in _GIVEN


def proposed_fields(limit: int | None) -> dict[str, Any]:
    """The fields that `extend` may ask for, at most `limit`."""
    found = [{"id": field.champ, "name": field.title["fr"]} for field in company_fields.fields()]
    return {
        "type": TYPE["id"],
        "properties": found[:limit],
        **({} if limit is None else {"limit": limit}),
    }


def suggest_entities(
    prefix: str, request: Request, generation: OpenGeneration
) -> PreparedCall[JsonContent]:
    """Companies whose number is a text, or whose names contain it."""
    most = page_rows(request.caller.plan, _SUGGESTED)
    tag, headers = _tag_and_headers(request, generation, "suggest", prefix)

    async def run() -> "Result[JsonContent]":
        companies: list[Mapping[str, Any]] = []
        if fold(prefix):
            base, query = generation.shards, Query(q=prefix[:LONGEST_Q], tri="score")
            page = await generation.in_thread(
                EXPENSIVE_MICROSECONDS, lambda: search(base, query, offset=0, limit=most)
            )
            numbered = company_ids.by_number(base, prefix, most=most)
            named = record.companies(records(base, page.rows, coordonnees=False))
            both = {(one["iso2"], one["id"]): one for one in (*numbered, *named)}
            companies = list(both.values())[:most]
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
    """A page of a few lines about a company, without contact fields."""
    assert not any(company.get(name) for name in CONTACTS)
    facts = [
        company["forme"],
        company["adresse"] or company["ville"],
        company["secteur"],
        company["etat"],
    ]
    place = f"{company['iso2']} {company['id']}"
    lines = "<br>".join(escape(str(fact)) for fact in (place, *facts) if fact)
    return (
        f'<!doctype html><html lang="fr"><meta charset="utf-8"><title>{escape(place)}</title>'
        f"<body><h3>{escape(company['nom'])}</h3><p>{lines}</p></body></html>"
    )


def page_of(company: Mapping[str, Any]) -> str:
    """The path of the page of a company."""
    return f"/societes/{company['iso2']}/{quote(company['id'], safe='')}"
