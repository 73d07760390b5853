"""A search as a value, after its parameters were validated.

The only texts of the caller in a `Query` are `q`, `villes` and `codes_postaux`: countries are codes of
`seeds/pays.csv`, sectors are NACE divisions, sub-sectors are NACE groups. `serve/request/reader.py` makes a `Query`
from a query string, `generations/smoke_test.py` makes some from companies of a new generation, and `tests/oracle.py`
answers them slowly.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

# The seven orders of `tri` (§4.4); the first is the default. shards/codec/sort_keys.py defines them.
ORDERS: Final = ("ca_desc", "ca_asc", "nom", "effectif_desc", "recent", "capital_desc", "score")

# The states of `etat` (extensions X1).
STATES: Final = ("active", "procedure", "cessee", "inconnu")

# offset + limit never exceeds the highest cap of a plan (§8.2 rules 1 and 2), so no stored list is longer.
DEEPEST: Final = 1_000


class Range(NamedTuple):
    """Inclusive bounds on a column (`shards.search.columns.RANGED`); None is no bound.

    A null passes none (contract B22).
    """

    column: str
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One search. An empty `pays` or `secteurs` means all; None means that a filter is absent.

    A company passes one of several values if it passes any of them; an empty tuple is no filter, except `ids`.

    Attributes:
        sous_secteurs: NACE groups ("62.0"), already restricted to the chosen sectors (contract B10). An empty tuple
            is a filter that no company passes (B9), None is no filter.
        ids: (country, identifier) of known companies. An empty tuple is a filter that no company passes.
        etats: of `shards.query.STATES`; a null state counts as `inconnu`. No filter: dissolved companies, too (B34).
        villes: towns, compared folded (contract B15); one that folds to nothing is in no town.
        codes_postaux: beginnings of postcodes, compared in upper case without blanks.
        formes: legal forms, as the data write them.
        nace: divisions, groups and classes, dotted ("56", "56.1", "56.10"), by the beginning of `nace_code`.
        activites: classes of NACE, dotted ("56.10"); with `nace`, a company passes both.
        ranges: at most one a column.
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
        """The bounds on a column, without any where the query has none."""
        return next((one for one in self.ranges if one.column == column), Range(column))
