"""Hypothesis strategies for queries that companies of a small world match."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from shards.query import ORDERS, STATES, Query, Range
from shards.search.columns import RANGED
from tests.world import (
    ACTIVITIES,
    COUNTRIES,
    FORMS,
    GROUPS,
    LABELS,
    PIECES,
    POSTCODES,
    TOWNS,
    Company,
)

Fields = st.SearchStrategy[dict[str, Any]]

parts = st.sampled_from(PIECES) | st.text("abcdefot ée.1290é", min_size=1, max_size=4)
blanks = st.lists(st.sampled_from(("a", "b", "ab", "Ψ", "ё", "oe", "0")), min_size=2, max_size=4)
_BEGINNINGS: Final = ("E", "ec1a", "75", "7", " ", "l v", "ⅷ", "ss1", "é")
_DAYS: Final = (
    10101, 19991231, 20231231, 20240101, 20240102, 20240131, 20240201, 20240202, 20240228, 20240229,
    20240301,
)  # fmt: skip


@st.composite
def queries(draw: st.DrawFn, found: Sequence[Company]) -> Query:
    """A query whose bounds and words are mostly those of companies that exist.

    Few filters are drawn at a time: a search with all of them at once finds nothing, and proves little.
    """
    chosen = draw(st.sets(st.sampled_from(sorted(FILTERS)), max_size=4))
    fields: dict[str, Any] = {"tri": draw(st.sampled_from(ORDERS))}
    ranges: tuple[Range, ...] = ()
    for name in sorted(chosen):
        drawn = draw(FILTERS[name](found))
        ranges += drawn.pop("ranges", ())
        fields |= drawn
    return Query(**fields, ranges=ranges)


def _some(name: str, values: Sequence[Any], most: int = 3) -> Callable[[Sequence[Company]], Fields]:
    """A filter by some of these values, or by none of them."""
    drawn = st.lists(st.sampled_from(values), max_size=most).map(tuple)
    return lambda _: st.fixed_dictionaries({name: drawn})


def _flag(name: str) -> Callable[[Sequence[Company]], Fields]:
    return lambda _: st.just({name: True})


def _within(column: str) -> Callable[[Sequence[Company]], Fields]:
    """One or two bounds, each a value that some company has, or next to one."""
    return lambda found: _range([c[column] for c in found if c[column] is not None], column)


@st.composite
def _range(draw: st.DrawFn, values: Sequence[Any], column: str) -> dict[str, Any]:
    known = sorted(set(values)) or [0]
    bound = st.sampled_from(known) | st.sampled_from(known).map(lambda value: value + 1)
    low, high = sorted((draw(bound), draw(bound)))
    sides = draw(st.sampled_from(("min", "max", "both")))
    least, most = (low if sides != "max" else None), (high if sides != "min" else None)
    return {"ranges": (Range(column, least, most),)}


@st.composite
def words(draw: st.DrawFn, found: Sequence[Company]) -> dict[str, Any]:
    """A part of a name, present or former, or of an identifier, or any text."""
    existing = draw(st.integers(0, 3))
    if not found or not existing:
        return {"q": draw(parts | blanks.map(" ".join))}
    company = draw(st.sampled_from(found))
    names = [company["nom"], *(company["noms_anterieurs"] or ())]
    text: str = company["id"] if existing == 1 else draw(st.sampled_from(names))
    start = draw(st.integers(0, len(text) - 1))
    return {"q": text[start : start + draw(st.integers(1, 30))]}


def _ids(found: Sequence[Company]) -> Fields:
    """Companies that exist, and some that do not: of their identifier in another spelling, or of no country."""
    known = [(c["iso2"], c["id"]) for c in found]
    unknown = [(iso2, identifier + ".") for iso2, identifier in known] + [("XX", "1"), ("EE", "1")]
    ids = st.lists(st.sampled_from(known + unknown), max_size=8).map(tuple)
    return st.fixed_dictionaries({"ids": ids})


FILTERS: Final[Mapping[str, Callable[[Sequence[Company]], Fields]]] = {
    "pays": _some("pays", COUNTRIES),
    "secteurs": _some("secteurs", sorted(GROUPS)),
    "sous_secteurs": _some("sous_secteurs", sorted(LABELS)),
    "q": words,
    "site_web": _flag("site_web"),
    "avec_ca": _flag("avec_ca"),
    "ids": _ids,
    "etats": _some("etats", STATES),
    "villes": _some("villes", (*TOWNS, "orleans", "Paris", " ")),
    "codes_postaux": _some("codes_postaux", (*POSTCODES, *_BEGINNINGS)),
    "formes": _some("formes", (*FORMS, "GmbH")),
    "nace": _some("nace", (*ACTIVITIES, "47", "84", "01.11", "99")),
    "avec_comptes": _flag("avec_comptes"),
    "activites": _some("activites", ("62.01", "62.02", "47.11", "84.11", "01.11")),
    **{column: _within(column) for column in RANGED if column != "creation"},
    "creation": lambda _: _range(_DAYS, "creation"),
}
