"""The arguments of a tool: their JSON Schema, and their translation into the parameters of a route.

Names, limits and descriptions come from serve/contract/parameters.py, and the parsers of the routes check the values.
Only the types differ: a list is an array, a flag is a boolean. The schemas do not list the 84 sectors, because a model
reads the schemas in every conversation; the error for an unknown sector suggests the nearest ones.

Some clients send every argument as a text, and an array or object as JSON in a text. `coerce_arguments` converts these
texts by the schema.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Final

import orjson

from serve.contract import errors, parameters
from serve.contract.errors import ApiError
from serve.contract.feature import Operation
from serve.contract.parameters import ID, ISO, LIMIT, SECTEUR, Parameter, words
from serve.request import json_body, scalars, values
from serve.request.place_names import suggestions
from serve.request.scalars import NumberError

MOST_ROWS: Final = 50  # rows of a search, at most
_DEFAULT_ROWS: Final = 10  # rows of a search without a limit
_FLAG: Final = ("1",)  # the values of a flag in a query string

# Parameters that only tools have.
ROWS: Final = replace(
    LIMIT, text="tool-limit", example=_DEFAULT_ROWS, default=_DEFAULT_ROWS, maximum=MOST_ROWS
)
# The arguments of read_company have the names of the keys in a search result.
COUNTRY: Final = replace(ISO, name="iso2", text="iso")


def _drop_version(route_parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters without `version`, which only programs that page through all results need."""
    return tuple(parameter for parameter in route_parameters if parameter is not parameters.VERSION)


# The arguments of a search, and of its conditions on companies alone.
SEARCH: Final = tuple(
    ROWS if parameter is LIMIT else parameter for parameter in _drop_version(parameters.SEARCH)
)
SCOPE: Final = tuple(
    parameter for parameter in SEARCH if parameter.name not in ("tri", "limit", "offset")
)
# Parameters that other tools do not describe, because search_companies and read_company describe them.
_DESCRIBED_ELSEWHERE: Final = (*SCOPE, COUNTRY, ID)


def operation_parameters(operation: Operation) -> tuple[Parameter, ...]:
    """The arguments of a tool that is an operation: the variables of its path and its parameters."""
    return (
        *(COUNTRY if parameter is ISO else parameter for parameter in operation.path_parameters),
        *_drop_version(operation.parameters),
    )


def path_names(operation: Operation) -> tuple[str, ...]:
    """The names of the arguments that are variables of the path of an operation."""
    return tuple(COUNTRY.name if name == ISO.name else name for name in operation.variables)


def schema(
    allowed: Sequence[Parameter], required: Sequence[str], *, brief: bool = False
) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the arguments of a tool.

    Args:
        brief: leave out the descriptions of filters and of the keys of a company: a model reads them at
            search_companies and read_company.
    """
    schema_object: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if allowed:
        schema_object["properties"] = {
            parameter.name: _bare_schema(parameter)
            if brief and parameter in _DESCRIBED_ELSEWHERE
            else _described_schema(parameter)
            for parameter in allowed
        }
    return schema_object | ({"required": list(required)} if required else {})


def pairs(
    values_by_name: Mapping[str, Any], allowed: tuple[Parameter, ...], required: Sequence[str]
) -> list[tuple[str, str]]:
    """The arguments as the parameters of a route; a null counts as absent.

    Raises:
        ApiError: 400: an unknown name, a missing required argument (for a sector as on its route,
            contract G4), or a value of the wrong type.
    """
    names = parameters.names(allowed)
    if unknown := [name[:100] for name in values_by_name if name not in names]:
        similar = suggestions(unknown, parameters.spellings(names))
        raise errors.unknown_parameters(unknown, names, similar)
    values_by_name = coerce_arguments(values_by_name, _schema_to_read(allowed))
    for name in required:
        if values_by_name.get(name) in (None, "", []):
            raise _missing_error(name, allowed)
    return [
        (parameter.name, text)
        for parameter in allowed
        if values_by_name.get(parameter.name) is not None
        for text in _query_values(parameter, values_by_name[parameter.name])
    ]


@cache
def _schema_to_read(allowed: tuple[Parameter, ...]) -> Mapping[str, Any]:
    """The schema by which arguments are converted: with their types, without required names."""
    return schema(allowed, ())


def coerce_arguments(
    values_by_name: Mapping[str, Any], json_schema: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments with texts converted to the types of `json_schema`.

    An array, an object, a boolean or a number may be sent as a text. The text `null` is a null, except for
    arguments that take any text. Other values are unchanged; the reader of the tool refuses wrong types.

    >>> array = {"type": "array", "items": {"type": "string"}}
    >>> coerce_arguments({"pays": '["FR", "UK"]', "q": "[1]"}, {"properties": {"pays": array, "q": {"type": "string"}}})
    {'pays': ['FR', 'UK'], 'q': '[1]'}

    Raises:
        ApiError: 400: a text begins like an array or an object, but is not JSON.
    """
    described = json_schema.get("properties", {})
    return {
        name: _coerce(name, value, described.get(name, {}))
        for name, value in values_by_name.items()
    }


