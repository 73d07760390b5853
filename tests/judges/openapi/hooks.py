"""Hooks of schemathesis for two rules of the API that JSON Schema cannot express.

schemathesis sends valid requests and expects an answer, and invalid requests and expects an error. A request is valid
if the OpenAPI document allows it. No check is disabled; hooks correct the cases:

- `map_case`: some values depend on another value or on the data. `ca_max` is not below `ca_min`, a `sous_secteur`
  belongs to a `secteur`, a legal form occurs in the data, a generation is the served one, `queries` and `extend` are
  JSON in a text, and not both in one request. The hook sets such values in valid requests; `before_add_examples` does
  so in examples.
- `filter_case`: the contract accepts some requests that are invalid by the document (B1, B12, B17, B18, F3): blanks,
  empty values, lower-case codes, a `limit` over the maximum, a number as text or an array in a body. A case without
  another fault is not sent; any other fault must be refused.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import requests
import schemathesis
from jsonschema import Draft202012Validator

# Names and values of parameters.
Pairs = list[tuple[str, str]]

# The media types that bodies can have.
_MEDIA: Final = ("application/json", "application/x-www-form-urlencoded")

# Parameters that are lists, with their separators.
_LISTS: Final = {
    "pays": ",", "secteur": "|", "sous_secteur": "|", "ids": ",", "etat": ",", "ville": "|",
    "code_postal": ",", "forme": "|", "nace": ",", "colonnes": ",",
}  # fmt: skip
# Pairs of parameters: a lower and an upper bound of one amount.
_BOUNDS: Final = (
    ("ca_min", "ca_max"), ("effectif_min", "effectif_max"), ("actif_min", "actif_max"),
)  # fmt: skip
# Valid values where a schema admits invalid ones too: values of the data, JSON texts, real dates.
_VALID_VALUES: Final = {
    "ids": "UK:09418436,EE:0", "forme": "Private Limited Company", "nace": "56.1,62", "activite": "boulangerie",
    "cree_min": "2015-02", "cree_max": "2024",
    "queries": '{"q0": {"query": "Monzo", "limit": 3}}',
    "extend": '{"ids": ["UK:09418436"], "properties": [{"id": "nom"}]}',
}  # fmt: skip
_INTEGER: Final = re.compile(r"[+-]?[0-9]+(\.0*)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMPANY: Final = re.compile(r"[A-Za-z]{2}:.+")
# A sector and one of its sub-sectors.
_SECTOR, _SUB_SECTOR = "restauration", "Restaurants et services de restauration mobile"


@schemathesis.hook
def map_case(context: schemathesis.HookContext, case: schemathesis.Case) -> schemathesis.Case:
    """Correct dependent values in a case that must be valid."""
    if _is_negative(case):
        return case
    for values in (case.query, case.body):
        if isinstance(values, dict):
            _correct_values(values)
    if isinstance(case.body, dict):
        _correct_body(case.body)
    # The pattern of an identifier excludes U+FFFD, but schemathesis sometimes generates it.
    for name, value in (case.path_parameters or {}).items():
        if isinstance(value, str):
            text = value.replace("\ufffd", "x").replace("%EF%BF%BD", "x")
            case.path_parameters[name] = _correct_company(text) if name == "societe" else text
    return case


@schemathesis.hook
def before_add_examples(
    context: schemathesis.HookContext, examples: list[schemathesis.Case]
) -> None:
    """Correct the examples that schemathesis combines from the examples of single members."""
    for case in examples:
        for values in (case.query, case.body):
            if isinstance(values, dict):
                _drop_extend(values)
        if isinstance(case.body, dict) and "depuis" in case.body:
            _correct_values(case.body)
            _correct_body(case.body)


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """True for a case to send: valid, or with a fault that must be refused."""
    return not _is_negative(case) or not _is_accepted(case)


def _is_negative(case: schemathesis.Case) -> bool:
    """Whether schemathesis generated the case to be refused."""
    return bool(case.meta and case.meta.generation.mode.is_negative)


def _correct_values(values: dict[str, Any]) -> None:
    """Replace values that are invalid because of other values or of the data."""
    for low, high in _BOUNDS:
        if low in values and high in values and float(values[low]) > float(values[high]):
            values[low], values[high] = values[high], values[low]
    values |= {name: value for name, value in _VALID_VALUES.items() if name in values}
    _drop_extend(values)
    if values.get("sous_secteur"):
        values |= {"secteur": _SECTOR, "sous_secteur": _SUB_SECTOR}
    for name in ("version", "depuis"):
        if name in values:
            values[name] = os.environ["GENERATION"]
    values.pop("curseur", None)  # a valid cursor comes from an answer


def _correct_company(text: str) -> str:
    """A company in a path, with a country that the data have.

    The pattern of a company admits all countries. Values that schemathesis takes from answers can break the pattern.
    """
    return f"UK{text[2:]}" if _COMPANY.fullmatch(unquote(text)) else "UK:09418436"


def _drop_extend(values: dict[str, Any]) -> None:
    """Drop `extend` beside `queries`; a request of the reconciliation service has one of them."""
    if "queries" in values:
        values.pop("extend", None)


def _correct_body(body: dict[str, Any]) -> None:
    """Correct a body: either `ids` or `recherche`, and distinct keys of lines."""
    if "depuis" in body:
        body.pop("recherche" if "ids" in body else "ids", None)
        if "recherche" in body:
            _correct_values(body["recherche"])
        else:
            body["ids"] = ["UK:09418436", "EE:0"]
    for number, line in enumerate(body.get("lignes", ())):
        if "cle" in line:
            line["cle"] = str(number)


def _is_accepted(case: schemathesis.Case) -> bool:
    """True if the contract accepts a case that the tool made as invalid, so that the server may accept it too.

    Such a case has, for example, lower-case codes or a `limit` over the maximum, and no other fault.
    """
    parameters = {item.name: item.definition for item in case.operation.iter_parameters()}
    query_schemas = {
        name: item["schema"] for name, item in parameters.items() if item["in"] == "query"
    }
    path_schemas = {
        name: item["schema"] for name, item in parameters.items() if item["in"] == "path"
    }
    required = {name for name, item in parameters.items() if item.get("required")} & set(
        query_schemas
    )
    request = requests.Request(**_address_fields(case.as_transport_kwargs())).prepare()
    pairs = parse_qsl(urlsplit(request.url or "").query, keep_blank_values=True)
    path_values = [
        (name, unquote(str(value))) for name, value in (case.path_parameters or {}).items()
    ]
    return (
        _are_values_valid(pairs, query_schemas)
        and required <= {name for name, value in pairs if value.strip(" |,")}
        and _are_values_valid(path_values, path_schemas)
        and _is_body_accepted(case)
    )


def _address_fields(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a request that decide its address."""
    return {name: sent[name] for name in ("method", "url", "params") if name in sent}


