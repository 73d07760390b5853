"""Small canonical inputs: a few rows in real Parquet, as an importer writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.canonical import COMPANIES, COMPTES, Origin

Row = dict[str, Any]


def company(iso2: str | None, identifier: str | None, nom: str | None, **fields: Any) -> Row:
    """A canonical company; columns that are not given are null."""
    return {**dict.fromkeys(COMPANIES), "iso2": iso2, "id": identifier, "nom": nom, **fields}


def statement_line(iso2: str, identifier: str, exercice: int, **fields: Any) -> Row:
    """A canonical statement line, by default total assets of 100 EUR."""
    defaults = {
        "etat": "bilan_actif",
        "code": "TotalAssets",
        "libelle": "Total de l'actif",
        "valeur": 100.0,
        "devise": "EUR",
        "ordre": 1,
    }
    return {**defaults, "iso2": iso2, "id": identifier, "exercice": exercice, **fields}


def companies_frame(*rows: Row) -> pl.LazyFrame:
    """Canonical companies as a frame."""
    return pl.DataFrame(list(rows), schema=dict(COMPANIES)).lazy()


def statements_frame(*rows: Row) -> pl.LazyFrame:
    """Canonical statement lines as a frame."""
    return pl.DataFrame(list(rows), schema=dict(COMPTES)).lazy()


def write_input(
    folder: Path,
    rows: Sequence[Row],
    lines: Sequence[Row] = (),
    name: str = "part",
    origin: Origin | None = None,
) -> Path:
    """Write companies and statement lines as Parquet files called `name`; return the input folder."""
    metadata = origin.metadata() if origin else None
    for table, frame in (
        ("companies", companies_frame(*rows)),
        ("comptes", statements_frame(*lines)),
    ):
        # A table without rows has no file.
        if rows if table == "companies" else lines:
            (folder / table).mkdir(parents=True, exist_ok=True)
            frame.sink_parquet(folder / table / f"{name}.parquet", metadata=metadata)
    return folder


def write_two_countries(folder: Path, word: str = "É") -> Path:
    """An input of Estonia and the UK in separate files; `word` is the name of a British company."""
    estonia = [company("EE", "1", "Ä"), company("EE", "2", "Õun")]
    write_input(folder, estonia, [statement_line("EE", "2", 2020)], "ee")
    return write_input(folder, [company("UK", "1", word), company("UK", "2", "È")], name="uk")