def _coerce(name: str, value: Any, json_schema: Mapping[str, Any]) -> Any:
    """The value of an argument, converted to the type of its schema if it is a text of this type."""
    kind = json_schema.get("type")
    if value == _NULL and (
        kind in _READ_FROM_TEXT or "enum" in json_schema or "pattern" in json_schema
    ):
        return None
    if isinstance(value, str) and kind in _READ_FROM_TEXT:
        value = _value_of_text(name, value, kind)
    # Some clients send 1 and 0 for true and false. bool is a kind of int, so `type` is compared.
    if kind == "boolean" and type(value) in (int, float) and value in (0, 1):
        return bool(value)
    if kind == "array" and isinstance(value, list):
        return [_coerce(name, item, json_schema.get("items", {})) for item in value]
    if kind == "object" and isinstance(value, dict):
        return coerce_arguments(value, json_schema)
    return value


def _value_of_text(name: str, text: str, kind: str) -> Any:
    """The value of type `kind` in a text, or the text itself if it does not contain such a value."""
    trimmed = text.strip()
    if kind == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(trimmed.lower(), text)
    if kind in ("integer", "number"):
        with suppress(NumberError):
            parse = scalars.parse_integer if kind == "integer" else scalars.parse_decimal
            return parse(trimmed)
        return text
    if not trimmed.startswith(_BRACKETS[kind]):
        return text
    try:
        return json_body.loads(trimmed.encode(), json_body.unique_members)
    except ValueError as error:
        why = json_body.why_unreadable(trimmed.encode(), error)
        raise errors.invalid_parameter(name, why) from error


# The first character of an array and of an object in JSON.
_BRACKETS: Final = {"array": "[", "object": "{"}
_NULL: Final = "null"
_READ_FROM_TEXT: Final = ("boolean", "integer", "number", *_BRACKETS)


def _missing_error(name: str, allowed: tuple[Parameter, ...]) -> ApiError:
    """The error for a required argument that is missing."""
    if name == SECTEUR.name:
        return ApiError("secteur_requis", secteurs_inconnus=[])
    return values.missing_value(next(parameter for parameter in allowed if parameter.name == name))


