"""A search as a value, after its parameters were validated.

The only text of the caller in a `Query` is `q`: countries are codes of `seeds/pays.csv`, sectors are NACE divisions,
sub-sectors are NACE groups. `serve/request/params.py` makes a `Query` from a query string, `publish/smoke_test.py`
makes some from companies of a new generation, and `tests/oracle.py` answers them slowly.
"""

from dataclasses import dataclass
from typing import Final

# The seven orders of `tri` (§4.4); the first is the default. shards/codec/sort_keys.py defines them.
ORDERS: Final = ("ca_desc", "ca_asc", "nom", "effectif_desc", "recent", "capital_desc", "score")

# offset + limit never exceeds the highest cap of a plan (§8.2 rules 1 and 2), so no stored list is longer.
DEEPEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Query:
    """One search. An empty `pays` or `secteurs` means all; None means that a filter is absent.

    Bounds are inclusive, and a null passes none of them (contract B22).

    Attributes:
        sous_secteurs: NACE groups ("62.0"), already restricted to the chosen sectors (contract B10). An empty tuple
            is a filter that no company passes (B9), None is no filter.
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
