"""From a country in layout order to what a shard stores: columns, records, statement arrays.

A row of the layout is a row of the shard. Texts and numbers go from Polars to NumPy without being
Python objects; records are rendered by Polars, a block at a time, to the very bytes that
`record.encode` gives (orjson and Polars write JSON alike: shortest floats, the same escapes).
"""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from pipeline.build import sorted_runs
from pipeline.build.sorted_runs import Run
from pipeline.canonical import ETATS
from pipeline.stages.layout_order import HAS_SITE
from pipeline.stages.money import CAPITAL
from pipeline.stages.sectors import DIVISION, GROUP
from shards.build.writer import Columns
from shards.codec import record
from shards.codec.strings import END, Texts
from shards.format import DATE_NULL, EFFECTIF_NULL

# Contract E5, in the order of its object.
LINE: Final = ("etat", "code", "libelle", "valeur", "devise", "exercice", "ordre")
# Digits of a date, yyyymmdd.
_DATE_DIGITS: Final = 8


def columns(frame: pl.DataFrame) -> Columns:
    """What is searched and sorted, an entry a row; `frame` is in layout order."""
    return Columns(
        ids=texts(frame["id"]),
        noms=texts(frame["nom"]),
        cells=cells(frame),
        ca_eur=_numbers(frame["ca_eur"].fill_null(np.nan), np.float64),
        effectif=_numbers(frame["effectif"].fill_null(EFFECTIF_NULL), np.int32),
        dates=_numbers(dates(frame["date_creation"]), np.int32),
        capital_eur=_numbers(frame[CAPITAL].fill_null(np.nan), np.float64),
        score=_numbers(frame["score"], np.int16),
        site_web=_numbers(frame[HAS_SITE], np.bool_),
    )


def cells(frame: pl.DataFrame) -> tuple[tuple[str | None, str | None, int], ...]:
    """How many companies each sub-sector of each sector has, in layout order."""
    counted = frame.group_by(DIVISION, GROUP).len().sort(DIVISION, GROUP, nulls_last=True)
    return tuple(counted.iter_rows())


def texts(values: pl.Series) -> Texts:
    """A column of texts, none of them null, as bytes and starts.

    >>> texts(pl.Series(["ab", "", "é"])).data.tobytes()
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    ended = pl.select(pl.concat_str(values, pl.lit(END.decode()))).to_series()
    stored = ended.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, starts, data = stored.buffers()
    offsets = np.frombuffer(starts, dtype=np.int64)[: len(values) + 1]
    return Texts(memoryview(data or b"")[: offsets[-1]], offsets.astype(np.uint32))


def dates(values: pl.Series) -> pl.Series:
    """Dates as `orders.date_key` numbers them: yyyymmdd, 0 for a part that is not known."""
    digits = values.str.replace_all("-", "", literal=True).str.pad_end(_DATE_DIGITS, "0")
    return digits.cast(pl.Int32).fill_null(DATE_NULL)


def _numbers(values: pl.Series, dtype: type[np.generic]) -> NDArray[Any]:
    return np.ascontiguousarray(values.to_numpy(), dtype=dtype)


# -- records -------------------------------------------------------------------------


def json_lines(companies: pl.DataFrame) -> Iterator[bytes]:
    """Companies as lines of JSON, in blocks that make a run."""
    for part in companies.select(record.FIELDS).iter_slices(sorted_runs.BLOCK):
        stream = BytesIO()
        part.write_ndjson(stream)
        yield stream.getvalue()


def records(found: Sequence[Run], order: NDArray[np.uint32]) -> Callable[[range], Iterator[bytes]]:
    """A function that gives the stored bytes of a range of rows, as the writer asks for them.

    Args:
        order: for each row, the number of its company in the runs.
    """
    return lambda rows: map(
        record.cut, sorted_runs.read(found, order[rows.start : rows.stop : rows.step])
    )


# -- statements ----------------------------------------------------------------------


def statements(ids: pl.Series, lines: pl.LazyFrame) -> Iterator[tuple[int, bytes]]:
    """Row and JSON array of its statement lines, rows ascending (contract E5).

    Args:
        ids: the identifiers, in layout order.
    """
    place = pl.LazyFrame({"id": ids}).with_row_index("row")
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