def clamp_limit(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters with a `limit`: the default of tools if absent, at most MOST_ROWS, as on the routes (B18)."""
    by_name = dict(pairs)
    text = by_name.get("limit") or str(_DEFAULT_ROWS)
    with suppress(ValueError):  # the parser of the route reports an invalid limit
        text = str(min(scalars.parse_integer(text.strip()), MOST_ROWS))
    return [*((name, value) for name, value in pairs if name != "limit"), ("limit", text)]


def _described_schema(parameter: Parameter) -> dict[str, Any]:
    """The schema of an argument with its description: flags are booleans, lists are arrays."""
    described = {"description": _description(parameter)}
    if parameter.enum == _FLAG:
        return {"type": "boolean", **described}
    if parameter.separator:
        choices = words()["pays"] if parameter.words == "pays" else parameter.enum
        items = {"type": "string"} | ({"enum": list(choices)} if choices else {})
        max_items = {"maxItems": parameter.most} if parameter.most else {}
        return {"type": "array", "items": items, **max_items, **described}
    return parameter.schema(words()) | described


def _bare_schema(parameter: Parameter) -> dict[str, Any]:
    """The schema of a filter, or of a key of a company, with its type but without its description."""
    reference = {} if parameter in SCOPE else {"description": "As for read_company."}
    items = {"items": {"type": "string"}} if parameter.separator else {}
    return {"type": _described_schema(parameter)["type"]} | reference | items


def _description(parameter: Parameter) -> str:
    """The description for tools: without routes and without separators of query strings."""
    text = parameter.description.en
    for words_of_routes, replacement in _WORDS_OF_TOOLS.items():
        text = text.replace(words_of_routes, replacement)
    return text


# Words about routes and query strings in descriptions, and the words for tools that replace them. A test checks that
# each text is in a description, and that no route is left.
_WORDS_OF_TOOLS: Final = {
    " as codes separated by commas:": " as codes,",
    " The codes: `/api/v1/pays`.": "",
    " separated by `|`, each its exact French label or its slug": ", by slug or exact French label",
    " Labels and slugs: `/api/v1/secteurs`.": " The slugs: list_sectors.",
    " separated by `|`, each its exact French label as `/api/v1/sous-secteurs` gives it":
        ", by the French label that list_subsectors gives",
    ' `Link: rel="next"` leads to the next page.': "",
    "`1`: only": "true: only",
    " Separate several values with commas.": "",
    " Separate several values with `|`; write `\\|` for a bar.": "",
    ", written as in the path of a record": "",
    " (for a file: in the header `X-Export-Ids-Inconnus`)": "",
    " (for a file: the header `X-Export-Activites`)": "",
    " If your account has matched all these companies (`sur` or `probable`), a search shows all of them for any plan.":
        " All are shown if match_companies found them.",
}  # fmt: skip


def _query_values(parameter: Parameter, value: Any) -> Iterator[str]:
    """The values of a query string for an argument: one, or one for each item of a list; none for a false flag."""
    if parameter.enum == _FLAG and isinstance(value, bool):
        yield from ["1"] if value else []
    elif parameter.separator and isinstance(value, list):
        json_body.refuse_empty_ids(parameter.name, value)
        for item in value:
            yield _query_value(parameter, item)
    elif parameter.kind == "object" and isinstance(value, dict):
        yield _filters_as_json(value)
    else:
        yield _query_value(parameter, value)


def _filters_as_json(filters: Mapping[str, Any]) -> str:
    """The filters of a search as the JSON that a route takes (serve/features/changes/watch.py)."""
    texts_by_name: dict[str, list[str]] = {}
    for name, text in pairs(filters, SCOPE, ()):
        texts_by_name.setdefault(name, []).append(text)
    return orjson.dumps(texts_by_name).decode()


def _query_value(parameter: Parameter, value: Any) -> str:
    """A text or a number as a value of a query string. Raises ApiError 400: the value has another type."""
    if parameter.kind != "object" and isinstance(value, str):
        return value
    if (
        parameter.kind != "object"
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        return str(value)
    if parameter.kind == "object":
        expected = errors.text("objet")
    elif parameter.separator:
        expected = errors.text("liste_de_chaines")
    else:
        expected = errors.text("chaine_ou_nombre")
    raise errors.invalid_parameter(parameter.name, json_body.why_other_type(value, expected))
