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


def line(iso2: str, identifier: str, exercice: int, **fields: Any) -> Row:
    """A canonical statement line, by default total assets of 100 EUR."""
    usual = {
        "etat": "bilan_actif",
        "code": "TotalAssets",
        "libelle": "Total de l'actif",
        "valeur": 100.0,
        "devise": "EUR",
        "ordre": 1,
    }
    return {**usual, "iso2": iso2, "id": identifier, "exercice": exercice, **fields}


def companies(*rows: Row) -> pl.LazyFrame:
    """Canonical companies as a frame."""
    return pl.DataFrame(list(rows), schema=dict(COMPANIES)).lazy()


def comptes(*rows: Row) -> pl.LazyFrame:
    """Canonical statement lines as a frame."""
    return pl.DataFrame(list(rows), schema=dict(COMPTES)).lazy()


def write(
    folder: Path,
    rows: Sequence[Row],
    lines: Sequence[Row] = (),
    name: str = "part",
    origin: Origin | None = None,
) -> Path:
    """Write an input folder; return it."""
    metadata = origin.metadata() if origin else None
    for table, frame in (("companies", companies(*rows)), ("comptes", comptes(*lines))):
        if rows if table == "companies" else lines:
            (folder / table).mkdir(parents=True, exist_ok=True)
            frame.sink_parquet(folder / table / f"{name}.parquet", metadata=metadata)
    return folder


def two_countries(folder: Path, word: str = "É") -> Path:
    """An input of two countries, each in files of its own."""
    estonia = [company("EE", "1", "Ä"), company("EE", "2", "Õun")]
    write(folder, estonia, [line("EE", "2", 2020)], "ee")
    return write(folder, [company("UK", "1", word), company("UK", "2", "È")], name="uk")
