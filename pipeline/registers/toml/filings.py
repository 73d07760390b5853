"""From published rows to filed accounts: one filing of each part and year, and an account of rows.

A row is dropped, rejected, replaced by a later filing, or chosen. `accounts_reader` makes lines of
the chosen ones. Rows are staged in one Parquet file per published file, in their order; only the
keys of the filings are in memory at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers.accounts.statement import DAYS
from pipeline.registers.company_identifiers import NO_COMPANY, is_no_company
from pipeline.registers.toml import entity, sql
from pipeline.registers.toml.declaration import Declaration, FiledAccounts
from pipeline.registers.toml.entity import NO_ID
from pipeline.registers.toml.source_file import ROW, FilePart

NO_CLOSE: Final = "date de clôture illisible"
NO_SCALE: Final = "unité inconnue"
NO_CURRENCY: Final = "devise absente"
REPLACED: Final = "remplacé par un dépôt plus récent"
ELEMENT: Final = "poste"
VALUE: Final = "valeur"
OWN: Final = ("iso2", "id", "exercice", "groupe", "part")  # a filing of these replaces another
_FILING: Final = (*OWN, "depot")
LENGTH: Final = "mois"  # the months of the fiscal year; 0 where its first day is no date
KEY: Final = "cle"  # the hash of what tells rows apart; two things may share one
_KEYS_AT_ONCE: Final = 2_000_000
_LATEST: Final = "latest "  # before a number: the texts by which the last filing is found


@dataclass(frozen=True, slots=True)
class StagedFile:
    """The rows of one published file, as `stage` writes them.

    Attributes:
        rows: the columns of OWN, the place of the row, what becomes of it, and the amounts.
        values: the columns with amounts, one element each; none of a table with an amount a row.
    """

    part: FilePart
    rows: pl.LazyFrame
    values: tuple[str, ...]


def stage(
    declared: Declaration, part: FilePart, rank: int, frame: pl.LazyFrame, work: Path
) -> StagedFile:
    """Write the rows of one file to `work` with their identity and the reason to leave them out.

    Raises:
        InputError: the file has none of the columns with amounts.
    """
    accounts = declared.statements
    assert accounts is not None
    columns = frame.collect_schema()
    amounts, values = _amounts(declared, accounts, part, columns)
    identity = _identity(declared, accounts, part, columns)
    reasons = entity.reasons(declared, columns)
    row = pl.lit(f"{rank}/") + pl.col(ROW).cast(pl.String)
    staged = frame.with_columns(**identity).select(
        *identity,
        pl.lit(part.name).alias("fichier"),
        pl.lit(rank, pl.Int32).alias("rank"),
        pl.col(ROW),
        pl.coalesce(_text(accounts.filing, "filing", declared, columns), row).alias("depot"),
        drop_reason=reasons["drop"][0],
        reject_reason=pl.coalesce(reasons["reject"][0], _fault()),
        detail=pl.coalesce(reasons["reject"][1], pl.when(_is_no_company()).then("id")),
        note=reasons["note"][0],
        note_value=reasons["note"][1],
        **amounts,
    )  # fmt: skip
    path = work / f"comptes-{rank:03}.parquet"
    staged.sink_parquet(path, compression="lz4", maintain_order=True)
    return StagedFile(part, pl.scan_parquet(path), values)


def replaced_filings(staged: Sequence[StagedFile]) -> pl.LazyFrame:
    """The filings that a later one replaces: the columns of OWN and `depot`.

    Of several filings of one part, year and company the one with the last closing date counts, then
    the last by `latest`, then the last in the files. Only these several are in memory at once.
    """
    filings = pl.concat(map(_filings, staged))
    repeats = pl.col(KEY).is_in(repeated_keys(filings).implode())
    rivals = filings.filter(repeats).collect(engine="streaming")
    orders = [name for name in rivals.columns if name.startswith(_LATEST)]
    ranked = rivals.sort("cloture", *orders, "rank", ROW, nulls_last=False)
    last = ranked.unique(OWN, keep="last", maintain_order=True)
    return ranked.join(last, on=_FILING, how="anti").select(_FILING).lazy()


def good_rows(file: StagedFile) -> pl.LazyFrame:
    """The rows of a file that are neither dropped nor rejected."""
    return file.rows.filter(pl.col("drop_reason").is_null() & pl.col("reject_reason").is_null())


def chosen_rows(file: StagedFile, gone: pl.LazyFrame) -> pl.LazyFrame:
    """The good rows of the filings that count; `gone` are those that do not."""
    return good_rows(file).join(gone, on=_FILING, how="anti", maintain_order="left")


def _filings(file: StagedFile) -> pl.LazyFrame:
    """The filings of a file, one row each: a row is a filing where it has several amounts."""
    orders = [name for name in file.rows.collect_schema() if name.startswith(_LATEST)]
    by = ("cloture", *orders, "rank", ROW)
    good = good_rows(file)
    if not file.values:
        good = good.group_by(_FILING).agg(pl.col(by).max())
    return good.select(*_FILING, *by, pl.struct(OWN).hash().alias(KEY))


def repeated_keys(rows: pl.LazyFrame) -> pl.Series:
    """The values of KEY that several rows have, found in passes so that memory holds few at once."""
    count = int(rows.select(pl.len()).collect(engine="streaming").item())
    passes = count // _KEYS_AT_ONCE + 1
    found = [
        rows.select(KEY)
        .filter(pl.col(KEY) % passes == number)
        .group_by(KEY)
        .len()
        .filter(pl.col("len") > 1)
        .select(KEY)
        .collect(engine="streaming")
        for number in range(passes)
    ]
    return pl.concat(found)[KEY]


def _is_no_company() -> pl.Expr:
    return is_no_company(pl.col("iso2"), pl.col("id"), pl.lit(None, pl.String))


def _fault() -> pl.Expr:
    faults = {
        NO_ID: pl.col("id").is_null() | pl.col("iso2").is_null(),
        NO_COMPANY: _is_no_company(),
        NO_CLOSE: pl.col("exercice").is_null(),
        NO_SCALE: ~(pl.col("echelle") > 0).fill_null(False),
        NO_CURRENCY: pl.col("devise").is_null(),
    }
    return pl.coalesce(pl.when(fault).then(pl.lit(why)) for why, fault in faults.items())


def _identity(
    declared: Declaration, accounts: FiledAccounts, part: FilePart, columns: sql.Schema
) -> dict[str, pl.Expr]:
    place = sql.Place(declared.source, "statements")

    def read(key: str, text: str) -> pl.Expr:
        return sql.text(sql.expression(text, place.at_key(key), columns))

    close = sql.iso_date(read("close", accounts.close.sql[0]), accounts.close.formats)
    group = sql.expression(accounts.group, place.at_key("group"), columns)
    latest = {f"{_LATEST}{n}": read("latest", text) for n, text in enumerate(accounts.latest)}
    start = read("start", accounts.start.sql[0]) if accounts.start else pl.lit(None, pl.String)
    first = sql.iso_date(start, accounts.start.formats) if accounts.start else start
    return {
        "iso2": read("iso2", accounts.iso2),
        "id": read("id", accounts.id),
        "cloture": close,
        "exercice": close.str.head(4).cast(pl.Int64),
        LENGTH: pl.when(start.is_not_null()).then(_months(first, close).fill_null(0)),
        "groupe": group.fill_null(False),
        "part": read("part", accounts.part) if accounts.part else pl.lit(part.kind.name),
        "devise": read("currency", accounts.currency),
        "echelle": read("scale", accounts.scale).cast(pl.Float64, strict=False),
        **latest,
    }


def _months(first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """The months between two days in ISO text, both included; null where one is no date."""
    days = last.str.to_date("%Y-%m-%d") - first.str.to_date("%Y-%m-%d")
    return ((days.dt.total_days() + 1) * 12 / DAYS).round().cast(pl.Int64)


def _text(written: str | None, key: str, declared: Declaration, columns: sql.Schema) -> pl.Expr:
    if written is None:
        return pl.lit(None, pl.String)
    place = sql.Place(declared.source, "statements").at_key(key)
    return sql.text(sql.expression(written, place, columns))


def _amounts(
    declared: Declaration, accounts: FiledAccounts, part: FilePart, columns: sql.Schema
) -> tuple[dict[str, pl.Expr], tuple[str, ...]]:
    """The columns with amounts, and the names of those that are elements."""
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
