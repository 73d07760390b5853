"""Hypothesis strategies for the values of parameters, by kind, as `serve/contract/parameters.py` declares them.

Values are mostly those of companies that exist, so that a search finds some; a parameter that is declared is drawn
without a line here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from serve.contract import parameters
from serve.contract.parameters import Kind, Parameter
from tests.serve.world import COMPANIES, IT, RETAIL

Texts = st.SearchStrategy[str]

_DAYS: Final = ("2014-04", "2014-05", "1864", "2019-11-29", "9999")
_TOWNS: Final = ("orleans", "ST ETIENNE", "saint etienne", "łodz road", "Orl", "!?")
_POSTCODES: Final = ("45", "45 1", "SW1", "sw 1a", "1", "9", "-")
_ACTIVITIES: Final = ("62", "620", "47.9", "64", "01", "56.10")
_ACTIVITY_WORDS: Final = ("boulangerie", "Bakeries", "law firm", "commerce", "steel")
_PARTS: Final = ("o", "a", "OÜ", "société", "ltd")
_PLACES: Final = {"pays": ("FR", "UK", "EE", "AT", "DE"), "secteur": (IT, RETAIL)}
_KNOWN: Final = [f"{one['iso2']}:{one['id']}" for one in COMPANIES[:16]]


def _values(field: str) -> list[str]:
    return sorted({str(one[field]) for one in COMPANIES if one[field] is not None})


def _several(parameter: Parameter, values: Sequence[str]) -> Texts:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3).map(parameter.separator.join)


def _several_of(values: Sequence[str], field: str = "") -> Callable[[Parameter], Texts]:
    return lambda one: _several(one, [*values, *(_values(field) if field else ())])


def _bound(*far: str) -> Callable[[Parameter], Texts]:
    """A figure of some company, one beside it, or one that is far from all."""
    return lambda one: st.sampled_from(
        [text for figure in _values(one.column) for text in (figure, str(int(float(figure)) + 1))]
        + list(far)
    )


def _day(one: Parameter) -> Texts:
    return st.sampled_from([*_values("date_creation"), *_DAYS])


_BY_KIND: Final[Mapping[Kind, Callable[[Parameter], Texts]]] = {
    "text": _several_of(_PARTS),
    "choice": lambda one: st.sampled_from(one.enum),
    "flag": lambda one: st.just("1"),
    "integer": _bound("0", "1000000"),
    "number": _bound("-1e300", "0.01", "1e300"),
    "first day": _day,
    "last day": _day,
    "choices": lambda one: _several(one, one.enum),
    "texts": _several_of(_TOWNS, "ville"),
    "postcodes": _several_of(_POSTCODES, "code_postal"),
    "companies": _several_of((*_KNOWN, "FR:absente", "AT:1")),
    "forms": _several_of((), "forme"),
    "activities": _several_of(_ACTIVITIES),
    "activity words": lambda one: st.sampled_from(_ACTIVITY_WORDS),
}


def values(parameter: Parameter) -> Texts:
    """The values of a parameter, as a query string has them."""
    if places := _PLACES.get(parameter.name):
        return _several(parameter, places)
    return _BY_KIND[parameter.kind](parameter)


# A sub-sector is nothing without its sector (contract B7); tests of its own ask for it.
FILTERS: Final = {
    one.name: one
    for one in (*parameters.SCOPE, parameters.TRI, *parameters.FILTERS)
    if one is not parameters.SOUS_SECTEUR
}


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    """One to four of the filters: more at once find nothing, and prove little. Of two bounds of a column one stays."""
    names = draw(st.sets(st.sampled_from(sorted(FILTERS)), min_size=1, max_size=4))
    found = {name: draw(values(FILTERS[name])) for name in sorted(names)}
    for name in sorted(names):
        if FILTERS[name].bound == "least":
            upper = next(
                one.name
                for one in FILTERS.values()
                if (one.column, one.bound) == (FILTERS[name].column, "most")
            )
            if upper in found:
                del found[name]
    return found
