"""The canonical schema: the output of every register, and the only input of a build.

The schema has a table of companies, a table of statement lines, and a table of relationships between LEI. Importers
write these tables and the build reads them. Importers and the build share this module, the seeds, the errors and the
texts of the console.

Rules: an unknown column and a missing required column are errors that name the column. A missing optional column
becomes a column of nulls of its type, so later stages need not check whether a column exists. Types are checked, not
guessed: a number published as text is an error, and is not cast. A column of whole numbers can have floats, because
pandas writes columns with nulls in this way; a value that is not a whole number becomes NO_INTEGER.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.errors import BuildError
from shards.generations import register_sources
from shards.generations.register_sources import SOURCES, RegisterImport

TableSchema = Mapping[str, pl.DataType]  # the type of each column

# The types of canonical columns.
TEXT: Final = pl.String()
INTEGER: Final = pl.Int64()
NUMBER: Final = pl.Float64()
BOOLEAN: Final = pl.Boolean()
TEXTS: Final = pl.List(pl.String())

# The columns of each table, and the columns that a file must have.
COMPANIES: Final[TableSchema] = MappingProxyType(
    {
        "iso2": TEXT,
        "id": TEXT,
        "nom": TEXT,
        "forme": TEXT,
        "statut": TEXT,
        "activite": TEXT,
        "ville": TEXT,
        "code_postal": TEXT,
        "region": TEXT,
        "adresse": TEXT,
        "date_creation": TEXT,  # ISO 8601: a day, a month or a year
        "effectif": INTEGER,
        "tranche_effectif": TEXT,
        "capital_social": NUMBER,
        "capital_devise": TEXT,
        "ca_eur": NUMBER,
        "ca_last": NUMBER,
        "ca_mult": INTEGER,
        "ca_devise": TEXT,
        "ca_year": INTEGER,
        "total_actif_last": NUMBER,
        "exercice_actif": INTEGER,
        "devise": TEXT,
        "unite_mult": INTEGER,
        "nace_code": TEXT,
        "nace_version": TEXT,
        "description": TEXT,
        "site_web": TEXT,
        "domaine": TEXT,
        "email": TEXT,
        "telephone": TEXT,
        "est_cotee": BOOLEAN,
        "url_registre": TEXT,
        "lei": TEXT,  # ISO 17442
        "tva": TEXT,  # VAT number
        "date_source": TEXT,  # date of the register's file, in the same form
        "noms_anterieurs": TEXTS,
        "nace_secondaires": TEXTS,
    }
)
EVERY_COUNTRY: Final = "*"  # in `Origin.complement`: the source complements all countries
COMPANIES_REQUIRED: Final = frozenset({"iso2", "id", "nom"})

COMPTES: Final[TableSchema] = MappingProxyType(
    {
        "iso2": TEXT,
        "id": TEXT,
        "exercice": INTEGER,
        "etat": TEXT,
        "code": TEXT,
        "libelle": TEXT,
        "valeur": NUMBER,
        "devise": TEXT,
        "ordre": INTEGER,
    }
)
COMPTES_REQUIRED: Final = frozenset(COMPTES) - {"devise", "ordre"}

# Pairs: the leading columns of a group, and the columns that mean nothing without the leading columns. A group is
# empty if all its leading columns are null. All columns of an empty group are filled from one source: the first source
# with a value in a leading column.
FIELD_GROUPS: Final = (
    (("ca_eur", "ca_last"), ("ca_mult", "ca_devise", "ca_year")),
    (("capital_social",), ("capital_devise",)),
    (("total_actif_last",), ("exercice_actif", "devise", "unite_mult")),
    (("nace_code", "nace_secondaires"), ("nace_version",)),
    (("effectif", "tranche_effectif"), ()),
    (("adresse", "code_postal", "ville", "region"), ()),
    (("site_web", "domaine"), ()),
)
RELATIONS: Final[TableSchema] = MappingProxyType(
    {
        "lei": TEXT,
        "parent_lei": TEXT,
        "nature": TEXT,  # one of shards.generations.groups.NATURES
        "debut": TEXT,  # ISO 8601
        "fin": TEXT,
    }
)
RELATIONS_REQUIRED: Final = frozenset({"lei", "parent_lei", "nature"})

# Table, which is also its folder in an input -> the columns of its files, and the required columns.
TABLES: Final = MappingProxyType(
    {
        "companies": (COMPANIES, COMPANIES_REQUIRED),
        "comptes": (COMPTES, COMPTES_REQUIRED),
        "relations": (RELATIONS, RELATIONS_REQUIRED),
    }
)

# Stands for a number that is not a 64-bit integer. It is outside the bounds of every column, so the stages set it to
# null and count it.
NO_INTEGER: Final = -(2**63)

# Columns of text that can also be Parquet dates.
_DATE_COLUMNS: Final = frozenset({"date_creation", "date_source"})

# The errors of Polars for a damaged file; some bytes make its reader panic.
_READ_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)

# A line of group accounts has a code of `seeds/postes.csv` with this ending.
GROUP_SUFFIX: Final = "Consolidated"


class InputError(BuildError):
    """An input cannot be used; the message names the file, the value and the remedy."""


def field_groups(offered: Collection[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The leading columns and all columns of each group, as far as they are in `offered`.

    A column that is in no group of FIELD_GROUPS is a separate group.
    """
    grouped = set(
        chain.from_iterable((*leading, *dependent) for leading, dependent in FIELD_GROUPS)
    )
    alone = [((name,), ()) for name in offered if name not in grouped]
    for leading, dependent in (*FIELD_GROUPS, *alone):
        present = [name for name in (*leading, *dependent) if name in offered]
        if leading_present := [name for name in leading if name in offered]:
            yield leading_present, present


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a canonical file, from the key-value metadata of the Parquet file.

    Attributes:
        source: the name of the source; None for a file that no import of this project wrote.
        complement: the countries whose own register the source completes; `*` for all countries.
    """

    source: str | None = None
    complement: tuple[str, ...] = ()

    @property
    def covers_every_country(self) -> bool:
        """Whether the source complements all countries."""
        return EVERY_COUNTRY in self.complement

    def complements(self, iso2: str) -> bool:
        """Whether the source complements the register of the country `iso2`."""
        return self.covers_every_country or iso2 in self.complement

    def metadata(self) -> dict[str, str]:
        """The key-value metadata of a file of this origin."""
        fields = {"source": self.source, "complement": ",".join(self.complement)}
        return {name: text for name, text in fields.items() if text}


def origin(file: Path) -> Origin:
    """The origin of a canonical Parquet file."""
    with name_unreadable([file]):
        metadata = pl.read_parquet_metadata(file)
    complement = metadata.get("complement", "")
    return Origin(metadata.get("source"), tuple(complement.split(",")) if complement else ())


def scan(file: Path, table: str) -> pl.LazyFrame:
    """Scan a Parquet file of `table` with the canonical columns, order and types.

    Raises:
        InputError: an unknown column, a missing required column, a column of another type, or a
            file that is not Parquet.
    """
    expected, required = TABLES[table]
    frame = pl.scan_parquet(file, hive_partitioning=False)
    with name_unreadable([file]):
        columns = frame.collect_schema()
    check_columns(columns, expected, required, file)
    return frame.select(
        _column(name, dtype, columns.get(name)).alias(name) for name, dtype in expected.items()
    )


def read_sources(folder: Path) -> dict[str, tuple[RegisterImport, ...]]:
    """The imports of an input folder by the path of the Parquet file they wrote; empty without a `sources.json`.

    Raises:
        InputError: the file is damaged.
    """
    path = folder / SOURCES
    try:
        return register_sources.load(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} cannot be read: {error}; import the register again") from error


def check_columns(
    columns: TableSchema, expected: TableSchema, required: frozenset[str], where: object
) -> None:
    """Check the `columns` of the file `where` against the `expected` columns of its table.

    Raises:
        InputError: a column is unknown, missing or of a wrong type; the message names it.
    """
    unknown = sorted(columns.keys() - expected.keys())
    missing = sorted(required - columns.keys())
    mistyped = [
        f"{name} is {dtype}, not {expected[name]}"
        for name, dtype in columns.items()
        if name in expected and not _accepts(name, expected[name], dtype)
    ]
    if unknown:
        raise InputError(
            f"{where}: unknown column {', '.join(unknown)}; rename it or leave it out"
            f" (known: {', '.join(expected)})"
        )
    if missing:
        raise InputError(f"{where}: required column {', '.join(missing)} is missing; add it")
    if mistyped:
        raise InputError(f"{where}: {'; '.join(mistyped)}; cast it before writing the file")


@contextmanager
def name_unreadable(files: Iterable[Path]) -> Iterator[None]:
    """If the block fails because a file cannot be read, raise an error that names the file.

    The error of a query over many files does not name the file, so each of `files` is then read by itself.

    Raises:
        InputError: the first of `files` that cannot be read.
    """
    try:
        yield
    except _READ_ERRORS:
        for file in files:
            _read_through(file)
        raise


def _read_through(file: Path) -> None:
    """Read a file to its end; raise InputError if it cannot be read."""
    try:
        pl.scan_parquet(file, hive_partitioning=False).sink_batches(lambda _: None)
    except _READ_ERRORS as error:
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"{file} cannot be read: {reason}; import it again") from error


def _column(name: str, expected: pl.DataType, dtype: pl.DataType | None) -> pl.Expr:
    """The column `name` with its expected type; `dtype` is its type in the file, None for a missing column."""
    if dtype is None:
        return pl.lit(None, dtype=expected)
    if name in _DATE_COLUMNS and dtype == pl.Date:
        return pl.col(name).dt.to_string("iso")
    if expected == INTEGER and dtype != INTEGER:
        return _whole_number(pl.col(name), dtype)
    return pl.col(name).cast(expected)


def _whole_number(number: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A column of numbers as 64-bit integers, with NO_INTEGER for a value that is not one."""
    cast = number.cast(INTEGER, strict=False)
    is_inexact = cast.is_null() & number.is_not_null()
    if dtype.is_float():
        is_inexact |= number != number.floor()
    return pl.when(is_inexact).then(pl.lit(NO_INTEGER, INTEGER)).otherwise(cast)


def _accepts(name: str, expected: pl.DataType, dtype: pl.DataType) -> bool:
    """Whether the type of a column in a file can be converted to its expected type."""
    if dtype in (expected, pl.Null):
        return True
    if expected == NUMBER:
        return dtype.is_numeric()
    if expected == INTEGER:
        return dtype.is_integer() or dtype.is_float()
    if expected == TEXT:
        return dtype in (pl.Categorical, pl.Enum) or (name in _DATE_COLUMNS and dtype == pl.Date)
    if expected == TEXTS:
        return dtype == pl.List(pl.Null)
    return False
