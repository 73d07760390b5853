"""Amounts of the chart as canonical rows, written batch by batch.

A part of a line is named as one (`dont …`) only where that line is in the same accounts: alone, it
would read as a part of whatever stands above it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pipeline.canonical import GROUP
from pipeline.registers.accounts.chart import GROUP_PLACES, ChartLine
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
