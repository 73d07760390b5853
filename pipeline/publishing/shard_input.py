"""The input of the shard writer: layout order, columns, records, statements and ratios of a country.

A row in layout order is a row of the shard. The searched and sorted columns of all companies are in memory at once,
about 100 bytes a company. Their records are in sorted runs on disk, for an external merge sort: each piece of a country
is sorted and written as a run, and all runs are read together in layout order, one block of each in memory, so that the
merge writes no file. Blocks are compressed lightly, since a run is read twice and deleted.

Texts and numbers go from Polars to NumPy without becoming Python objects. Polars renders records and statements, a
block at a time, to the same bytes as `record.encode` and orjson, which write JSON alike: shortest floats, the same
escapes. For ratios, the statement lines become one array per line of the chart and year, a block of companies at a
time; the formulas are evaluated over these arrays (`shards.ratios.accounts`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import orjson
import polars as pl
import zstandard
from numpy.typing import NDArray

from pipeline.canonical import GROUP as OF_GROUP
from pipeline.canonical import TEXTS
from pipeline.stages.money import ASSETS, CAPITAL, EURO
from pipeline.stages.rejections import REASON
from pipeline.stages.sectors import DIVISION, GROUP
from shards import format
from shards.codec import record
from shards.codec.codes import ALIASES, DistinctValues
from shards.codec.strings import END, Texts
from shards.format import DATE_NULL, EFFECTIF_NULL
from shards.query import STATES
from shards.ratios import accounts
from shards.ratios.accounts import LastYearRatios, YearFigures
from shards.ratios.ratio_table import chart_lines
from shards.writing.name_index import FormerNames
from shards.writing.writer import Columns

HAS_SITE: Final = "has_site"  # working column
_NUMBER: Final = "number"
# The columns that `columns` needs, beside HAS_SITE.
SEARCHED: Final = (
    "id", "nom", "noms_anterieurs", DIVISION, GROUP, "ca_eur", "effectif", "date_creation", CAPITAL,
    "score", "etat", "forme", "nace_code", "ville", "code_postal", ASSETS, "tranche_effectif", "lei", "tva",
)  # fmt: skip
# No company, in the columns and types of `search_columns`.
NO_COMPANIES: Final = pl.DataFrame(
    schema={
        **dict.fromkeys(SEARCHED, pl.String),
        "noms_anterieurs": TEXTS,
        **dict.fromkeys(("ca_eur", CAPITAL, ASSETS), pl.Float64),
        **dict.fromkeys(("effectif", "score"), pl.Int64),
        HAS_SITE: pl.Boolean,
    }
)
# By row: the codes of the lines that were withheld, by year.
Withheld = Mapping[int, Mapping[str, Sequence[str]]]
BLOCK: Final = 1_024  # lines; the last block of a run has fewer. About 1 MB uncompressed
_NEWLINE: Final = ord("\n")
_LEVEL: Final = 1  # of the compression of runs
# Digits of a date, yyyymmdd.
_DATE_DIGITS: Final = 8
# Statement lines that are written as JSON together; the lines of a company are never parted.
_LINES: Final = 1 << 16


# -- layout order --------------------------------------------------------------------
# Companies whose figures are arrays at once: about 80 arrays of 8 bytes each.
_RATIOS_AT_ONCE: Final = 1 << 16


def sort_companies(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Sort the companies of one country in layout order: text by its UTF-8 bytes, nulls last."""
    return companies.sort(
        DIVISION, GROUP, "ca_eur", "id", descending=[False, False, True, False], nulls_last=True
    )


def search_columns(finished: pl.DataFrame) -> pl.DataFrame:
    """The columns of finished companies that stay in memory for the whole country."""
    return finished.select(*SEARCHED, pl.col("site_web").is_not_null().alias(HAS_SITE))


