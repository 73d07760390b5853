"""The one parser of parameters: names and values to a Query, or to one of the errors of contract B.

It knows kinds of values (`values`), not parameters: `serve/contract/parameters.py` says of which kind each one is. A
query string, a JSON body and the arguments of a tool are read alike. No code after it checks a parameter again.

If several things are wrong, the error is the first of these: unknown names, all in one (B6); then the values in the
order of the declaration. Unknown countries, sectors and sub-sectors are one step, reported together (B4) with the code
of the first kind. An empty value counts as an absent one, and values are trimmed.
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
from serve.request.place_names import PlaceNames, places, suggestions
from serve.request.values import AskedCompany, FileOptions, Texts
from shards.query import Query, Range

Pairs = Sequence[tuple[str, str]]

# Parameters of a call. Each of a thousand companies may be one (B5).
MOST_PAIRS: Final = 2_048

# What of a call is a condition on companies.
_CONDITIONS: Final = frozenset(one.name for one in fields(Query))
_EVERYTHING: Final = Query()
# The parameters that are read in one step, in the order of `place_names.places`.
_PLACES: Final = (PAYS, SECTEUR, SOUS_SECTEUR)
# Those that are put together: the options of a file, and the companies of `ids`.
_APART: Final = (FORMAT, COLONNES, COMPTES)


def query_pairs(raw: str, most: int = MOST_PAIRS) -> Pairs:
    """The names and values of a raw query string; a blank value is kept.

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
        # Only the bytes that are wrong: a key may be beside them (A5).
        wrong = error.object[error.start : error.end]
        shown = quote(
            wrong if isinstance(wrong, bytes) else wrong.encode("utf-8", "surrogateescape")
        )
        raise errors.invalid_parameter(
            errors.QUERY_STRING, "pas_de_l_utf8_encode", shown=shown
        ) from error
    # The same where nothing is encoded, at a fifth of the time.
    parts = (part.partition("=") for part in raw.split("&") if part)
    return tuple((name, value) for name, _, value in parts)


@dataclass(frozen=True, slots=True)
class ParsedParameters:
    """What a call asks for, before the plan limits it; what its operation does not take has its default.

    Attributes:
        query: its `ids` are those of `companies`, which nobody has looked up yet.
        companies: the items of `ids`, None if it is absent (serve/generation/company_ids.py looks them up).
        version: the generation that must answer, None for the current one.
        limit: companies of a page, in 1..1000; `lines`: of a file, None for as many as the plan allows.
        own: the values of all other parameters, by column; one that was not sent has its default.
    """

    query: Query = _EVERYTHING
    companies: tuple[AskedCompany, ...] | None = None
    version: str | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    lines: int | None = None
    lang: str = "fr"
    file: FileOptions = values.WORKBOOK
    own: tuple[tuple[str, Any], ...] = ()

    def value(self, parameter: Parameter) -> Any:
        """The value of a parameter that is among `own`."""
        return dict(self.own)[parameter.column or parameter.name]


# The columns that a call has a field for.
_FIELDS: Final = frozenset(one.name for one in fields(ParsedParameters))


def read(
    given: Pairs,
    declared: tuple[Parameter, ...],
    names: PlaceNames,
    accepted: str | None = None,
) -> ParsedParameters:
    """Read the parameters of a call.

    Args:
        declared: those that it may have.
        accepted: the header Accept, which decides on the format of a file where no parameter does.

    Raises:
        ApiError: 400, in the order that the module describes; 406 `format_non_acceptable`.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        texts.setdefault(name, []).append(text.strip())
    if not texts.keys() <= _names(declared):
        check_names(given, parameters.names(declared))
    conditions: dict[str, Any] = {}
    bounds: dict[str, Range] = {}
    others: dict[str, Any] = {}
    always = _always_read(declared)
    for parameter in declared:
        if parameter.name not in texts and parameter not in always:
            continue
        column = parameter.column or parameter.name
        if parameter.kind == "place":
            if "pays" not in conditions:
                words = (values.items(texts.get(place.name, ()), place) for place in _PLACES)
                conditions |= places(names, *words)
            if parameter.required and not conditions["secteurs"]:
                raise ApiError("secteur_requis", secteurs_inconnus=[])
        elif (sent := texts.get(parameter.name)) and (
            value := values.READERS[parameter.kind](sent, parameter, names)
        ) is not None:
            if parameter.bound:
                before = bounds.get(column, Range(column))
                bounds[column] = before._replace(**{parameter.bound: value})
                _check_bounds(bounds[column], declared, texts)
            else:
                (conditions if column in _CONDITIONS else others)[column] = value
        elif parameter.required:
            raise values.missing_value(parameter)
    if "companies" in others:
        conditions["ids"] = tuple(
            (company.iso2, company.identifier) for company in others["companies"]
        )
    if FORMAT in declared:
        wanted, columns, statements = (
            others.pop(parameter.name, None) for parameter in (FORMAT, COLONNES, COMPTES)
        )
        others["file"] = values.chosen_options(wanted, columns, statements, accepted)
    own = tuple((name, others.pop(name, value)) for name, value in _own_defaults(declared))
    return ParsedParameters(Query(**conditions, ranges=tuple(bounds.values())), **others, own=own)


@cache
def _own_defaults(declared: tuple[Parameter, ...]) -> tuple[tuple[str, Any], ...]:
    """The columns that no field of a call has, with the value of one that is not sent."""
    columns = {parameter.column or parameter.name: parameter for parameter in declared}
    return tuple(
        (name, parameter.default)
        for name, parameter in columns.items()
        if name not in _FIELDS | _CONDITIONS and not parameter.bound and parameter not in _APART
    )


@cache
def _names(declared: tuple[Parameter, ...]) -> frozenset[str]:
    return frozenset(parameters.names(declared))


@cache
def _always_read(declared: tuple[Parameter, ...]) -> frozenset[Parameter]:
    """The parameters to read even where they are not sent: required ones, and the first of places, for all of them."""
    of_places = [one for one in declared if one.kind == "place"]
    return frozenset([*of_places[:1], *(one for one in declared if one.required)])


def check_names(given: Pairs, allowed: Sequence[str]) -> None:
    """Refuse names that are not `allowed`, all in one error (B6). Raises ApiError 400 `parametre_inconnu`."""
    if unknown := [name for name in dict(given) if name not in allowed]:
        alike = suggestions(unknown, parameters.spellings(tuple(allowed)))
        raise errors.unknown_parameters(unknown, allowed, alike)


def refuse_parameters(given: Pairs) -> None:
    """Refuse every parameter, for a route that has none. Raises ApiError 400."""
    check_names(given, ())


def _check_bounds(wanted: Range, declared: Sequence[Parameter], texts: Mapping[str, Texts]) -> None:
    """Refuse a lower bound above the upper one."""
    if wanted.least is None or wanted.most is None or wanted.least <= wanted.most:
        return
    names = {
        one.bound: one.name
        for one in declared
        if one.column == wanted.column and texts.get(one.name)
    }
    least, most = names["least"], names["most"]
    shown, above = texts[least][0][:100], f"{most} ({texts[most][0][:100]})"
    raise errors.invalid_parameter(least, "bornes_inversees", shown=shown, above=above)
