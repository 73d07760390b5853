"""Hypothesis strategies for queries, which companies of a small data set often match."""

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

short_texts = st.sampled_from(PIECES) | st.text("abcdefot ée.1290é", min_size=1, max_size=4)
short_words = st.lists(
    st.sampled_from(("a", "b", "ab", "Ψ", "ё", "oe", "0")), min_size=2, max_size=4
)
_BEGINNINGS: Final = ("E", "ec1a", "75", "7", " ", "l v", "ⅷ", "ss1", "é")
_DAYS: Final = (
    10101, 19991231, 20231231, 20240101, 20240102, 20240131, 20240201, 20240202, 20240228, 20240229,
    20240301,
)  # fmt: skip


@st.composite
def queries(draw: st.DrawFn, dataset: Sequence[Company]) -> Query:
    """A query whose bounds and words come mostly from existing companies.

    At most four filters are drawn: a search with all filters finds nothing and proves little.
    """
    filter_names = draw(st.sets(st.sampled_from(sorted(FILTERS)), max_size=4))
    fields: dict[str, Any] = {"tri": draw(st.sampled_from(ORDERS))}
    ranges: tuple[Range, ...] = ()
    for name in sorted(filter_names):
        filter_fields = draw(FILTERS[name](dataset))
        ranges += filter_fields.pop("ranges", ())
        fields |= filter_fields
    return Query(**fields, ranges=ranges)


def _values(
    name: str, values: Sequence[Any], most: int = 3
) -> Callable[[Sequence[Company]], Fields]:
    """A strategy for the filter `name` of a query, with at most `most` of these values.

    Returns a function, because other strategies need the companies, which this one ignores.
    """
    choices = st.lists(st.sampled_from(values), max_size=most).map(tuple)
    return lambda _: st.fixed_dictionaries({name: choices})


def _flag(name: str) -> Callable[[Sequence[Company]], Fields]:
    """A filter that is true."""
    return lambda _: st.just({name: True})


def _bounds(column: str) -> Callable[[Sequence[Company]], Fields]:
    """One or two bounds: each is the value of a company, or that value plus 1."""
    return lambda dataset: _range([c[column] for c in dataset if c[column] is not None], column)


@st.composite
def _range(draw: st.DrawFn, values: Sequence[Any], column: str) -> dict[str, Any]:
    """A range of `column` with a lower bound, an upper bound or both; each is one of `values`, or 1 more."""
    existing = sorted(set(values)) or [0]
    bound = st.sampled_from(existing) | st.sampled_from(existing).map(lambda value: value + 1)
    low, high = sorted((draw(bound), draw(bound)))
    sides = draw(st.sampled_from(("min", "max", "both")))
    least, most = (low if sides != "max" else None), (high if sides != "min" else None)
    return {"ranges": (Range(column, least, most),)}


@st.composite
def words(draw: st.DrawFn, dataset: Sequence[Company]) -> dict[str, Any]:
    """The filter `q` of a query: a part of a present or former name, or of an identifier, or any short text."""
    text_kind = draw(st.integers(0, 3))  # 0: any text, 1: of an identifier, 2 and 3: of a name
    if not dataset or not text_kind:
        return {"q": draw(short_texts | short_words.map(" ".join))}
    company = draw(st.sampled_from(dataset))
    names = [company["nom"], *(company["noms_anterieurs"] or ())]
    text: str = company["id"] if text_kind == 1 else draw(st.sampled_from(names))
    start = draw(st.integers(0, len(text) - 1))
    return {"q": text[start : start + draw(st.integers(1, 30))]}


def _ids(dataset: Sequence[Company]) -> Fields:
    """Keys of companies, and keys without a company: an identifier with a dot added, an unknown country."""
    existing = [(c["iso2"], c["id"]) for c in dataset]
    absent = [(iso2, identifier + ".") for iso2, identifier in existing] + [
        ("XX", "1"),
        ("EE", "1"),
    ]
    ids = st.lists(st.sampled_from(existing + absent), max_size=8).map(tuple)
    return st.fixed_dictionaries({"ids": ids})


FILTERS: Final[Mapping[str, Callable[[Sequence[Company]], Fields]]] = {
    "pays": _values("pays", COUNTRIES),
    "secteurs": _values("secteurs", sorted(GROUPS)),
    "sous_secteurs": _values("sous_secteurs", sorted(LABELS)),
    "q": words,
    "site_web": _flag("site_web"),
    "avec_ca": _flag("avec_ca"),
    "ids": _ids,
    "etats": _values("etats", STATES),
    "villes": _values("villes", (*TOWNS, "orleans", "Paris", " ")),
    "codes_postaux": _values("codes_postaux", (*POSTCODES, *_BEGINNINGS)),
    "formes": _values("formes", (*FORMS, "GmbH")),
    "nace": _values("nace", (*ACTIVITIES, "47", "84", "01.11", "99")),
    "avec_comptes": _flag("avec_comptes"),
    "activites": _values("activites", ("62.01", "62.02", "47.11", "84.11", "01.11")),
    **{column: _bounds(column) for column in RANGED if column != "creation"},
    "creation": lambda _: _range(_DAYS, "creation"),
}
