"""The ratios of the last year of many companies at once, as the build stores them (FORMAT.md §6).

The formulas are those of `accounts`, over arrays with one entry per company; NaN stands for what was
not filed, and for what has no value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.ratios.ratio_table import (
    MONTHS,
    YEAR_MONTHS,
    Formula,
    Ratio,
    ordered_codes,
    ratios,
    stored_codes,
)

Figures = NDArray[np.float64]
# The figures of a year by line of the chart.
Lines = Mapping[str, Figures]


@dataclass(frozen=True, slots=True)
class LastYearRatios:
    """The arrays of the table `ratio`: the year, and each ratio by its code; one entry per company."""

    arrays: Mapping[str, NDArray[np.uint16] | Figures]

    def orders(self) -> dict[str, NDArray[np.uint32]]:
        """The further arrays of the table: the numbers of the companies that have a ratio, and where these end.

        They ascend by the ratio, equal ones by number; ratio by ratio in the order of `ordered_codes`.
        """
        found = []
        for code in ordered_codes():
            values = self.arrays[code]
            known = np.flatnonzero(~np.isnan(values))
            found.append(known[np.argsort(values[known], kind="stable")])
        numbers, ends = np.concatenate(found), np.cumsum([len(one) for one in found])
        arrays = (numbers.astype(format.U4), ends.astype(format.U4))
        return dict(zip(format.RATIO_ORDERS, arrays, strict=True))


NO_RATIOS: Final = LastYearRatios(
    MappingProxyType(
        {format.YEARS.decode(): np.empty(0, format.U2)}
        | {code: np.empty(0, format.F8) for code in stored_codes()}
    )
)


@dataclass(frozen=True, slots=True)
class YearFigures:
    """The lines of one year of many companies.

    Attributes:
        lines: a line that nobody filed may lack.
        rates: euros per unit of the currency of each company's year; NaN without a rate.
        comparable: whether the currency is that of the year before.
    """

    lines: Lines
    rates: Figures
    comparable: NDArray[np.bool_]


def compute(years: NDArray[np.uint16], last: YearFigures, before: YearFigures) -> LastYearRatios:
    """The ratios of `last`, where `before` has the accounts of the year before it.

    Args:
        years: the last year of each company, 0 for none.
    """
    unknown = np.full(len(years), np.nan)
    earlier = _values(before, {}, unknown)
    found = _values(last, {**before.lines, **earlier}, unknown)
    stored = {code: found[code] for code in stored_codes()}
    return LastYearRatios({format.YEARS.decode(): years.astype(format.U2), **stored})


def _values(figures: YearFigures, before: Lines, unknown: Figures) -> dict[str, Figures]:
    known: dict[str, Figures] = {}
    compared = {name: np.where(figures.comparable, found, np.nan) for name, found in before.items()}

    def lookup(name: str, years_before: int) -> Figures:
        if years_before:
            return compared.get(name, unknown)
        return (known if name[0].islower() else figures.lines).get(name, unknown)

    said = figures.lines.get(MONTHS, unknown)
    months = np.where(said > 0, said, YEAR_MONTHS)
    for ratio in ratios().values():
        found = _quotient(ratio, lookup, figures.rates)
        known[ratio.code] = found * (YEAR_MONTHS / months) ** ratio.annual
    return known


def _quotient(ratio: Ratio, lookup: Callable[[str, int], Figures], rates: Figures) -> Figures:
    found = _sums(ratio.numerator, lookup)
    if ratio.denominator is not None:
        below = _sums(ratio.denominator, lookup)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ratio.factor * found / np.where(below > 0, below, np.nan)
    return (found * rates if ratio.unite == "EUR" else found) + 0.0


def _sums(formula: Formula, lookup: Callable[[str, int], Figures]) -> Figures:
    """The first alternative whose lines were all filed, company by company."""
    found: Figures | None = None
    for terms in formula.alternatives:
        total: Figures | float = 0.0
        for term in terms:
            figure = lookup(term.name, term.years_before)
            total = total + term.factor * (np.nan_to_num(figure) if term.optional else figure)
        assert isinstance(total, np.ndarray)  # a formula has a term
        found = total if found is None else np.where(np.isnan(found), total, found)
    assert found is not None
    return found
