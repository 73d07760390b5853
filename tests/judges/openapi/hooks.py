"""Hooks of schemathesis for two rules of the API that JSON Schema cannot express.

schemathesis sends requests that the document admits and expects an answer, and requests that it does
not admit and expects a refusal. No check is switched off; two hooks correct the cases:

- `map_case`: some values depend on another value or on the data: `ca_max` is not below `ca_min`, a
  `sous_secteur` belongs to a `secteur`, a legal form is one of the data, a generation is the served one,
  `queries` and `extend` are JSON in a text. They are set before sending.
- `filter_case`: the contract accepts some requests that the document does not admit (B1, B12, B17,
  B18, F3): blanks, empty values, lower-case codes, a `limit` over the maximum, a number as text or an array in a
  body. A case with no other fault is not sent; any other fault must be refused.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import requests
import schemathesis
from jsonschema import Draft202012Validator

Pairs = list[tuple[str, str]]

_MEDIA: Final = ("application/json", "application/x-www-form-urlencoded")

_LISTS: Final = {
    "pays": ",", "secteur": "|", "sous_secteur": "|", "ids": ",", "etat": ",", "ville": "|",
    "code_postal": ",", "forme": "|", "nace": ",", "colonnes": ",",
}  # fmt: skip
_BOUNDS: Final = (
    ("ca_min", "ca_max"), ("effectif_min", "effectif_max"), ("actif_min", "actif_max"),
)  # fmt: skip
# Values that a schema cannot tell from others of their form: what exists, and dates of the calendar.
_KNOWN: Final = {
    "ids": "UK:09418436,EE:0", "forme": "Private Limited Company", "nace": "56.1,62", "activite": "boulangerie",
    "cree_min": "2015-02", "cree_max": "2024",
    "queries": '{"q0": {"query": "Monzo", "limit": 3}}',
    "extend": '{"ids": ["UK:09418436"], "properties": [{"id": "nom"}]}',
}  # fmt: skip
_INTEGER: Final = re.compile(r"[+-]?[0-9]+(\.0*)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A sector and one of its sub-sectors.
_SECTOR, _SUB_SECTOR = "restauration", "Restaurants et services de restauration mobile"


@schemathesis.hook
def map_case(context: schemathesis.HookContext, case: schemathesis.Case) -> schemathesis.Case:
    """Correct dependent values in a case that is meant to be admitted."""
    if _is_negative(case):
        return case
    for values in (case.query, case.body):
        if isinstance(values, dict):
            _put_right(values)
    if isinstance(case.body, dict):
        _put_body_right(case.body)
    # The pattern of an identifier excludes U+FFFD, which schemathesis makes of it all the same, if rarely.
    for name, value in (case.path_parameters or {}).items():
        if isinstance(value, str):
            case.path_parameters[name] = value.replace("\ufffd", "x").replace("%EF%BF%BD", "x")
    return case


@schemathesis.hook
def before_add_examples(
    context: schemathesis.HookContext, examples: list[schemathesis.Case]
) -> None:
    """Correct the examples that are put together from those of single members, too."""
    for case in examples:
        if isinstance(case.body, dict) and "depuis" in case.body:
            _put_right(case.body)
            _put_body_right(case.body)


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """True for a case to send: admitted, or with a fault that must be refused."""
    return not _is_negative(case) or not _is_forgiven(case)


def _is_negative(case: schemathesis.Case) -> bool:
    return bool(case.meta and case.meta.generation.mode.is_negative)


def _put_right(values: dict[str, Any]) -> None:
    for low, high in _BOUNDS:
        if low in values and high in values and float(values[low]) > float(values[high]):
            values[low], values[high] = values[high], values[low]
    values |= {name: known for name, known in _KNOWN.items() if name in values}
    if values.get("sous_secteur"):
        values |= {"secteur": _SECTOR, "sous_secteur": _SUB_SECTOR}
    for name in ("version", "depuis"):
        if name in values:
            values[name] = os.environ["GENERATION"]
    values.pop("curseur", None)  # a cursor comes from an answer only


def _put_body_right(body: dict[str, Any]) -> None:
    """A body names what is watched once, and the keys of lines are distinct."""
    if "depuis" in body:
        body.pop("recherche" if "ids" in body else "ids", None)
        if "recherche" in body:
            _put_right(body["recherche"])
        else:
            body["ids"] = ["UK:09418436", "EE:0"]
    for number, line in enumerate(body.get("lignes", ())):
        if "cle" in line:
            line["cle"] = str(number)


def _is_forgiven(case: schemathesis.Case) -> bool:
    """True if the contract reads the case as a request that the document admits."""
    parameters = {one.name: one.definition for one in case.operation.iter_parameters()}
    query = {n: one["schema"] for n, one in parameters.items() if one["in"] == "query"}
    path = {n: one["schema"] for n, one in parameters.items() if one["in"] == "path"}
    required = {n for n, one in parameters.items() if one.get("required")} & set(query)
    sent = requests.Request(**_kept(case.as_transport_kwargs())).prepare()
    given = parse_qsl(urlsplit(sent.url or "").query, keep_blank_values=True)
    parts = [(name, str(value)) for name, value in (case.path_parameters or {}).items()]
    return (
        _admitted(given, query)
        and required <= {name for name, value in given if value.strip(" |,")}
        and _admitted(parts, path)
        and _body_forgiven(case)
    )


def _kept(sent: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sent[name] for name in ("method", "url", "params") if name in sent}


def _body_forgiven(case: schemathesis.Case) -> bool:
    bodies = list(case.operation.body)
    if not bodies:
        return True
    if not isinstance(case.body, dict) or case.media_type not in _MEDIA:
        return False
    if "lignes" in case.body:
        return _lines_forgiven(case.body, bodies[0].definition["schema"])
    schema = bodies[0].definition["schema"]
    given = [
        (name, value)
        for name, values in case.body.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    if case.body.get("ids") == [] or not all(_is_text_or_number(value) for _, value in given):
        return False
    return _admitted([(name, str(value)) for name, value in given], schema["properties"])


def _lines_forgiven(body: dict[str, Any], schema: Mapping[str, Any]) -> bool:
    """True if nothing is wrong but lines, each of which is answered in its place (X5)."""
    columns = schema["properties"]["colonnes"]["items"]["enum"]
    version, limit = body.get("version"), body.get("limite", 1)
    return (
        isinstance(body["lignes"], list)
        and set(body) <= {"lignes", "limite", "version", "colonnes"}
        and _columns_admitted(body.get("colonnes"), columns)
        and (version is None or isinstance(version, str))
        and isinstance(limit, int)
        and not isinstance(limit, bool)
        and 1 <= limit <= 10
    )


def _columns_admitted(value: object, known: Iterable[str]) -> bool:
    """True for names of fields with blanks around them, as a text or an array."""
    names = value.split(",") if isinstance(value, str) else [] if value is None else value
    return isinstance(names, list) and all(
        isinstance(name, str) and name.strip() in {"", *known} for name in names
    )


def _is_text_or_number(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _admitted(given: Pairs, schemas: Mapping[str, Any]) -> bool:
    """True if all names are known and all values are admitted after the contract's corrections."""
    if not {name for name, _ in given} <= set(schemas):
        return False
    return all(
        _value_admitted(name, [value.strip() for other, value in given if other == name], schema)
        for name, schema in schemas.items()
    )


def _value_admitted(name: str, texts: Iterable[str], schema: Mapping[str, Any]) -> bool:
    if name in _LISTS:
        separator = _LISTS[name]
        words = [word.strip() for text in texts for word in text.split(separator)]
        known = [word.upper() if name == "pays" else word for word in words if word]
        return not known or _valid(separator.join(known), schema)
    values = {text for text in texts if text}
    if not values:
        return True
    value = values.pop()
    if values:  # a repeated scalar must have one value (B5)
        return False
    if schema["type"] == "string":
        return _valid(value.upper() if name == "iso" else value, schema)
    pattern = _INTEGER if schema["type"] == "integer" else _NUMBER
    if not pattern.fullmatch(value):
        return False
    return _valid(min(float(value), schema.get("maximum", float("inf"))), schema)


def _valid(value: object, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, float) and value == float("inf"):
        return True
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return bool(Draft202012Validator(schema).is_valid(value))
