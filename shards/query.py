"""A search as a value, with validated parameters.

Countries are codes of `seeds/pays.csv`, sectors are NACE divisions, sub-sectors are NACE groups.
`serve/request/reader.py` builds a `Query` from a query string, and `generations/smoke_test.py` builds queries from
companies of a new generation. `tests/oracle.py` is a slow search for comparison.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

# The seven orders of `tri` (§4.4); the first is the default. shards/codec/sort_keys.py defines them.
ORDERS: Final = ("ca_desc", "ca_asc", "nom", "effectif_desc", "recent", "capital_desc", "score")

# The states of `etat` (extensions X1).
STATES: Final = ("active", "procedure", "cessee", "inconnu")

# The greatest offset + limit of any plan (§8.2 rules 1 and 2), in rows; no stored list of first rows is longer.
DEEPEST: Final = 1_000


class Range(NamedTuple):
    """Inclusive bounds on a column of `shards.search.columns.RANGED`; None means no bound.

    With a bound, null never passes (contract B22).
    """

    column: str
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One search. An empty `pays` or `secteurs` means all countries or sectors; None means that a filter is absent.

    A company passes a filter with several values if one of the values matches. An empty tuple is not a filter, except
    in `sous_secteurs` and `ids`.

    Attributes:
        sous_secteurs: NACE groups ("62.0"), already restricted to the chosen sectors (contract B10). An empty tuple
            is a filter that no company passes (B9), None is not a filter.
        ids: (country, identifier) of companies. An empty tuple is a filter that no company passes.
        etats: values of `STATES`; a null state counts as `inconnu`. Without a filter, dissolved companies match, too
            (B34).
        villes: towns, compared folded (contract B15); a town that folds to nothing matches no company.
        codes_postaux: prefixes of postcodes, compared in upper case without blanks.
        formes: legal forms, as in the data.
        nace: divisions, groups and classes, dotted ("56", "56.1", "56.10"): prefixes of `nace_code`.
        activites: NACE classes, dotted ("56.10"); a company must pass both this filter and `nace`.
        ranges: at most one for each column.
        avec_comptes: only companies with statements.
    """

    pays: tuple[str, ...] = ()
    secteurs: tuple[str, ...] = ()
    sous_secteurs: tuple[str, ...] | None = None
    q: str | None = None
    tri: str = "ca_desc"
    ranges: tuple[Range, ...] = ()
    site_web: bool = False
    avec_ca: bool = False
    ids: tuple[tuple[str, str], ...] | None = None
    etats: tuple[str, ...] = ()
    villes: tuple[str, ...] = ()
    codes_postaux: tuple[str, ...] = ()
    formes: tuple[str, ...] = ()
    nace: tuple[str, ...] = ()
    avec_comptes: bool = False
    activites: tuple[str, ...] = ()

    def range_of(self, column: str) -> Range:
        """The bounds on a column; an unbounded range if the query has none."""
        return next((range_ for range_ in self.ranges if range_.column == column), Range(column))
