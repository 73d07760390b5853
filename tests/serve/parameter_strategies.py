"""Hypothesis strategies for parameter values, by the kinds that `serve/contract/parameters.py` declares.

Most values come from companies of the test data, so that a search has results. A new parameter needs no code here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from serve.contract import parameters
from serve.contract.parameters import Parameter, ParameterKind
from tests.serve.world import COMPANIES, IT, RETAIL

TextStrategy = st.SearchStrategy[str]

_DAYS: Final = ("2014-04", "2014-05", "1864", "2019-11-29", "9999")
_TOWNS: Final = ("orleans", "ST ETIENNE", "saint etienne", "łodz road", "Orl", "!?")
_POSTCODES: Final = ("45", "45 1", "SW1", "sw 1a", "1", "9", "-")
_ACTIVITIES: Final = ("62", "620", "47.9", "64", "01", "56.10")
_ACTIVITY_WORDS: Final = ("boulangerie", "Bakeries", "law firm", "commerce", "steel")
_NAME_PARTS: Final = ("o", "a", "OÜ", "société", "ltd")
_PLACES: Final = {"pays": ("FR", "UK", "EE", "AT", "DE"), "secteur": (IT, RETAIL)}
_IDENTIFIERS: Final = [f"{company['iso2']}:{company['id']}" for company in COMPANIES[:16]]


def _column_values(field: str) -> list[str]:
    """The values of a field in the companies of the test data."""
    return sorted({str(company[field]) for company in COMPANIES if company[field] is not None})


def _joined_values(parameter: Parameter, values: Sequence[str]) -> TextStrategy:
    """One to three of the values, joined by the separator of the parameter."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=3).map(parameter.separator.join)


def _joined_values_of(
    values: Sequence[str], field: str = ""
) -> Callable[[Parameter], TextStrategy]:
    """A strategy for one to three of these values, or of those in the field of a company."""
    return lambda parameter: _joined_values(
        parameter, [*values, *(_column_values(field) if field else ())]
    )


def _bound_values(*extremes: str) -> Callable[[Parameter], TextStrategy]:
    """The function that makes, for a parameter with a bound, the strategy of its values.

    A value is a figure of a company, so that the bound meets it, the next larger integer, or one of `extremes`.
    """
    return lambda parameter: st.sampled_from(
        [
            text
            for figure in _column_values(parameter.column)
            for text in (figure, str(int(float(figure)) + 1))
        ]
        + list(extremes)
    )


def _day_values(_: Parameter) -> TextStrategy:
    """Dates of companies, and other days, months and years."""
    return st.sampled_from([*_column_values("date_creation"), *_DAYS])


_BY_KIND: Final[Mapping[ParameterKind, Callable[[Parameter], TextStrategy]]] = {
    "text": _joined_values_of(_NAME_PARTS),
    "choice": lambda parameter: st.sampled_from(parameter.enum),
    "flag": lambda _: st.just("1"),
    "integer": _bound_values("0", "1000000"),
    "number": _bound_values("-1e300", "0.01", "1e300"),
    "first day": _day_values,
    "last day": _day_values,
    "choices": lambda parameter: _joined_values(parameter, parameter.enum),
    "texts": _joined_values_of(_TOWNS, "ville"),
    "postcodes": _joined_values_of(_POSTCODES, "code_postal"),
    "companies": _joined_values_of((*_IDENTIFIERS, "FR:absente", "AT:1")),
    "forms": _joined_values_of((), "forme"),
    "activities": _joined_values_of(_ACTIVITIES),
    "activity words": lambda _: st.sampled_from(_ACTIVITY_WORDS),
}


def values(parameter: Parameter) -> TextStrategy:
    """The values of a parameter, as a query string has them."""
    if places := _PLACES.get(parameter.name):
        return _joined_values(parameter, places)
    return _BY_KIND[parameter.kind](parameter)


# A sub-sector needs its sector (contract B7), so it has its own tests.
FILTERS: Final = {
    parameter.name: parameter
    for parameter in (*parameters.SCOPE, parameters.TRI, *parameters.FILTERS)
    if parameter is not parameters.SOUS_SECTEUR
}


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one to four filters, because more would rarely match a company.

    A lower bound is dropped if its upper bound is drawn too: a lower bound above the upper one is an error.
    """
    names = draw(st.sets(st.sampled_from(sorted(FILTERS)), min_size=1, max_size=4))
    query = {name: draw(values(FILTERS[name])) for name in sorted(names)}
    for name in sorted(names):
        if FILTERS[name].bound == "least":
            upper = next(
                parameter.name
                for parameter in FILTERS.values()
                if (parameter.column, parameter.bound) == (FILTERS[name].column, "most")
            )
            if upper in query:
                del query[name]
    return query
