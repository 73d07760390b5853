"""Annual accounts as figures by year, and the ratios of each year: of one company, and of many at once.

Statement lines are those of contract E5. Lines of a group (codes ending in `Consolidated`) are not
those of the company. A year whose lines are of several currencies has no figures: nothing in it may
be divided by anything else.
"""

import csv
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from seeds import TABLES
from shards import format
from shards.ratios.ratio_table import (
    MONTHS,
    YEAR_MONTHS,
    Formula,
    Lookup,
    Ratio,
    ordered_codes,
    ratios,
    stored_codes,
)

_EURO: Final = "EUR"


Reason = Literal[
    "exercice_absent", "poste_absent", "denominateur_nul", "denominateur_negatif", "taux_absent",
    "devise_changee", "devises_multiples", "comptes_retenus",
]  # fmt: skip
# The codes of the lines of each year that the build withheld, since the accounts contradict themselves.
Withheld = Mapping[int, Collection[str]]


@dataclass(frozen=True, slots=True)
class AnnualAccounts:
    """The figures of one year by line of the chart, in units of `devise`; none of a year in several currencies."""

    figures: Mapping[str, float]
    devise: str | None
    mixed: bool = False

    @property
    def months(self) -> float:
        """The length of the fiscal year; twelve unless a line says otherwise."""
        found = self.figures.get(MONTHS, 0)
        return found if found > 0 else YEAR_MONTHS

    def joins(self, other: "AnnualAccounts") -> bool:
        """Whether the figures of both years are of one currency and may be compared."""
        return self.devise == other.devise


@dataclass(frozen=True, slots=True)
class RatioValue:
    """A value, or the reason why there is none and the lines of the chart that lack."""

    value: float | None
    reason: Reason | None = None
    lacking: tuple[str, ...] = ()


Accounts = Mapping[int, AnnualAccounts]
_LACKING: Final = ("exercice_absent", "poste_absent")


def by_year(lines: Iterable[Mapping[str, Any]]) -> dict[int, AnnualAccounts]:
    """The accounts of each year, the last year first; of a line that comes twice the first."""
    figures: dict[int, dict[str, float]] = {}
    currencies: dict[int, set[str]] = {}
    for line in lines:
        year, code = line["exercice"], line["code"]
        figures.setdefault(year, {})
        if code is None or line["valeur"] is None:
            continue
        figures[year].setdefault(code, line["valeur"])
        if line["devise"]:
            currencies.setdefault(year, set()).add(line["devise"])
    found = {}
    for year in sorted(figures, reverse=True):
        used = currencies.get(year, set())
        if len(used) > 1:
            found[year] = AnnualAccounts({}, None, mixed=True)
        else:
            found[year] = AnnualAccounts(figures[year], next(iter(used), None))
    return found


def last_year(lines: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, float]]:
    """The last year of these lines, 0 for none, and its values by code; NaN for none."""
    by_code = dict.fromkeys(ratios(), math.nan)
    recent = dict(islice(by_year(lines).items(), 2))
    for year, found in values(recent).items():
        known = {code: one.value for code, one in found.items() if one.value is not None}
        return year, by_code | known
    return 0, by_code


def values(
    accounts: Accounts, withheld: Withheld = MappingProxyType({})
) -> dict[int, dict[str, RatioValue]]:
    """Every row of the table for every year, the last year first."""
    known: dict[tuple[int, str], RatioValue] = {}
    found: dict[int, dict[str, RatioValue]] = {}
    for year in sorted(accounts):
        of_year = found[year] = {}
        for ratio in ratios().values():
            value = _value(ratio, accounts, year, known)
            if value.reason in _LACKING and _would_hold(ratio, accounts, year, known, withheld):
                value = RatioValue(None, "comptes_retenus")
            of_year[ratio.code] = known[year, ratio.code] = value
    return dict(reversed(found.items()))


def count_computable(
    lines: Iterable[Mapping[str, Any]], withheld: Withheld = MappingProxyType({})
) -> tuple[int, int]:
    """How many ratios the statements of a company give in some year, of how many."""
    years = values(by_year(lines), withheld).values()
    codes = [code for code, ratio in ratios().items() if not ratio.is_amount]
    return sum(any(year[code].value is not None for year in years) for code in codes), len(codes)