def merge_pieces(pieces: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """Merge the search columns of all `pieces` in layout order.

    Returns:
        The merged columns, and for each row the number of its company in the order of the pieces.
    """
    together = (
        pl.concat(pieces)
        .lazy()
        .with_row_index(_NUMBER)
        .pipe(sort_companies)
        .collect(engine="in-memory")
    )
    numbers = together[_NUMBER].to_numpy().astype(np.uint32, copy=False)
    return together.drop(_NUMBER), numbers


# -- columns -------------------------------------------------------------------------


def columns(frame: pl.DataFrame) -> Columns:
    """The searched and sorted columns, one entry per row; `frame` is in layout order."""
    return Columns(
        ids=texts(frame["id"]),
        noms=texts(frame["nom"]),
        former=former_names(frame["noms_anterieurs"]),
        cells=cells(frame),
        ca_eur=_numbers(frame["ca_eur"].fill_null(np.nan), np.float64),
        effectif=_numbers(frame["effectif"].fill_null(EFFECTIF_NULL), np.int32),
        dates=_numbers(dates(frame["date_creation"]), np.int32),
        capital_eur=_numbers(frame[CAPITAL].fill_null(np.nan), np.float64),
        score=_numbers(frame["score"], np.int16),
        site_web=_numbers(frame[HAS_SITE], np.bool_),
        etat=_numbers(
            frame["etat"].replace_strict(STATES, range(len(STATES)), return_dtype=pl.UInt8),
            np.uint8,
        ),
        texts={
            "forme": distinct_values(frame["forme"]),
            "nace": distinct_values(frame["nace_code"]),
            "ville": distinct_values(frame["ville"]),
            "code_postal": distinct_values(frame["code_postal"]),
        },
        actif_eur=_numbers(frame[ASSETS].fill_null(np.nan), np.float64),
        tranche=distinct_values(frame["tranche_effectif"]),
        numbers=numbers(frame),
    )


def numbers(frame: pl.DataFrame) -> list[tuple[int, str]]:
    """Row and number of each LEI and VAT number."""
    rows = frame.select(ALIASES).with_row_index("row")
    known = [rows.select("row", field).drop_nulls().iter_rows() for field in ALIASES]
    return [(row, number) for pairs in known for row, number in pairs]


def cells(frame: pl.DataFrame) -> tuple[tuple[str | None, str | None, int], ...]:
    """The number of companies per sector and sub-sector, in layout order."""
    counted = frame.group_by(DIVISION, GROUP).len().sort(DIVISION, GROUP, nulls_last=True)
    return tuple(counted.iter_rows())


def texts(values: pl.Series) -> Texts:
    """A text column without nulls, as bytes and start offsets.

    >>> texts(pl.Series(["ab", "", "é"])).data.tobytes()
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    ended = pl.select(pl.concat_str(values, pl.lit(END.decode()))).to_series()
    stored = ended.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, starts, data = stored.buffers()
    offsets = np.frombuffer(starts, dtype=np.int64)[: len(values) + 1]
    return Texts(memoryview(data or b"")[: offsets[-1]], offsets.astype(np.uint32))


def former_names(values: pl.Series) -> FormerNames:
    """The texts of a column of lists, and the row of each."""
    listed = pl.DataFrame({"nom": values}).with_row_index("row").drop_nulls().explode("nom")
    return FormerNames(texts(listed["nom"]), _numbers(listed["row"], np.uint32))


def distinct_values(values: pl.Series) -> DistinctValues:
    """A text column as its distinct values, null first, and their numbers by row."""
    known = values.drop_nulls().unique()
    numbers = values.replace_strict(
        known, pl.int_range(1, len(known) + 1, eager=True), default=None, return_dtype=pl.UInt32
    )
    return DistinctValues([None, *known], _numbers(numbers.fill_null(0), np.uint32))


def dates(values: pl.Series) -> pl.Series:
    """Dates as `shards.codec.sort_keys` numbers them: yyyymmdd, 0 for an unknown part."""
    digits = values.str.replace_all("-", "", literal=True).str.pad_end(_DATE_DIGITS, "0")
    return digits.cast(pl.Int32).fill_null(DATE_NULL)


def _numbers(values: pl.Series, dtype: type[np.generic]) -> NDArray[Any]:
    return np.ascontiguousarray(values.to_numpy(), dtype=dtype)


# -- records -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """A file of lines; `start` is the number of its first line among all runs of the country.

    Block i is the bytes [offsets[i], offsets[i + 1]) of the file. `lengths` are the bytes of the
    lines, line ends included.
    """

    path: Path
    start: int
    offsets: Sequence[int]
    lengths: NDArray[np.uint32]

    @property
    def stop(self) -> int:
        return self.start + len(self.lengths)


def json_lines(companies: pl.DataFrame) -> Iterator[bytes]:
    """Companies as lines of JSON, in blocks of a run."""
    yield from map(_json, companies.select(record.FIELDS).iter_slices(BLOCK))


def records(runs: Sequence[Run], order: NDArray[np.uint32]) -> Callable[[range], Iterator[bytes]]:
    """A function from a range of rows to their stored bytes, for the shard writer.

    Args:
        order: for each row, the number of its company in the runs.
    """
    return lambda rows: map(
        record.encode_json, read_runs(runs, order[rows.start : rows.stop : rows.step])
    )


def write_run(path: Path, start: int, blocks: Iterable[bytes]) -> Run:
    """Write a run; each of `blocks` holds BLOCK lines, the last one the rest."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    sizes: list[int] = []
    lengths = [np.empty(0, dtype=np.uint32)]
    with path.open("wb") as stream:
        for block in blocks:
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _NEWLINE)
            lengths.append(np.diff(ends, prepend=-1).astype(np.uint32))
            sizes.append(stream.write(compress(block)))
    return Run(path, start, [0, *accumulate(sizes)], np.concatenate(lengths))


