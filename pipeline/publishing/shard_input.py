"""The input of the shard writer: layout order, columns, records, statements and ratios of a country.

Row n in layout order is row n of the shard. The searched and sorted columns of all companies are in memory at once:
about 100 bytes per company. The records are sorted outside of memory, by an external merge sort: each piece of a
country is sorted and written to disk as a run; then all runs are read together in layout order, with one block of each
run in memory, so the merge writes no file. Blocks are compressed lightly, since a run is read only twice and then
deleted.

Texts and numbers go from Polars to NumPy without becoming Python objects. Polars writes records and statements in
blocks, as the same bytes as `record.encode` and orjson: shortest floats, the same escapes. For ratios, the statement
lines of a block of companies become one array per line of the chart and year; the formulas are evaluated over these
arrays (`shards.ratios.accounts`).
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

from pipeline.canonical import GROUP_SUFFIX, TEXTS
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

HAS_SITE: Final = "has_site"  # working column: whether the company has a website
_NUMBER: Final = "number"  # working column: the number of a company, in the order in which pieces of the input are read
# The columns that `columns` needs, except HAS_SITE.
SEARCH_COLUMNS: Final = (
    "id", "nom", "noms_anterieurs", DIVISION, GROUP, "ca_eur", "effectif", "date_creation", CAPITAL,
    "score", "etat", "forme", "nace_code", "ville", "code_postal", ASSETS, "tranche_effectif", "lei", "tva",
)  # fmt: skip
# No companies, with the columns and types of `search_columns`.
NO_COMPANIES: Final = pl.DataFrame(
    schema={
        **dict.fromkeys(SEARCH_COLUMNS, pl.String),
        "noms_anterieurs": TEXTS,
        **dict.fromkeys(("ca_eur", CAPITAL, ASSETS), pl.Float64),
        **dict.fromkeys(("effectif", "score"), pl.Int64),
        HAS_SITE: pl.Boolean,
    }
)
# Row -> year -> the codes of the withheld lines.
WithheldCodes = Mapping[int, Mapping[str, Sequence[str]]]
# The number of lines in a block of a run, about 1 MB uncompressed; the last block of a run can have fewer.
BLOCK: Final = 1_024
_NEWLINE: Final = ord("\n")
_COMPRESSION_LEVEL: Final = 1  # the compression level of runs
# The number of digits of a date as a number, yyyymmdd.
_DATE_DIGITS: Final = 8
# The least number of statement lines that are written as JSON together; all lines of a company are written together.
_LEAST_LINES: Final = 1 << 16
# The number of companies whose figures are in arrays at once: about 80 arrays of 8 bytes per company.
_RATIOS_AT_ONCE: Final = 1 << 16


# -- layout order --------------------------------------------------------------------


def sort_companies(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Sort the companies of one country in layout order: text by its UTF-8 bytes, nulls last."""
    return companies.sort(
        DIVISION, GROUP, "ca_eur", "id", descending=[False, False, True, False], nulls_last=True
    )


def search_columns(finished: pl.DataFrame) -> pl.DataFrame:
    """The columns of finished companies that stay in memory for the whole country."""
    return finished.select(*SEARCH_COLUMNS, pl.col("site_web").is_not_null().alias(HAS_SITE))


