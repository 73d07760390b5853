"""The parser of parameters: from names and values to a Query, or to an error of contract B.

The kind of a parameter (`serve/contract/parameters.py`) selects the reader of its values (`values`). Query strings,
JSON bodies and the arguments of tools are read in the same way. Later code does not check parameters again.

If a request has several errors, the first of these is raised: all unknown names together (B6); then invalid values, in
the order of the declaration. Unknown countries, sectors and sub-sectors are reported together (B4), with the error code
of the first kind that has unknown words. An empty value counts as absent, and values are trimmed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from serve.contract import errors, parameters
from serve.contract.errors import ApiError
from serve.contract.parameters import (
    COLONNES,
    COMPTES,
    DEFAULT_LIMIT,
    FORMAT,
    PAYS,
    SECTEUR,
    SOUS_SECTEUR,
    Parameter,
)
from serve.request import values
from serve.request.place_names import PlaceNames, place_conditions, suggestions
from serve.request.values import FileOptions, RequestedCompany, SentTexts
from shards.query import Query, Range

Pairs = Sequence[tuple[str, str]]  # the names and values of parameters, as sent

# The most parameters of a call. Each of a thousand companies may be a parameter (B5).
MOST_PAIRS: Final = 2_048

# The columns that are conditions on companies.
_CONDITIONS: Final = frozenset(field.name for field in fields(Query))
_EVERYTHING: Final = Query()  # without conditions: all companies
# The parameters that are read together, in the order of `place_names.place_conditions`.
_PLACE_PARAMETERS: Final = (PAYS, SECTEUR, SOUS_SECTEUR)
# The parameters that become the options of a file.
_FILE_PARAMETERS: Final = (FORMAT, COLONNES, COMPTES)


def query_pairs(raw: str, most: int = MOST_PAIRS) -> Pairs:
    """The names and values of a raw query string, including blank values.

    Raises:
        ApiError: 400 `parametre_invalide`: the text is not UTF-8, or has more than `most` parameters.
    """
    if (count := raw.count("&") + 1) > most:
        raise errors.invalid_parameter(
            errors.QUERY_STRING, "trop_de_parametres", count=count, most=most
        )
    try:
        raw.encode()  # bytes that were not UTF-8 arrive as lone surrogates
        if "%" in raw or "+" in raw:
            return tuple(parse_qsl(raw, keep_blank_values=True, errors="strict"))
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        # The message has the invalid bytes alone: the text around them may contain a key (A5).
        invalid_part = error.object[error.start : error.end]
        shown = quote(
            invalid_part
            if isinstance(invalid_part, bytes)
            else invalid_part.encode("utf-8", "surrogateescape")
        )
        raise errors.invalid_parameter(
            errors.QUERY_STRING, "pas_de_l_utf8_encode", shown=shown
        ) from error
    # The same result for a text without encoded characters, in a fifth of the time.
    parts = (part.partition("=") for part in raw.split("&") if part)
    return tuple((name, value) for name, _, value in parts)


@dataclass(frozen=True, slots=True)
class ParsedParameters:
    """The parameters of a call, before the limits of the plan; a field without a parameter has its default.

    Attributes:
        query: the query; its `ids` are `companies`, which have not been looked up yet.
        companies: the items of `ids`; None if it is absent (serve/generation/company_ids.py looks them up).
        version: the generation to answer from; None for the current generation.
        limit: the most companies of a result page, in 1..1000.
        lines: the most companies of a file; None for the limit of the plan.
        own: the values of all other parameters, by column; a parameter that was not sent has its default.
    """

    query: Query = _EVERYTHING
    companies: tuple[RequestedCompany, ...] | None = None
    version: str | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    lines: int | None = None
    lang: str = "fr"
    file: FileOptions = values.WORKBOOK
    own: tuple[tuple[str, Any], ...] = ()

    def value(self, parameter: Parameter) -> Any:
        """The value of a parameter in `own`."""
        return dict(self.own)[parameter.column or parameter.name]


# The columns with a field of their own in `ParsedParameters`.
_FIELDS: Final = frozenset(field.name for field in fields(ParsedParameters))


def read(
    given: Pairs,
    declared: tuple[Parameter, ...],
    names: PlaceNames,
    accepted: str | None = None,
) -> ParsedParameters:
    """Read the parameters of a call.

    Args:
        given: the sent names and texts.
        declared: the parameters that the call may have.
        accepted: the header Accept; it selects the format of a file if `format` is absent.

    Raises:
        ApiError: 400, in the order that the module describes; 406 `format_non_acceptable`.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        texts.setdefault(name, []).append(text.strip())
    if not texts.keys() <= _declared_names(declared):
        check_names(given, parameters.names(declared))
    conditions: dict[str, Any] = {}
    bounds: dict[str, Range] = {}
    other_values: dict[str, Any] = {}
    always_read = _always_read(declared)
    for parameter in declared:
        if parameter.name not in texts and parameter not in always_read:
            continue
        column = parameter.column or parameter.name
        if parameter.kind == "place":
            if "pays" not in conditions:
                words = (
                    values.items(texts.get(place.name, ()), place) for place in _PLACE_PARAMETERS
                )
                conditions |= place_conditions(names, *words)
            if parameter.required and not conditions["secteurs"]:
                raise ApiError("secteur_requis", secteurs_inconnus=[])
        elif (sent_texts := texts.get(parameter.name)) and (
            value := values.READERS[parameter.kind](sent_texts, parameter, names)
        ) is not None:
            if parameter.bound:
                previous_range = bounds.get(column, Range(column))
                bounds[column] = previous_range._replace(**{parameter.bound: value})
                _check_bounds(bounds[column], declared, texts)
            else:
                (conditions if column in _CONDITIONS else other_values)[column] = value
        elif parameter.required:
            raise values.missing_value(parameter)
    if "companies" in other_values:
        conditions["ids"] = tuple(
            (company.iso2, company.identifier) for company in other_values["companies"]
        )
    if FORMAT in declared:
        file_format, columns, statements = (
            other_values.pop(parameter.name, None) for parameter in (FORMAT, COLONNES, COMPTES)
        )
        other_values["file"] = values.chosen_options(file_format, columns, statements, accepted)
    own_values = tuple(
        (name, other_values.pop(name, value)) for name, value in _own_defaults(declared)
    )
    return ParsedParameters(
        Query(**conditions, ranges=tuple(bounds.values())), **other_values, own=own_values
    )