def read_runs(runs: Sequence[Run], numbers: NDArray[np.uint32]) -> Iterator[bytes]:
    """The lines of these numbers, in their order, without line ends.

    Fast if the numbers within each run ascend.
    """
    starts = np.array([run.start for run in runs])
    files: list[BinaryIO] = []
    try:
        files += [run.path.open("rb") for run in runs]
        current = [_OpenBlock(-1, b"", [])] * len(runs)
        for first in range(0, len(numbers), BLOCK):
            some = numbers[first : first + BLOCK].astype(np.int64)
            of = np.searchsorted(starts, some, side="right") - 1
            blocks, places = np.divmod(some - starts[of], BLOCK)
            for run, block, place in zip(
                of.tolist(), blocks.tolist(), places.tolist(), strict=True
            ):
                if current[run].block != block:
                    current[run] = _read_block(runs[run], files[run], block)
                found = current[run]
                yield found.lines[found.ends[place] : found.ends[place + 1] - 1]
    finally:
        for file in files:
            file.close()


@dataclass(frozen=True, slots=True)
class _OpenBlock:
    """A decompressed block: line i is lines[ends[i] : ends[i + 1]]."""

    block: int
    lines: bytes
    ends: Sequence[int]


def _read_block(run: Run, file: BinaryIO, block: int) -> _OpenBlock:
    file.seek(run.offsets[block])
    packed = file.read(run.offsets[block + 1] - run.offsets[block])
    lengths = run.lengths[block * BLOCK : (block + 1) * BLOCK]
    ends = [0, *accumulate(lengths.tolist())]
    return _OpenBlock(block, zstandard.decompress(packed, max_output_size=ends[-1]), ends)


# -- statements ----------------------------------------------------------------------


def sort_lines(ids: pl.Series, lines: pl.LazyFrame) -> pl.DataFrame:
    """The statement lines of each row, rows ascending, in the order of contract E5.

    Args:
        ids: the identifiers, in layout order.
    """
    place = pl.LazyFrame({"id": ids}).with_row_index("row")
    rank = pl.col("etat").replace_strict(
        list(record.ETATS), range(len(record.ETATS)), return_dtype=pl.Int8
    )
    order = ("row", "exercice", "rang", "ordre", "code", "libelle", "valeur", "devise")
    return (
        lines.join(place, on="id", how="inner")
        .with_columns(rank.alias("rang"))
        .sort(order, descending=[name == "exercice" for name in order], nulls_last=True)
        .select("row", *record.LINE)
        .collect(engine="streaming")
    )


def withheld_codes(ids: pl.Series, weighed: pl.LazyFrame) -> Withheld:
    """The codes of the withheld lines of each row, by year; those of a group's accounts are not the company's."""
    place = pl.LazyFrame({"id": ids}).with_row_index("row")
    code = pl.col("code")
    found = (
        weighed.filter(pl.col(REASON).is_not_null(), ~code.str.ends_with(OF_GROUP))
        .join(place, on="id", how="inner")
        .group_by("row", "exercice")
        .agg(code.unique().sort())
        .sort("row", "exercice", descending=[False, True])
        .collect(engine="streaming")
    )
    by_row: dict[int, dict[str, list[str]]] = {}
    for row, year, codes in found.iter_rows():
        by_row.setdefault(row, {})[str(year)] = codes
    return by_row


