"""The canonical schema: the output of every register, the only input of a build.

It has a table of companies, one of statement lines, and one of relationships between LEI. Importers
end here and the build begins here; the two share this module, the seeds, errors and texts of the console.

Rules: an unknown column and a missing required column are errors that name it. A missing optional
column becomes a null of its type, so that no later stage asks whether a column exists. Types are
checked, never guessed: a number published as text is an error, not a cast. Whole numbers may come in a
column of floats, as pandas writes those with nulls; a value that is none is NO_INTEGER.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.errors import BuildError
from shards.generations import register_sources
from shards.generations.register_sources import SOURCES, RegisterImport

Schema = Mapping[str, pl.DataType]

TEXT: Final = pl.String()
INTEGER: Final = pl.Int64()
NUMBER: Final = pl.Float64()
BOOLEAN: Final = pl.Boolean()
TEXTS: Final = pl.List(pl.String())

COMPANIES: Final[Schema] = MappingProxyType(
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
        "date_creation": TEXT,  # ISO
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
        "date_source": TEXT,  # ISO date of the register's file: a day, else a month or a year
        "noms_anterieurs": TEXTS,
        "nace_secondaires": TEXTS,
    }
)
EVERY_COUNTRY: Final = "*"  # in the countries that a source complements
COMPANIES_REQUIRED: Final = frozenset({"iso2", "id", "nom"})

COMPTES: Final[Schema] = MappingProxyType(
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

RELATIONS: Final[Schema] = MappingProxyType(
    {
        "lei": TEXT,
        "parent_lei": TEXT,
        "nature": TEXT,  # of shards.generations.groups.NATURES
        "debut": TEXT,  # ISO
        "fin": TEXT,
    }
)
RELATIONS_REQUIRED: Final = frozenset({"lei", "parent_lei", "nature"})

# Folder of an input -> columns of its files, required columns.
TABLES: Final = MappingProxyType(
    {
        "companies": (COMPANIES, COMPANIES_REQUIRED),
        "comptes": (COMPTES, COMPTES_REQUIRED),
        "relations": (RELATIONS, RELATIONS_REQUIRED),
    }
)

# Stands for a number that is no integer of 64 bits, which no column can have: the stages leave it out and count it.
NO_INTEGER: Final = -(2**63)

# Texts that may also be Parquet dates.
_DATES: Final = frozenset({"date_creation", "date_source"})

# The errors of Polars for a damaged file; some bytes make its reader panic.
_UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)

GROUP: Final = "Consolidated"  # ends the code of a line of group accounts (`seeds/postes.csv`)


class InputError(BuildError):
    """An unusable input; the message names the file, the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a canonical file, from the key-value metadata of the Parquet.

    Attributes:
        source: the name of the source; null for a file that no import of this project wrote.
        complement: the countries whose own register the source completes; `*` stands for all.
    """

    source: str | None = None
    complement: tuple[str, ...] = ()

    @property
    def of_every_country(self) -> bool:
        return EVERY_COUNTRY in self.complement

    def complements(self, iso2: str) -> bool:
        """Whether the rows of a country complete those of its own register."""
        return self.of_every_country or iso2 in self.complement

    def metadata(self) -> dict[str, str]:
        """The key-value metadata of a file of this origin."""
        found = {"source": self.source, "complement": ",".join(self.complement)}
        return {name: text for name, text in found.items() if text}


def origin(file: Path) -> Origin:
    """The origin of a canonical Parquet file."""
    with name_unreadable([file]):
        found = pl.read_parquet_metadata(file)
    complement = found.get("complement", "")
    return Origin(found.get("source"), tuple(complement.split(",")) if complement else ())


def scan(file: Path, table: str) -> pl.LazyFrame:
    """Scan a Parquet file of `table` in the canonical columns, order and types.

    Raises:
        InputError: an unknown column, a missing required column, a column of another type, or a
            file that is no Parquet.
    """
    expected, required = TABLES[table]
    frame = pl.scan_parquet(file, hive_partitioning=False)
    with name_unreadable([file]):
        found = frame.collect_schema()
    check_columns(found, expected, required, file)
    return frame.select(
        _column(name, dtype, found.get(name)).alias(name) for name, dtype in expected.items()
    )


def read_sources(folder: Path) -> dict[str, tuple[RegisterImport, ...]]:
    """The imports of an input folder, by the path of their table; none without a `sources.json`.

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
    columns: Schema, expected: Schema, required: frozenset[str], where: object
) -> None:
    """Check the `columns` of `where` against the canonical schema.

    Raises:
        InputError: the unknown, the missing or the mistyped columns, by name.
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
    """Name the unreadable file when reading `files` fails within the block.

    An error of a plan over many files does not name the file, so each file is then read alone.

    Raises:
        InputError: the first of `files` that cannot be read.
    """
    try:
        yield
    except _UNREADABLE:
        for file in files:
            _read_through(file)
        raise


def _read_through(file: Path) -> None:
    try:
        pl.scan_parquet(file, hive_partitioning=False).sink_batches(lambda _: None)
    except _UNREADABLE as error:
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"{file} cannot be read: {reason}; import it again") from error


def _column(name: str, expected: pl.DataType, dtype: pl.DataType | None) -> pl.Expr:
    if dtype is None:
        return pl.lit(None, dtype=expected)
    if name in _DATES and dtype == pl.Date:
        return pl.col(name).dt.to_string("iso")
    if expected == INTEGER and dtype != INTEGER:
        return _whole_number(pl.col(name), dtype)
    return pl.col(name).cast(expected)


def _whole_number(number: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    cast = number.cast(INTEGER, strict=False)
    lost = cast.is_null() & number.is_not_null()
    if dtype.is_float():
        lost |= number != number.floor()
    return pl.when(lost).then(pl.lit(NO_INTEGER, INTEGER)).otherwise(cast)


def _accepts(name: str, expected: pl.DataType, dtype: pl.DataType) -> bool:
    if dtype in (expected, pl.Null):
        return True
    if expected == NUMBER:
        return dtype.is_numeric()
    if expected == INTEGER:
        return dtype.is_integer() or dtype.is_float()
    if expected == TEXT:
        return dtype in (pl.Categorical, pl.Enum) or (name in _DATES and dtype == pl.Date)
    if expected == TEXTS:
        return dtype == pl.List(pl.Null)
    return False
