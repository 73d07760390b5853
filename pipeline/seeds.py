"""The reference tables of `seeds/`, read and checked.

Countries, sectors, rates and codes are data: a new row changes no code. This module checks what the code assumes of the
tables: the columns, 25 countries, 84 sectors, and labels without a bar (`|`), which separates labels in a search
(contract B11). Cells stay text; each stage converts its table. `read_table` is the only reader of these tables in the
batch job.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.errors import SeedError
from seeds import TABLES

# The numbers of rows of `pays.csv` and `secteurs.csv`.
COUNTRIES: Final = 25
SECTORS: Final = 84

TableRow = Mapping[str, str]  # the cells of a row by column
Table = tuple[TableRow, ...]

# The columns of groups and classes of NACE.
_NACE_COLUMNS: Final = ("code", "label_fr", "division", "section")
# Table -> the columns that the build reads; a table may have more columns.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "pays": ("iso2", "slug", "nom_fr", "nom_en", "devise", "registre"),
        "secteurs": ("nace_division", "secteur", "secteur_en", "slug", "grand_secteur"),
        "nace_divisions": ("code", "label_fr", "section"),
        "nace_divisions_rev21": ("code", "label_fr", "section"),
        "nace_groups": _NACE_COLUMNS,
        "nace_groups_rev21": _NACE_COLUMNS,
        "nace_classes": (*_NACE_COLUMNS, "group"),
        "nace_classes_rev21": (*_NACE_COLUMNS, "group"),
        "nace_crosswalk": ("nace_rev2", "nace_rev21", "partial"),
        "nace_hors": ("iso2", "code", "raison"),
        "etats": ("iso2", "statut", "etat"),
        "libelles": ("champ", "iso2", "valeur", "libelle"),
        "taux": ("devise", "annee", "taux"),
        "personnes": ("iso2", "champs", "motif", "raison"),
        "aux_soins_de": ("iso2", "ailleurs", "marque"),
        "formes_juridiques": ("iso2", "classe", "forme"),
        "parties_de_formes": ("partie", "ecriture"),
        "prenoms": ("prenom",),
        "messageries": ("domaine", "fournisseur"),
        "valeurs_vides": ("iso2", "champs", "motif"),
        "roles": ("role", "etat", "code"),
        "postes": ("code", "libelle_fr"),
    }
)


@dataclass(frozen=True, slots=True)
class Country:
    """A row of `pays.csv`; an empty text means no value.

    `id_regex` matches a valid identifier; it is searched, so it needs its own `^` and `$`.
    """

    iso2: str
    slug: str
    nom_fr: str
    nom_en: str
    devise: str
    registre: str
    url_fiche: str  # with `{id}` for the identifier
    id_regex: str
    id_exemple: str
    stdnum_module: str  # of python-stdnum, as `fr.siren`


@dataclass(frozen=True, slots=True)
class Seeds:
    """All tables of COLUMNS by name, and the countries in the order of the table."""

    pays: tuple[Country, ...]
    tables: Mapping[str, Table]

    def country(self, iso2: str) -> Country:
        """The row of a country of the table."""
        return next(country for country in self.pays if country.iso2 == iso2)


def read(folder: Path = TABLES) -> Seeds:
    """Read and check all tables of `folder`.

    Raises:
        SeedError: a table is missing or empty, lacks a column, or does not have 25 countries or 84 sectors.
    """
    tables = {
        name: read_table(folder / f"{name}.csv", columns) for name, columns in COLUMNS.items()
    }
    names = [field.name for field in fields(Country)]
    try:
        pays = tuple(Country(**{name: row[name] for name in names}) for row in tables["pays"])
    except KeyError as error:
        raise SeedError(f"{folder / 'pays.csv'} has no column {error}; add it") from error
    _expect_count(folder / "pays.csv", "iso2", [country.iso2 for country in pays], COUNTRIES)
    sectors = [row["nace_division"] for row in tables["secteurs"]]
    _expect_count(folder / "secteurs.csv", "nace_division", sectors, SECTORS)
    _refuse_bars(folder, tables)
    return Seeds(pays, tables)


def read_table(path: Path, columns: tuple[str, ...]) -> Table:
    """Read the rows of one table.

    Raises:
        SeedError: the table is missing, empty or not CSV, or lacks a column of `columns`.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = tuple(csv.DictReader(file))
    except FileNotFoundError:
        raise SeedError(f"{path} is missing; take it from the repository") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise SeedError(f"{path} is not a UTF-8 CSV ({error}); save it as one") from error
    if not rows:
        raise SeedError(f"{path} has no row; take it from the repository")
    if missing := [column for column in columns if column not in rows[0]]:
        raise SeedError(f"{path} has no column {', '.join(missing)}; add it")
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise SeedError(f"{path} line {line} does not have one value per column; correct it")
    return rows


def read_patterns(
    table: str, rows: Table, columns: Collection[str], iso2: str
) -> dict[str, list[str]]:
    """The patterns of a country by column, from a table with `iso2`, `champs` (`*` for all `columns`) and `motif`.

    Raises:
        SeedError: a row names an unknown column, or its pattern is not a regular expression.
    """
    patterns: dict[str, list[str]] = {}
    for row in rows:
        motif = row["motif"]
        names = columns if row["champs"] == "*" else row["champs"].split()
        if unknown := sorted(set(names) - set(columns)):
            raise SeedError(
                f"{table}.csv: unknown column {unknown[0]!r} beside {motif!r}; known: {', '.join(columns)}"
            )
        if fault := _pattern_fault(motif):
            raise SeedError(
                f"{table}.csv: {motif!r} is not a regular expression ({fault}); mend it"
            )
        if row["iso2"] in ("", iso2):
            for name in names:
                patterns.setdefault(name, []).append(motif)
    return patterns


@cache
def _pattern_fault(motif: str) -> str:
    """The reason why a pattern is not a regular expression, or "".

    The results are cached, because the check of all patterns takes 0.15 s and is repeated for each country.
    """
    try:
        pl.select(pl.lit("").str.contains(f"(?:{motif})"))
    except pl.exceptions.ComputeError as error:
        return str(error)
    return ""


def _expect_count(path: Path, key: str, values: list[str], count: int) -> None:
    """Check that a table has `count` rows with different values of its column `key`."""
    if len(values) != count or len(set(values)) != count:
        raise SeedError(
            f"{path} has {len(values)} rows with {len(set(values))} different {key}, "
            f"the API serves {count}; mend the table"
        )


def _refuse_bars(folder: Path, tables: Mapping[str, Table]) -> None:
    """Refuse labels of sectors and sub-sectors that contain a bar."""
    labels = {
        "secteurs": [row["secteur"] for row in tables["secteurs"]],
        "nace_groups": [row["label_fr"] for row in tables["nace_groups"]],
    }
    for name, values in labels.items():
        if barred := [value for value in values if "|" in value]:
            raise SeedError(
                f"{folder / name}.csv: the label {barred[0]!r} holds a bar, which separates labels "
                "in a search (contract B11); write it without the bar"
            )