def _value(
    ratio: Ratio,
    accounts: Accounts,
    year: int,
    known: Mapping[tuple[int, str], RatioValue],
) -> RatioValue:
    def lookup(name: str, years_before: int) -> float | None:
        return _figure(name, year - years_before, accounts, known)

    if accounts[year].mixed:
        return RatioValue(None, "devises_multiples")
    before = accounts.get(year - 1)
    if before is not None and not accounts[year].joins(before) and ratio.looks_back:
        return RatioValue(None, "devise_changee")
    numerator = ratio.numerator.value(lookup)
    denominator = ratio.denominator.value(lookup) if ratio.denominator else 1.0
    if numerator is None or denominator is None:
        asked = (ratio.numerator, ratio.denominator)
        return _lacking_value(
            [formula for formula in asked if formula], lookup, accounts, year, known
        )
    if denominator <= 0:
        return RatioValue(None, "denominateur_nul" if not denominator else "denominateur_negatif")
    value = ratio.factor * numerator / denominator
    value *= (YEAR_MONTHS / accounts[year].months) ** ratio.annual
    if ratio.unite != "EUR":
        return RatioValue(value + 0.0)
    rate = euros_per_unit(accounts[year].devise, year)
    return RatioValue(None, "taux_absent") if rate is None else RatioValue(value * rate + 0.0)


def _would_hold(
    ratio: Ratio,
    accounts: Accounts,
    year: int,
    known: Mapping[tuple[int, str], RatioValue],
    withheld: Withheld,
) -> bool:
    """Whether a ratio had a value with the lines that were withheld: all that it needs was filed."""
    if not withheld:
        return False

    def filed_amount(name: str, years_before: int) -> float | None:
        at = year - years_before
        row = known.get((at, name))
        is_known = name in withheld.get(at, ()) or (row and row.reason == "comptes_retenus")
        return 1.0 if is_known else _figure(name, at, accounts, known)

    formulas = (ratio.numerator, ratio.denominator)
    return not any(formula.lacking_terms(filed_amount) for formula in formulas if formula)


def _figure(
    name: str, year: int, accounts: Accounts, known: Mapping[tuple[int, str], RatioValue]
) -> float | None:
    """A line of a year, or a row of the table of ratios."""
    if name[0].islower():
        row = known.get((year, name))
        return row.value if row else None
    return accounts[year].figures.get(name) if year in accounts else None


def _lacking_value(
    formulas: Iterable[Formula],
    lookup: Lookup,
    accounts: Accounts,
    year: int,
    known: Mapping[tuple[int, str], RatioValue],
) -> RatioValue:
    """Why a formula has no value: lines that lack (those of a row of the table for the row), or the year before."""
    terms = [term for formula in formulas for term in formula.lacking_terms(lookup)]
    if any(term.years_before and year - term.years_before not in accounts for term in terms):
        return RatioValue(None, "exercice_absent")
    names: dict[str, None] = {}
    for term in terms:
        row = known.get((year - term.years_before, term.name))
        names |= dict.fromkeys((row.lacking if row else ()) or (term.name,))
    return RatioValue(None, "poste_absent", tuple(names))


# -- the last year of many companies at once, as the build stores it (FORMAT.md §6) -------------

# The same formulas over arrays with one entry per company; NaN stands for a line that was not filed, and for a ratio
# without a value.

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


def compute_last_year(
    years: NDArray[np.uint16], last: YearFigures, before: YearFigures
) -> LastYearRatios:
    """The ratios of `last`, where `before` has the accounts of the year before it.

    Args:
        years: the last year of each company, 0 for none.
    """
    unknown = np.full(len(years), np.nan)
    earlier = _ratio_arrays(before, {}, unknown)
    found = _ratio_arrays(last, {**before.lines, **earlier}, unknown)
    stored = {code: found[code] for code in stored_codes()}
    return LastYearRatios({format.YEARS.decode(): years.astype(format.U2), **stored})


def _ratio_arrays(figures: YearFigures, before: Lines, unknown: Figures) -> dict[str, Figures]:
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


# -- euros per unit of a currency: annual averages of `seeds/taux.csv` -------------------------


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
