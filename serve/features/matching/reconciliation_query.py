"""Batches of reconciliation queries, as clients of the Reconciliation Service API 0.2 send them, as lines to match.

A value is a text, a number, or a cell that was reconciled before, with an identifier and a name. Pure.
"""

import json
from dataclasses import replace
from typing import Any, Final, NamedTuple

from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.limits import LONGEST_VALUE, MOST_CANDIDATES
from serve.features.matching import line_list
from serve.request import json_body
from serve.request.place_names import PlaceNames
from shards.matching.line import Line

# The properties that a query may have, besides the name.
GIVEN: Final = tuple(name for name in line_list.FIELDS if name not in ("cle", "nom"))
ALIASES: Final = {"iso2": "pays", "nace_code": "activite"}
DEFAULT_CANDIDATES: Final = 5
# Properties that identify a company, so that the identifier of a reconciled cell is meant.
_IDENTIFIERS: Final = ("id", "tva", "lei")


class ReconciliationQuery(NamedTuple):
    """A query as a line, and how many candidates it may have.

    Attributes:
        line: None where the query names nothing; then `error` says so.
    """

    line: Line | None
    limit: int
    error: ApiError | None = None


def read_batch(text: str, most: int, names: PlaceNames) -> dict[str, ReconciliationQuery]:
    """The queries of a batch, by their names.

    Raises:
        ApiError: 400: it is no batch; 413: it has more than `most` queries.
    """
    queries = json_object(text, "queries")
    if len(queries) > most:
        raise errors.trop_de_lignes(len(queries), most)
    return {name: _query(name, query, names) for name, query in queries.items()}


def json_object(text: str, name: str) -> dict[str, Any]:
    """The JSON object that is the value of a parameter.

    Raises:
        ApiError: 400: it is none.
    """
    raw = text.encode()
    try:
        document = json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise errors.parametre_invalide(name, json_body.why_unreadable(raw, error)) from error
    if not isinstance(document, dict):
        why = json_body.why_other_type(document, errors.why("objet"))
        raise errors.parametre_invalide(name, why)
    return document


def _query(name: str, query: Any, names: PlaceNames) -> ReconciliationQuery:
    """A query. A property that a query cannot go by is left out, and said: one column would cost the whole list.

    Raises:
        ApiError: 400: it is none.
    """
    if not isinstance(query, dict) or not isinstance(query.get("properties", []), list):
        example = f'{{{json.dumps(name[:50])}: {{"query": "Siemens", "properties": []}}}}'
        why = json_body.why_other_type(query, errors.why("requete", example=example))
        raise errors.parametre_invalide("queries", why)
    values: dict[str, Any] = {"cle": name, "nom": query.get("query")}
    unknown: tuple[str, ...] = ()
    for property_value in query.get("properties", []):
        if not isinstance(property_value, dict):
            why = json_body.why_other_type(property_value, errors.why("objet"))
            raise errors.parametre_invalide("properties", why)
        pid = ALIASES.get(str(property_value.get("pid")), property_value.get("pid"))
        if pid in GIVEN:
            values[pid] = _value(property_value.get("v"), pid)
        else:
            unknown = ("propriete_inconnue",)
    listed = line_list.of_document({"lignes": [values]}, names).lines[0]
    line = listed.line
    if line is not None:
        line = replace(line, illisibles=line.illisibles + unknown)
    limit = _limit(query.get("limit", DEFAULT_CANDIDATES))
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
    why = json_body.why_other_type(given, errors.why("entier_positif"))
    raise errors.parametre_invalide("limit", why)
