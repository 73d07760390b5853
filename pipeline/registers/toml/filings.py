"""Published rows of accounts, and the choice of one filing for each company, year and part.

Each row is dropped, rejected, replaced by a row of a later filing, or chosen. `accounts_reader` turns the chosen
rows into lines. Rows are staged (written to the work folder) in one Parquet file per published file, in their order.
Memory holds keys of filings, not rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers.accounts.statement import DAYS_A_YEAR
from pipeline.registers.company_identifiers import NO_COMPANY, is_no_company
from pipeline.registers.toml import entity, sql
from pipeline.registers.toml.declaration import Declaration, FiledAccounts
from pipeline.registers.toml.entity import NO_ID
from pipeline.registers.toml.source_file import ROW, FilePart

NO_CLOSE: Final = "date de clôture illisible"
NO_SCALE: Final = "unité inconnue"
NO_CURRENCY: Final = "devise absente"
REPLACED: Final = "remplacé par un dépôt plus récent"
ELEMENT: Final = "poste"  # the column with the element of an amount
VALUE: Final = "valeur"  # the column with the published text of an amount
# A later filing with the same values in these columns replaces an earlier filing.
FILING_PART: Final = ("iso2", "id", "exercice", "groupe", "part")
_FILING: Final = (*FILING_PART, "depot")  # these columns identify a filing and its part
LENGTH: Final = "mois"  # the months of the fiscal year; 0 if its first day is not a date
# A column with a hash of the columns that identify a filing or a line. Two of them can have one hash, so rows with
# equal hashes are compared by these columns as well.
KEY: Final = "cle"
_KEYS_AT_ONCE: Final = 2_000_000  # hashes that `repeated_keys` holds in memory at once
# The columns `latest 0`, …, with the texts of `latest`, by which filings are sorted.
_LATEST: Final = "latest "


@dataclass(frozen=True, slots=True)
class StagedFile:
    """The rows of one published file, as `stage` writes them.

    Attributes:
        rows: the columns of FILING_PART, the file and number of the row, the reasons to leave the row out, and the
            amounts.
        values: the columns with amounts, one per element; empty for a table with one amount per row.
    """

    part: FilePart
    rows: pl.LazyFrame
    values: tuple[str, ...]


def stage(
    declared: Declaration, part: FilePart, rank: int, frame: pl.LazyFrame, work: Path
) -> StagedFile:
    """Write the rows of one file to `work`, each with its company, filing and year and the reason to leave it out.

    Args:
        rank: the number of the file in the import.

    Raises:
        InputError: the file has no declared column with amounts.
    """
    accounts = declared.statements
    assert accounts is not None
    columns = frame.collect_schema()
    amounts, values = _amount_columns(declared, accounts, part, columns)
    identity = _identity_columns(declared, accounts, part, columns)
    reasons = entity.reasons(declared, columns)
    row_number_text = pl.lit(f"{rank}/") + pl.col(ROW).cast(pl.String)
    staged = frame.with_columns(**identity).select(
        *identity,
        pl.lit(part.name).alias("fichier"),
        pl.lit(rank, pl.Int32).alias("rank"),
        pl.col(ROW),
        pl.coalesce(_optional_text(accounts.filing, "filing", declared, columns), row_number_text).alias("depot"),
        drop_reason=reasons["drop"][0],
        reject_reason=pl.coalesce(reasons["reject"][0], _fault_of_row()),
        detail=pl.coalesce(reasons["reject"][1], pl.when(_is_no_company()).then("id")),
        note=reasons["note"][0],
        note_value=reasons["note"][1],
        **amounts,
    )  # fmt: skip
    path = work / f"comptes-{rank:03}.parquet"
    staged.sink_parquet(path, compression="lz4", maintain_order=True)
    return StagedFile(part, pl.scan_parquet(path), values)


def replaced_filings(staged: Sequence[StagedFile]) -> pl.LazyFrame:
    """The filings that a later filing replaces: the columns of FILING_PART and `depot`.

    Of several filings of one part, year and company, the filing with the last closing date is kept. Filings with the
    same closing date are compared by the declared `latest`, then by their order in the files. Memory holds only filings
    that have such a rival.
    """
    filings = pl.concat(map(_filings_of_file, staged))
    repeats = pl.col(KEY).is_in(repeated_keys(filings).implode())
    rivals = filings.filter(repeats).collect(engine="streaming")
    orders = [name for name in rivals.columns if name.startswith(_LATEST)]
    sorted_rivals = rivals.sort("cloture", *orders, "rank", ROW, nulls_last=False)
    kept_filings = sorted_rivals.unique(FILING_PART, keep="last", maintain_order=True)
    return sorted_rivals.join(kept_filings, on=_FILING, how="anti").select(_FILING).lazy()


def good_rows(file: StagedFile) -> pl.LazyFrame:
    """The rows of a file that are neither dropped nor rejected."""
    return file.rows.filter(pl.col("drop_reason").is_null() & pl.col("reject_reason").is_null())


def chosen_rows(file: StagedFile, replaced: pl.LazyFrame) -> pl.LazyFrame:
    """The good rows of a file without the rows of the replaced filings, which `replaced` lists."""
    return good_rows(file).join(replaced, on=_FILING, how="anti", maintain_order="left")


def _filings_of_file(file: StagedFile) -> pl.LazyFrame:
    """The filings of a file, one row each; in a table with a row per amount, the rows of a filing are grouped."""
    orders = [name for name in file.rows.collect_schema() if name.startswith(_LATEST)]
    order_columns = ("cloture", *orders, "rank", ROW)
    filings = good_rows(file)
    if not file.values:
        filings = filings.group_by(_FILING).agg(pl.col(order_columns).max())
    return filings.select(*_FILING, *order_columns, pl.struct(FILING_PART).hash().alias(KEY))


def repeated_keys(rows: pl.LazyFrame) -> pl.Series:
    """The values of KEY that several rows have; each pass counts only a part of the keys, to limit memory."""
    count = int(rows.select(pl.len()).collect(engine="streaming").item())
    passes = count // _KEYS_AT_ONCE + 1
    repeated = [
        rows.select(KEY)
        .filter(pl.col(KEY) % passes == number)
        .group_by(KEY)
        .len()
        .filter(pl.col("len") > 1)
        .select(KEY)
        .collect(engine="streaming")
        for number in range(passes)
    ]
    return pl.concat(repeated)[KEY]


def _is_no_company() -> pl.Expr:
    """Whether the identifier of a row cannot be of a company; rows of accounts have no name."""
    return is_no_company(pl.col("iso2"), pl.col("id"), pl.lit(None, pl.String))


def _fault_of_row() -> pl.Expr:
    """The reason to reject a faulty row; null for a good row."""
    faults = {
        NO_ID: pl.col("id").is_null() | pl.col("iso2").is_null(),
        NO_COMPANY: _is_no_company(),
        NO_CLOSE: pl.col("exercice").is_null(),
        NO_SCALE: ~(pl.col("echelle") > 0).fill_null(False),
        NO_CURRENCY: pl.col("devise").is_null(),
    }
    return pl.coalesce(pl.when(fault).then(pl.lit(why)) for why, fault in faults.items())


def _identity_columns(
    declared: Declaration, accounts: FiledAccounts, part: FilePart, columns: sql.ColumnTypes
) -> dict[str, pl.Expr]:
    """The columns that say whose accounts a row belongs to, and their year, part, currency and scale."""
    toml_table = sql.TomlTable(declared.source, "statements")

    def read(key: str, text: str) -> pl.Expr:
        """The value of the expression `text`, declared under `key`, as text."""
        return sql.as_text(sql.expression(text, toml_table.key_path(key), columns))

    close = sql.iso_date(read("close", accounts.close.sql[0]), accounts.close.formats)
    group = sql.expression(accounts.group, toml_table.key_path("group"), columns)
    latest = {f"{_LATEST}{n}": read("latest", text) for n, text in enumerate(accounts.latest)}
    start = read("start", accounts.start.sql[0]) if accounts.start else pl.lit(None, pl.String)
    first_day = sql.iso_date(start, accounts.start.formats) if accounts.start else start
    return {
        "iso2": read("iso2", accounts.iso2),
        "id": read("id", accounts.id),
        "cloture": close,
        "exercice": close.str.head(4).cast(pl.Int64),
        LENGTH: pl.when(start.is_not_null()).then(_months(first_day, close).fill_null(0)),
        "groupe": group.fill_null(False),
        "part": read("part", accounts.part) if accounts.part else pl.lit(part.kind.name),
        "devise": read("currency", accounts.currency),
        "echelle": read("scale", accounts.scale).cast(pl.Float64, strict=False),
        **latest,
    }


def _months(first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """The months from the day `first` to the day `last`, both included, as ISO texts; null if one is not a date."""
    days = last.str.to_date("%Y-%m-%d") - first.str.to_date("%Y-%m-%d")
    return ((days.dt.total_days() + 1) * 12 / DAYS_A_YEAR).round().cast(pl.Int64)


def _optional_text(
    sql_text: str | None, key: str, declared: Declaration, columns: sql.ColumnTypes
) -> pl.Expr:
    """The value of the expression `sql_text` under `key` of [statements] as text; null if `sql_text` is None."""
    if sql_text is None:
        return pl.lit(None, pl.String)
    key_place = sql.TomlTable(declared.source, "statements").key_path(key)
    return sql.as_text(sql.expression(sql_text, key_place, columns))


def _amount_columns(
    declared: Declaration, accounts: FiledAccounts, part: FilePart, columns: sql.ColumnTypes
) -> tuple[dict[str, pl.Expr], tuple[str, ...]]:
    """The columns with amounts of a file, and the names of those that hold one element each.

    A file with the columns `element` and `value` (one amount per row) has no such names, so these are empty.

    Raises:
        InputError: the file has none of the declared columns.
    """
    element, value = accounts.element, accounts.value
    if element in columns and value in columns:
        return {ELEMENT: pl.col(str(element)), VALUE: pl.col(str(value))}, ()
    values = tuple(name for name in accounts.values if name in columns)
    if not values:
        raise InputError(
            f"{declared.source}.toml [statements] values: {part.name} has none of the columns"
            f" {', '.join(accounts.values)}; name those of {part.kind.name}"
        )
    return {name: pl.col(name) for name in values}, values
