"""Amounts of the chart as canonical rows, written batch by batch.

A part of a line is named as one (`dont …`) only where that line is in the same accounts: alone, it
would read as a part of whatever stands above it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from pipeline.canonical import COMPTES, GROUP
from pipeline.registers.statements.chart import GROUP_PLACES, ChartLine
from shards.codec.record import ETATS

BATCH: Final = 50_000  # lines written at a time
COMPUTED: Final = " (calculé)"
OF_GROUP: Final = " (comptes consolidés)"

Row = dict[str, object]


class Amount(NamedTuple):
    """The value of a line in one fiscal year.

    Attributes:
        exercice: the year of the closing date.
        devise: null where the value is no amount of money.
        computed: the filing has its parts only; the label says so.
        group: from group accounts.
    """

    exercice: int
    line: ChartLine
    valeur: float
    devise: str | None
    computed: bool = False
    group: bool = False


def rows(iso2: str, identifier: str, amounts: Iterable[Amount]) -> list[Row]:
    """The canonical rows of one company, by fiscal year, statement and place."""
    ordered = sorted(amounts, key=_position)
    there = {(one.exercice, one.group, one.line.code) for one in ordered}
    return [
        _row(iso2, identifier, one, (one.exercice, one.group, one.line.parent) in there)
        for one in ordered
    ]


def write(companies: Iterable[list[Row]], work: Path) -> pl.LazyFrame:
    """Write the rows of each company in turn to files of `work`; return a scan of them all."""
    paths = [
        _flush(batch, work / f"lignes-{number:05d}.parquet")
        for number, batch in enumerate(_batches(companies))
    ]
    empty = pl.LazyFrame(schema=dict(COMPTES))
    return pl.concat([empty, *(pl.scan_parquet(path) for path in paths)])


def _position(amount: Amount) -> tuple[int, int, bool, int]:
    line = amount.line
    return amount.exercice, ETATS.index(line.etat), amount.group, line.ordre


def _row(iso2: str, identifier: str, amount: Amount, below_parent: bool) -> Row:
    line, group = amount.line, amount.group
    label = line.as_part if below_parent else line.libelle_fr
    return {
        "iso2": iso2,
        "id": identifier,
        "exercice": amount.exercice,
        "etat": line.etat,
        "code": line.code + GROUP * group,
        "libelle": label + COMPUTED * amount.computed + OF_GROUP * group,
        "valeur": amount.valeur,
        "devise": amount.devise,
        "ordre": line.ordre + GROUP_PLACES * group,
    }


def _batches(companies: Iterable[list[Row]]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for found in companies:
        batch += found
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _flush(batch: list[Row], path: Path) -> Path:
    pl.DataFrame(batch, schema=dict(COMPTES)).write_parquet(path)
    return path
