"""The revision of activity codes that a register publishes without saying which it is.

`nace_version = { auto = revision }` declares it. The codes of a file tell: a file is of the
revision of which it holds more codes that the other one lacks; `revision` where they do not tell.
"""

from pathlib import Path
from typing import Final

import polars as pl

from pipeline import seeds
from pipeline.registers.toml.declaration import Declaration
from seeds import TABLES

_REVISIONS: Final = {"2": "nace_classes", "2.1": "nace_classes_rev21"}


def default_revision(declared: Declaration) -> str | None:
    column = declared.columns.get("nace_version")
    return column.auto if column else None


def with_revisions(staged: pl.LazyFrame, default: str, work: Path) -> pl.LazyFrame:
    """Fill `nace_version` of the rows that have a code and no revision, file by file.

    A file is of the revision of which it holds more codes that the other one lacks.
    """
    classes = {
        revision: {row["code"] for row in seeds.read_table(TABLES / f"{table}.csv", ("code",))}
        for revision, table in _REVISIONS.items()
    }
    only = {
        "2": sorted(classes["2"] - classes["2.1"]),
        "2.1": sorted(classes["2.1"] - classes["2"]),
    }
    bare = pl.col("nace_code").str.replace_all(r"[^0-9]", "").str.head(4)
    dotted = pl.concat_str(bare.str.head(2), pl.lit("."), bare.str.slice(2))
    missing = pl.col("nace_code").is_not_null() & pl.col("nace_version").is_null()
    found = (
        staged.filter(missing)
        .group_by("rank")
        .agg(**{revision: dotted.is_in(codes).sum() for revision, codes in only.items()})
        .collect(engine="streaming")
    )
    told = pl.lit(default)
    for row in found.iter_rows(named=True):
        if row["2"] != row["2.1"]:
            revision = "2" if row["2"] > row["2.1"] else "2.1"
            told = pl.when(pl.col("rank") == row["rank"]).then(pl.lit(revision)).otherwise(told)
    path = work / "revisions.parquet"
    filled = pl.when(missing).then(told).otherwise("nace_version").alias("nace_version")
    staged.with_columns(filled).sink_parquet(path, maintain_order=True)
    return pl.scan_parquet(path)
