"""What a search asks, once its words have been understood.

A `Query` holds no text of the caller but `q`: countries are codes of `seeds/pays.csv`, sectors are
NACE divisions, sub-sectors NACE groups. `serve/request/params.py` makes one from a query string, the
build's gates make some at random, and `tests/oracle.py` answers the same value slowly.
"""

from dataclasses import dataclass
from typing import Final

# The seven orders of `tri` (§4.4); the default is the first. shards/codec/sort_keys.py says what each means.
ORDERS: Final = ("ca_desc", "ca_asc", "nom", "effectif_desc", "recent", "capital_desc", "score")

# offset + limit never passes the highest plan cap (§8.2 rules 1 and 2), so no order is kept longer.
DEEPEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Query:
    """One search. An empty `pays` or `secteurs` means all; None means that a filter is absent.

    `sous_secteurs` holds NACE groups ("62.0"), already restricted to those of the chosen sectors
    (contract B10): an empty tuple is a filter that nothing passes (B9), None is no filter.
    Bounds are inclusive, and a null passes none of them (B22).
    """

    pays: tuple[str, ...] = ()
    secteurs: tuple[str, ...] = ()
    sous_secteurs: tuple[str, ...] | None = None
    q: str | None = None
    tri: str = "ca_desc"
    ca_min: float | None = None
    ca_max: float | None = None
    effectif_min: int | None = None
    effectif_max: int | None = None
    site_web: bool = False
    avec_ca: bool = False