def _is_body_accepted(case: schemathesis.Case) -> bool:
    """True if the operation has no body, or if the contract accepts the body."""
    bodies = list(case.operation.body)
    if not bodies:
        return True
    if not isinstance(case.body, dict) or case.media_type not in _MEDIA:
        return False
    if "lignes" in case.body:
        return _is_list_accepted(case.body, bodies[0].definition["schema"])
    schema = bodies[0].definition["schema"]
    pairs = [
        (name, value)
        for name, values in case.body.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    if case.body.get("ids") == [] or not all(_is_text_or_number(value) for _, value in pairs):
        return False
    return _are_values_valid([(name, str(value)) for name, value in pairs], schema["properties"])


def _is_list_accepted(body: dict[str, Any], schema: Mapping[str, Any]) -> bool:
    """True if only lines are wrong; each wrong line has its own error in the answer (X5)."""
    columns = schema["properties"]["colonnes"]["items"]["enum"]
    version, limit = body.get("version"), body.get("limite", 1)
    return (
        isinstance(body["lignes"], list)
        and set(body) <= {"lignes", "limite", "version", "colonnes"}
        and _are_columns_valid(body.get("colonnes"), columns)
        and (version is None or isinstance(version, str))
        and isinstance(limit, int)
        and not isinstance(limit, bool)
        and 1 <= limit <= 10
    )


def _are_columns_valid(value: object, columns: Iterable[str]) -> bool:
    """True for names of fields, also with blanks around them, in a text or an array."""
    names = value.split(",") if isinstance(value, str) else [] if value is None else value
    return isinstance(names, list) and all(
        isinstance(name, str) and name.strip() in {"", *columns} for name in names
    )


def _is_text_or_number(value: object) -> bool:
    """Whether a value is a text or a number, as a parameter of an address can be."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _are_values_valid(pairs: Pairs, schemas: Mapping[str, Any]) -> bool:
    """True if all names are known and all values are valid once the contract has corrected them (`_is_value_valid`)."""
    if not {name for name, _ in pairs} <= set(schemas):
        return False
    return all(
        _is_value_valid(name, [value.strip() for given, value in pairs if given == name], schema)
        for name, schema in schemas.items()
    )


def _is_value_valid(name: str, texts: Iterable[str], schema: Mapping[str, Any]) -> bool:
    """Whether the texts of a parameter are valid after the corrections of the contract.

    The contract ignores empty texts, puts codes of countries in capitals, and lowers numbers to their maximum.
    """
    if name in _LISTS:
        separator = _LISTS[name]
        words = [word.strip() for text in texts for word in text.split(separator)]
        corrected = [word.upper() if name == "pays" else word for word in words if word]
        return not corrected or _matches_schema(separator.join(corrected), schema)
    values = {text for text in texts if text}
    if not values:
        return True
    value = values.pop()
    if values:  # a repeated scalar must always have the same value (B5)
        return False
    if schema["type"] == "string":
        return _matches_schema(value.upper() if name == "iso" else value, schema)
    pattern = _INTEGER if schema["type"] == "integer" else _NUMBER
    if not pattern.fullmatch(value):
        return False
    return _matches_schema(min(float(value), schema.get("maximum", float("inf"))), schema)


def _matches_schema(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether a value matches a schema; a number that overflows to infinity counts as valid."""
    if isinstance(value, float) and value == float("inf"):
        return True
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return bool(Draft202012Validator(schema).is_valid(value))
