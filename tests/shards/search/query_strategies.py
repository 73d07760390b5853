"""Hypothesis strategies for queries that companies of a small world match."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from shards.query import ORDERS, Query
from tests.world import COUNTRIES, GROUPS, LABELS, PIECES, Company, companies

parts = st.sampled_from(PIECES) | st.text("abcdefot ée.1290é", min_size=1, max_size=4)
blanks = st.lists(st.sampled_from(("a", "b", "ab", "Ψ", "ё", "oe", "0")), min_size=2, max_size=4)

# Each drawn alone or with one or two others: a search with all of them at once finds nothing, and
# proves little.
FILTERS = ("pays", "secteurs", "sous_secteurs", "q", "ca", "effectif", "site_web", "avec_ca")


# The filters without countries and `q`.
BOUNDS = ("secteurs", "sous_secteurs", "ca", "effectif", "site_web", "avec_ca")


@st.composite
def queries(
    draw: st.DrawFn, found: Sequence[Company], filters: Sequence[str] = FILTERS, least: int = 0
) -> Query:
    """A query whose bounds and words are mostly those of companies that exist."""
    chosen = draw(st.sets(st.sampled_from(filters), min_size=least, max_size=3))
    fields: dict[str, Any] = {"tri": draw(st.sampled_from(ORDERS))}
    if "pays" in chosen:
        fields["pays"] = tuple(draw(st.lists(st.sampled_from(COUNTRIES), max_size=3)))
    if "secteurs" in chosen:
        fields["secteurs"] = tuple(draw(st.sets(st.sampled_from(sorted(GROUPS)))))
    if "sous_secteurs" in chosen:
        fields["sous_secteurs"] = tuple(draw(st.sets(st.sampled_from(sorted(LABELS)))))
    if "q" in chosen:
        fields["q"] = draw(_words(found))
    if "ca" in chosen:
        fields |= draw(_range(found, "ca_eur", "ca"))
    if "effectif" in chosen:
        fields |= draw(_range(found, "effectif", "effectif"))
    return Query(**fields, site_web="site_web" in chosen, avec_ca="avec_ca" in chosen)


@st.composite
def _words(draw: st.DrawFn, found: Sequence[Company]) -> str:
    """A part of a name, present or former, or of an identifier, or any text."""
    existing = draw(st.integers(0, 3))
    if not found or not existing:
        return draw(parts | blanks.map(" ".join))
    company = draw(st.sampled_from(found))
    names = [company["nom"], *(company["noms_anterieurs"] or ())]
    text: str = company["id"] if existing == 1 else draw(st.sampled_from(names))
    start = draw(st.integers(0, len(text) - 1))
    return text[start : start + draw(st.integers(1, 30))]


@st.composite
def _range(draw: st.DrawFn, found: Sequence[Company], field: str, name: str) -> dict[str, Any]:
    """One or two bounds, each a value that some company has, or next to one."""
    values = sorted({c[field] for c in found if c[field] is not None}) or [0]
    bound = st.sampled_from(values) | st.sampled_from(values).map(lambda value: value + 1)
    low, high = sorted((draw(bound), draw(bound)))
    sides = draw(st.sampled_from(("min", "max", "both")))
    least = {f"{name}_min": low} if sides != "max" else {}
    return least | ({f"{name}_max": high} if sides != "min" else {})


def bounded_cases() -> st.SearchStrategy[tuple[list[Company], Query]]:
    """Companies of one country, and a query with at least one filter, but no `q`."""
    return (
        companies()
        .map(lambda found: list({one["id"]: {**one, "iso2": "EE"} for one in found}.values()))
        .flatmap(lambda found: st.tuples(st.just(found), queries(found, BOUNDS, 1)))
    )
