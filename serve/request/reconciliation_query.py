"""Batches of reconciliation queries, as clients of the Reconciliation Service API 0.2 send them, as lines to match.

A value is a text, a number, or a cell that was reconciled before, with an identifier and a name. Pure.
"""

import json
from typing import Any, Final, NamedTuple

from serve.contract import errors
from serve.contract.limits import MOST_CANDIDATES
from serve.request import json_body, line_list
from serve.request.place_names import PlaceNames
from shards.codec.folding import fold
from shards.search.matching.line import Line

# The properties that a query may have, besides the name.
GIVEN: Final = tuple(name for name in line_list.FIELDS if name not in ("cle", "nom"))
ALIASES: Final = {"iso2": "pays"}
DEFAULT_CANDIDATES: Final = 5
# Properties that identify a company, so that the identifier of a reconciled cell is meant.
_IDENTIFIERS: Final = ("id", "tva")


class ReconciliationQuery(NamedTuple):
    """A query as a line, and how many candidates it may have.

    Attributes:
        line: None where the query names nothing, or a country that there is not.
    """

    line: Line | None
    limit: int


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
    """A query.

    Raises:
        ApiError: 400: it is none, or has a property that no query may have.
    """
    if not isinstance(query, dict) or not isinstance(query.get("properties", []), list):
        example = f'{{{json.dumps(name[:50])}: {{"query": "Siemens", "properties": []}}}}'
        why = json_body.why_other_type(query, errors.why("requete", example=example))
        raise errors.parametre_invalide("queries", why)
    values: dict[str, Any] = {"cle": name, "nom": query.get("query")}
    for property_value in query.get("properties", []):
        pid = (
            ALIASES.get(str(property_value.get("pid")), property_value.get("pid"))
            if isinstance(property_value, dict)
            else None
        )
        if pid not in GIVEN:
            admitted = ", ".join(GIVEN)
            shown = repr(str(pid)[:50])
            why = errors.why("membre_inconnu", shown=shown, known=admitted)
            raise errors.parametre_invalide("pid", why)
        values[pid] = _value(property_value.get("v"), pid)
    if values.get("pays"):
        values["pays"] = names.pays_alike.get(fold(str(values["pays"])), values["pays"])
    line = line_list.of_document({"lignes": [values]}, names).lines[0].line
    return ReconciliationQuery(line, _limit(query.get("limit", DEFAULT_CANDIDATES)))


def _value(given: Any, pid: str) -> str | int | float | None:
    """The first value of a property; of a reconciled cell its identifier or its name, and of a time its day."""
    if isinstance(given, list):
        given = given[0] if given else None
    if isinstance(given, dict):
        first, second = ("id", "name") if pid in _IDENTIFIERS else ("name", "id")
        given = given.get(first) or given.get(second)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if pid == "date_creation" and isinstance(given, str):
        given = given.partition("T")[0]
    return given if isinstance(given, str | int | float) and given is not True else None


def _limit(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return min(given, MOST_CANDIDATES)
    why = json_body.why_other_type(given, errors.why("entier_positif"))
    raise errors.parametre_invalide("limit", why)
