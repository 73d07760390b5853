"""The arguments of a tool: their JSON Schema, and their translation into the parameters of a route.

Names, limits and descriptions are those of serve/contract/parameters.py, and the parsers of the routes
check the values. Only the types differ: a list is an array, a flag a boolean. The schemas do not list
the 84 sectors, which a model would read over and over; the error for a wrong one suggests the nearest.

Clients that write each argument as a text send an array or an object as JSON in it. `typed` reads such a
text by the schema, so a tool never sees it.
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

MOST_ROWS: Final = 50
_FEW_ROWS: Final = 10
_FLAG: Final = ("1",)

# The parameters that only the tools have.
ROWS: Final = replace(
    LIMIT, text="tool-limit", example=_FEW_ROWS, default=_FEW_ROWS, maximum=MOST_ROWS
)
# A company is read by the keys that a search shows.
COUNTRY: Final = replace(ISO, name="iso2", text="iso")


def _without_version(of_route: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """All but `version`, which pins a walk to a generation: for programs that copy the base, not for a model."""
    return tuple(one for one in of_route if one is not parameters.VERSION)


SEARCH: Final = tuple(ROWS if one is LIMIT else one for one in _without_version(parameters.SEARCH))
SCOPE: Final = tuple(one for one in SEARCH if one.name not in ("tri", "limit", "offset"))
# What search_companies and read_company describe, in the same list.
_DESCRIBED_ELSEWHERE: Final = (*SCOPE, COUNTRY, ID)


def operation_parameters(operation: Operation) -> tuple[Parameter, ...]:
    """The arguments of a tool that is an operation: the variables of its path and its parameters."""
    return (
        *(COUNTRY if one is ISO else one for one in operation.path_parameters),
        *_without_version(operation.parameters),
    )


def path_names(operation: Operation) -> tuple[str, ...]:
    """The names of the arguments that stand in the path of an operation."""
    return tuple(COUNTRY.name if name == ISO.name else name for name in operation.variables)


def schema(
    allowed: Sequence[Parameter], required: Sequence[str], *, brief: bool = False
) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the arguments of a tool.

    Args:
        brief: filters and keys of a company have few words or none: a model reads those of search_companies
            and read_company in the same list.
    """
    schema_object: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if allowed:
        schema_object["properties"] = {
            one.name: _without_description(one)
            if brief and one in _DESCRIBED_ELSEWHERE
            else _schema(one)
            for one in allowed
        }
    return schema_object | ({"required": list(required)} if required else {})


def pairs(
    given: Mapping[str, Any], allowed: tuple[Parameter, ...], required: Sequence[str]
) -> list[tuple[str, str]]:
    """The arguments as the parameters of a route; a null counts as absent.

    Raises:
        ApiError: 400: a name is unknown, a required one is missing (a sector as on its route,
            contract G4), or a value has the wrong type.
    """
    names = parameters.names(allowed)
    if unknown := [name[:100] for name in given if name not in names]:
        alike = suggestions(unknown, parameters.spellings(names))
        raise errors.unknown_parameters(unknown, names, alike)
    given = typed(given, _types(allowed))
    for name in required:
        if given.get(name) in (None, "", []):
            raise _missing_error(name, allowed)
    return [
        (one.name, text)
        for one in allowed
        if given.get(one.name) is not None
        for text in _texts(one, given[one.name])
    ]


@cache
def _types(allowed: tuple[Parameter, ...]) -> Mapping[str, Any]:
    return schema(allowed, ())