def statements(rows: pl.DataFrame, withheld: Withheld) -> Iterator[tuple[int, bytes]]:
    """Each row that has statement lines, ascending, with its statements (FORMAT.md §6); `rows` is sorted."""
    starts = np.flatnonzero(np.diff(rows["row"].to_numpy(), prepend=np.int64(-1)))
    numbers, bounds = rows["row"].gather(starts).to_list(), [*starts.tolist(), len(rows)]
    place = 0
    while place < len(numbers):
        start, first = bounds[place], place
        place = max(place + 1, int(starts.searchsorted(start + _LINES)))
        piece = _json(rows.slice(start, bounds[place] - start).select(record.LINE)).split(b"\n")
        for at in range(first, place):
            lines = piece[bounds[at] - start : bounds[at + 1] - start]
            parts = [b"[%b]" % b",".join(lines)]
            if codes := withheld.get(numbers[at]):
                parts.append(orjson.dumps(codes))
            yield numbers[at], b"\n".join(parts)


def _json(rows: pl.DataFrame) -> bytes:
    """Rows as lines of JSON."""
    stream = BytesIO()
    rows.write_ndjson(stream)
    return stream.getvalue()


# -- ratios of the last year ---------------------------------------------------------


def last_year_ratios(lines: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    """The ratios of every company of `lines`, in their order.

    Args:
        lines: `row` (ascending), `exercice`, `code`, `valeur`, `devise`; of a line that comes twice
            in a year the first counts.
        rates: `devise`, `annee`, `taux` (units of the currency for one euro).
    """
    parts = [_block_ratios(block, rates) for block in _year_blocks(lines)]
    if not parts:
        return accounts.NO_RATIOS
    return LastYearRatios(
        {name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays}
    )


def _year_blocks(lines: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The last two years of the companies, with `place` (0, 1, … in a block) and `age` (0 or 1)."""
    numbered = lines.select("row", "exercice", "code", "valeur", "devise").with_columns(
        place=pl.col("row").rle_id(), last=pl.col("exercice").max().over("row")
    )
    recent = numbered.with_columns(age=pl.col("last") - pl.col("exercice")).filter(
        pl.col("age") <= 1
    )
    for _, block in recent.group_by(pl.col("place") // _RATIOS_AT_ONCE, maintain_order=True):
        yield block.with_columns(pl.col("place") - pl.col("place").min())


def _block_ratios(block: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    heads = block.group_by("place", maintain_order=True).agg(pl.col("last").first())
    known = block.filter(pl.col("code").is_not_null() & pl.col("valeur").is_not_null())
    currencies = _currencies(known, heads, rates)
    last, before = (_year_figures(known, currencies, age) for age in (0, 1))
    return accounts.compute_last_year(heads["last"].to_numpy().astype(format.U2), last, before)


def _currencies(known: pl.DataFrame, heads: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """By place and age: the number of currencies, the one of them, and its `taux`."""
    used = known.group_by("place", "age").agg(
        count=pl.col("devise").drop_nulls().n_unique(), devise=pl.col("devise").drop_nulls().first()
    )
    places = heads.join(
        pl.DataFrame({"age": [0, 1]}, schema={"age": known["age"].dtype}), how="cross"
    )
    joined = (
        places.join(used, on=["place", "age"], how="left")
        .with_columns(annee=(pl.col("last") - pl.col("age")).cast(pl.Int64))
        .join(rates, on=["devise", "annee"], how="left")
        .with_columns(
            taux=pl.when(pl.col("devise") == EURO).then(1.0).otherwise(pl.col("taux")),
            devise=pl.when(pl.col("count") == 1).then("devise"),
        )
    )
    return joined.sort("place", "age")


def _year_figures(known: pl.DataFrame, currencies: pl.DataFrame, age: int) -> YearFigures:
    of_year, of_other = (currencies.filter(pl.col("age") == wanted) for wanted in (age, 1 - age))
    mixed = (of_year["count"].fill_null(0) > 1).to_numpy()
    wanted = known.filter((pl.col("age") == age) & pl.col("code").is_in(sorted(chart_lines())))
    lines = {}
    first = wanted.unique(["place", "code"], keep="first", maintain_order=True)
    for (code,), found in first.group_by("code"):
        figures = np.full(len(mixed), np.nan)
        figures[found["place"].to_numpy()] = found["valeur"].to_numpy()
        figures[mixed] = np.nan
        lines[str(code)] = figures
    single = of_year["taux"].fill_null(np.nan).to_numpy()
    return YearFigures(
        lines,
        1 / np.where(mixed, np.nan, single),
        of_year["devise"].eq_missing(of_other["devise"]).to_numpy(),
    )
