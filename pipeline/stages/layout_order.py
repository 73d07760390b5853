"""Layout order: the order of the companies of a country in its shard.

The searched and sorted columns of all companies of a country are in memory at once, about 100 bytes
each. Their records are in sorted runs on disk; the layout order names the next record.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.canonical import TEXTS
from pipeline.stages.money import ASSETS, CAPITAL
from pipeline.stages.sectors import DIVISION, GROUP

HAS_SITE: Final = "has_site"  # working column
_NUMBER: Final = "number"
# The columns that `shard_input.columns` needs, beside HAS_SITE.
COLUMNS: Final = (
    "id", "nom", "noms_anterieurs", DIVISION, GROUP, "ca_eur", "effectif", "date_creation", CAPITAL,
    "score", "etat", "forme", "nace_code", "ville", "code_postal", ASSETS, "tranche_effectif", "lei", "tva",
)  # fmt: skip
# No company, in the columns and types of `search_columns`.
EMPTY: Final = pl.DataFrame(
    schema={
        **dict.fromkeys(COLUMNS, pl.String),
        "noms_anterieurs": TEXTS,
        **dict.fromkeys(("ca_eur", CAPITAL, ASSETS), pl.Float64),
        **dict.fromkeys(("effectif", "score"), pl.Int64),
        HAS_SITE: pl.Boolean,
    }
)


def sort(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Sort the companies of one country in layout order: text by its UTF-8 bytes, nulls last."""
    return companies.sort(
        DIVISION, GROUP, "ca_eur", "id", descending=[False, False, True, False], nulls_last=True
    )


def search_columns(finished: pl.DataFrame) -> pl.DataFrame:
    """The columns of finished companies that stay in memory for the whole country."""
    return finished.select(*COLUMNS, pl.col("site_web").is_not_null().alias(HAS_SITE))


def merge(pieces: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """Merge the search columns of all `pieces` in layout order.

    Returns:
        The merged columns, and for each row the number of its company in the order of the pieces.
    """
    together = (
        pl.concat(pieces).lazy().with_row_index(_NUMBER).pipe(sort).collect(engine="in-memory")
    )
    numbers = together[_NUMBER].to_numpy().astype(np.uint32, copy=False)
    return together.drop(_NUMBER), numbers