def merge_pieces(pieces: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """Merge the search columns of all `pieces` in layout order.

    Returns:
        The merged columns; and for each row, the number of its company in the order of the pieces.
    """
    merged = (
        pl.concat(pieces)
        .lazy()
        .with_row_index(_NUMBER)
        .pipe(sort_companies)
        .collect(engine="in-memory")
    )
    company_numbers = merged[_NUMBER].to_numpy().astype(np.uint32, copy=False)
    return merged.drop(_NUMBER), company_numbers


# -- columns of the shard ------------------------------------------------------------


def columns(frame: pl.DataFrame) -> Columns:
    """The searched and sorted columns, with one entry per row; `frame` is in layout order."""
    return Columns(
        ids=texts(frame["id"]),
        noms=texts(frame["nom"]),
        former=former_names(frame["noms_anterieurs"]),
        cells=cells(frame),
        ca_eur=_to_array(frame["ca_eur"].fill_null(np.nan), np.float64),
        effectif=_to_array(frame["effectif"].fill_null(EFFECTIF_NULL), np.int32),
        dates=_to_array(dates(frame["date_creation"]), np.int32),
        capital_eur=_to_array(frame[CAPITAL].fill_null(np.nan), np.float64),
        score=_to_array(frame["score"], np.int16),
        site_web=_to_array(frame[HAS_SITE], np.bool_),
        etat=_to_array(
            frame["etat"].replace_strict(STATES, range(len(STATES)), return_dtype=pl.UInt8),
            np.uint8,
        ),
        texts={
            "forme": distinct_values(frame["forme"]),
            "nace": distinct_values(frame["nace_code"]),
            "ville": distinct_values(frame["ville"]),
            "code_postal": distinct_values(frame["code_postal"]),
        },
        actif_eur=_to_array(frame[ASSETS].fill_null(np.nan), np.float64),
        tranche=distinct_values(frame["tranche_effectif"]),
        numbers=alias_numbers(frame),
    )


def alias_numbers(frame: pl.DataFrame) -> list[tuple[int, str]]:
    """Pairs of a row and the LEI, or the VAT number, of its company: first all LEI, then all VAT numbers."""
    rows = frame.select(ALIASES).with_row_index("row")
    numbers_by_field = [rows.select("row", field).drop_nulls().iter_rows() for field in ALIASES]
    return [(row, number) for pairs in numbers_by_field for row, number in pairs]


def cells(frame: pl.DataFrame) -> tuple[tuple[str | None, str | None, int], ...]:
    """Sector, sub-sector (None if unknown) and number of companies of each cell, in layout order."""
    counts = frame.group_by(DIVISION, GROUP).len().sort(DIVISION, GROUP, nulls_last=True)
    return tuple(counts.iter_rows())


def texts(values: pl.Series) -> Texts:
    """A text column without nulls, as bytes and start offsets; each text ends with END.

    >>> texts(pl.Series(["ab", "", "é"])).data.tobytes()
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    with_ends = pl.select(pl.concat_str(values, pl.lit(END.decode()))).to_series()
    # The oldest layout of Arrow has three buffers: validity, 64-bit offsets, and the bytes of all texts.
    arrow = with_ends.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_bytes, data = arrow.buffers()
    offsets = np.frombuffer(offset_bytes, dtype=np.int64)[: len(values) + 1]
    return Texts(memoryview(data or b"")[: offsets[-1]], offsets.astype(np.uint32))


def former_names(values: pl.Series) -> FormerNames:
    """The former names of all companies, from a column of lists, with the row of each name."""
    names = pl.DataFrame({"nom": values}).with_row_index("row").drop_nulls().explode("nom")
    return FormerNames(texts(names["nom"]), _to_array(names["row"], np.uint32))


def distinct_values(values: pl.Series) -> DistinctValues:
    """A text column as its distinct values, null first, and for each row the index of its value."""
    distinct = values.drop_nulls().unique()
    indexes = values.replace_strict(
        distinct,
        pl.int_range(1, len(distinct) + 1, eager=True),
        default=None,
        return_dtype=pl.UInt32,
    )
    return DistinctValues([None, *distinct], _to_array(indexes.fill_null(0), np.uint32))


def dates(values: pl.Series) -> pl.Series:
    """Dates as numbers, as in `shards.codec.sort_keys`: yyyymmdd, with 0 for an unknown part."""
    digits = values.str.replace_all("-", "", literal=True).str.pad_end(_DATE_DIGITS, "0")
    return digits.cast(pl.Int32).fill_null(DATE_NULL)


def _to_array(values: pl.Series, dtype: type[np.generic]) -> NDArray[Any]:
    """A column without nulls as a contiguous array."""
    return np.ascontiguousarray(values.to_numpy(), dtype=dtype)


# -- records -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """A file of lines in compressed blocks; a line is the record of a company as JSON.

    Attributes:
        start: the number of the first line among the lines of all runs of the country.
        offsets: block i is the bytes [offsets[i], offsets[i + 1]) of the file.
        lengths: the number of bytes of each line, with its line end.
    """

    path: Path
    start: int
    offsets: Sequence[int]
    lengths: NDArray[np.uint32]

    @property
    def stop(self) -> int:
        """The number after that of the last line."""
        return self.start + len(self.lengths)


def json_lines(companies: pl.DataFrame) -> Iterator[bytes]:
    """Companies as blocks of BLOCK lines of JSON, for `write_run`."""
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
    """Write a run to `path`; each of `blocks` has BLOCK lines, the last block can have fewer."""
    compress = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress
    sizes: list[int] = []
    lengths = [np.empty(0, dtype=np.uint32)]  # a run without blocks has no lengths to join
    with path.open("wb") as stream:
        for block in blocks:
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _NEWLINE)
            lengths.append(np.diff(ends, prepend=-1).astype(np.uint32))
            sizes.append(stream.write(compress(block)))
    return Run(path, start, [0, *accumulate(sizes)], np.concatenate(lengths))


def read_runs(runs: Sequence[Run], numbers: NDArray[np.uint32]) -> Iterator[bytes]:
    """The lines with these `numbers`, in this order, without line ends.

    This is fast if the numbers that belong to one run ascend: each of its blocks is then decompressed once.
    """
    starts = np.array([run.start for run in runs])
    files: list[BinaryIO] = []
    try:
        files += [run.path.open("rb") for run in runs]
        current = [_OpenBlock(-1, b"", [])] * len(runs)  # -1: no block of this run is open yet
        for batch_start in range(0, len(numbers), BLOCK):
            batch = numbers[batch_start : batch_start + BLOCK].astype(np.int64)
            run_numbers = np.searchsorted(starts, batch, side="right") - 1
            blocks, lines_in_blocks = np.divmod(batch - starts[run_numbers], BLOCK)
            for run, block, line in zip(
                run_numbers.tolist(), blocks.tolist(), lines_in_blocks.tolist(), strict=True
            ):
                if current[run].block != block:
                    current[run] = _read_block(runs[run], files[run], block)
                open_block = current[run]
                yield open_block.lines[open_block.ends[line] : open_block.ends[line + 1] - 1]
    finally:
        for file in files:
            file.close()


@dataclass(frozen=True, slots=True)
class _OpenBlock:
    """A decompressed block, with its number: line i, with its line end, is lines[ends[i] : ends[i + 1]]."""

    block: int
    lines: bytes
    ends: Sequence[int]


def _read_block(run: Run, file: BinaryIO, block: int) -> _OpenBlock:
    """Read and decompress one block of a run."""
    file.seek(run.offsets[block])
    packed = file.read(run.offsets[block + 1] - run.offsets[block])
    lengths = run.lengths[block * BLOCK : (block + 1) * BLOCK]
    ends = [0, *accumulate(lengths.tolist())]
    return _OpenBlock(block, zstandard.decompress(packed, max_output_size=ends[-1]), ends)


# -- statements ----------------------------------------------------------------------


def sort_lines(ids: pl.Series, lines: pl.LazyFrame) -> pl.DataFrame:
    """The statement lines of all rows, sorted by row, and within a row in the order of contract E5.

    Args:
        ids: the identifiers, in layout order.
    """
    rows_of_ids = pl.LazyFrame({"id": ids}).with_row_index("row")
    rank = pl.col("etat").replace_strict(
        list(record.ETATS), range(len(record.ETATS)), return_dtype=pl.Int8
    )
    sort_columns = ("row", "exercice", "rang", "ordre", "code", "libelle", "valeur", "devise")
    return (
        lines.join(rows_of_ids, on="id", how="inner")
        .with_columns(rank.alias("rang"))
        .sort(
            sort_columns, descending=[name == "exercice" for name in sort_columns], nulls_last=True
        )
        .select("row", *record.LINE)
        .collect(engine="streaming")
    )


def withheld_codes(ids: pl.Series, weighed: pl.LazyFrame) -> WithheldCodes:
    """The codes of the withheld lines of each row, by year, without the lines of group accounts.

    Args:
        ids: the identifiers, in layout order.
        weighed: the lines of all companies, with a REASON if they are withheld.
    """
    rows_of_ids = pl.LazyFrame({"id": ids}).with_row_index("row")
    code = pl.col("code")
    codes_by_year = (
        weighed.filter(pl.col(REASON).is_not_null(), ~code.str.ends_with(GROUP_SUFFIX))
        .join(rows_of_ids, on="id", how="inner")
        .group_by("row", "exercice")
        .agg(code.unique().sort())
        .sort("row", "exercice", descending=[False, True])
        .collect(engine="streaming")
    )
    by_row: dict[int, dict[str, list[str]]] = {}
    for row, year, codes in codes_by_year.iter_rows():
        by_row.setdefault(row, {})[str(year)] = codes
    return by_row


def statements(rows: pl.DataFrame, withheld: WithheldCodes) -> Iterator[tuple[int, bytes]]:
    """The row number and the stored statements (FORMAT.md §6) of each company with statement lines.

    Args:
        rows: the result of `sort_lines`.
        withheld: the codes that follow the lines of a company, as JSON.
    """
    # Company i, in row `company_rows[i]`, has the lines from `line_bounds[i]` up to `line_bounds[i + 1]`.
    first_lines = np.flatnonzero(np.diff(rows["row"].to_numpy(), prepend=np.int64(-1)))
    company_rows, line_bounds = (
        rows["row"].gather(first_lines).to_list(),
        [*first_lines.tolist(), len(rows)],
    )
    # The companies of at least _LEAST_LINES lines are written as JSON together, and then divided into companies.
    next_company = 0
    while next_company < len(company_rows):
        first_line, first_company = line_bounds[next_company], next_company
        next_company = max(
            next_company + 1, int(first_lines.searchsorted(first_line + _LEAST_LINES))
        )
        json_rows = _json(
            rows.slice(first_line, line_bounds[next_company] - first_line).select(record.LINE)
        ).split(b"\n")
        for company in range(first_company, next_company):
            lines = json_rows[
                line_bounds[company] - first_line : line_bounds[company + 1] - first_line
            ]
            sections = [b"[%b]" % b",".join(lines)]
            if codes := withheld.get(company_rows[company]):
                sections.append(orjson.dumps(codes))
            yield company_rows[company], b"\n".join(sections)


def _json(rows: pl.DataFrame) -> bytes:
    """Rows as lines of JSON; each line ends with a line end."""
    stream = BytesIO()
    rows.write_ndjson(stream)
    return stream.getvalue()


# -- ratios of the last year ---------------------------------------------------------


def last_year_ratios(lines: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    """The ratios of all companies of `lines`, in the order of `lines`.

    Args:
        lines: `row` (ascending), `exercice`, `code`, `valeur`, `devise`; of two lines with the same code in a year, the
            first counts.
        rates: `devise`, `annee`, `taux` (units of the currency for one euro).
    """
    block_ratios = [_block_ratios(block, rates) for block in _year_blocks(lines)]
    if not block_ratios:
        return accounts.NO_RATIOS
    return LastYearRatios(
        {
            name: np.concatenate([part.arrays[name] for part in block_ratios])
            for name in block_ratios[0].arrays
        }
    )


def _year_blocks(lines: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The lines of the last fiscal year of each company and of the year before, in blocks of _RATIOS_AT_ONCE companies.

    Added columns: `place`, the number of the company in its block, from 0; `last`, its last fiscal year; `age`, the
    number of years before `last` (0 or 1).
    """
    numbered = lines.select("row", "exercice", "code", "valeur", "devise").with_columns(
        place=pl.col("row").rle_id(), last=pl.col("exercice").max().over("row")
    )
    recent = numbered.with_columns(age=pl.col("last") - pl.col("exercice")).filter(
        pl.col("age") <= 1
    )
    for _, block in recent.group_by(pl.col("place") // _RATIOS_AT_ONCE, maintain_order=True):
        yield block.with_columns(pl.col("place") - pl.col("place").min())


def _block_ratios(block: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    """The ratios of the companies of one block of `_year_blocks`."""
    last_years = block.group_by("place", maintain_order=True).agg(pl.col("last").first())
    filled = block.filter(pl.col("code").is_not_null() & pl.col("valeur").is_not_null())
    currencies = _currencies(filled, last_years, rates)
    last_year, year_before = (_year_figures(filled, currencies, age) for age in (0, 1))
    return accounts.compute_last_year(
        last_years["last"].to_numpy().astype(format.U2), last_year, year_before
    )


def _currencies(
    filled: pl.DataFrame, last_years: pl.DataFrame, rates: pl.DataFrame
) -> pl.DataFrame:
    """One row per company (`place`) and year (`age`), sorted: the currency of its figures and the rate of that year.

    Columns: `count`, the number of currencies; `devise`, null unless there is exactly one currency; `taux`, units of
    the first currency for one euro, null if the rate is unknown.

    Args:
        filled: the lines with a code and a value.
        last_years: the last fiscal year (`last`) of each company.
    """
    used_currencies = filled.group_by("place", "age").agg(
        count=pl.col("devise").drop_nulls().n_unique(), devise=pl.col("devise").drop_nulls().first()
    )
    # Years without figures also get a row.
    company_years = last_years.join(
        pl.DataFrame({"age": [0, 1]}, schema={"age": filled["age"].dtype}), how="cross"
    )
    joined = (
        company_years.join(used_currencies, on=["place", "age"], how="left")
        .with_columns(annee=(pl.col("last") - pl.col("age")).cast(pl.Int64))
        .join(rates, on=["devise", "annee"], how="left")
        .with_columns(
            taux=pl.when(pl.col("devise") == EURO).then(1.0).otherwise(pl.col("taux")),
            devise=pl.when(pl.col("count") == 1).then("devise"),
        )
    )
    return joined.sort("place", "age")


def _year_figures(filled: pl.DataFrame, currencies: pl.DataFrame, age: int) -> YearFigures:
    """The figures of all companies of a block in the year of `age`; a year of several currencies has none.

    Args:
        filled: the lines with a code and a value.
        currencies: the result of `_currencies`.
        age: 0 for the last year of each company, 1 for the year before.
    """
    year_currencies, other_year_currencies = (
        currencies.filter(pl.col("age") == year_age) for year_age in (age, 1 - age)
    )
    is_mixed = (year_currencies["count"].fill_null(0) > 1).to_numpy()
    year_lines = filled.filter((pl.col("age") == age) & pl.col("code").is_in(sorted(chart_lines())))
    lines = {}
    first_lines = year_lines.unique(["place", "code"], keep="first", maintain_order=True)
    for (code,), code_lines in first_lines.group_by("code"):
        figures = np.full(len(is_mixed), np.nan)
        figures[code_lines["place"].to_numpy()] = code_lines["valeur"].to_numpy()
        figures[is_mixed] = np.nan
        lines[str(code)] = figures
    units_per_euro = year_currencies["taux"].fill_null(np.nan).to_numpy()
    return YearFigures(
        lines,
        1 / np.where(is_mixed, np.nan, units_per_euro),  # euros per unit of the currency
        year_currencies["devise"].eq_missing(other_year_currencies["devise"]).to_numpy(),
    )
