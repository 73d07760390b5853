"""The table of ratios (`seeds/ratios.csv`): formulas by code, in the order in which they are shown.

A row without a denominator is an amount or a sum, one with a denominator a quotient. A row uses only
rows above it, so one pass computes all.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from seeds import TABLES
from shards.ratios.formula import Formula, FormulaError, parse

# Units of values: parts of 1, times, days, euros, an index, persons, an amount of the accounts.
UNITS: Final = ("part", "fois", "jours", "EUR", "indice", "personnes", "montant")
AMOUNTS: Final = ("montant", "personnes")
_DIRECTIONS: Final = ("haut", "bas", "")
# The line with the months of a fiscal year, where these are not twelve.
MONTHS: Final = "PeriodMonths"
YEAR_MONTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Ratio:
    """One row of the table.

    Attributes:
        libelle: by language, `fr` and `en`.
        denominator: None for an amount or a sum.
        factor: multiplies a quotient, as 365 makes days of it.
        annual: 1 where a flow is compared with a stock, -1 where a stock is with a flow: the flow counts as
            that of twelve months. 0 for others, in which the length of the year makes no difference.
        formule: the formula as the table states it, for people.
        sens: the better value: `haut` (the greatest), `bas` (the smallest), None where neither is.
        source: a textbook or a standard.
    """

    code: str
    libelle: Mapping[str, str]
    numerator: Formula
    denominator: Formula | None
    factor: float
    annual: int
    unite: str
    sens: str | None
    formule: str
    source: str

    @property
    def looks_back(self) -> bool:
        """Whether it uses figures of the year before."""
        formulas = (self.numerator, self.denominator)
        return any(term.years_before for formula in formulas if formula for term in formula.terms)

    @property
    def is_amount(self) -> bool:
        """Whether it is a part of other rows and no ratio of its own."""
        return self.unite in AMOUNTS


@cache
def ratios() -> Mapping[str, Ratio]:
    """All rows by code, in the order of the table.

    Raises:
        FormulaError: a formula is not in the language, or uses a row below it.
    """
    found: dict[str, Ratio] = {}
    with (TABLES / "ratios.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ratio = _ratio(row)
            _check_names(ratio, found)
            found[ratio.code] = ratio
    return MappingProxyType(found)


def stored_codes() -> tuple[str, ...]:
    """The codes of the ratios proper, of which a shard has the values of the last year."""
    return tuple(code for code, ratio in ratios().items() if not ratio.is_amount)


def ordered_codes() -> tuple[str, ...]:
    """The same codes as the orders of a shard lie: by their bytes, whatever the order of the table."""
    return tuple(sorted(stored_codes()))


def chart_lines() -> frozenset[str]:
    """The lines of the chart that any formula needs."""
    return frozenset((MONTHS,)) | frozenset(
        term.name
        for ratio in ratios().values()
        for formula in (ratio.numerator, ratio.denominator)
        if formula is not None
        for term in formula.terms
        if term.name[0].isupper()
    )


def _ratio(row: Mapping[str, str]) -> Ratio:
    if row["unite"] not in UNITS:
        raise FormulaError(f"{row['code']}: unit {row['unite']!r}; known: {', '.join(UNITS)}")
    if row["sens"] not in _DIRECTIONS:
        raise FormulaError(f"{row['code']}: direction {row['sens']!r}; known: haut, bas, or empty")
    quotient = f"({row['numerateur']}) / ({row['denominateur']})"
    shown = quotient if row["denominateur"] else row["numerateur"]
    return Ratio(
        row["code"],
        {"fr": row["libelle"], "en": row["libelle_en"]},
        parse(row["numerateur"]),
        parse(row["denominateur"]) if row["denominateur"] else None,
        float(row["facteur"] or 1),
        int(row["annuel"] or 0),
        row["unite"],
        row["sens"] or None,
        shown + (f" × {row['facteur']}" if row["facteur"] else "") + _ANNUAL[row["annuel"]],
        row["source"],
    )


# How a formula says that a flow counts as that of twelve months.
_ANNUAL: Final = {"": "", "1": " × 12 / mois", "-1": " × mois / 12"}


def _check_names(ratio: Ratio, above: Mapping[str, Ratio]) -> None:
    for formula in (ratio.numerator, ratio.denominator):
        for term in formula.terms if formula else ():
            if term.name[0].islower() and term.name not in above:
                raise FormulaError(
                    f"{ratio.code}: {term.name} is no row above it; move that up, or write it"
                )