def typed(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the types that their schema `wanted` has, where the client sent JSON as a text.

    An array, an object, a boolean or a number may be a text; the text `null` is a null wherever any text
    cannot be sent. Other values stay as they are: the reader of the tool refuses them in its own words.

    >>> array = {"type": "array", "items": {"type": "string"}}
    >>> typed({"pays": '["FR", "UK"]', "q": "[1]"}, {"properties": {"pays": array, "q": {"type": "string"}}})
    {'pays': ['FR', 'UK'], 'q': '[1]'}

    Raises:
        ApiError: 400: a text begins as an array or an object, and is no JSON.
    """
    described = wanted.get("properties", {})
    return {name: _typed(name, value, described.get(name, {})) for name, value in given.items()}


def _typed(name: str, value: Any, wanted: Mapping[str, Any]) -> Any:
    kind = wanted.get("type")
    if value == _NULL and (kind in _READ_FROM_TEXT or "enum" in wanted or "pattern" in wanted):
        return None
    if isinstance(value, str) and kind in _READ_FROM_TEXT:
        value = _value_of_text(name, value, kind)
    if kind == "boolean" and type(value) in (int, float) and value in (0, 1):
        return bool(value)
    if kind == "array" and isinstance(value, list):
        return [_typed(name, item, wanted.get("items", {})) for item in value]
    if kind == "object" and isinstance(value, dict):
        return typed(value, wanted)
    return value


def _value_of_text(name: str, text: str, kind: str) -> Any:
    """The JSON value of that type which a text holds; the text itself if it holds none."""
    shown = text.strip()
    if kind == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(shown.lower(), text)
    if kind in ("integer", "number"):
        with suppress(NumberError):
            read = scalars.parse_integer if kind == "integer" else scalars.parse_decimal
            return read(shown)
        return text
    if not shown.startswith(_BRACKETS[kind]):
        return text
    try:
        return json_body.loads(shown.encode(), json_body.unique_members)
    except ValueError as error:
        why = json_body.why_unreadable(shown.encode(), error)
        raise errors.invalid_parameter(name, why) from error


# How the JSON of a type begins.
_BRACKETS: Final = {"array": "[", "object": "{"}
_NULL: Final = "null"
_READ_FROM_TEXT: Final = ("boolean", "integer", "number", *_BRACKETS)


def _missing_error(name: str, allowed: tuple[Parameter, ...]) -> ApiError:
    if name == SECTEUR.name:
        return ApiError("secteur_requis", secteurs_inconnus=[])
    return values.missing_value(next(one for one in allowed if one.name == name))


def clamp_limit(given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """`given` with a `limit` of at most MOST_ROWS, as the routes clamp theirs (B18)."""
    found = dict(given)
    text = found.get("limit") or str(_FEW_ROWS)
    with suppress(ValueError):  # the parser of the route reports it
        text = str(min(scalars.parse_integer(text.strip()), MOST_ROWS))
    return [*((name, value) for name, value in given if name != "limit"), ("limit", text)]


def _schema(parameter: Parameter) -> dict[str, Any]:
    described = {"description": _description(parameter)}
    if parameter.enum == _FLAG:
        return {"type": "boolean", **described}
    if parameter.separator:
        allowed = words()["pays"] if parameter.words == "pays" else parameter.enum
        items = {"type": "string"} | ({"enum": list(allowed)} if allowed else {})
        most = {"maxItems": parameter.most} if parameter.most else {}
        return {"type": "array", "items": items, **most, **described}
    return parameter.schema(words()) | described


def _without_description(parameter: Parameter) -> dict[str, Any]:
    """The type of a filter alone, or of a key of a company."""
    as_read = {} if parameter in SCOPE else {"description": "As for read_company."}
    items = {"items": {"type": "string"}} if parameter.separator else {}
    return {"type": _schema(parameter)["type"]} | as_read | items


def _description(parameter: Parameter) -> str:
    """The description in the words of the tools, without routes and separators of query strings."""
    text = parameter.description.en
    for words_of_routes, instead in _WORDS_OF_TOOLS.items():
        text = text.replace(words_of_routes, instead)
    return text


# A test checks that each of them is in some description, and that no route is left.
_WORDS_OF_TOOLS: Final = {
    " as codes separated by commas:": " as codes,",
    " The codes: `/api/v1/pays`.": "",
    " separated by `|`, each its exact French label or its slug": ", by slug or exact French label",
    " Labels and slugs: `/api/v1/secteurs`.": " The slugs: list_sectors.",
    " separated by `|`, each its exact French label as `/api/v1/sous-secteurs` gives it":
        ", by the French label that list_subsectors gives",
    ' `Link: rel="next"` leads to the next page.': "",
    "`1`: only": "true: only",
    " Several are separated by commas.": "",
    " Several are separated by `|`; `\\|` is a bar.": "",
    ", which is understood as in the path of a record": "",
    " (of a file: the header `X-Export-Ids-Inconnus`)": "",
    " (of a file: the header `X-Export-Activites`)": "",
    " If your account has matched all of them (`sur` or `probable`), a search shows all, whatever the plan.":
        " All are shown if match_companies found them.",
}  # fmt: skip


def _texts(parameter: Parameter, value: Any) -> Iterator[str]:
    if parameter.enum == _FLAG and isinstance(value, bool):
        yield from ["1"] if value else []
    elif parameter.separator and isinstance(value, list):
        json_body.require_company(parameter.name, value)
        for item in value:
            yield _text(parameter, item)
    elif parameter.kind == "object" and isinstance(value, dict):
        yield _filters(value)
    else:
        yield _text(parameter, value)


def _filters(given: Mapping[str, Any]) -> str:
    """The filters of a search as the JSON that the routes take (serve/features/changes/watch.py)."""
    found: dict[str, list[str]] = {}
    for name, text in pairs(given, SCOPE, ()):
        found.setdefault(name, []).append(text)
    return orjson.dumps(found).decode()


def _text(parameter: Parameter, value: Any) -> str:
    if parameter.kind != "object" and isinstance(value, str):
        return value
    if (
        parameter.kind != "object"
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        return str(value)
    if parameter.kind == "object":
        wanted = errors.text("objet")
    elif parameter.separator:
        wanted = errors.text("liste_de_chaines")
    else:
        wanted = errors.text("chaine_ou_nombre")
    raise errors.invalid_parameter(parameter.name, json_body.why_other_type(value, wanted))
