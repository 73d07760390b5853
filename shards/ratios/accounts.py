"""Annual accounts as figures by year, and the ratios of each year: of a company, and of many companies at once.

Contract E5 defines statement lines. Lines of a group (codes ending in `Consolidated`) are not lines of the company. A
year with lines in several currencies has no figures, since they cannot be divided by each other.
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


# Why a ratio has no value.
NoRatioReason = Literal[
    "exercice_absent", "poste_absent", "denominateur_nul", "denominateur_negatif", "taux_absent",
    "devise_changee", "devises_multiples", "comptes_retenus",
]  # fmt: skip
# By year, the codes of the lines that the build withheld, because the accounts contradict themselves.
Withheld = Mapping[int, Collection[str]]


@dataclass(frozen=True, slots=True)
class AnnualAccounts:
    """The figures of a year by code of the statement line (`seeds/postes.csv`), in units of `devise`.

    Attributes:
        mixed: whether the lines have several currencies; then there are no figures and no `devise`.
    """

    figures: Mapping[str, float]
    devise: str | None
    mixed: bool = False

    @property
    def months(self) -> float:
        """The months of the fiscal year; twelve unless a line has another number."""
        months = self.figures.get(MONTHS, 0)
        return months if months > 0 else YEAR_MONTHS

    def has_same_currency(self, other: "AnnualAccounts") -> bool:
        """Whether the figures of this and the other year have one currency, so that they can be compared."""
        return self.devise == other.devise


@dataclass(frozen=True, slots=True)
class RatioValue:
    """A value, or the reason for its absence and the codes of the missing statement lines."""

    value: float | None
    reason: NoRatioReason | None = None
    lacking: tuple[str, ...] = ()


Accounts = Mapping[int, AnnualAccounts]
# The reasons that become `comptes_retenus` if only withheld lines are missing.
_LACKING_REASONS: Final = ("exercice_absent", "poste_absent")


def accounts_by_year(lines: Iterable[Mapping[str, Any]]) -> dict[int, AnnualAccounts]:
    """The accounts of each year, the last year first, from the lines of a company's statements.

    If a line is repeated, the first value is used. A year whose lines have several currencies has no figures (`mixed`).
    """
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
    accounts = {}
    for year in sorted(figures, reverse=True):
        year_currencies = currencies.get(year, set())
        if len(year_currencies) > 1:
            accounts[year] = AnnualAccounts({}, None, mixed=True)
        else:
            accounts[year] = AnnualAccounts(figures[year], next(iter(year_currencies), None))
    return accounts


def last_year(lines: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, float]]:
    """The last year of these lines (0 without lines), and its values by code (NaN without a value)."""
    by_code = dict.fromkeys(ratios(), math.nan)
    # Formulas use at most the year before, so two years suffice; the first entry is the last year.
    recent = dict(islice(accounts_by_year(lines).items(), 2))
    for year, row in values(recent).items():
        known = {code: ratio.value for code, ratio in row.items() if ratio.value is not None}
        return year, by_code | known
    return 0, by_code


def values(
    accounts: Accounts, withheld: Withheld = MappingProxyType({})
) -> dict[int, dict[str, RatioValue]]:
    """The value of every row of the table of ratios for every year, the last year first.

    If a value is absent only because the build withheld lines (`withheld`), its reason is `comptes_retenus`.
    """
    computed: dict[tuple[int, str], RatioValue] = {}
    by_year: dict[int, dict[str, RatioValue]] = {}
    for year in sorted(accounts):
        of_year = by_year[year] = {}
        for ratio in ratios().values():
            value = _ratio_value(ratio, accounts, year, computed)
            if value.reason in _LACKING_REASONS and _would_have_value(
                ratio, accounts, year, computed, withheld
            ):
                value = RatioValue(None, "comptes_retenus")
            of_year[ratio.code] = computed[year, ratio.code] = value
    return dict(reversed(by_year.items()))


def count_computable(
    lines: Iterable[Mapping[str, Any]], withheld: Withheld = MappingProxyType({})
) -> tuple[int, int]:
    """The number of ratios with a value in any year of a company's statements, and the number of all ratios.

    Rows of the table that are amounts for other rows are not counted.
    """
    years = values(accounts_by_year(lines), withheld).values()
    codes = [code for code, ratio in ratios().items() if not ratio.is_amount]
    return sum(any(year[code].value is not None for year in years) for code in codes), len(codes)


def _ratio_value(
    ratio: Ratio,
    accounts: Accounts,
    year: int,
    computed: Mapping[tuple[int, str], RatioValue],
) -> RatioValue:
    """The value of a ratio of a year, or the reason for its absence.

    Args:
        computed: by year and code, the values of the rows above this ratio in the table.
    """

    def lookup(name: str, years_before: int) -> float | None:
        """The figure of this year, or of a number of years before; None if it is absent."""
        return _figure(name, year - years_before, accounts, computed)

    if accounts[year].mixed:
        return RatioValue(None, "devises_multiples")
    before = accounts.get(year - 1)
    if before is not None and not accounts[year].has_same_currency(before) and ratio.looks_back:
        return RatioValue(None, "devise_changee")
    numerator = ratio.numerator.value(lookup)
    denominator = ratio.denominator.value(lookup) if ratio.denominator else 1.0
    if numerator is None or denominator is None:
        formulas = (ratio.numerator, ratio.denominator)
        return _lacking_value(
            [formula for formula in formulas if formula], lookup, accounts, year, computed
        )
    if denominator <= 0:
        return RatioValue(None, "denominateur_nul" if not denominator else "denominateur_negatif")
    value = ratio.factor * numerator / denominator
    # In a ratio of a flow and a stock, the flow is converted to twelve months (`Ratio.annual`).
    value *= (YEAR_MONTHS / accounts[year].months) ** ratio.annual
    # The sum with 0.0 turns -0.0 into 0.0.
    if ratio.unite != "EUR":
        return RatioValue(value + 0.0)
    rate = euros_per_unit(accounts[year].devise, year)
    return RatioValue(None, "taux_absent") if rate is None else RatioValue(value * rate + 0.0)


def _would_have_value(
    ratio: Ratio,
    accounts: Accounts,
    year: int,
    computed: Mapping[tuple[int, str], RatioValue],
    withheld: Withheld,
) -> bool:
    """Whether an absent ratio would have a value with the lines that the build withheld, as all its lines were filed.

    `withheld` has the codes of these lines by year. The caller then gives the reason `comptes_retenus`.
    """
    if not withheld:
        return False

    def filed_amount(name: str, years_before: int) -> float | None:
        """A filed figure, or 1.0 in place of one that was filed and withheld; None if nothing was filed."""
        term_year = year - years_before
        row_value = computed.get((term_year, name))
        is_known = name in withheld.get(term_year, ()) or (
            row_value and row_value.reason == "comptes_retenus"
        )
        return 1.0 if is_known else _figure(name, term_year, accounts, computed)

    formulas = (ratio.numerator, ratio.denominator)
    return not any(formula.lacking_terms(filed_amount) for formula in formulas if formula)


def _figure(
    name: str, year: int, accounts: Accounts, computed: Mapping[tuple[int, str], RatioValue]
) -> float | None:
    """The value of a year: of a statement line, or of a row of the table of ratios if `name` is in small letters."""
    if name[0].islower():
        row_value = computed.get((year, name))
        return row_value.value if row_value else None
    return accounts[year].figures.get(name) if year in accounts else None


def _lacking_value(
    formulas: Iterable[Formula],
    lookup: Lookup,
    accounts: Accounts,
    year: int,
    computed: Mapping[tuple[int, str], RatioValue],
) -> RatioValue:
    """The absent value of a ratio whose formulas have no value, with the reason.

    The reason is `exercice_absent` if the year before is missing, else `poste_absent` with the missing lines; for a row
    of the table that has no value, these are the lines that it lacks.
    """
    terms = [term for formula in formulas for term in formula.lacking_terms(lookup)]
    if any(term.years_before and year - term.years_before not in accounts for term in terms):
        return RatioValue(None, "exercice_absent")
    names: dict[str, None] = {}
    for term in terms:
        row_value = computed.get((year - term.years_before, term.name))
        names |= dict.fromkeys((row_value.lacking if row_value else ()) or (term.name,))
    return RatioValue(None, "poste_absent", tuple(names))


# -- the last year of many companies at once, as the build stores it (FORMAT.md §6) -------------

# The formulas of ratios, over arrays with an entry per company. NaN is a line that was not filed, or an absent ratio.

Figures = NDArray[np.float64]
# The figures of a year by line of the chart.
FiguresByLine = Mapping[str, Figures]


@dataclass(frozen=True, slots=True)
class LastYearRatios:
    """The arrays of the table `ratio`: the year, and each ratio by its code; one entry per company."""

    arrays: Mapping[str, NDArray[np.uint16] | Figures]

    def orders(self) -> dict[str, NDArray[np.uint32]]:
        """Two more arrays of the table `ratio`: lists of the companies with each ratio, by number, and their ends.

        A list is sorted by the ratio, then by number; the lists are in the order of `ordered_codes`.
        """
        lists = []
        for code in ordered_codes():
            values = self.arrays[code]
            present = np.flatnonzero(~np.isnan(values))
            lists.append(present[np.argsort(values[present], kind="stable")])
        numbers, ends = np.concatenate(lists), np.cumsum([len(order) for order in lists])
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
    """The lines of a year of many companies.

    Attributes:
        lines: the figures by line; a line that no company filed can be missing.
        rates: euros per unit of the currency of each company's year; NaN without a rate.
        comparable: whether the currency is the same as in the year before.
    """

    lines: FiguresByLine
    rates: Figures
    comparable: NDArray[np.bool_]


def compute_last_year(
    years: NDArray[np.uint16], last: YearFigures, before: YearFigures
) -> LastYearRatios:
    """The ratios of the accounts `last`; `before` has the accounts of the year before.

    Args:
        years: the last year of each company, 0 for none.
    """
    unknown = np.full(len(years), np.nan)
    earlier = _ratio_arrays(before, {}, unknown)
    computed = _ratio_arrays(last, {**before.lines, **earlier}, unknown)
    stored = {code: computed[code] for code in stored_codes()}
    return LastYearRatios({format.YEARS.decode(): years.astype(format.U2), **stored})


def _ratio_arrays(
    figures: YearFigures, before: FiguresByLine, unknown: Figures
) -> dict[str, Figures]:
    """The rows of the table of ratios for the year of `figures`, by code, with an entry per company.

    `before` has the lines and rows of the year before, for formulas that use them; `unknown` is an array of NaN.
    """
    computed: dict[str, Figures] = {}
    # After a change of currency, the figures of the year before are unknown.
    comparable_before = {
        name: np.where(figures.comparable, figure, np.nan) for name, figure in before.items()
    }

    def lookup(name: str, years_before: int) -> Figures:
        """The figures of a line or of a ratio, of this year or of the year before."""
        if years_before:
            return comparable_before.get(name, unknown)
        return (computed if name[0].islower() else figures.lines).get(name, unknown)

    filed_months = figures.lines.get(MONTHS, unknown)
    months = np.where(filed_months > 0, filed_months, YEAR_MONTHS)
    for ratio in ratios().values():
        quotient = _quotient(ratio, lookup, figures.rates)
        computed[ratio.code] = quotient * (YEAR_MONTHS / months) ** ratio.annual
    return computed


def _quotient(ratio: Ratio, lookup: Callable[[str, int], Figures], rates: Figures) -> Figures:
    """The value of a ratio for each company, before the conversion to twelve months; NaN without a value.

    `rates` has the euros per unit of each company's currency, for ratios in euros.
    """
    quotient = _sums(ratio.numerator, lookup)
    if ratio.denominator is not None:
        denominator = _sums(ratio.denominator, lookup)
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = ratio.factor * quotient / np.where(denominator > 0, denominator, np.nan)
    return (quotient * rates if ratio.unite == "EUR" else quotient) + 0.0  # -0.0 becomes 0.0


def _sums(formula: Formula, lookup: Callable[[str, int], Figures]) -> Figures:
    """The sum of the first alternative with all lines filed, for each company."""
    sums: Figures | None = None
    for terms in formula.alternatives:
        total: Figures | float = 0.0
        for term in terms:
            figure = lookup(term.name, term.years_before)
            total = total + term.factor * (np.nan_to_num(figure) if term.optional else figure)
        assert isinstance(total, np.ndarray)  # a formula has a term
        sums = total if sums is None else np.where(np.isnan(sums), total, sums)
    assert sums is not None
    return sums


# -- euros per unit of a currency: annual averages of `seeds/taux.csv` -------------------------


def euros_per_unit(devise: str | None, year: int) -> float | None:
    """The euros per unit of a currency in a year; None without a rate."""
    if devise == _EURO:
        return 1.0
    return None if devise is None else _rates().get((devise, year))


@cache
def newest_year(devise: str) -> int:
    """The newest year with a rate of a currency; 0 without a rate.

    >>> newest_year("GBP") > 2020, newest_year("Ψ")
    (True, 0)
    """
    return max((year for currency, year in _rates() if currency == devise), default=0)


@cache
def _rates() -> Mapping[tuple[str, int], float]:
    """Euros per unit, by currency and year."""
    with (TABLES / "taux.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["devise"], int(row["annee"])): 1 / float(row["taux"])
            for row in csv.DictReader(file)
        }
