"""Layout order: where each company of a country stands in its shard.

What is searched and sorted is held for all companies of a country at once, about 100 bytes each;
their records are in runs, and the order says which record comes next.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.stages.money import CAPITAL
from pipeline.stages.sectors import DIVISION, GROUP

HAS_SITE: Final = "a_site"
_NUMBER: Final = "numero"
# What `rows.columns` needs of a company, beside HAS_SITE.
COLUMNS: Final = (
    "id", "nom", DIVISION, GROUP, "ca_eur", "effectif", "date_creation", CAPITAL, "score",
)  # fmt: skip
# No company, in the columns and types of what is held.
EMPTY: Final = pl.DataFrame(
    schema={
        **dict.fromkeys(COLUMNS, pl.String),
        **dict.fromkeys(("ca_eur", CAPITAL), pl.Float64),
        **dict.fromkeys(("effectif", "score"), pl.Int64),
        HAS_SITE: pl.Boolean,
    }
)


def sort(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Companies of one country in layout order: text sorts by its UTF-8 bytes, nulls come last."""
    return companies.sort(
        DIVISION, GROUP, "ca_eur", "id", descending=[False, False, True, False], nulls_last=True
    )


def search_columns(finished: pl.DataFrame) -> pl.DataFrame:
    """Of finished companies, what is held of all companies at once."""
    return finished.select(*COLUMNS, pl.col("site_web").is_not_null().alias(HAS_SITE))


def merge(pieces: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """What was held of the companies of all `pieces`, in layout order.

    The array has, for each row, the number of its company in the order of the pieces.
    """
    together = (
        pl.concat(pieces).lazy().with_row_index(_NUMBER).pipe(sort).collect(engine="in-memory")
    )
    numbers = together[_NUMBER].to_numpy().astype(np.uint32, copy=False)
    return together.drop(_NUMBER), numbers
