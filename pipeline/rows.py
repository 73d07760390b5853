"""From a country's finished frame to what a shard stores: columns, records, statement arrays.

The frame is in layout order, and a row of it is a row of the shard. Records are made in batches, so
that only a few thousand companies are Python objects at a time.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np
import orjson
import polars as pl

from pipeline.canonical import ETATS
from pipeline.money import CAPITAL
from pipeline.sectors import DIVISION, GROUP
from shards import record
from shards.format import EFFECTIF_NULL
from shards.writer import Columns

# Contract E5, in the order of its object.
LINE: Final = ("etat", "code", "libelle", "valeur", "devise", "exercice", "ordre")
_BATCH: Final = 4_096
# No company, in the columns and types that are read below.
EMPTY: Final = pl.DataFrame(
    schema={
        **dict.fromkeys((*record.FIELDS, DIVISION, GROUP), pl.String),
        **dict.fromkeys(("ca_eur", CAPITAL), pl.Float64),
        **dict.fromkeys(("effectif", "score"), pl.Int64),
    }
)


def in_layout(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Companies of one country in layout order: text sorts by its UTF-8 bytes, nulls come last."""
    return companies.sort(
        DIVISION, GROUP, "ca_eur", "id", descending=[False, False, True, False], nulls_last=True
    )


def columns(frame: pl.DataFrame) -> Columns:
    """What is searched and sorted, an entry a row."""
    return Columns(
        ids=frame["id"].to_list(),
        noms=frame["nom"].to_list(),
        secteurs=_few(frame[DIVISION]),
        sous_secteurs=_few(frame[GROUP]),
        ca_eur=frame["ca_eur"].fill_null(np.nan).to_numpy(),
        effectif=frame["effectif"].fill_null(EFFECTIF_NULL).cast(pl.Int32).to_numpy(),
        dates=_few(frame["date_creation"]),
        capital_eur=frame[CAPITAL].fill_null(np.nan).to_numpy(),
        score=frame["score"].cast(pl.Int16).to_numpy(),
        site_web=frame["site_web"].is_not_null().to_numpy(),
    )


def _few(texts: pl.Series) -> list[str | None]:
    """The values of a column that repeats a few: each value is one object, not one a row."""
    seen: dict[str | None, str | None] = {}
    return [seen.setdefault(text, text) for text in texts]


def records(frame: pl.DataFrame) -> Callable[[range], Iterator[bytes]]:
    """A function that gives the stored bytes of a range of rows, as the writer asks for them."""
    fields = frame.select(record.FIELDS)

    def of(wanted: range) -> Iterator[bytes]:
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            part = fields[batch.start : batch.stop : batch.step]
            yield from map(record.encode, part.iter_rows(named=True))

    return of


def statements(frame: pl.DataFrame, lines: pl.LazyFrame) -> Iterator[tuple[int, bytes]]:
    """Row and JSON array of its statement lines, rows ascending (contract E5)."""
    place = frame.select("id").with_row_index("row").lazy()
    rank = pl.col("etat").replace_strict(list(ETATS), range(len(ETATS)), return_dtype=pl.Int8)
    order = ("row", "exercice", "rang", "ordre", "code", "libelle", "valeur", "devise")
    found = (
        lines.join(place, on="id", how="inner")
        .with_columns(rank.alias("rang"))
        .sort(order, descending=[name == "exercice" for name in order], nulls_last=True)
        .select("row", *LINE)
        .collect(engine="streaming")
    )
    for row, group in groupby(found.iter_rows(), key=itemgetter(0)):
        yield row, orjson.dumps([dict(zip(LINE, line[1:], strict=True)) for line in group])