@cache
def _own_defaults(declared: tuple[Parameter, ...]) -> tuple[tuple[str, Any], ...]:
    """The columns of declared parameters without a field in `ParsedParameters` or `Query`, with their defaults."""
    columns = {parameter.column or parameter.name: parameter for parameter in declared}
    return tuple(
        (name, parameter.default)
        for name, parameter in columns.items()
        if name not in _FIELDS | _CONDITIONS
        and not parameter.bound
        and parameter not in _FILE_PARAMETERS
    )


@cache
def _declared_names(declared: tuple[Parameter, ...]) -> frozenset[str]:
    """The names of the declared parameters."""
    return frozenset(parameters.names(declared))


@cache
def _always_read(declared: tuple[Parameter, ...]) -> frozenset[Parameter]:
    """The parameters to read even if they are absent: required ones, and the first place parameter for all places."""
    place_parameters = [parameter for parameter in declared if parameter.kind == "place"]
    return frozenset(
        [*place_parameters[:1], *(parameter for parameter in declared if parameter.required)]
    )


def check_names(given: Pairs, allowed: Sequence[str]) -> None:
    """Refuse names that are not `allowed`, all in one error (B6). Raises ApiError 400 `parametre_inconnu`."""
    if unknown := [name for name in dict(given) if name not in allowed]:
        similar = suggestions(unknown, parameters.spellings(tuple(allowed)))
        raise errors.unknown_parameters(unknown, allowed, similar)


def refuse_parameters(given: Pairs) -> None:
    """Refuse every parameter, for a route that has none. Raises ApiError 400."""
    check_names(given, ())


def _check_bounds(
    wanted: Range, declared: Sequence[Parameter], texts: Mapping[str, SentTexts]
) -> None:
    """Raise the 400 of a lower bound above the upper one; it names the parameters among `declared` that were sent."""
    if wanted.least is None or wanted.most is None or wanted.least <= wanted.most:
        return
    names = {
        parameter.bound: parameter.name
        for parameter in declared
        if parameter.column == wanted.column and texts.get(parameter.name)
    }
    least_name, most_name = names["least"], names["most"]
    shown, above = texts[least_name][0][:100], f"{most_name} ({texts[most_name][0][:100]})"
    raise errors.invalid_parameter(least_name, "bornes_inversees", shown=shown, above=above)
