"""Euros per unit of a currency: the annual averages of `seeds/taux.csv`."""

import csv
from collections.abc import Mapping
from functools import cache
from typing import Final

from seeds import TABLES

_EURO: Final = "EUR"


def euros_per_unit(devise: str | None, year: int) -> float | None:
    """The euros of one unit of a currency in a year; None without a rate."""
    if devise == _EURO:
        return 1.0
    return None if devise is None else _rates().get((devise, year))


@cache
def newest_year(devise: str) -> int:
    """The newest year with a rate of a currency; 0 without one.

    >>> newest_year("GBP") > 2020, newest_year("Ψ")
    (True, 0)
    """
    return max((year for known, year in _rates() if known == devise), default=0)


@cache
def _rates() -> Mapping[tuple[str, int], float]:
    with (TABLES / "taux.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["devise"], int(row["annee"])): 1 / float(row["taux"])
            for row in csv.DictReader(file)
        }
