"""What a build leaves in the staged folder: a shard a country, the lists with their counts.

Only layout and lists are decided here; bytes are the business of `shards`.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pipeline import rows
from pipeline.sectors import DIVISION, GROUP
from pipeline.seeds import Seeds
from shards import generations, writer
from shards.reference import Cell, Pays, Reference, Secteur, SousSecteur


def shard(staged: Path, iso2: str, frame: pl.DataFrame, lines: pl.LazyFrame) -> None:
    """Write the shard of a country from its finished frame, which is in layout order."""
    writer.write(
        staged / generations.shard_name(iso2),
        iso2,
        rows.columns(frame),
        rows.records(frame),
        rows.statements(frame, lines),
    )


def cells(frame: pl.DataFrame) -> tuple[Cell, ...]:
    """How many companies each sub-sector of each sector has, in layout order."""
    counted = frame.group_by(DIVISION, GROUP).len().sort(DIVISION, GROUP, nulls_last=True)
    return tuple(Cell(*cell) for cell in counted.iter_rows())


def reference(seeds: Seeds, counts: Mapping[str, tuple[Cell, ...]]) -> Reference:
    """The lists of the API: countries and sectors in the order of their tables, with `counts`."""
    sectors = seeds.tables["secteurs"]
    shown = {row["nace_division"] for row in sectors}
    return Reference(
        pays=tuple(
            Pays(p.iso2, p.slug, p.nom_fr, p.nom_en, p.devise, p.registre) for p in seeds.pays
        ),
        secteurs=tuple(
            Secteur(
                row["nace_division"],
                row["secteur"],
                row["secteur_en"],
                row["slug"],
                row["grand_secteur"],
            )
            for row in sectors
        ),
        sous_secteurs=tuple(
            SousSecteur(row["code"], row["division"], row["label_fr"])
            for row in seeds.tables["nace_groups"]
            if row["division"] in shown
        ),
        counts={pays.iso2: counts[pays.iso2] for pays in seeds.pays},
    )
