"""How much is known of a company: the `score` of §2.1, an integer from 0 to 100, and a sort key.

Each field that is known adds its weight; the weights sum to 100. What every company has (country,
identifier, name) and what another field gives (labels of a code, the site's domain, the years of a
figure) weighs nothing. A 0 is known, a null is not.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

WEIGHTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        # who it is
        "forme": 4,
        "statut": 4,
        "date_creation": 6,
        "secteur": 10,
        "sous_secteur": 2,
        "description": 3,
        # where it is
        "adresse": 6,
        "ville": 5,
        "code_postal": 4,
        "region": 3,
        # how large it is
        "ca_eur": 14,
        "total_actif_last": 8,
        "effectif": 8,
        "tranche_effectif": 2,
        "capital_social": 5,
        "n_exercices": 4,
        # how to reach it
        "site_web": 5,
        "email": 3,
        "telephone": 3,
        "url_registre": 1,
    }
)


def attach_score(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Add `score`."""
    known = [pl.col(name).is_not_null().cast(pl.Int64) * weight for name, weight in WEIGHTS.items()]
    return companies.with_columns(pl.sum_horizontal(*known).alias("score"))
