"""`import fr-sirene` of synthetic files in the published layouts: time, processor and private memory.

    python -m tests.bench.sirene DIR --units 4000000 [--form zip|parquet] [--root CHECKOUT]

DIR gets StockUniteLegale and StockEtablissement, once: all columns of the published headers, units
sorted by their number, half of them persons, 1.45 establishments a unit, the seat the last one. INSEE
publishes 29 million units and 42 million establishments, as zipped CSV and as Parquet. `--root`
measures another commit on the same files.
"""

import argparse
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.registers import FOLDER
from pipeline.registers.toml_registers import declaration_file
from tests import ROOT
from tests.bench import processes

BATCH: Final = 500_000  # units
_TOWNS: Final = (
    ("33063", "33000", "BORDEAUX"),
    ("75056", "75011", "PARIS"),
    ("97411", "97400", "SAINT-DENIS"),
)
_WORDS: Final = (
    "BOULANGERIE",
    "TRANSPORTS",
    "MENUISERIE",
    "CONSEIL",
    "ŒUVRES",
    "SCI DU CHÂTEAU",
    "L'ATELIER",
)


def main() -> int:
    """Write the files where they are not there, import them, and print what it costs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sirene", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--units", metavar="N", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("zip", "parquet"), default="zip")
    parser.add_argument("--root", metavar="CHECKOUT", type=Path, default=ROOT)
    asked = parser.parse_args()
    folder = asked.folder / f"{asked.units}-{asked.form}"
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        write_files(partial, asked.units, asked.form)
        partial.rename(folder)
    out = asked.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    files = [str(path) for path in sorted(folder.iterdir())]
    command = [sys.executable, "-m", "pipeline", "import", "fr-sirene", *files, "--out", str(out)]
    cost = processes.run(command, asked.root)
    shutil.rmtree(out)
    print(f"{asked.units:,} units, {asked.form}: {cost.seconds:.1f} s, processor {cost.processor:.1f} s, "
          f"private {cost.private >> 20:,} MiB, with files {cost.peak >> 20:,} MiB")  # fmt: skip
    return 0


def write_files(folder: Path, units: int, form: str) -> None:
    """Write both files of `units` legal units as zipped CSV or as Parquet."""
    kinds = declaration_file.read(FOLDER / "fr-sirene.toml").files
    for name, kind in (
        ("StockUniteLegale", "unite_legale"),
        ("StockEtablissement", "etablissement"),
    ):
        declared = kinds[kind]
        columns = list(dict.fromkeys([*declared.used, *declared.ignored]))
        columns = [column for column in columns if not column.endswith("*")]
        tables = (
            (_units if kind == "unite_legale" else _establishments)(
                first, min(first + BATCH, units)
            )
            for first in range(0, units, BATCH)
        )
        whole = (table.select(*(_column(table, column) for column in columns)) for table in tables)
        if form == "parquet":
            _write_parquet(folder / f"{name}_utf8.parquet", whole)
        else:
            _write_zip(folder / f"{name}_utf8.zip", f"{name}_utf8.csv", whole)


def _column(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name) if name in table.columns else pl.lit(None, pl.String).alias(name)


def _units(first: int, end: int) -> pl.DataFrame:
    """Legal units `first` to `end`: every other one a person, one of 20 ceased or of partial diffusion."""
    n = pl.int_range(first, end, eager=True).alias("n")
    is_person = pl.col("n") % 2 == 1
    words = pl.lit(pl.Series(_WORDS)).implode().list
    return pl.DataFrame(n).select(
        siren=_siren(),
        statutDiffusionUniteLegale=pl.when(pl.col("n") % 20 == 3)
        .then(pl.lit("P"))
        .otherwise(pl.lit("O")),
        dateCreationUniteLegale=pl.concat_str(1980 + pl.col("n") % 45, pl.lit("-06-01")),
        dateDernierTraitementUniteLegale=pl.lit("2026-05-15T15:36:13.463"),
        trancheEffectifsUniteLegale=pl.when(pl.col("n") % 3 == 0)
        .then(pl.lit("12"))
        .otherwise(pl.lit("NN")),
        etatAdministratifUniteLegale=pl.when(pl.col("n") % 20 == 4)
        .then(pl.lit("C"))
        .otherwise(pl.lit("A")),
        denominationUniteLegale=pl.when(~is_person).then(
            pl.concat_str(words.get(pl.col("n") % len(_WORDS)), pl.lit(" "), pl.col("n"))
        ),
        nomUniteLegale=pl.when(is_person).then(pl.concat_str(pl.lit("DURAND"), pl.col("n"))),
        categorieJuridiqueUniteLegale=pl.when(is_person)
        .then(pl.lit("1000"))
        .otherwise(pl.lit("5710")),
        activitePrincipaleUniteLegale=pl.lit("68.20B"),
        nomenclatureActivitePrincipaleUniteLegale=pl.lit("NAFRev2"),
        nicSiegeUniteLegale=pl.lit("00015"),
    )


def _establishments(first: int, end: int) -> pl.DataFrame:
    """The establishments of these units: 145 for 100 units."""
    n = pl.int_range(first, end, eager=True).alias("n")
    counts = 1 + (n % 20 < 9).cast(pl.UInt32)
    rows = (
        pl.DataFrame({"n": n, "nic": counts})
        .with_columns(pl.int_ranges(counts).alias("nic"))
        .explode("nic")
    )
    town = pl.col("n") % len(_TOWNS)
    places = [
        pl.lit(pl.Series(values)).implode().list.get(town) for values in zip(*_TOWNS, strict=True)
    ]
    return rows.select(
        siren=_siren(),
        nic=(pl.col("nic") + 15).cast(pl.String).str.zfill(5),
        siret=pl.concat_str(_siren(), (pl.col("nic") + 15).cast(pl.String).str.zfill(5)),
        etablissementSiege=pl.when(pl.col("nic") == pl.col("nic").max().over("n")).then(pl.lit("true"))
        .otherwise(pl.lit("false")),
        numeroVoieEtablissement=(pl.col("n") % 200).cast(pl.String),
        typeVoieEtablissement=pl.lit("RUE"),
        libelleVoieEtablissement=pl.concat_str(pl.lit("DE LA RÉPUBLIQUE "), pl.col("n") % 5000),
        codeCommuneEtablissement=places[0],
        codePostalEtablissement=places[1],
        libelleCommuneEtablissement=places[2],
        dateDernierTraitementEtablissement=pl.lit("2026-05-15T15:36:13.463"),
        activitePrincipaleEtablissement=pl.lit("68.20B"),
        nomenclatureActivitePrincipaleEtablissement=pl.lit("NAFRev2"),
    )  # fmt: skip


def _siren() -> pl.Expr:
    return (100_000_000 + 27 * pl.col("n")).cast(pl.String)


def _write_zip(path: Path, member: str, tables: Iterator[pl.DataFrame]) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(member, "w", force_zip64=True) as target,
    ):
        for place, table in enumerate(tables):
            target.write(table.write_csv(include_header=place == 0).encode())


def _write_parquet(path: Path, tables: Iterator[pl.DataFrame]) -> None:
    writer: pq.ParquetWriter | None = None
    for table in tables:
        rows: pa.Table = table.to_arrow()
        writer = writer or pq.ParquetWriter(path, rows.schema, compression="zstd")
        writer.write_table(rows)
    if writer:
        writer.close()


if __name__ == "__main__":
    raise SystemExit(main())
